import type { Outcome, ProviderEvent, PaymentSubject } from '../provider.ts'
import { Ended, pages, type StripeClient } from './stripe-client.ts'
import { fieldsOf, idOf, metadataOf, momentOf, type StripeFields } from './stripe-fields.ts'

/** The events that are used, at most 20 for a list: https://docs.stripe.com/api/events/types */
export const EVENT_TYPES = [
  'checkout.session.completed',
  'checkout.session.async_payment_succeeded',
  'checkout.session.async_payment_failed',
  'checkout.session.expired',
  'payment_intent.canceled',
  'payment_intent.payment_failed',
  'payment_intent.processing',
  'payment_intent.succeeded',
  'charge.refunded',
  'charge.updated',
  'charge.refund.updated',
  'charge.dispute.closed',
  'charge.dispute.created',
  'charge.dispute.funds_reinstated',
  'charge.dispute.funds_withdrawn',
  'charge.dispute.updated',
  'refund.created',
  'refund.failed',
  'refund.updated',
] as const

const TYPE = /^[\w.]{1,255}$/
/** An event may be listed later than another one that was created after it. */
const LAG_MS = 60_000
/** A window with less than half a page of events is followed by a longer one. */
const FEW_EVENTS = 50

/**
 * Reads an event; undefined if it is none. It has no subject if it is about nothing of ours, or of another mode than the
 * key.
 *
 * @param isLive the mode of the key
 */
export function eventOf(value: unknown, isLive: boolean): ProviderEvent | undefined {
  const event = fieldsOf(value)
  const id = idOf(event)
  const { type } = event
  if (id === undefined || typeof type !== 'string' || !TYPE.test(type)) return undefined
  // Events of the second API (v2.core.event) have no object: https://docs.stripe.com/event-destinations
  const isUsed = event['object'] === 'event' && event['livemode'] === isLive
  const subject = isUsed ? subjectOf(fieldsOf(fieldsOf(event['data'])['object'])) : undefined
  return { id, type, ...(subject && { subject }) }
}

/** Which transaction an object is about. */
function subjectOf(object: StripeFields): PaymentSubject | undefined {
  const id = idOf(object)
  if (id === undefined) return undefined
  const transactionId = metadataOf(object, 'transaction_id')
  const ours = transactionId === undefined ? {} : { transactionId }
  const paymentId = idOf(object['payment_intent'])
  const payment = paymentId === undefined ? {} : { paymentId }
  switch (object['object']) {
    case 'checkout.session':
      return { reference: id, ...payment, ...ours }
    case 'payment_intent':
      return { paymentId: id, ...ours }
    case 'charge':
      return paymentId === undefined ? undefined : { paymentId, ...ours }
    case 'refund':
    case 'dispute':
      if (paymentId === undefined && transactionId === undefined) return undefined
      return { ...payment, ...ours, objects: [{ kind: object['object'], id }] }
    default:
      return undefined
  }
}

/**
 * Lists the events since a time, the oldest first. Stripe lists the newest first, so that a list of many is complete only at
 * its end: they are listed in windows of time, each of about a page.
 *
 * @returns with `until`, up to which the list is complete
 */
export async function listEvents(
  client: StripeClient,
  { since, limitMs, isLive }: { since: number; limitMs: number; isLive: boolean },
): Promise<Outcome<{ events: readonly ProviderEvent[]; until: number }>> {
  const events: ProviderEvent[] = []
  const first = Math.max(0, Math.floor(since / 1000))
  let start = first
  const outcome = await client.run({ limitMs, expects: 'events', isRead: true }, async (stripe, options) => {
    // Seconds; undefined without an end.
    let length: number | undefined
    let newest = 0
    for (;;) {
      const end = length === undefined ? undefined : start + length - 1
      const creationRange = { gte: start, ...(end !== undefined && { lte: end }) }
      const window = pages((page) =>
        stripe.events.list({ created: creationRange, types: [...EVENT_TYPES], ...page }, options()),
      )
      const { objects, isLast } = await read(window, length === 1)
      if (end === undefined) newest = newestOf(objects, start)
      if (!isLast) {
        // Halve the window; one of a second is read to its end.
        const last = Math.min(newestOf(objects, start), end ?? Infinity)
        length = Math.max(1, Math.floor((last - start + 1) / 2))
        continue
      }
      events.push(...objects.toReversed().flatMap((one) => eventOf(one, isLive) ?? []))
      if (end === undefined) return { events, until: Math.max(since, newest * 1000 - LAG_MS) }
      start = end + 1
      if (objects.length < FEW_EVENTS) length = length! * 2
      if (start + length! > newest) length = undefined
    }
  })
  // The windows before the error are complete.
  if (outcome.kind !== 'accepted' && start > first) return { kind: 'accepted', events, until: start * 1000 }
  return outcome
}

/** The first page of a window, or all of them. */
async function read(
  window: ReturnType<typeof pages>,
  isWhole: boolean,
): Promise<{ objects: readonly StripeFields[]; isLast: boolean }> {
  const objects: StripeFields[] = []
  for await (const page of window) {
    objects.push(...page.objects)
    if (page.isLast || !isWhole) return { objects, isLast: page.isLast }
  }
  return { objects, isLast: true }
}

/** The newest time of events, in seconds; `start` if there are none. */
function newestOf(objects: readonly StripeFields[], start: number): number {
  let newest = start
  for (const { created } of objects) {
    if (momentOf(created) === undefined)
      throw new Ended({ kind: 'unknown', reason: 'Stripe answered an event without a time' })
    newest = Math.max(newest, created as number)
  }
  return newest
}
