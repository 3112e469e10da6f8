import type { ProviderEvent, PaymentSubject } from '../provider.ts'
import { idOf, linkedId, listOf, objectOf, ourIdOf, textOf, type PaypalFields } from './paypal-fields.ts'
import { orderIdOf } from './paypal-snapshot.ts'

/** Events by what they are about: https://developer.paypal.com/api/rest/webhooks/event-names/ */
const SUBJECTS: readonly [RegExp, (resource: PaypalFields) => PaymentSubject | undefined][] = [
  [/^CHECKOUT\.ORDER\./, (order) => ofOrder(order, order['id'])],
  // The buyer took the approval back: the resource is not the order, and names it.
  [/^CHECKOUT\.PAYMENT-APPROVAL\./, (order) => ofOrder(order, order['order_id'])],
  [/^PAYMENT\.CAPTURE\.REVERSED$/, (resource) => ofPart('reversal', resource)],
  [/^PAYMENT\.CAPTURE\.REFUNDED$/, (resource) => ofPart('refund', resource)],
  [/^PAYMENT\.REFUND\./, (resource) => ofPart('refund', resource)],
  [/^PAYMENT\.CAPTURE\./, ofCapture],
  [/^CUSTOMER\.DISPUTE\./, ofDispute],
]

/** Reads an event; undefined if it has no id or type. Events of kinds that are not used have no subject. */
export function eventOf(value: unknown): ProviderEvent | undefined {
  const event = objectOf(value)
  const id = textOf(event['id'])
  const type = textOf(event['event_type'])
  if (id === undefined || type === undefined || !/^[\w.-]{1,200}$/.test(id) || !/^[\w.-]{1,200}$/.test(type))
    return undefined
  const [, readSubject] = SUBJECTS.find(([pattern]) => pattern.test(type)) ?? []
  const subject = readSubject?.(objectOf(event['resource']))
  return { id, type, ...(subject && { subject }) }
}

function ofOrder(order: PaypalFields, id: unknown): PaymentSubject | undefined {
  const reference = idOf(id)
  if (reference === undefined) return undefined
  const [unit] = listOf(order['purchase_units'])
  const transactionId = ourIdOf(unit?.['custom_id'])
  return { reference, ...(transactionId !== undefined && { transactionId }) }
}

function ofCapture(capture: PaypalFields): PaymentSubject | undefined {
  const paymentId = idOf(capture['id'])
  if (paymentId === undefined) return undefined
  const reference = orderIdOf(capture)
  const transactionId = ourIdOf(capture['custom_id'])
  return {
    paymentId,
    ...(reference !== undefined && { reference }),
    ...(transactionId !== undefined && { transactionId }),
  }
}

/** A refund or a reversal: its `up` link leads to the capture. A reversal may come with the capture itself. */
function ofPart(kind: 'refund' | 'reversal', resource: PaypalFields): PaymentSubject | undefined {
  const id = idOf(resource['id'])
  const paymentId = linkedId(resource['links'], 'captures') ?? (kind === 'reversal' ? id : undefined)
  if (id === undefined || paymentId === undefined) return undefined
  return { paymentId, objects: [{ kind, id }] }
}

function ofDispute(dispute: PaypalFields): PaymentSubject | undefined {
  const id = idOf(dispute['dispute_id'])
  const [transaction] = listOf(dispute['disputed_transactions'])
  const paymentId = idOf(transaction?.['seller_transaction_id'])
  if (id === undefined || paymentId === undefined) return undefined
  return { paymentId, objects: [{ kind: 'dispute', id }] }
}
