import { oneLine } from '../../base/one-line.ts'
import { within } from '../../base/within.ts'
import type { WireContext } from '../../kernel/wire.ts'
import { isRepeatable, type Carrier } from './content.ts'
import type { End, OutboxRows, Turn } from './outbox-rows.ts'
import type { Outcome } from './provider.ts'

const CALL_MS = 10_000
/** A call that is cut off sooner would mostly leave its outcome unknown. */
const SHORTEST_CALL_MS = 2_000
const SHORTEST_FIRST_CALL_MS = 200
const FIRST_BACKOFF_MS = 500
/** A provider may show a message a moment after it took it, so not found counts only the second time. */
const LOOKS = 2
const LONGEST_LOOK_MS = 2_000
const FIRST_LOOK_MS = 400
const REASON_CHARACTERS = 300

const KINDS: ReadonlySet<string> = new Set(['accepted', 'refused', 'retry', 'unknown'])

const UNCONFIGURED = 'No provider of this channel is configured any more.'
const UNREACHED = 'No provider of this channel could take the message: it was out of reach, or busy.'
const DOUBTFUL_MAIL = 'The provider did not say whether it took the message: it may have arrived.'
const DOUBTFUL_TEXT =
  'The provider did not say whether it took the message. It is not sent again, because it may have arrived.'

/** Not settled, to be tried again. `doubtful`: it may have arrived. */
export type Waiting = { status: 'waiting'; provider: string | null; error: string; doubtful: boolean }

/**
 * Works on a claimed message until it is settled, or its time is over.
 *
 * @param options.passes how often it is tried, each time over all providers
 * @param options.deadline by `clock.elapsed()`
 * @param options.begun whether the call of the first provider is written down already
 */
export type Deliver = (
  turn: Turn,
  carriers: readonly Carrier[],
  options: { passes: number; deadline: number; begun?: boolean },
) => Promise<End | Waiting>

/**
 * Sends over providers in their order, and finds out what became of a call whose answer was lost.
 *
 * Unknown is treated by what it costs: a mail is sent again under the same Message-ID, by which its receiver can tell
 * that it is the same; a text is looked for at its provider and never sent again.
 */
