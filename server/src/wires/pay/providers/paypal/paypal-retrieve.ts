import { BoundedMap } from '../../../../base/bounded-map.ts'
import type { Clock } from '../../../../base/clock.ts'
import type { NotAccepted } from '../../../../providers/outcome.ts'
import type { LedgerEntry, Outcome, PaymentSnapshot, PaymentSubject } from '../provider.ts'
import type { PaypalClient } from './paypal-client.ts'
import { linkedId, objectOf, ourIdOf, type PaypalFields } from './paypal-fields.ts'
import { isGone, outcomeOf } from './paypal-outcome.ts'
import { chargeOf, disputeOf, orderIdOf, orderOf, refundOf, withoutForeignCall } from './paypal-snapshot.ts'
import type { WireContext } from '../../../../kernel/wire/wire.ts'

/** Refunds whose call is known: it never changes. */
const ATTRIBUTED_MAX = 10_000

type RefundEntry = LedgerEntry & { kind: 'refund' }
type Found = { object: NonNullable<PaymentSubject['objects']>[number]; answer: unknown }

/** A call of a retrieval ended otherwise than it should have. */
class Stop extends Error {
  readonly outcome: NotAccepted
  constructor(outcome: NotAccepted) {
    super(outcome.reason)
    this.outcome = outcome
  }
}

type RetrieveContext = {
  readonly client: PaypalClient
  readonly clock: Clock
  readonly callOfRefund: BoundedMap<string, string | undefined>
  readonly subject: PaymentSubject
  /** By `clock.elapsed()`. */
  readonly deadline: number
}

/** What fetches a transaction with everything that PayPal has for it. */
export type RetrievePayment = (
  subject: PaymentSubject,
  limitMs: number,
) => Promise<Outcome<{ snapshot: PaymentSnapshot }>>

/**
 * Makes the function that fetches a transaction: the order with its captures and refunds, and the objects that no order
 * shows. PayPal cannot list orders, so what has neither an order nor a payment is not found.
 */
export function createRetrievePayment(
  { clock }: Pick<WireContext, 'clock'>,
  { client }: { client: PaypalClient },
): RetrievePayment {
  const callOfRefund = new BoundedMap<string, string | undefined>(ATTRIBUTED_MAX)

  return (subject, limitMs) =>
    retrieve({ client, clock, callOfRefund, subject, deadline: clock.elapsed() + limitMs })
}

async function retrieve(context: RetrieveContext): Promise<Outcome<{ snapshot: PaymentSnapshot }>> {
  try {
    const { reference, paymentId, objects = [] } = context.subject
    if (reference === undefined && paymentId === undefined && !objects.some(({ kind }) => kind === 'dispute'))
      return {
        kind: 'unknown',
        reason: 'PayPal does not list orders: this one can only be found by its id',
      }
    const namedObjects = await fetchNamed(context)
    const snapshot = await fetchSnapshot(context, namedObjects)
    if (!snapshot) return { kind: 'refused', code: 'gone', reason: 'PayPal has no such order or payment' }
    return { kind: 'accepted', snapshot: await withNamed(snapshot, namedObjects) }
  } catch (error) {
    if (error instanceof Stop) return error.outcome
    throw error
  }
}

/** Returns the object with an id; undefined if PayPal has none. */
async function fetchObject(
  context: RetrieveContext,
  collection: string,
  id: string,
): Promise<PaypalFields | undefined> {
  const remainingMs = context.deadline - context.clock.elapsed()
  if (remainingMs <= 0)
    throw new Stop({ kind: 'retry', reason: 'PayPal has too much of this to be read in time' })
  const reply = await context.client.call(`${collection}/${encodeURIComponent(id)}`, {
    limitMs: remainingMs,
  })
  if (reply.kind === 'answered' && isGone(reply)) return undefined
  const outcome = outcomeOf(reply, {
    call: 'read',
    expects: 'the object that was asked for',
    accept(answer) {
      const object = objectOf(answer)
      return (object['id'] ?? object['dispute_id']) === id ? { object } : undefined
    },
  })
  // A call that is refused decides nothing about the transaction.
  if (outcome.kind === 'refused') throw new Stop({ kind: 'unknown', reason: outcome.reason })
  if (outcome.kind !== 'accepted') throw new Stop(outcome)
  return outcome.object
}

const fetchCapture = (context: RetrieveContext, id: string) =>
  fetchObject(context, '/v2/payments/captures', id)

const fetchRefund = (context: RetrieveContext, id: string) => fetchObject(context, '/v2/payments/refunds', id)

/** Fetches what a webhook named. An object that PayPal does not have any more is left out. */
async function fetchNamed(context: RetrieveContext): Promise<Found[]> {
  const objects: Found[] = []
  for (const object of context.subject.objects ?? []) {
    const answer =
      object.kind === 'dispute'
        ? await fetchObject(context, '/v1/customer/disputes', object.id)
        : await fetchRefund(context, object.id)
    if (answer || object.kind === 'reversal') objects.push({ object, answer })
  }
  return objects
}

