// The types of the official package, so that the compiler finds a field that an object lacks. Nothing of it is loaded.
import type { Stripe } from 'stripe'

export type StripeSession = Stripe.Checkout.Session
export type LineItem = Stripe.LineItem
export type PaymentIntent = Stripe.PaymentIntent
export type Charge = Stripe.Charge
export type StripeRefund = Stripe.Refund
export type StripeDispute = Stripe.Dispute
export type BalanceTransaction = Stripe.BalanceTransaction
export type StripeBalance = Stripe.Balance
export type StripeAccount = Stripe.Account

/** An event; `data.object` is the object at its time. */
export type StripeEvent = {
  id: string
  object: 'event'
  api_version: string
  created: number
  data: { object: unknown }
  livemode: false
  pending_webhooks: number
  request: { id: string | null; idempotency_key: string | null }
  type: string
}

/** The version of the API, as the package of this version calls it. */
export const API_VERSION = '2026-10-28.endive'
