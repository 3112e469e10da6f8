import { isoTime } from '../../../server/src/base/clock.ts'
import { parseJson } from '../../../server/src/base/json.ts'
import type { Database } from '../../../server/src/db/database.ts'
import { sql } from '../../../server/src/db/sql.ts'
import { displayAmount } from './currencies.ts'
import { list, type StoredStripeObject } from './objects.ts'
import type { StripeDispute, PaymentIntent, StripeRefund, StripeSession } from './stripe-types.ts'

const PAYMENTS_MAX = 200

/** A payment as `/sandbox/api/cardpay` shows it. */
export type CardPayment = {
  /** The id of the checkout session. */
  id: string
  paymentIntent: string | null
  /** The application's id of the payment. */
  transactionId: string | null
  status: string
  paymentStatus: string
  state: 'open' | 'processing' | 'paid' | 'failed' | 'expired' | 'canceled'
  /** Minor units, as `refunded` and the amounts of refunds. */
  amount: number
  currency: string
  /** Major units. */
  displayAmount: string
  description: string
  /** Where the buyer pays, while the session is open. */
  url: string | null
  refunded: number
  refunds: { id: string; amount: number; status: string }[]
  dispute: { id: string; status: string; reason: string; amount: number } | null
  /** ISO 8601. */
  createdAt: string
}

function stateOf(session: StripeSession, intent: PaymentIntent | undefined): CardPayment['state'] {
  if (session.payment_status === 'paid') return 'paid'
  if (session.status === 'expired') return 'expired'
  if (intent?.status === 'canceled') return 'canceled'
  if (intent?.status === 'processing') return 'processing'
  return session.status === 'complete' ? 'failed' : 'open'
}

const isOver = ({ status }: StripeRefund): boolean => status === 'failed' || status === 'canceled'

function paymentOf(
  { object: session, details }: StoredStripeObject<'session'>,
  intent: PaymentIntent | undefined,
  refunds: readonly StripeRefund[],
  dispute: StripeDispute | undefined,
): CardPayment {
  return {
    id: session.id,
    paymentIntent: intent?.id ?? null,
    transactionId: session.metadata?.['transaction_id'] ?? null,
    status: session.status!,
    paymentStatus: session.payment_status,
    state: stateOf(session, intent),
    amount: session.amount_total!,
    currency: session.currency!.toUpperCase(),
    displayAmount: displayAmount(session.amount_total!, session.currency!),
    description: (details.items ?? []).map((item) => item.description).join(', '),
    url: session.url,
    refunded: refunds.reduce((sum, one) => sum + (isOver(one) ? 0 : one.amount), 0),
    refunds: refunds.map(({ id, amount, status }) => ({ id, amount, status: status! })),
    dispute: dispute
      ? { id: dispute.id, status: dispute.status, reason: dispute.reason, amount: dispute.amount }
      : null,
    createdAt: isoTime(session.created * 1000),
  }
}

/** The newest payments first, each with its refunds in the order of their creation. */
export async function listPayments(db: Database): Promise<CardPayment[]> {
  const sessions = await list(db, 'session', {}, { limit: PAYMENTS_MAX })
  const ids = sessions.flatMap(({ object }) =>
    typeof object.payment_intent === 'string' ? [object.payment_intent] : [],
  )
  const rows =
    ids.length === 0
      ? []
      : await db.all<{ object: string }>(sql`
          select object from sandbox_cardpay_objects
          where id in (${sql.join(ids)})
            or (payment_intent in (${sql.join(ids)}) and kind in ('refund', 'dispute'))
          order by position`)
  const intents = new Map<string, PaymentIntent>()
  const refunds = new Map<string, StripeRefund[]>()
  const disputes = new Map<string, StripeDispute>()
  for (const { object } of rows) {
    const one = parseJson(object) as PaymentIntent | StripeRefund | StripeDispute
    if (one.object === 'payment_intent') intents.set(one.id, one)
    else if (one.object === 'dispute') disputes.set(one.payment_intent as string, one)
    else refunds.getOrInsertComputed(one.payment_intent as string, () => []).push(one)
  }
  return sessions.map((stored) => {
    const id = stored.object.payment_intent as string
    return paymentOf(stored, intents.get(id), refunds.get(id) ?? [], disputes.get(id))
  })
}
