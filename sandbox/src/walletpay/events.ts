import { isoTime } from '../../../server/src/base/clock.ts'
import { newId } from '../../../server/src/base/ids.ts'
import type { Database } from '../../../server/src/db/database.ts'
import { sql, type Sql } from '../../../server/src/db/sql.ts'
import { newEventId } from './ids.ts'
import type { Link } from './errors.ts'
import type { Resource } from './resources.ts'

/** PayPal lists events of the last 30 days. */
const KEPT_MS = 30 * 86_400_000

export const EVENT_TYPES = [
  'CHECKOUT.ORDER.APPROVED',
  'CHECKOUT.ORDER.COMPLETED',
  'CHECKOUT.PAYMENT-APPROVAL.REVERSED',
  'PAYMENT.CAPTURE.PENDING',
  'PAYMENT.CAPTURE.COMPLETED',
  'PAYMENT.CAPTURE.DENIED',
  'PAYMENT.CAPTURE.DECLINED',
  'PAYMENT.CAPTURE.REFUNDED',
  'PAYMENT.CAPTURE.REVERSED',
  'PAYMENT.REFUND.PENDING',
  'PAYMENT.REFUND.FAILED',
  'CUSTOMER.DISPUTE.CREATED',
  'CUSTOMER.DISPUTE.UPDATED',
  'CUSTOMER.DISPUTE.RESOLVED',
] as const
export type EventType = (typeof EVENT_TYPES)[number]

export type PaypalEvent = {
  id: string
  /** Sorts by time of creation. */
  sequence: string
  type: EventType
  objectId: string
  /** The webhook's body. */
  body: string
  createdAt: number
}

type Row = {
  id: string
  sequence: string
  type: EventType
  object_id: string
  body: string
  created_at: number
}

const COLUMNS = sql.literal('id, sequence, type, object_id, body, created_at')

const eventOf = ({ object_id: objectId, created_at: createdAt, ...row }: Row): PaypalEvent => ({
  ...row,
  objectId,
  createdAt,
})

/** The kind and version of the resource in an event: https://developer.paypal.com/api/rest/webhooks/event-names/ */
function kindOf(type: EventType): { resource_type: string; resource_version?: string } {
  if (type === 'CHECKOUT.PAYMENT-APPROVAL.REVERSED') return { resource_type: 'payment_source' }
  if (type.startsWith('CHECKOUT.ORDER')) return { resource_type: 'checkout-order', resource_version: '2.0' }
  if (type.startsWith('CUSTOMER.DISPUTE')) return { resource_type: 'dispute' }
  const isRefund = /REFUND|REVERSED/.test(type)
  return { resource_type: isRefund ? 'refund' : 'capture', resource_version: '2.0' }
}

/** Makes an event; `link` writes an address of the API. */
export function newEvent(
  event: { type: EventType; objectId: string; summary: string; resource: Resource; now: number },
  link: (rel: string, path: string, method?: string) => Link,
): PaypalEvent {
  const { type, objectId, summary, resource, now } = event
  const id = newEventId()
  const path = `/v1/notifications/webhooks-events/${id}`
  const body = JSON.stringify({
    id,
    event_version: '1.0',
    create_time: isoTime(now),
    ...kindOf(type),
    event_type: type,
    summary,
    resource,
    links: [link('self', path), link('resend', `${path}/resend`, 'POST')],
  })
  return { id, sequence: newId(now), type, objectId, body, createdAt: now }
}

export const insertEventSql = (event: PaypalEvent): Sql => sql`
  insert into sandbox_walletpay_events (${COLUMNS})
  values (${event.id}, ${event.sequence}, ${event.type}, ${event.objectId}, ${event.body}, ${event.createdAt})`

export async function findEvent(db: Database, id: string, now: number): Promise<PaypalEvent | undefined> {
  const row = await db.get<Row>(sql`
    select ${COLUMNS} from sandbox_walletpay_events where id = ${id} and created_at >= ${now - KEPT_MS}`)
  return row && eventOf(row)
}

export type EventFilter = {
  /** Milliseconds, both inclusive. */
  since?: number
  until?: number
  type?: string
  /** Only events before this one, by its `sequence`. */
  before?: string
  limit: number
}

/** Lists events, the newest first. */
export async function listEvents(db: Database, filter: EventFilter, now: number): Promise<PaypalEvent[]> {
  const { since = 0, until, type, before, limit } = filter
  const where: Sql[] = [sql`created_at >= ${Math.max(since, now - KEPT_MS)}`]
  if (until !== undefined) where.push(sql`created_at <= ${until}`)
  if (type !== undefined) where.push(sql`type = ${type}`)
  if (before !== undefined) where.push(sql`sequence < ${before}`)
  // They are few, and asked for at each start, which needs no thread for scans otherwise.
  const rows = await db.all<Row>(sql`
    select ${COLUMNS} from sandbox_walletpay_events
    where ${sql.join(where, ' and ')} order by sequence desc limit ${limit}`)
  return rows.map(eventOf)
}
