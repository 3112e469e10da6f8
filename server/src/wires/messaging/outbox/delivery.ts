import { oneLine } from '../../../base/one-line.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { attempt, resume, type Attempt } from '../../../providers/attempt.ts'
import { isRepeatable, type Sendable } from '../messages/message-content.ts'
import type { Claim, OutboxRows, Settled } from './outbox-rows.ts'
import type { AcceptedMessage } from '../providers/provider.ts'

const CALL_MS = 10_000
/** A call that is cut off sooner would mostly leave its outcome unknown. */
const SHORTEST_CALL_MS = 2_000
const SHORTEST_FIRST_CALL_MS = 200
const FIRST_BACKOFF_MS = 500
const REASON_CHARACTERS = 300

const UNCONFIGURED = 'No provider of this channel is configured any more.'
const UNREACHED = 'No provider of this channel could take the message: it was out of reach, or busy.'
const UNKNOWN_MAIL = 'The provider did not say whether it took the message: it may have arrived.'
const UNKNOWN_TEXT =
  'The provider did not say whether it took the message. It is not sent again, because it may have arrived.'

/** Not settled, to be retried. */
export type Pending = {
  status: 'pending'
  provider: string | null
  error: string
  /** Whether it may have arrived. */
  unknownOutcome: boolean
  /** Milliseconds that the provider asks to wait; undefined if the outcome of the last call is unknown. */
  afterMs?: number
}

/**
 * Sends a claimed message until it is settled or its time is over.
 *
 * @param options.passes how often it is tried, each time over all providers
 * @param options.deadline by `clock.elapsed()`
 * @param options.isBegun whether the row says already that the first provider is called
 */
export type Deliver = (
  claim: Claim,
  sendables: readonly Sendable[],
  options: { passes: number; deadline: number; isBegun?: boolean },
) => Promise<Settled | Pending>

/**
 * Sends over providers in their order, each call an attempt. What an unknown outcome leads to depends on what a repetition
 * costs: a mail is sent once more under the same Message-ID, by which its recipient can tell that it is the same; a text is
 * looked up at its provider and never sent again.
 */
export function createDelivery(
  { clock, log }: Pick<WireContext, 'clock' | 'log'>,
  { rows }: { rows: OutboxRows },
): Deliver {
  /** What is recorded of a call of one provider, and where its outcome is looked up. */
  function settlementOf(
    claim: Claim,
    sendables: readonly Sendable[],
    call: { provider: string; since: number; mayHaveArrived: boolean },
  ): Pick<Attempt<AcceptedMessage, Settled | Pending>, 'settle' | 'retrieve'> {
    const { provider, since, mayHaveArrived } = call
    const isMail = isRepeatable(claim.channel)
    const unknown = isMail ? UNKNOWN_MAIL : UNKNOWN_TEXT
    const finders = sendables.flatMap(({ name, find }) => (name === provider && find ? [find] : []))
    const failUnknown = (reason: string): Promise<Settled> =>
      rows.settle(claim, { status: 'failed', provider, error: unknown, reason }, true)
    return {
      async settle(outcome, isLookedUp) {
        switch (outcome.kind) {
          case 'accepted':
            return rows.settle(claim, {
              status: 'sent',
              messageId: outcome.id,
              provider,
              error: refusalsOf(outcome),
            })
          case 'refused':
            return rows.settle(claim, { status: 'failed', provider, error: outcome.reason })
          case 'retry': {
            if (isLookedUp) return failUnknown(outcome.reason)
            await rows.requeue(claim, UNREACHED, outcome.reason, mayHaveArrived)
            const error = mayHaveArrived ? unknown : UNREACHED
            const { afterMs = 0 } = outcome
            return { status: 'pending', provider, error, unknownOutcome: mayHaveArrived, afterMs }
          }
          case 'unknown':
            // A mail is sent once more, and no further: it may arrive each time.
            if (isMail ? mayHaveArrived : finders.length === 0) return failUnknown(outcome.reason)
            await rows.markUnknown(claim, unknown, outcome.reason)
            return { status: 'pending', provider, error: unknown, unknownOutcome: true }
        }
      },
      retrieve:
        finders.length === 0
          ? undefined
          : async (limitMs) => {
              const ids: unknown[] = await Promise.all(finders.map((find) => find(since, limitMs)))
              return rows.match(claim, ids.flatMap(readIds))
            },
    }
  }

  return async (claim, sendables, { passes, deadline, isBegun = false }) => {
    const { unknownCall, channel } = claim
    const optionsOf = (provider: string) => ({
      clock,
      log,
      about: { message: claim.id, channel, provider },
      deadline,
      isAccepted,
    })
    if (unknownCall && (unknownCall.isSecond || !isRepeatable(channel))) {
      const settlement = settlementOf(claim, sendables, { ...unknownCall, mayHaveArrived: true })
      return resume(settlement, optionsOf(unknownCall.provider))
    }
    let pending: Pending = {
      status: 'pending',
      provider: unknownCall?.provider ?? sendables[0]?.name ?? null,
      error: unknownCall ? UNKNOWN_MAIL : sendables.length > 0 ? UNREACHED : UNCONFIGURED,
      unknownOutcome: unknownCall !== undefined,
    }
    let isWritten = isBegun
    const remainingMs = (): number => deadline - clock.elapsed()
    for (let pass = 1; pass <= passes; pass++) {
      let afterMs = 0
      for (const [at, sendable] of sendables.entries()) {
        // Each has its share of the time that is left, so that one that hangs leaves some to the next.
        const limitMs = Math.floor(Math.min(CALL_MS, remainingMs() / (sendables.length - at)))
        if (limitMs < (pass === 1 ? SHORTEST_FIRST_CALL_MS : SHORTEST_CALL_MS)) break
        const { name, send } = sendable
        const mayHaveArrived = pending.unknownOutcome
        const call = { provider: name, since: clock.now(), mayHaveArrived }
        const isCallWritten = isWritten
        isWritten = false
        const result = await attempt(
          {
            begin: async () => isCallWritten || rows.begin(claim, name, mayHaveArrived),
            call: send,
            ...settlementOf(claim, sendables, call),
          },
          { ...optionsOf(name), limitMs },
        )
        if (!result) return (await rows.finalState(claim.id)) ?? pending
        if (result.status !== 'pending') return result
        pending = result
        if (result.afterMs === undefined) break
        afterMs = Math.max(afterMs, result.afterMs)
      }
      if (pending.unknownOutcome && !isRepeatable(channel)) break
      const pauseMs = Math.max(FIRST_BACKOFF_MS * 2 ** (pass - 1) * (0.5 + Math.random()), afterMs)
      if (pass === passes || pauseMs >= remainingMs()) break
      await clock.sleep(pauseMs)
    }
    return pending
  }
}

const isAccepted = ({ id }: Readonly<Record<string, unknown>>): boolean => typeof id === 'string' && id !== ''

/** What a provider, which may be an operator's own, answers when it is asked for a text. */
function readIds(found: unknown): string[] {
  if (!Array.isArray(found) || !found.every((id) => typeof id === 'string'))
    throw new TypeError('the provider answered no list of ids')
  return found
}

/** What the log of messages says of a mail that was taken for some of its recipients only. */
const refusalsOf = ({ refusedRecipients = [] }: AcceptedMessage): string | null =>
  refusedRecipients.length === 0
    ? null
    : oneLine(
        `Refused for ${refusedRecipients.map(({ address, reason }) => `${address} (${reason})`).join(', ')}`,
        REASON_CHARACTERS,
      )
