import type { Caller } from './access.ts'
import type { OpenStream, StreamOptions } from './open-event-stream.ts'
import { isSameCaller } from './expected-callers.ts'

/** In which all open streams are looked at once: less than a second, in which a stream is to end. */
const ROUND_MS = 700
/** As many streams as are looked at together, so that other work goes on between them. */
const CHUNK = 200
const BEHIND_MS = 30_000
/** The client has the last text long before that, or does not read. */
const ENDING_MS = 5_000
/** For so long the streams stay open without an answer about their callers. */
const UNCHECKED_MS = 30_000

/**
 * Looks at all streams again and again, as long as there are any: ends those whose token has expired or whose caller is not as
 * it was, and cuts those whose clients do not keep up. So whoever signs a caller out, and in whichever process, need not know
 * of streams.
 */
export async function checkStreams(
  open: ReadonlyMap<unknown, OpenStream>,
  options: StreamOptions,
  stopped: AbortSignal,
): Promise<void> {
  const { clock } = options
  const failure: Failure = { since: undefined }
  while (open.size > 0 && !stopped.aborted) {
    const pauseMs = ROUND_MS / Math.ceil(open.size / CHUNK)
    let chunk: OpenStream[] = []
    // Streams that open meanwhile are among them.
    for (const one of open.values()) {
      if (chunk.push(one) < CHUNK) continue
      await clock.sleep(pauseMs, { signal: stopped, idle: true })
      await checkChunk(chunk, options, failure)
      if (stopped.aborted) return
      chunk = []
    }
    await clock.sleep(pauseMs, { signal: stopped, idle: true })
    await checkChunk(chunk, options, failure)
  }
}

/** Since when the callers could not be read. */
type Failure = { since: number | undefined }

async function checkChunk(
  chunk: readonly OpenStream[],
  options: StreamOptions,
  failure: Failure,
): Promise<void> {
  const ofCaller = new Map<string, [Caller, ...OpenStream[]]>()
  for (const one of chunk) {
    checkTimes(one, options)
    const { caller } = one
    if (!caller || one.endedAt !== undefined) continue
    const id = caller.kind === 'user' ? caller.sessionId : caller.id
    const known = ofCaller.get(id)
    if (known) known.push(one)
    else ofCaller.set(id, [caller, one])
  }
  if (ofCaller.size === 0) return
  try {
    const groups = [...ofCaller.values()]
    const current = await options.currentCallers(groups.map(([caller]) => caller))
    failure.since = undefined
    for (const [at, [, ...streams]] of groups.entries())
      for (const one of streams) endIfChanged(one, current[at])
  } catch (error) {
    if (failure.since === undefined)
      options.log.warn({ err: error }, 'the callers of event streams could not be checked')
    failure.since ??= options.clock.elapsed()
    if (options.clock.elapsed() - failure.since < UNCHECKED_MS) return
    for (const [, ...streams] of ofCaller.values()) for (const one of streams) one.endBecause('restart')
  }
}

function endIfChanged(one: OpenStream, current: Caller | undefined): void {
  if (!current) one.endBecause('revoked')
  else if (!isSameCaller(one.caller, current)) one.endBecause('changed')
}

/** Ends a stream in time, if its token expires soon, and cuts one whose client does not keep up. */
export function checkTimes(one: OpenStream, { clock }: StreamOptions): void {
  const now = clock.elapsed()
  if (one.behindSince !== undefined && now - one.behindSince >= BEHIND_MS) return one.cut('slow')
  if (one.endedAt !== undefined) {
    if (now - one.endedAt >= ENDING_MS) one.cut('slow')
    return
  }
  if (one.expiresAt === undefined) return
  const leftMs = one.expiresAt - clock.now()
  if (leftMs <= 0) one.endBecause('expired')
  // Before the next look. It needs no timer until then.
  else if (leftMs <= 2 * ROUND_MS) clock.timer(leftMs, () => one.endBecause('expired'))
}
