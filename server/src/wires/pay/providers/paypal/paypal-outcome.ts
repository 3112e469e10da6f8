import { oneLine } from '../../../../base/one-line.ts'
import { jsonOf, type Answered, type Reply } from '../../../../outbound/outbound.ts'
import { outcomeOf as outcomeWith, type Refused } from '../../../../providers/outcome.ts'
import type { Outcome, RefusalCode } from '../provider.ts'
import { linkOf, listOf, objectOf, textOf } from './paypal-fields.ts'

const REASON_MAX = 300

/** The calls whose refusals are read. */
export type PaypalOperation = 'create' | 'capture' | 'refund' | 'read'

/** A refusal with one of these issues does not say what became of the call: the object must be retrieved. */
const UNDECIDED: ReadonlySet<string> = new Set([
  'DUPLICATE_INVOICE_ID',
  'DUPLICATE_REQUEST_ID',
  'ORDER_ALREADY_CAPTURED',
  'ORDER_ALREADY_COMPLETED',
  'ORDER_COMPLETION_IN_PROGRESS',
  'PREVIOUS_REQUEST_IN_PROGRESS',
])

/** The buyer, the buyer's bank or PayPal's checks refuse this payment; the buyer may pay in another way. */
const DECLINED: ReadonlySet<string> = new Set([
  'ALIAS_DECLINED_BY_PROCESSOR',
  'CARD_EXPIRED',
  'COMPLIANCE_VIOLATION',
  'DECLINED_DUE_TO_RELATED_TXN',
  'DOMESTIC_TRANSACTION_REQUIRED',
  'INSTRUMENT_DECLINED',
  'MAX_NUMBER_OF_PAYMENT_ATTEMPTS_EXCEEDED',
  'PAYEE_BLOCKED_TRANSACTION',
  'PAYER_ACCOUNT_LOCKED_OR_CLOSED',
  'PAYER_ACCOUNT_RESTRICTED',
  'PAYER_CANNOT_PAY',
  'PAYMENT_SOURCE_CANNOT_BE_USED',
  'PAYMENT_SOURCE_DECLINED_BY_PROCESSOR',
  'PAYMENT_SOURCE_INFO_CANNOT_BE_VERIFIED',
  'REDIRECT_PAYER_FOR_ALTERNATE_FUNDING',
  'REFERENCED_CARD_EXPIRED',
  'TRANSACTION_BLOCKED_BY_PAYEE',
  'TRANSACTION_LIMIT_EXCEEDED',
  'TRANSACTION_REFUSED',
])

/** The state of a capture that can't be refunded, or not by so much. */
const NOT_REFUNDABLE: ReadonlySet<string> = new Set([
  'CAPTURE_DISPUTED_PARTIAL_REFUND_NOT_ALLOWED',
  'CAPTURE_FULLY_REFUNDED',
  'MAX_NUMBER_OF_REFUNDS_EXCEEDED',
  'PARTIAL_REFUND_NOT_ALLOWED',
  'PENDING_CAPTURE',
  'REFUND_AMOUNT_EXCEEDED',
  'REFUND_CAPTURE_CURRENCY_MISMATCH',
  'REFUND_IS_RESTRICTED',
  'REFUND_NOT_ALLOWED',
  'REFUND_NOT_PERMITTED_DUE_TO_CHARGEBACK',
  'REFUND_TIME_LIMIT_EXCEEDED',
  'TRANSACTION_DISPUTED',
])

/** What is wrong with an amount, where PayPal names no field. */
const AMOUNT: ReadonlySet<string> = new Set([
  'CANNOT_BE_NEGATIVE',
  'CANNOT_BE_ZERO_OR_NEGATIVE',
  'CURRENCY_NOT_SUPPORTED',
  'DECIMALS_NOT_SUPPORTED',
  'DECIMAL_PRECISION',
  'INVALID_CURRENCY_CODE',
  'MAX_VALUE_EXCEEDED',
  'REFUND_AMOUNT_TOO_LOW',
  'UNSUPPORTED_CURRENCY',
])

/** Every issue that decides an outcome. */
export const ISSUES: readonly string[] = [...UNDECIDED, ...DECLINED, ...NOT_REFUNDABLE, ...AMOUNT]

/** The fields whose values come from the caller. */
const OUR_FIELDS = /(amount|currency_code|value|description|return_url|cancel_url)$/i

/** How to read the answers of a call. */
export type Reading<T extends object> = {
  call: PaypalOperation
  /** What a success contains, for reasons: `an order`. */
  expects: string
  /** Reads a 2xx answer; an outcome other than `accepted`, or undefined if it is not as expected. */
  accept: (answer: unknown) => T | Refused | undefined
}