async function fetchOrder(context: RetrieveContext, reference: string): Promise<PaymentSnapshot | undefined> {
  const answer = await fetchObject(context, '/v2/checkout/orders', reference)
  if (!answer) return undefined
  const view = orderOf(answer)
  if (!view) throw incomplete('an order that can be read')
  const { snapshot, unattributed } = view
  // An order need not show by which call of ours a refund was made; the refund itself does.
  for (const id of unattributed) {
    if (context.callOfRefund.has(id)) continue
    const refund = await fetchRefund(context, id)
    context.callOfRefund.set(id, ourIdOf(refund?.['custom_id']))
  }
  return {
    ...snapshot,
    entries: snapshot.entries.map((entry) => {
      const callId = context.callOfRefund.get(entry.objectId)
      if (entry.kind !== 'refund' || callId === undefined || callId === snapshot.transactionId) return entry
      return { ...entry, callId }
    }),
  }
}

/** A payment whose order is not known any more, or that has none. */
function snapshotOfCapture(capture: PaypalFields, reference: string): PaymentSnapshot {
  const charge = chargeOf(capture, true)
  if (!charge || charge === 'none') throw incomplete('a capture that can be read')
  const transactionId = ourIdOf(capture['custom_id'])
  return {
    reference,
    paymentId: charge.objectId,
    entries: [charge],
    ...(transactionId !== undefined && { transactionId }),
  }
}

async function fetchSnapshot(
  context: RetrieveContext,
  objects: readonly Found[],
): Promise<PaymentSnapshot | undefined> {
  const { reference } = context.subject
  const order = reference === undefined ? undefined : await fetchOrder(context, reference)
  if (order) return order
  const paymentId = context.subject.paymentId ?? paymentOf(objects)
  const capture = paymentId === undefined ? undefined : await fetchCapture(context, paymentId)
  if (!capture || paymentId === undefined) return undefined
  const orderId = orderIdOf(capture)
  const ofCapture =
    orderId === undefined || orderId === reference ? undefined : await fetchOrder(context, orderId)
  return ofCapture ?? snapshotOfCapture(capture, orderId ?? reference ?? paymentId)
}

/** The snapshot with the objects that were named: they are not in the order, or newer than it. */
async function withNamed(snapshot: PaymentSnapshot, objects: readonly Found[]): Promise<PaymentSnapshot> {
  const entries = new Map(snapshot.entries.map((entry) => [entry.objectId, entry]))
  for (const { object, answer } of objects) {
    if (!isOf(snapshot, object.kind, answer)) continue
    const entry =
      object.kind === 'dispute'
        ? disputeOf(answer)?.entry
        : object.kind === 'refund'
          ? refundOf(answer)
          : await reversalOf(object.id, answer, snapshot)
    if (!entry) throw incomplete(`a ${object.kind} that can be read`)
    entries.set(
      object.kind === 'reversal' ? `reversal ${entry.objectId}` : entry.objectId,
      entry.kind === 'refund' ? withoutForeignCall(entry, snapshot.transactionId) : entry,
    )
    // A reversal looks like a refund, and an order may list it as one.
    if (object.kind === 'reversal' && entries.get(object.id)?.kind === 'refund') entries.delete(object.id)
  }
  return { ...snapshot, entries: [...entries.values()] }
}

/** A reversal is an object like a refund, or the capture itself; of the whole payment if PayPal shows neither. */
async function reversalOf(
  id: string,
  answer: unknown,
  snapshot: PaymentSnapshot,
): Promise<LedgerEntry | undefined> {
  const refund: RefundEntry | undefined = refundOf(answer)
  const charge = refund ?? snapshot.entries.find(({ kind }) => kind === 'charge')
  if (!charge) return undefined
  const { amount, currency, createdAt } = charge
  return {
    kind: 'reversal',
    objectId: id,
    status: 'completed',
    amount,
    currency,
    ...(refund && createdAt !== undefined && { createdAt }),
  }
}

/** Whether a named object is of the payment, as far as it says so. */
function isOf(snapshot: PaymentSnapshot, kind: Found['object']['kind'], answer: unknown): boolean {
  const paymentId =
    kind === 'dispute' ? disputeOf(answer)?.paymentId : linkedId(objectOf(answer)['links'], 'captures')
  return paymentId === undefined || snapshot.paymentId === undefined || paymentId === snapshot.paymentId
}

const incomplete = (expected: string): Stop =>
  new Stop({ kind: 'unknown', reason: `PayPal answered 200 without ${expected}` })

/** The payment of a dispute that was fetched. */
const paymentOf = (objects: readonly Found[]): string | undefined => {
  const dispute = objects.find(({ object }) => object.kind === 'dispute')
  return dispute && disputeOf(dispute.answer)?.paymentId
}
