import { oneLine } from '../../../../base/one-line.ts'
import { jsonOf, type Answered, type Reply } from '../../../../outbound/outbound.ts'
import { outcomeOf as outcomeWith, type NotAccepted } from '../../../../providers/outcome.ts'
import type { RefusalCode, Refused } from '../provider.ts'
import { fieldsOf, textOf } from './stripe-fields.ts'

const REASON_MAX = 300

/** What Stripe says of an error: https://docs.stripe.com/api/errors */
export type Problem = { type?: string; code?: string; param?: string; message?: string }

/** A reply other than a success with a JSON object: what it means is not left to the package. */
export class NoSuccess extends Error {
  readonly reply: Reply

  constructor(reply: Reply) {
    super('Stripe did not answer with a success')
    this.reply = reply
  }
}

/** What a refusal by Stripe is about, for a verb. */
export type RefusalReader = (problem: Problem) => RefusalCode | undefined

/** The parameters of a checkout session that hold what a caller gave. */
const OF_CALLER = /^(line_items|success_url|cancel_url|customer_email|expires_at)(\[|$)/
const OF_CALLER_CODES: ReadonlySet<string> = new Set([
  'amount_too_large',
  'amount_too_small',
  'email_invalid',
  'url_invalid',
])

/** Refusals of a refund because of the payment: https://docs.stripe.com/error-codes */
const STATE_CODES: ReadonlySet<string> = new Set([
  'amount_too_large',
  'charge_already_refunded',
  'charge_disputed',
  'charge_not_refundable',
  'payment_intent_unexpected_state',
  'refund_disputed_payment',
])

/** Creating a session: a refusal of what the caller gave is a `parameter`. */
export const createRefusal: RefusalReader = ({ param = '', code = '' }) =>
  OF_CALLER.test(param) || OF_CALLER_CODES.has(code) ? 'parameter' : undefined

/**
 * Refunding: Stripe has no code for an amount over the rest. An insufficient balance of the account is not about the payment.
 */
export const refundRefusal: RefusalReader = ({ type, param, code = '' }) => {
  if (code === 'resource_missing') return 'gone'
  if (STATE_CODES.has(code)) return 'state'
  return type === 'invalid_request_error' && code === '' && (param === 'amount' || param === 'payment_intent')
    ? 'state'
    : undefined
}

/** Looking up: Stripe says for certain that it has no such object. */
export const retrieveRefusal: RefusalReader = ({ code }) => (code === 'resource_missing' ? 'gone' : undefined)

/**
 * The outcome of a call that has not succeeded, see `providers/outcome.ts`. Stripe stores most refusals under the idempotency
 * key, so that only those before the work began pass: of the secret key (401, 403), of the rate, of a lock.
 *
 * @param options.expects what a success contains, for reasons: `a session`
 * @param options.secretKey is removed from reasons
 */
export function stripeOutcome(
  reply: Reply,
  options: { expects: string; refusal: RefusalReader; secretKey: string },
): NotAccepted {
  const { expects, refusal, secretKey } = options
  const problem = reply.kind === 'answered' ? problemOf(reply) : {}
  // Another call is under way, perhaps the first one with this key.
  if (reply.kind === 'answered' && reply.status === 409 && problem.code !== 'lock_timeout')
    return { kind: 'unknown', reason: sentence(409, problem, secretKey) }
  const outcome = outcomeWith<never>(reply, {
    name: 'Stripe',
    expects,
    accept: () => undefined,
    isPassing: ({ status }) => status === 403 || problem.code === 'lock_timeout' || isOfOtherMode(problem),
    sentence: ({ status }) => sentence(status, problem, secretKey),
    refusal: () => refusalOf(problem, refusal),
  })
  // Shown to the caller, who has not called Stripe.
  if (outcome.kind === 'refused' && outcome.code === 'parameter' && problem.message !== undefined)
    return { ...outcome, reason: withoutKeys(problem.message, secretKey) }
  return outcome
}

function refusalOf(problem: Problem, refusal: RefusalReader): Pick<Refused, 'code' | 'details'> {
  const code = refusal(problem)
  if (code === undefined) return {}
  return {
    code,
    ...(code === 'parameter' && problem.param !== undefined && { details: { parameter: problem.param } }),
  }
}

/** Another mode's key was used: the object exists, and says nothing about the payment. */
const isOfOtherMode = ({ code, message = '' }: Problem): boolean =>
  code === 'resource_missing' && /similar object exists in (live|test) mode/i.test(message)

function sentence(status: number, { type, code, message }: Problem, secretKey: string): string {
  if (status === 401) return 'Stripe does not accept the secret key'
  if (message === undefined) return `Stripe answered ${status}`
  return withoutKeys(`Stripe ${code ?? type ?? status}: ${message}`, secretKey)
}

/** One line, without keys: Stripe's own sentences show parts of them. */
export const withoutKeys = (text: string, secretKey: string): string =>
  oneLine(text.replaceAll(secretKey, '…').replaceAll(/\b([sr]k)_[\w*]+/g, '$1_…'), REASON_MAX)

function problemOf(reply: Answered): Problem {
  const error = fieldsOf(fieldsOf(jsonOf(reply))['error'])
  const [type, code, param, message] = ['type', 'code', 'param', 'message'].map((name) => textOf(error[name]))
  return {
    ...(type !== undefined && { type }),
    ...(code !== undefined && { code }),
    ...(param !== undefined && { param: oneLine(param, REASON_MAX) }),
    ...(message !== undefined && { message }),
  }
}
