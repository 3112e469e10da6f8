import { oneLine } from '../../base/one-line.ts'
import { within } from '../../base/within.ts'
import type { WireContext } from '../../kernel/wire.ts'
import { isRepeatable, type Sendable } from './content.ts'
import type { Claim, OutboxRows, Settled } from './outbox-rows.ts'
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
const UNKNOWN_MAIL = 'The provider did not say whether it took the message: it may have arrived.'
const UNKNOWN_TEXT =
  'The provider did not say whether it took the message. It is not sent again, because it may have arrived.'

/** Not settled, to be retried. `unknownOutcome`: it may have arrived. */
export type Pending = { status: 'pending'; provider: string | null; error: string; unknownOutcome: boolean }

/**
 * Sends a claimed message until it is settled or its time is over.
 *
 * @param options.passes how often it is tried, each time over all providers
 * @param options.deadline by `clock.elapsed()`
 * @param options.begun whether the call of the first provider is written down already
 */
export type Deliver = (
  claim: Claim,
  sendables: readonly Sendable[],
  options: { passes: number; deadline: number; begun?: boolean },
) => Promise<Settled | Pending>

/**
 * Sends over providers in their order, and handles calls whose outcome is unknown by what a repetition costs: a mail is
 * sent once more under the same Message-ID, by which its receiver can tell that it is the same; a text is looked up at its
 * provider and never sent again.
 */
export function createDelivery(
  rows: OutboxRows,
  { clock, log }: Pick<WireContext, 'clock' | 'log'>,
): Deliver {
  /** Looks up at its provider a text whose outcome is unknown. */
  async function lookFor(
    claim: Claim,
    sendables: readonly Sendable[],
    { provider, since }: { provider: string; since: number },
    deadline: number,
  ): Promise<Settled | Pending> {
    const failed = { status: 'failed', provider, error: UNKNOWN_TEXT } as const
    const waiting = { status: 'pending', provider, error: UNKNOWN_TEXT, unknownOutcome: true } as const
    const finders = sendables.flatMap(({ name, find }) => (name === provider && find ? [find] : []))
    if (finders.length === 0) return rows.settle(claim, failed, true)
    await rows.markUnknown(claim, UNKNOWN_TEXT)
    for (let look = 1, notFound = 0, faults = 0; ; look++) {
      const wait = Math.min(jittered(FIRST_LOOK_MS * look), LONGEST_LOOK_MS)
      const leftMs = deadline - clock.elapsed() - wait
      if (leftMs <= 0) return waiting
      await clock.sleep(wait)
      const found = await ask(claim, provider, finders, since, leftMs)
      if (!found) {
        if (++faults > LOOKS) return waiting
        continue
      }
      const match = await rows.match(claim, found)
      if (match === 'undecided') continue
      if (match !== 'none') return rows.settle(claim, { status: 'sent', ...match, provider })
      if (++notFound === LOOKS) return rows.settle(claim, failed, true)
    }
  }

  /** What a provider calls each message that may be this one; undefined where it can't be asked. */
  async function ask(
    claim: Claim,
    provider: string,
    finders: readonly NonNullable<Sendable['find']>[],
    since: number,
    limitMs: number,
  ): Promise<readonly string[] | undefined> {
    try {
      const asked = finders.map((find) => within(limitMs, () => find(since, limitMs), clock))
      return (await Promise.all(asked)).flat()
    } catch (error) {
      log.warn({ err: error, message: claim.id, provider }, 'a provider could not be asked for a message')
      return undefined
    }
  }

  /**
   * Calls one provider.
   *
   * @param unknownOutcome whether an earlier call may have been taken
   */
  async function call(
    claim: Claim,
    sendable: Sendable,
    limitMs: number,
    unknownOutcome: boolean,
  ): Promise<Settled | { status: 'unknown' } | { status: 'not taken'; afterMs: number }> {
    const provider = sendable.name
    const outcome = await outcomeOf(sendable, limitMs)
    if (outcome.kind === 'accepted') {
      const error = refusalsOf(outcome)
      return rows.settle(claim, {
        status: 'sent',
        messageId: outcome.id,
        provider,
        ...(error !== undefined && { error }),
      })
    }
    const { kind } = outcome
    const reason = oneLine(outcome.reason, REASON_CHARACTERS)
    log.warn(
      { message: claim.id, channel: claim.channel, provider, outcome: kind, reason },
      'a message was not sent',
    )
    if (kind === 'refused') return rows.settle(claim, { status: 'failed', provider, error: reason })
    if (kind === 'unknown') return { status: 'unknown' }
    await rows.requeue(claim, UNREACHED, unknownOutcome)
    return { status: 'not taken', afterMs: outcome.afterMs ?? 0 }
  }

  return async (claim, sendables, { passes, deadline, begun = false }) => {
    const { unknownCall } = claim
    const repeatable = isRepeatable(claim.channel)
    if (unknownCall && !repeatable) return lookFor(claim, sendables, unknownCall, deadline)
    // Once more, and no further: it may arrive each time.
    const giveUp = (name: string): Promise<Settled> =>
      rows.settle(claim, { status: 'failed', provider: name, error: UNKNOWN_MAIL }, true)
    if (unknownCall?.isSecond) return giveUp(unknownCall.provider)
    let written = begun
    let unknownOutcome = unknownCall !== undefined
    let provider = unknownCall?.provider ?? sendables[0]?.name ?? null
    const left = (): number => deadline - clock.elapsed()
    const pending = (): Pending => ({
      status: 'pending',
      provider,
      error: unknownOutcome ? UNKNOWN_MAIL : sendables.length > 0 ? UNREACHED : UNCONFIGURED,
      unknownOutcome,
    })
    for (let pass = 1; pass <= passes; pass++) {
      let afterMs = 0
      for (const [at, sendable] of sendables.entries()) {
        // Each has its share of the time that is left, so that one that hangs leaves some to the next.
        const limitMs = Math.floor(Math.min(CALL_MS, left() / (sendables.length - at)))
        if (limitMs < (pass === 1 ? SHORTEST_FIRST_CALL_MS : SHORTEST_CALL_MS)) break
        if (!written && !(await rows.begin(claim, sendable.name, unknownOutcome)))
          return (await rows.finalState(claim.id)) ?? pending()
        written = false
        provider = sendable.name
        const since = clock.now()
        const ended = await call(claim, sendable, limitMs, unknownOutcome)
        if (ended.status === 'sent' || ended.status === 'failed') return ended
        if (ended.status === 'not taken') {
          afterMs = Math.max(afterMs, ended.afterMs)
          continue
        }
        if (!repeatable) return lookFor(claim, sendables, { provider, since }, deadline)
        if (unknownOutcome) return giveUp(provider)
        unknownOutcome = true
        break
      }
      const wait = Math.max(jittered(FIRST_BACKOFF_MS * 2 ** (pass - 1)), afterMs)
      if (pass === passes || wait >= left()) break
      await clock.sleep(wait)
    }
    return pending()
  }
}

/** What a provider answers. One that an application wrote itself may throw, or leave something out. */
async function outcomeOf(sendable: Sendable, limitMs: number): Promise<Outcome> {
  try {
    const outcome: Outcome = await sendable.send(limitMs)
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
