import type { Answered, Reply } from '../outbound/outbound.ts'

/**
 * The outcome of a provider call:
 * - `accepted`: the provider has done it; the object also has the fields of `T`, from the answer;
 * - `refused`: the provider refuses it for good; another attempt would end the same way;
 * - `retry`: certainly not done; another attempt may succeed, after `afterMs` milliseconds if the provider says so;
 * - `unknown`: it may have been done. Look it up; never guess.
 *
 * `reason` is one line for the log, without credentials.
 */
export type Outcome<T extends object = object> = ({ kind: 'accepted' } & T) | NotAccepted

/** An outcome other than `accepted`. */
export type NotAccepted =
  | Refused
  | { kind: 'retry'; reason: string; afterMs?: number }
  | { kind: 'unknown'; reason: string }

/**
 * A refusal. `code` says what it is about where callers act on it, in the words of the port that the provider implements;
 * `details` are further facts, such as the address at which a buyer can choose another card.
 */
export type Refused = {
  kind: 'refused'
  reason: string
  code?: string
  details?: Readonly<Record<string, string>>
}

/** How to read the answers of a provider's API. */
export type ReplyReader<T extends object> = {
  /** The provider's name in reasons: `Twilio`. */
  name: string
  /** What a success contains, for reasons: `a message`. */
  expects: string
  /** Reads a 2xx answer; returns undefined if it is not as expected, and the outcome is then `unknown`. */
  accept(reply: Answered): T | undefined
  /** Whether a 4xx answer means that nothing was done and another attempt may succeed. */
  isPassing?(reply: Answered): boolean
  /** The reason in any other answer, as one line. Default: its status. */
  sentence?(reply: Answered): string
  /** What a refusal is about, for `code` and `details` of the outcome. */
  refusal?(reply: Answered): Pick<Refused, 'code' | 'details'> | undefined
}

/**
 * Reads the outcome of a call that changes something from its reply:
 * - `accepted`: 2xx with the expected content;
 * - `retry`: not sent, a redirect, 401, 429 (with its `Retry-After` in seconds), or a 4xx for which `isPassing` is true;
 * - `unknown`: 408, 5xx, 2xx with other content, or sent without a complete answer;
 * - `refused`: any other 4xx.
 *
 * @example
 * const reply = await outbound.call('/messages', { json: { to, body } })
 * const outcome = outcomeOf(reply, {
 *   name: 'Acme',
 *   expects: 'an id',
 *   accept(answered) {
 *     const id = (jsonOf(answered) as { id?: unknown } | null)?.id
 *     return typeof id === 'string' ? { id } : undefined
 *   },
 * })
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
    // RFC 9110, section 10.2.3; its other form, a date, is ignored.
    const seconds = Number(headers['retry-after'] ?? Number.NaN)
    return { kind: 'retry', reason, ...(seconds > 0 && { afterMs: seconds * 1000 }) }
  }
  return { kind: 'refused', reason, ...reader.refusal?.(reply) }
}
