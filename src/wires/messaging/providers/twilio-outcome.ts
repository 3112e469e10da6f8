import { oneLine } from '../../../base/one-line.ts'
import { jsonOf, type Reply } from '../../../outbound/outbound.ts'
import type { Outcome } from '../provider.ts'

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
 * What the reply to a new message says of it:
 * - `accepted`: 2xx with a sid, which is `id`;
 * - `retry`: no connection, a redirect, 429 (with its `Retry-After`), 401, or a code that passes, such as a full queue;
 * - `unknown`: 408, 5xx, an answer that was lost or can't be read, or time was over: Twilio has no idempotency key,
 *   and may have taken the message before it failed;
 * - `refused`: any other 4xx, with Twilio's code and sentence.
 */
export function outcomeOf(reply: Reply): Outcome {
  if (reply.kind !== 'answered')
    return { kind: reply.kind === 'unknown' ? 'unknown' : 'retry', reason: reply.reason }
  const { status, headers } = reply
  const body = jsonOf(reply)
  if (status >= 200 && status < 300) {
    const sid = (body as { sid?: unknown } | null | undefined)?.sid
    return typeof sid === 'string' && sid !== ''
      ? { kind: 'accepted', id: sid }
      : { kind: 'unknown', reason: `Twilio answered ${status} without a message` }
  }
  const reason = sentence(status, body)
  if (status >= 500 || status === 408) return { kind: 'unknown', reason }
  const code = (body as Problem | null | undefined)?.code ?? 0
  if (status === 429 || status === 401 || status < 400 || PASSING.has(code)) {
    const seconds = Number(headers['retry-after'] ?? Number.NaN)
    return { kind: 'retry', reason, ...(seconds > 0 ? { afterMs: seconds * 1000 } : {}) }
  }
  return { kind: 'refused', reason }
}

/** What Twilio answered instead of what was asked for, as one line for the log. */
export function sentence(status: number, body: unknown): string {
  const { code, message } = (body ?? {}) as Problem
  if (typeof code !== 'number' || typeof message !== 'string') return `Twilio answered ${status}`
  return oneLine(`Twilio ${code}: ${message}`, REASON_MAX)
}
