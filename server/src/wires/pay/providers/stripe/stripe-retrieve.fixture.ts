// What the tests retrieve, and the entries that it is read as.
import type Stripe from 'stripe'

import type { LedgerEntry, PaymentSubject } from '../provider.ts'
import {
  answers,
  charge,
  CREATED,
  open,
  ORDER,
  PATIENCE,
  payment,
  REFUND,
  serve,
  session,
  type Account,
} from '../stripe.fixture.ts'

export const EUR = { amount: 3599n, currency: 'EUR' }
export const SESSION = { kind: 'session', objectId: 'cs_1', createdAt: CREATED * 1000, ...EUR } as const
export const CHARGE = { kind: 'charge', objectId: 'pi_1', createdAt: (CREATED + 1) * 1000, ...EUR } as const
export const PAID: LedgerEntry = { ...CHARGE, status: 'completed' }
export const REFUNDED = {
  kind: 'refund',
  objectId: 're_1',
  amount: 1000n,
  currency: 'EUR',
  callId: REFUND.id,
  createdAt: (CREATED + 2) * 1000,
} as const
export const DISPUTED = {
  kind: 'dispute',
  objectId: 'dp_1',
  reason: 'fraudulent',
  createdAt: (CREATED + 3) * 1000,
  ...EUR,
} as const

export const complete = (status: Stripe.PaymentIntent.Status, more: Partial<Stripe.PaymentIntent> = {}) =>
  session({
    status: 'complete',
    payment_status: status === 'succeeded' ? 'paid' : 'unpaid',
    payment_intent: payment({ status, ...more }),
  })
export const paid = complete('succeeded')
export const disputed = complete('succeeded', { latest_charge: charge({ disputed: true }) as Stripe.Charge })
export const movements = (count: number) =>
  Array.from({ length: count }, () => ({}) as Stripe.BalanceTransaction)

/** Looks a transaction up over an account. */
export async function retrieve(
  t: Parameters<typeof serve>[0],
  account: Partial<Account>,
  subject: PaymentSubject = { reference: 'cs_1' },
  size?: number,
) {
  const { apiBase, asked } = await serve(t, answers(account, size))
  const outcome = await open({ apiBase }).retrieve({ ...subject, since: ORDER.createdAt }, PATIENCE)
  return { outcome, asked }
}
