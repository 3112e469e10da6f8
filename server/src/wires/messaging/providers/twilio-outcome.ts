import { oneLine } from '../../../base/one-line.ts'
import { jsonOf, type Answered, type Reply } from '../../../outbound/outbound.ts'
import { outcomeOf as outcomeWith } from '../../../providers/outcome.ts'
import type { SendOutcome } from './provider.ts'

const REASON_MAX = 300

type Problem = { code?: number; message?: string }

/**
 * Refusals by which nothing was accepted and that pass without anything about the text being changed:
 * https://www.twilio.com/docs/api/errors
 */
const PASSING: ReadonlySet<number> = new Set([
  14107, // the rate of messages is exceeded
  20003, // the account's credentials are not right, or it has no money left
  20005, // the account is not active
  20429, // too many requests
  21611, // the queue of this sender is full
])

/**
 * What the reply to a new message says of it, see `providers/outcome.ts`: Twilio has no idempotency key, so it may have
 * taken the message before it failed with 5xx. Refusals hold its code and sentence.
 */
export const outcomeOf = (reply: Reply): SendOutcome =>
  outcomeWith(reply, {
    name: 'Twilio',
    expects: 'a message',
    accept(answered) {
      const { sid } = (jsonOf(answered) ?? {}) as { sid?: unknown }
      return typeof sid === 'string' && sid !== '' ? { id: sid } : undefined
    },
    isPassing: (answered) => PASSING.has(problemOf(answered).code ?? 0),
    sentence,
  })

/** What Twilio answered instead of what was asked for, as one line for the log. */
export function sentence(reply: Answered): string {
  const { code, message } = problemOf(reply)
  if (typeof code !== 'number' || typeof message !== 'string') return `Twilio answered ${reply.status}`
  return oneLine(`Twilio ${code}: ${message}`, REASON_MAX)
}

const problemOf = (reply: Answered): Problem => jsonOf(reply) ?? {}
