import { setImmediate as nextTurn } from 'node:timers/promises'

import type { Clock } from '../base/clock.ts'
import type { Caller, CallerWatch } from './access.ts'
import { isSameCaller } from './expected-callers.ts'
import type { OpenStream, StreamOptions } from './open-event-stream.ts'

/** Between two looks at all open streams: a stream ends within a second. */
const LOOK_MS = 500
/** So many callers are read together, and so many streams are looked at before other work goes on. */
const CALLERS = 100
const STREAMS = 2_000
/** After a longer time without a look, what `changed` says is not all. */
const GAP_MS = 8_000
/** As often all callers are looked at, in case that something was not noted, as where a clock was set. */
const ALL_MS = 60_000
const BEHIND_MS = 30_000
/** A client that has not taken the last text by then does not read. */
const ENDING_MS = 5_000
/** For so long streams stay open while nothing is known of their callers. */
const UNKNOWN_MS = 30_000

/**
 * Looks at all streams again and again, as long as there are any: ends those whose token has expired or whose caller is not as
 * it was, and cuts those whose client does not keep up. So nothing that changes a caller, in any process, needs to know of
 * streams.
 */
export async function checkStreams(open: Open, options: StreamOptions, stopped: AbortSignal): Promise<void> {
  const isOver = new AbortController()
  // Apart from each other: a token expires whether the database answers or not. They end together: another stream may begin
  // in between.
  const callers = watchCallers(open, options, AbortSignal.any([stopped, isOver.signal]))
  await watchTimes(open, options, stopped)
  isOver.abort()
  await callers
}

async function watchTimes(open: Open, { clock }: StreamOptions, stopped: AbortSignal): Promise<void> {
  while (open.size > 0 && !stopped.aborted) {
    await checkAllTimes(open, clock)
    await clock.sleep(LOOK_MS, { signal: stopped, idle: true })
  }
}

async function watchCallers(
  open: Open,
  { clock, callers, log }: StreamOptions,
  stopped: AbortSignal,
): Promise<void> {
  const checked: Checked = { at: -Infinity, allAt: -Infinity, failedAt: undefined }
  while (callers && !stopped.aborted) {
    await clock.sleep(LOOK_MS, { signal: stopped, idle: true })
    const startedAt = clock.elapsed()
    try {
      await checkCallers(open, callers, checked, startedAt)
    } catch (error) {
      if (stopped.aborted) return
      if (checked.failedAt === undefined)
        log.warn({ err: error }, 'the callers of event streams cannot be checked')
      checked.failedAt ??= startedAt
      if (startedAt - checked.failedAt < UNKNOWN_MS) continue
      for (const one of open.values()) if (one.caller) one.endBecause('restart')
    }
  }
}

type Open = ReadonlyMap<unknown, OpenStream>

/** When the callers that had changed were checked last, and when all of them; since when that fails. */
type Checked = { at: number; allAt: number; failedAt: number | undefined }

type Times = { now: number; elapsed: number }

export const timesOf = (clock: Clock): Times => ({ now: clock.now(), elapsed: clock.elapsed() })

async function checkAllTimes(open: Open, clock: Clock): Promise<void> {
  let count = 0
  let times = timesOf(clock)
  for (const one of open.values()) {
    checkTimes(one, clock, times)
    if (++count % STREAMS > 0) continue
    await nextTurn()
    times = timesOf(clock)
  }
}

/** Ends a stream in time if its token expires soon, and cuts one whose client does not keep up. */
export function checkTimes(one: OpenStream, clock: Clock, { now, elapsed }: Times): void {
  if (one.behindSince !== undefined && elapsed - one.behindSince >= BEHIND_MS) return one.cut('slow')
  if (one.endedAt !== undefined) {
    if (elapsed - one.endedAt >= ENDING_MS) one.cut('slow')
    return
  }
  if (one.expiresAt === undefined) return
  const leftMs = one.expiresAt - now
  if (leftMs <= 0) one.endBecause('expired')
  // Before the next look; it has no timer until then.
  else if (leftMs <= 2 * LOOK_MS) clock.timer(leftMs, () => one.endBecause('expired'))
}

/** Ends the streams whose caller has changed. */
async function checkCallers(
  open: Open,
  callers: CallerWatch,
  checked: Checked,
  startedAt: number,
): Promise<void> {
  const isKnown = startedAt - checked.at <= GAP_MS && startedAt - checked.allAt < ALL_MS
  const changed = isKnown ? await callers.changed() : undefined
  const groups = changed?.size === 0 ? [] : streamsOf(open, changed)
  for (let at = 0; at < groups.length; at += CALLERS) {
    const chunk = groups.slice(at, at + CALLERS)
    const current = await callers.current(chunk.map(([caller]) => caller))
    for (const [n, [, ...streams]] of chunk.entries())
      for (const one of streams) endIfChanged(one, current[n])
    await nextTurn()
  }
  checked.at = startedAt
  if (!changed) checked.allAt = startedAt
  checked.failedAt = undefined
}

/**
 * The streams of each caller.
 *
 * @param changed ids of sessions, users and keys; undefined for all callers
 */
function streamsOf(open: Open, changed: ReadonlySet<string> | undefined): [Caller, ...OpenStream[]][] {
  const groups = new Map<string, [Caller, ...OpenStream[]]>()
  for (const one of open.values()) {
    const { caller } = one
    if (!caller || one.endedAt !== undefined) continue
    const id = caller.kind === 'user' ? caller.sessionId : caller.id
    if (changed && !changed.has(id) && !changed.has(caller.id)) continue
    const group = groups.get(id)
    if (group) group.push(one)
    else groups.set(id, [caller, one])
  }
  return [...groups.values()]
}

function endIfChanged(one: OpenStream, current: Caller | undefined): void {
  if (!current) one.endBecause('revoked')
  else if (!isSameCaller(lasting(one.caller), lasting(current))) one.endBecause('changed')
}

/** A caller without the proof of the last minutes, which is needed where a stream begins. */
const lasting = (caller: Caller | undefined): Caller | undefined =>
  caller?.kind === 'user' ? { ...caller, recentProof: undefined } : caller