/**
 * Reads the outcome of a call from its reply, as `outcomeOf` of `providers/outcome.ts` does, and by PayPal's issue where
 * it refuses: https://developer.paypal.com/api/rest/responses/
 */
export function outcomeOf<T extends object>(reply: Reply, reading: Reading<T>): Outcome<T> {
  const { call, expects, accept } = reading
  let refusal: Refused | undefined
  const outcome = outcomeWith<T>(reply, {
    name: 'PayPal',
    expects,
    accept(answered) {
      const value = accept(jsonOf(answered))
      if (!value || !isRefused(value)) return value
      refusal = value
      return undefined
    },
    sentence,
    refusal: (answered) => refusalOf(answered, call),
  })
  if (refusal) return refusal
  if (outcome.kind === 'refused' && reply.kind === 'answered' && isUndecided(reply))
    return { kind: 'unknown', reason: outcome.reason }
  return outcome
}

/** What PayPal answered instead of what was asked for, as one line for the log: its issue, its sentence, its debug id. */
export function sentence(reply: Answered): string {
  const body = objectOf(jsonOf(reply))
  const [detail] = listOf(body['details'])
  const what = textOf(detail?.['issue']) ?? textOf(body['name']) ?? textOf(body['error'])
  const why = textOf(detail?.['description']) ?? textOf(body['message']) ?? textOf(body['error_description'])
  if (what === undefined && why === undefined) return `PayPal answered ${reply.status}`
  const field = textOf(detail?.['field'])
  const debugId = textOf(body['debug_id'])
  const text = `PayPal ${what ?? reply.status}: ${why ?? `it answered ${reply.status}`}`
  const facts = [field, debugId && `debug id ${debugId}`].filter(Boolean).join(', ')
  return oneLine(facts === '' ? text : `${text} (${facts})`, REASON_MAX)
}

/** The refusal of an order that waits for its buyer, with the address where the buyer goes on. */
export const refusedAt = (
  code: Extract<RefusalCode, 'declined' | 'not_approved'>,
  reason: string,
  links: unknown,
): Refused => {
  const url = linkOf(links, 'redirect', 'payer-action', 'approve')
  return { kind: 'refused', reason, code, ...(url !== undefined && { details: { url } }) }
}

/** Whether PayPal itself says that there is no such object: a 404 of a proxy does not. */
export function isGone(reply: Answered): boolean {
  const body = objectOf(jsonOf(reply))
  return (
    reply.status === 404 &&
    (body['name'] === 'RESOURCE_NOT_FOUND' || issuesOf(body).includes('INVALID_RESOURCE_ID'))
  )
}

function refusalOf(reply: Answered, call: PaypalOperation): Pick<Refused, 'code' | 'details'> | undefined {
  const body = objectOf(jsonOf(reply))
  const issues = issuesOf(body)
  const has = (set: ReadonlySet<string>): boolean => issues.some((issue) => set.has(issue))
  const withUrl = (code: 'declined' | 'not_approved'): Pick<Refused, 'code' | 'details'> => {
    const { details } = refusedAt(code, '', body['links'])
    return { code, ...(details && { details }) }
  }
  if (isGone(reply) && call !== 'create') return { code: call === 'refund' ? 'state' : 'gone' }
  if (call === 'capture') {
    if (issues.includes('ORDER_NOT_APPROVED') || issues.includes('PAYER_ACTION_REQUIRED'))
      return withUrl('not_approved')
    if (has(DECLINED)) return withUrl('declined')
    return undefined
  }
  if (call === 'refund' && has(NOT_REFUNDABLE)) return { code: 'state' }
  if (call === 'create' || call === 'refund') {
    const field = listOf(body['details'])
      .map((detail) => textOf(detail['field']))
      .find((name) => name !== undefined && OUR_FIELDS.test(name))
    if (field !== undefined) return { code: 'parameter', details: { parameter: oneLine(field, REASON_MAX) } }
    if (has(AMOUNT)) return { code: 'parameter' }
  }
  return undefined
}

/** Whether a refusal leaves open what became of the call. RFC 9110, section 15.5.10, for 409. */
const isUndecided = (reply: Answered): boolean =>
  reply.status === 409 || issuesOf(objectOf(jsonOf(reply))).some((issue) => UNDECIDED.has(issue))

function issuesOf(body: Readonly<Record<string, unknown>>): readonly string[] {
  const issues = listOf(body['details']).flatMap(({ issue }) => textOf(issue) ?? [])
  return [...issues, ...(textOf(body['name']) ?? '').split(' ')]
}

const isRefused = (value: object): value is Refused => 'kind' in value && value.kind === 'refused'
