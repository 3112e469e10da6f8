import type { Clock } from '../base/clock.ts'
import { ApiError } from '../base/errors.ts'
import { guarded } from './guard.ts'
import type { NotAccepted, Outcome } from './outcome.ts'

const PERSIST_MS = 15_000
const PERSIST_PAUSE_MS = 200
const LOOK_UP_MS = 5_000
/** A provider may show what it did a moment after it answered, so "not done" counts only the second time. */
const NOT_DONE_TIMES = 2
const FIRST_LOOK_MS = 400
const LONGEST_LOOK_MS = 2_000

/** One call of a provider that changes something there, and the row that records it. */
export type Attempt<T extends object, R> = {
  /**
   * Records that the call is about to be made, so that a crash leaves a row to look up. Answers false if another process
   * makes the call; it is not made here then.
   */
  begin(): Promise<boolean>
  /** Calls the provider, once. */
  call(limitMs: number): Promise<Outcome<T>>
  /**
   * Records how the call ended; answers what the caller is told. It is called again if the database was away, and
   * with `unknown` before the outcome is looked up: the same outcome twice must be the same as once.
   *
   * @param isLookedUp whether `retrieve` answered this outcome, after `unknown` was recorded
   */
  settle(outcome: Outcome<T>, isLookedUp: boolean): Promise<R>
  /**
   * Asks the provider what became of the call: `accepted` or `refused` if it knows, `retry` if it certainly has not done
   * it, `unknown` if it cannot say now; a rejection counts as `unknown`. Without it, unknown outcomes stay so.
   */
  retrieve?: ((limitMs: number) => Promise<Outcome<T>>) | undefined
}

export type AttemptOptions = {
  clock: Clock
  /** Logs each outcome that is not `accepted`, with its reason, as a warning. */
  log: { warn(fields: object, text: string): void }
  /** What the log says of the call: the id of its row, the provider. */
  about: Readonly<Record<string, unknown>>
  /** When looking up ends, by `clock.elapsed()`; 5 seconds after it began at the latest. */
  deadline?: number
  /** Whether an accepted outcome holds what it must; see `guarded`. */
  isAccepted?: (outcome: Readonly<Record<string, unknown>>) => boolean
}

/**
 * Makes an attempt: a row before the call, its outcome after it, and an unknown outcome looked up.
 *
 * An attempt that was begun and not settled, because its process died, is for `resume`.
 *
 * @param options.limitMs milliseconds for the call
 * @returns what `settle` answered last; undefined if `begin` answered false
 * @throws what `begin` throws, and then the call was not made; what `settle` throws after 15 seconds of tries
 * @example
 * const refund = await attempt(
 *   {
 *     begin: async () => (await db.write(insertAttemptSql(id))).length > 0,
 *     call: (limitMs) => provider.refund(order, limitMs),
 *     settle: (outcome) => db.write(settleAttemptSql(id, outcome)),
 *     retrieve: (limitMs) => provider.findRefund(id, limitMs),
 *   },
 *   { clock, log, about: { refund: id, provider: provider.name }, limitMs: 10_000 },
 * )
 */
export async function attempt<T extends object, R>(
  steps: Attempt<T, R>,
  options: AttemptOptions & { limitMs: number },
): Promise<R | undefined> {
  if (!(await steps.begin())) return undefined
  const outcome = await guarded(() => steps.call(options.limitMs), options)
  if (outcome.kind !== 'accepted') warn(outcome, 'a provider did not accept a call', options)
  return conclude(steps, outcome, options)
}

/** Finds out what became of an attempt that was begun and not settled, and settles it. The call is not made again. */
export const resume = <T extends object, R>(
  steps: Pick<Attempt<T, R>, 'settle' | 'retrieve'>,
  options: AttemptOptions,
): Promise<R> =>
  conclude(steps, { kind: 'unknown', reason: 'the process that made the call has ended' }, options)

async function conclude<T extends object, R>(
  { settle, retrieve }: Pick<Attempt<T, R>, 'settle' | 'retrieve'>,
  outcome: Outcome<T>,
  options: AttemptOptions,
): Promise<R> {
  const result = await persist(() => settle(outcome, false), options.clock)
  if (outcome.kind !== 'unknown' || !retrieve) return result
  const outcomeNow = await retrieveAgain(retrieve, options)
  return outcomeNow ? persist(() => settle(outcomeNow, true), options.clock) : result
}

/** Asks until the provider knows; undefined if it does not within the time. */
async function retrieveAgain<T extends object>(
  retrieve: (limitMs: number) => Promise<Outcome<T>>,
  options: AttemptOptions,
): Promise<Outcome<T> | undefined> {
  const { clock } = options
  const deadline = Math.min(options.deadline ?? Infinity, clock.elapsed() + LOOK_UP_MS)
  for (let look = 1, notDone = 0; ; look++) {
    const pauseMs = Math.min(FIRST_LOOK_MS * look, LONGEST_LOOK_MS) * (0.5 + Math.random() / 2)
    const limitMs = deadline - clock.elapsed() - pauseMs
    if (limitMs <= 0) return undefined
    await clock.sleep(pauseMs)
    const outcome = await guarded(() => retrieve(limitMs), { ...options, limitMs })
    if (outcome.kind !== 'accepted') warn(outcome, 'a provider was asked what became of a call', options)
    if (outcome.kind === 'unknown') continue
    if (outcome.kind === 'retry' && ++notDone < NOT_DONE_TIMES) continue
    return outcome
  }
}

const warn = ({ kind, reason }: NotAccepted, text: string, { log, about }: AttemptOptions): void =>
  log.warn({ ...about, outcome: kind, reason }, text)

/**
 * Repeats a write that must not be lost for as long as the database is away, for 15 seconds. The write must be one that
 * may happen twice: an answer of the database can be lost as well.
 *
 * @throws what the last write threw; any other error than `unavailable` at once
 */
export async function persist<R>(write: () => Promise<R>, clock: Clock): Promise<R> {
  const until = clock.elapsed() + PERSIST_MS
  for (;;)
    try {
      return await write()
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 503 || clock.elapsed() >= until) throw error
      await clock.sleep(PERSIST_PAUSE_MS)
    }
}
