import { setImmediate as nextTurn } from 'node:timers/promises'

import type { Clock } from '../base/clock.ts'
import type { Caller } from './access.ts'
import { isSameCaller } from './expected-callers.ts'
import type { OpenStream, StreamOptions } from './open-event-stream.ts'

/** Between two looks at all open streams: a stream ends within a second. */
const LOOK_MS = 500
/** So many callers are read together, and so many streams are looked at before other work goes on. */
const CALLERS = 100
const STREAMS = 2_000
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
export async function checkStreams(
  open: ReadonlyMap<unknown, OpenStream>,
  options: StreamOptions,
  stopped: AbortSignal,
): Promise<void> {
  const { clock, callers, log } = options
  let failedSince: number | undefined
  while (open.size > 0 && !stopped.aborted) {
    await clock.sleep(LOOK_MS, { signal: stopped, idle: true })
    await checkAllTimes(open, clock)
    if (!callers || stopped.aborted) continue
    try {
      const changed = await callers.changed()
      await checkCallers(open, changed, callers.current)
      failedSince = undefined
    } catch (error) {
      if (stopped.aborted) return
      if (failedSince === undefined)
        log.warn({ err: error }, 'the callers of event streams cannot be checked')
      failedSince ??= clock.elapsed()
      if (clock.elapsed() - failedSince >= UNKNOWN_MS)
        for (const one of open.values()) if (one.caller) one.endBecause('restart')
    }
  }
}

type Times = { now: number; elapsed: number }

export const timesOf = (clock: Clock): Times => ({ now: clock.now(), elapsed: clock.elapsed() })

async function checkAllTimes(open: ReadonlyMap<unknown, OpenStream>, clock: Clock): Promise<void> {
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

/** @param changed ids of sessions, users and keys; undefined for all */
async function checkCallers(
  open: ReadonlyMap<unknown, OpenStream>,
  changed: ReadonlySet<string> | undefined,
  read: NonNullable<StreamOptions['callers']>['current'],
): Promise<void> {
  if (changed?.size === 0) return
  const suspects = new Map<string, [Caller, ...OpenStream[]]>()
  for (const one of open.values()) {
    const { caller } = one
    if (!caller || one.endedAt !== undefined) continue
    const id = caller.kind === 'user' ? caller.sessionId : caller.id
    if (changed && !changed.has(id) && !changed.has(caller.id)) continue
    const known = suspects.get(id)
    if (known) known.push(one)
    else suspects.set(id, [caller, one])
  }
  const groups = [...suspects.values()]
  for (let at = 0; at < groups.length; at += CALLERS) {
    const chunk = groups.slice(at, at + CALLERS)
    const current = await read(chunk.map(([caller]) => caller))
    for (const [n, [, ...streams]] of chunk.entries())
      for (const one of streams) endIfChanged(one, current[n])
    await nextTurn()
  }
}

function endIfChanged(one: OpenStream, current: Caller | undefined): void {
  if (!current) one.endBecause('revoked')
  else if (!isSameCaller(one.caller, current)) one.endBecause('changed')
}
