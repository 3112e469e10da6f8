import type { Clock } from '../base/clock.ts'
import { ApiError } from '../base/errors.ts'
import { guarded } from './guard.ts'
import type { Outcome } from './outcome.ts'

const PERSIST_MS = 15_000
const PERSIST_WAIT_MS = 200
const LOOK_UP_MS = 5_000
/** A provider may show what it did a moment after it answered, so "not done" counts only the second time. */
const NOT_DONE_TIMES = 2
const FIRST_LOOK_MS = 400
const LONGEST_LOOK_MS = 2_000

/** One call of a provider that changes something there, and the row that tells of it. */
export type Attempt<T extends object, R> = {
  /**
   * Writes down that the call is about to be made, so that a crash leaves a row to look up. Answers false if the call is
   * not ours to make; it is not made then.
   */
  begin(): Promise<boolean>
  /** Calls the provider, once. */
  call(limitMs: number): Promise<Outcome<T>>
  /**
   * Writes down how the call ended; answers what the caller is told. It is called again if the database was away, and
   * with `unknown` before the outcome is looked up: the same outcome twice must be the same as once.
   */
  settle(outcome: Outcome<T>): Promise<R>
  /**
   * Asks the provider what became of the call: `accepted` or `refused` if it knows, `retry` if it certainly has not done
   * it, `unknown` if it cannot say now. Without it, unknown outcomes stay so.
   */
  lookUp?(limitMs: number): Promise<Outcome<T>>
}

export type AttemptOptions = {
  clock: Clock
  /** Milliseconds for the call. */
  limitMs: number
  /** Milliseconds in which an unknown outcome is looked up; default 5,000. */
  lookUpMs?: number
  /** Milliseconds in which an outcome is written again while the database is away; default 15,000. */
  persistMs?: number
  /** See `guarded`. */
  isAccepted?: (outcome: Readonly<Record<string, unknown>>) => boolean
}

/**
 * Makes an attempt: a row before the call, its outcome after it, and an unknown one looked up.
 *
 * Work that was begun and never settled, because its process died, is for `resume`.
 *
 * @returns what `settle` answered; undefined if the attempt was not ours to make
 * @throws whatever `begin` throws, and then the call was not made; what `settle` throws once `persistMs` are over
 * @example
 * const refund = await attempt(
 *   {
 *     begin: async () => (await db.write(insertAttemptSql(id))).length > 0,
 *     call: (limitMs) => provider.refund(order, limitMs),
 *     settle: (outcome) => db.write(settleAttemptSql(id, outcome)),
 *     lookUp: (limitMs) => provider.findRefund(id, limitMs),
 *   },
 *   { clock, limitMs: 10_000 },
 * )
 */
export async function attempt<T extends object, R>(
  steps: Attempt<T, R>,
  options: AttemptOptions,
): Promise<R | undefined> {
  if (!(await steps.begin())) return undefined
  const { limitMs } = options
  return conclude(steps, await guarded(() => steps.call(limitMs), options), options)
}

/** Finds out what became of an attempt that was begun and not settled, and settles it. The call is not made again. */
export const resume = <T extends object, R>(
  steps: Pick<Attempt<T, R>, 'settle' | 'lookUp'>,
  options: AttemptOptions,
): Promise<R> =>
  conclude(steps, { kind: 'unknown', reason: 'the process that made the call has ended' }, options)

async function conclude<T extends object, R>(
  steps: Pick<Attempt<T, R>, 'settle' | 'lookUp'>,
  outcome: Outcome<T>,
  options: AttemptOptions,
): Promise<R> {
  const settle = (final: Outcome<T>): Promise<R> => persist(() => steps.settle(final), options)
  const settled = await settle(outcome)
  if (outcome.kind !== 'unknown' || !steps.lookUp) return settled
  const found = await lookUp((limitMs) => steps.lookUp!(limitMs), options)
  return found ? settle(found) : settled
}

/** Asks until the provider knows; undefined if it does not within the time. */
async function lookUp<T extends object>(
  ask: (limitMs: number) => Promise<Outcome<T>>,
  options: AttemptOptions,
): Promise<Outcome<T> | undefined> {
  const { clock, lookUpMs = LOOK_UP_MS } = options
  const deadline = clock.elapsed() + lookUpMs
  for (let look = 1, notDone = 0; ; look++) {
    const pauseMs = Math.min(FIRST_LOOK_MS * look, LONGEST_LOOK_MS) * (0.5 + Math.random() / 2)
    const limitMs = deadline - clock.elapsed() - pauseMs
    if (limitMs <= 0) return undefined
    await clock.sleep(pauseMs)
    const found = await guarded(() => ask(limitMs), { ...options, limitMs })
    if (found.kind === 'unknown') continue
    if (found.kind === 'retry' && ++notDone < NOT_DONE_TIMES) continue
    return found
  }
}

/**
 * Writes what must not be lost because the database is away for a moment: as long as it answers `unavailable`, the write is
 * made again. It must be one that may happen twice: an answer of the database can be lost as well.
 *
 * @throws what the last write threw, once `persistMs` (default 15,000) are over; any other error at once
 */
export async function persist<R>(
  write: () => Promise<R>,
  { clock, persistMs = PERSIST_MS }: { clock: Clock; persistMs?: number },
): Promise<R> {
  const until = clock.elapsed() + persistMs
  for (;;)
    try {
      return await write()
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 503 || clock.elapsed() >= until) throw error
      await clock.sleep(PERSIST_WAIT_MS)
    }
}
