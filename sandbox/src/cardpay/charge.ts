import { newObjectId } from './object-id.ts'
import type { IntentData } from './checkout-session.ts'
import type { Charge, PaymentIntent, StripeSession } from './stripe-types.ts'
import { brandOf, type Decline } from './test-cards.ts'

/** Who pays, as far as it is known. */
export type Buyer = { name?: string; email?: string }

/** How a buyer pays. */
export type PaymentMethod = Buyer & ({ card: string } | { debit: string })

const FINGERPRINT = 'sandbox000000000'

/** A payment intent that waits for a payment method. */
export const newIntent = (session: StripeSession, intent: IntentData, now: number): PaymentIntent => {
  const id = newObjectId('payment_intent')
  return {
    id,
    object: 'payment_intent',
    allowed_payment_method_types: null,
    amount: session.amount_total!,
    amount_capturable: 0,
    amount_details: { tip: {} },
    amount_received: 0,
    application: null,
    application_fee_amount: null,
    automatic_payment_methods: null,
    canceled_at: null,
    cancellation_reason: null,
    capture_method: 'automatic_async',
    client_secret: `${id}_secret_${id.slice(-12)}`,
    confirmation_method: 'automatic',
    created: now,
    currency: session.currency!,
    customer: null,
    customer_account: null,
    description: intent.description ?? null,
    excluded_payment_method_types: null,
    last_payment_error: null,
    latest_charge: null,
    livemode: false,
    managed_payments: null,
    metadata: intent.metadata,
    next_action: null,
    on_behalf_of: null,
    payment_method: null,
    payment_method_configuration_details: null,
    payment_method_options: {},
    payment_method_types: session.payment_method_types,
    payment_record: null,
    processing: null,
    receipt_email: intent.receiptEmail ?? null,
    review: null,
    setup_future_usage: null,
    shipping: null,
    source: null,
    statement_descriptor: null,
    statement_descriptor_suffix: null,
    status: 'requires_payment_method',
    transfer_data: null,
    transfer_group: null,
  }
}

function methodDetails(method: PaymentMethod): NonNullable<Charge['payment_method_details']> {
  if ('debit' in method)
    return {
      type: method.debit,
      [method.debit]: { fingerprint: FINGERPRINT, last4: '3000', mandate: null },
    }
  return {
    type: 'card',
    card: {
      amount_authorized: null,
      authorization_code: null,
      brand: brandOf(method.card),
      checks: { address_line1_check: null, address_postal_code_check: null, cvc_check: 'pass' },
      country: 'US',
      electronic_commerce_indicator: null,
      exp_month: 12,
      exp_year: 2034,
      extended_authorization: { status: 'disabled' },
      fingerprint: FINGERPRINT,
      funding: 'credit',
      incremental_authorization: { status: 'unavailable' },
      installments: null,
      last4: method.card.slice(-4),
      mandate: null,
      multicapture: { status: 'unavailable' },
      network: brandOf(method.card),
      network_token: { used: false },
      network_transaction_id: null,
      overcapture: { maximum_amount_capturable: 0, status: 'unavailable' },
      regulated_status: 'unregulated',
      three_d_secure: null,
      transaction_link_id: null,
      wallet: null,
    },
  }
}

const outcomeOf = (decline: Decline | undefined): NonNullable<Charge['outcome']> => ({
  advice_code: null,
  network_advice_code: null,
  network_decline_code: null,
  network_status: decline ? 'declined_by_network' : 'approved_by_network',
  reason: decline?.declineCode ?? decline?.code ?? null,
  risk_level: 'normal',
  risk_score: 1,
  seller_message: decline ? 'The bank declined the payment.' : 'Payment complete.',
  type: decline ? 'issuer_declined' : 'authorized',
})

/** A charge of a payment intent; one with a decline has failed. */
export const newCharge = (
  intent: PaymentIntent,
  method: PaymentMethod,
  now: number,
  status: 'succeeded' | 'pending' | { decline: Decline },
): Charge => {
  const decline = typeof status === 'object' ? status.decline : undefined
  return {
    id: newObjectId('charge'),
    object: 'charge',
    amount: intent.amount,
    amount_captured: status === 'succeeded' ? intent.amount : 0,
    amount_refunded: 0,
    application: null,
    application_fee: null,
    application_fee_amount: null,
    balance_transaction: null,
    billing_details: {
      address: { city: null, country: null, line1: null, line2: null, postal_code: null, state: null },
      email: method.email ?? null,
      name: method.name ?? null,
      phone: null,
      tax_id: null,
    },
    calculated_statement_descriptor: 'SIXWIRE SANDBOX',
    captured: status === 'succeeded',
    created: now,
    currency: intent.currency,
    customer: null,
    description: intent.description,
    disputed: false,
    failure_balance_transaction: null,
    failure_code: decline?.code ?? null,
    failure_message: decline?.message ?? null,
    fraud_details: {},
    livemode: false,
    metadata: intent.metadata,
    on_behalf_of: null,
    outcome: outcomeOf(decline),
    paid: status === 'succeeded',
    payment_intent: intent.id,
    payment_method: newObjectId('payment_method'),
    payment_method_details: methodDetails(method),
    receipt_email: intent.receipt_email,
    receipt_number: null,
    receipt_url: null,
    refunded: false,
    review: null,
    shipping: null,
    source: null,
    source_transfer: null,
    statement_descriptor: null,
    statement_descriptor_suffix: null,
    status: decline ? 'failed' : (status as string),
    transfer_data: null,
    transfer_group: null,
  }
}
