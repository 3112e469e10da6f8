import type { Answered, Reply } from '../outbound/outbound.ts'

/**
 * How a call of a provider ended:
 * - `accepted`: the provider has done it; beside `kind` stands what it answered, `T`;
 * - `refused`: for good, another try would end alike;
 * - `retry`: certainly not done, another try may succeed, after `afterMs` milliseconds if the provider says so;
 * - `unknown`: it may have been done. Look it up; never guess.
 *
 * `reason` is one line for the log, without credentials.
 */
export type Outcome<T extends object = object> = ({ kind: 'accepted' } & T) | NotAccepted

export type NotAccepted =
  | { kind: 'refused'; reason: string }
  | { kind: 'retry'; reason: string; afterMs?: number }
  | { kind: 'unknown'; reason: string }

/** How the answers of one provider's API are read. */
export type ReplyReader<T extends object> = {
  /** What the provider is called in reasons: `Twilio`. */
  name: string
  /** What a success holds, for reasons: `a message`. */
  expects: string
  /** What a 2xx answer holds; undefined if it is not what was expected, and the outcome is then unknown. */
  accept(reply: Answered): T | undefined
  /** Whether a 4xx answer says that nothing was done, and another try may succeed. */
  isPassing?(reply: Answered): boolean
  /** What another answer says, as one line. Default: its status. */
  sentence?(reply: Answered): string
}

/**
 * What a reply to a call that changes something says of it:
 * - `accepted`: 2xx with what was expected;
 * - `retry`: not sent, a redirect, 401, 429 (with its `Retry-After` in seconds), or a 4xx that passes;
 * - `unknown`: 408, 5xx, 2xx with something else, or sent without a whole answer;
 * - `refused`: any other 4xx.
 */
export function outcomeOf<T extends object>(reply: Reply, reader: ReplyReader<T>): Outcome<T> {
  if (reply.kind === 'not-sent') return { kind: 'retry', reason: reply.reason }
  if (reply.kind === 'unknown') return { kind: 'unknown', reason: reply.reason }
  const { name, expects } = reader
  const { status, headers } = reply
  if (status >= 200 && status < 300) {
    const value = reader.accept(reply)
    if (value) return { kind: 'accepted', ...value }
    return { kind: 'unknown', reason: `${name} answered ${status} without ${expects}` }
  }
  const reason = reader.sentence?.(reply) ?? `${name} answered ${status}`
  if (status >= 500 || status === 408) return { kind: 'unknown', reason }
  if (status < 400 || status === 401 || status === 429 || reader.isPassing?.(reply)) {
    // RFC 9110, section 10.2.3; its other form, a date, is left aside.
    const seconds = Number(headers['retry-after'] ?? Number.NaN)
    return { kind: 'retry', reason, ...(seconds > 0 && { afterMs: seconds * 1000 }) }
  }
  return { kind: 'refused', reason }
}