export function createDelivery(
  rows: OutboxRows,
  { clock, log }: Pick<WireContext, 'clock' | 'log'>,
): Deliver {
  /** Finds out at its provider what became of a text whose outcome is unknown. */
  async function lookFor(
    turn: Turn,
    carriers: readonly Carrier[],
    { provider, since }: { provider: string; since: number },
    deadline: number,
  ): Promise<End | Waiting> {
    const failed = { status: 'failed', provider, error: DOUBTFUL_TEXT } as const
    const waiting = { status: 'waiting', provider, error: DOUBTFUL_TEXT, doubtful: true } as const
    const finders = carriers.flatMap(({ name, find }) => (name === provider && find ? [find] : []))
    if (finders.length === 0) return rows.settle(turn, failed, true)
    await rows.doubt(turn, DOUBTFUL_TEXT)
    for (let look = 1, notFound = 0, faults = 0; ; look++) {
      const wait = Math.min(jittered(FIRST_LOOK_MS * look), LONGEST_LOOK_MS)
      const leftMs = deadline - clock.elapsed() - wait
      if (leftMs <= 0) return waiting
      await clock.sleep(wait)
      const found = await ask(turn, provider, finders, since, leftMs)
      if (!found) {
        if (++faults > LOOKS) return waiting
        continue
      }
      const ended = await rows.settleAsOneOf(turn, found, provider)
      if (ended === 'undecided') continue
      if (ended !== 'others') return ended
      if (++notFound === LOOKS) return rows.settle(turn, failed, true)
    }
  }

  /** What a provider calls each message that may be this one; undefined where it can't be asked. */
  async function ask(
    turn: Turn,
    provider: string,
    finders: readonly NonNullable<Carrier['find']>[],
    since: number,
    limitMs: number,
  ): Promise<readonly string[] | undefined> {
    try {
      const asked = finders.map((find) => within(limitMs, () => find(since, limitMs), clock))
      return (await Promise.all(asked)).flat()
    } catch (error) {
      log.warn({ err: error, message: turn.id, provider }, 'a provider could not be asked for a message')
      return undefined
    }
  }

  /**
   * Calls one provider.
   *
   * @param doubtful whether an earlier call may have been taken
   */
  async function call(
    turn: Turn,
    carrier: Carrier,
    limitMs: number,
    doubtful: boolean,
  ): Promise<End | { status: 'unknown' } | { status: 'not taken'; afterMs: number }> {
    const provider = carrier.name
    const outcome = await outcomeOf(carrier, limitMs)
    if (outcome.kind === 'accepted') {
      const error = refusalsOf(outcome)
      return rows.settle(turn, {
        status: 'sent',
        messageId: outcome.id,
        provider,
        ...(error !== undefined && { error }),
      })
    }
    const { kind } = outcome
    const reason = oneLine(outcome.reason, REASON_CHARACTERS)
    log.warn(
      { message: turn.id, channel: turn.channel, provider, outcome: kind, reason },
      'a message was not sent',
    )
    if (kind === 'refused') return rows.settle(turn, { status: 'failed', provider, error: reason })
    if (kind === 'unknown') return { status: 'unknown' }
    await rows.setBack(turn, UNREACHED, doubtful)
    return { status: 'not taken', afterMs: outcome.afterMs ?? 0 }
  }

  return async (turn, carriers, { passes, deadline, begun = false }) => {
    const { open } = turn
    const repeatable = isRepeatable(turn.channel)
    if (open && !repeatable) return lookFor(turn, carriers, open, deadline)
    // Once more, and no further: it may arrive each time.
    const giveUp = (name: string): Promise<End> =>
      rows.settle(turn, { status: 'failed', provider: name, error: DOUBTFUL_MAIL }, true)
    if (open?.isSecond) return giveUp(open.provider)
    let written = begun
    let doubtful = open !== undefined
    let provider = open?.provider ?? carriers[0]?.name ?? null
    const left = (): number => deadline - clock.elapsed()
    const waiting = (): Waiting => ({
      status: 'waiting',
      provider,
      error: doubtful ? DOUBTFUL_MAIL : carriers.length > 0 ? UNREACHED : UNCONFIGURED,
      doubtful,
    })
    for (let pass = 1; pass <= passes; pass++) {
      let afterMs = 0
      for (const [at, carrier] of carriers.entries()) {
        // Each has its share of the time that is left, so that one that hangs leaves some to the next.
        const limitMs = Math.floor(Math.min(CALL_MS, left() / (carriers.length - at)))
        if (limitMs < (pass === 1 ? SHORTEST_FIRST_CALL_MS : SHORTEST_CALL_MS)) break
        if (!written && !(await rows.begin(turn, carrier.name, doubtful)))
          return (await rows.standing(turn.id)) ?? waiting()
        written = false
        provider = carrier.name
        const since = clock.now()
        const ended = await call(turn, carrier, limitMs, doubtful)
        if (ended.status === 'sent' || ended.status === 'failed') return ended
        if (ended.status === 'not taken') {
          afterMs = Math.max(afterMs, ended.afterMs)
          continue
        }
        if (!repeatable) return lookFor(turn, carriers, { provider, since }, deadline)
        if (doubtful) return giveUp(provider)
        doubtful = true
        break
      }
      const wait = Math.max(jittered(FIRST_BACKOFF_MS * 2 ** (pass - 1)), afterMs)
      if (pass === passes || wait >= left()) break
      await clock.sleep(wait)
    }
    return waiting()
  }
}

/** What a provider answers. One that an application wrote itself may throw, or leave something out. */
async function outcomeOf(carrier: Carrier, limitMs: number): Promise<Outcome> {
  try {
    const outcome: Outcome = await carrier.send(limitMs)
    if (outcome.kind === 'accepted') return outcome
    const { reason = 'it did not say why' } = outcome as { reason?: unknown }
    if (KINDS.has(outcome.kind)) return { ...outcome, reason: String(reason) }
    return { kind: 'unknown', reason: `it answered what is no outcome: ${JSON.stringify(outcome)}` }
  } catch (error) {
    return { kind: 'unknown', reason: String(error) }
  }
}

/** What the log says of a mail that was taken for some of its receivers only. */
const refusalsOf = ({ refusedRecipients = [] }: Outcome & { kind: 'accepted' }): string | undefined =>
  refusedRecipients.length === 0
    ? undefined
    : oneLine(
        `Refused for ${refusedRecipients.map(({ address, reason }) => `${address} (${reason})`).join(', ')}`,
        REASON_CHARACTERS,
      )

const jittered = (ms: number): number => Math.round(ms * (0.5 + Math.random()))
