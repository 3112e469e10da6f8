import { checkDigits, checkTotal, readCurrency } from './currencies.ts'
import { invalidParameter, missing, StripeError } from './errors.ts'
import { newObjectId } from './object-id.ts'
import type { StripeParameters } from './parameters.ts'
import type { LineItem, StripeSession } from './stripe-types.ts'

const ITEMS_MAX = 100
const NAME_MAX = 250
const DESCRIPTION_MAX = 1_000
const QUANTITY_MAX = 999_999
const LIFE_S = 86_400
const SHORTEST_LIFE_S = 1_800

/** The bank debits of the currencies that have one: they are paid days later. */
const BANK_DEBITS: Readonly<Record<string, string>> = {
  aud: 'au_becs_debit',
  cad: 'acss_debit',
  eur: 'sepa_debit',
  gbp: 'bacs_debit',
  usd: 'us_bank_account',
}

/** The payment method of a session that is paid later, if it has one. */
export const bankDebitOf = ({ payment_method_types: types }: StripeSession): string | undefined =>
  types.find((type) => Object.values(BANK_DEBITS).includes(type))

/** Parameters that change the page or other products of Stripe, and nothing here. */
const WITHOUT_EFFECT = `allow_promotion_codes automatic_tax billing_address_collection branding_settings
  consent_collection custom_text customer_creation adaptive_pricing
  invoice_creation locale origin_context payment_method_options
  phone_number_collection submit_type wallet_options`.split(/\s+/)

function readItem(item: StripeParameters, now: number): LineItem {
  const priceId = item.text('price')
  if (priceId !== undefined) throw missing('price', priceId, item.name('price'))
  const quantity = item.integer('quantity', { least: 1, most: QUANTITY_MAX })
  if (quantity === undefined)
    throw invalidParameter(
      item.name('quantity'),
      `Missing required param: ${item.name('quantity')}.`,
      'parameter_missing',
    )
  const price = item.child('price_data')
  if (!price)
    throw invalidParameter(
      item.name('price_data'),
      `Missing required param: ${item.name('price_data')}.`,
      'parameter_missing',
    )
  const currency = readCurrency(price.requiredText('currency'), price.name('currency'))
  const amount = price.integer('unit_amount')
  if (amount === undefined)
    throw invalidParameter(
      price.name('unit_amount'),
      `Missing required param: ${price.name('unit_amount')}.`,
      'parameter_missing',
    )
  checkDigits(amount, currency, price.name('unit_amount'))
  price.ignore('tax_behavior')
  const product = price.child('product_data')
  if (!product)
    throw invalidParameter(
      price.name('product_data'),
      `Missing required param: ${price.name('product_data')}.`,
      'parameter_missing',
    )
  const name = product.requiredText('name', NAME_MAX)
  product.text('description', DESCRIPTION_MAX)
  product.metadata()
  product.ignore('images', 'tax_code')
  const total = amount * quantity
  if (!Number.isSafeInteger(total))
    throw invalidParameter(item.name('quantity'), 'The amount is too large.', 'amount_too_large')
  return {
    id: newObjectId('item'),
    object: 'item',
    adjustable_quantity: null,
    amount_discount: 0,
    amount_subtotal: total,
    amount_tax: 0,
    amount_total: total,
    currency,
    description: name,
    metadata: {},
    price: {
      id: newObjectId('price'),
      object: 'price',
      active: false,
      billing_scheme: 'per_unit',
      created: now,
      currency,
      custom_unit_amount: null,
      livemode: false,
      lookup_key: null,
      metadata: {},
      nickname: null,
      product: newObjectId('product'),
      recurring: null,
      tax_behavior: 'unspecified',
      tiers_mode: null,
      transform_quantity: null,
      type: 'one_time',
      unit_amount: amount,
      // The package makes a Decimal of the text in the answer.
      unit_amount_decimal: String(amount) as never,
    },
    quantity,
  }
}

function readItems(params: StripeParameters, now: number): LineItem[] {
  const children = params.children('line_items')
  if (children.length === 0)
    throw invalidParameter('line_items', 'Missing required param: line_items.', 'parameter_missing')
  if (children.length > ITEMS_MAX)
    throw invalidParameter('line_items', `Array line_items can have at most ${ITEMS_MAX} items.`)
  const items = children.map((child) => readItem(child, now))
  const [{ currency }] = items as [LineItem]
  if (items.some((item) => item.currency !== currency))
    throw invalidParameter('line_items', 'All line items must have the same `currency`.')
  return items
}

function readExpiry(params: StripeParameters, now: number): number {
  const expiresAt = params.integer('expires_at') ?? now + LIFE_S
  if (expiresAt < now + SHORTEST_LIFE_S || expiresAt > now + LIFE_S)
    throw invalidParameter(
      'expires_at',
      'The `expires_at` timestamp must be between 30 minutes and 24 hours from Checkout Session creation.',
    )
  return expiresAt
}

function readShipping(params: StripeParameters): StripeSession['shipping_address_collection'] {
  const child = params.child('shipping_address_collection')
  if (!child) return null
  const countries = child.texts('allowed_countries')
  const wrong = countries.find((country) => !/^[A-Z]{2}$/.test(country))
  if (countries.length === 0 || wrong !== undefined)
    throw invalidParameter(
      child.name('allowed_countries'),
      `Invalid ${child.name('allowed_countries')}: must be two-letter codes of countries.`,
    )
  return {
    allowed_countries: countries,
  }
}

/** What a payment intent gets from its session. */
export type IntentData = { description?: string; receiptEmail?: string; metadata: Record<string, string> }

function readIntentData(params: StripeParameters): IntentData {
  const child = params.child('payment_intent_data')
  if (!child) return { metadata: {} }
  const capture = child.choice('capture_method', ['automatic', 'automatic_async', 'manual'])
  if (capture === 'manual')
    throw invalidParameter(child.name('capture_method'), 'The sandbox captures payments automatically only.')
  const [description, receiptEmail] = [
    child.text('description', DESCRIPTION_MAX),
    child.text('receipt_email'),
  ]
  child.ignore(
    'setup_future_usage',
    'statement_descriptor',
    'statement_descriptor_suffix',
    'transfer_group',
    'shipping',
  )
  return {
    metadata: child.metadata(),
    ...(description !== undefined && { description }),
    ...(receiptEmail !== undefined && { receiptEmail }),
  }
}

function readMethods(params: StripeParameters, currency: string): string[] {
  const debit = BANK_DEBITS[currency]
  const offered = ['card', ...(debit === undefined ? [] : [debit])]
  const excluded = params.texts('excluded_payment_method_types')
  const methods = params.texts('payment_method_types')
  const unknown = methods.find((type) => !offered.includes(type))
  if (unknown !== undefined)
    throw invalidParameter(
      'payment_method_types',
      `The payment method type provided: ${unknown.slice(0, 40)} is invalid. In ${currency} the sandbox offers ${offered.join(', ')}.`,
    )
  return (methods.length > 0 ? methods : offered).filter((type) => !excluded.includes(type))
}

/**
 * Reads a checkout session to create.
 *
 * @param urlOf the address of a session's page
 * @throws StripeError with the parameter that can't work
 */
export function readSession(
  params: StripeParameters,
  now: number,
  urlOf: (id: string) => string,
): { session: StripeSession; items: LineItem[]; intent: IntentData } {
  const mode = params.text('mode') ?? 'payment'
  if (mode !== 'payment') throw invalidParameter('mode', 'The sandbox supports the mode `payment` only.')
  const uiMode = params.text('ui_mode') ?? 'hosted_page'
  if (uiMode !== 'hosted' && uiMode !== 'hosted_page')
    throw invalidParameter('ui_mode', 'The sandbox supports the hosted page only.')
  const successUrl = params.url('success_url')
  if (successUrl === undefined)
    throw invalidParameter('success_url', 'Missing required param: success_url.', 'parameter_missing')
  const cancelUrl = params.url('cancel_url') ?? null
  const customer = params.text('customer')
  if (customer !== undefined) throw missing('customer', customer, 'customer')
  const items = readItems(params, now)
  const { currency } = items[0]!
  const wantedCurrency = params.text('currency')
  if (wantedCurrency !== undefined && readCurrency(wantedCurrency, 'currency') !== currency)
    throw invalidParameter('currency', 'The `currency` differs from that of the line items.')
  const total = items.reduce((sum, item) => sum + item.amount_total, 0)
  if (!Number.isSafeInteger(total))
    throw new StripeError(400, 'The amount is too large.', { code: 'amount_too_large', param: 'line_items' })
  checkTotal(total, currency)
  params.ignore(...WITHOUT_EFFECT)
  const id = newObjectId('session')
  const session: StripeSession = {
    id,
    object: 'checkout.session',
    adaptive_pricing: { enabled: false },
    after_expiration: null,
    allow_promotion_codes: null,
    allowed_payment_method_types: null,
    amount_subtotal: total,
    amount_total: total,
    automatic_tax: { enabled: false, liability: null, provider: null, status: null },
    billing_address_collection: null,
    cancel_url: cancelUrl,
    client_reference_id: params.text('client_reference_id', 200) ?? null,
    client_secret: null,
    collected_information: null,
    consent: null,
    consent_collection: null,
    created: now,
    currency,
    currency_conversion: null,
    custom_fields: [],
    custom_text: {
      after_submit: null,
      shipping_address: null,
      submit: null,
      terms_of_service_acceptance: null,
    },
    customer: null,
    customer_account: null,
    customer_creation: 'if_required',
    customer_details: null,
    customer_email: params.text('customer_email', 800) ?? null,
    discounts: [],
    expires_at: readExpiry(params, now),
    integration_identifier: params.text('integration_identifier') ?? null,
    invoice: null,
    invoice_creation: null,
    livemode: false,
    locale: null,
    managed_payments: null,
    metadata: params.metadata(),
    mode: 'payment',
    origin_context: null,
    payment_intent: null,
    payment_link: null,
    payment_method_collection: 'if_required',
    payment_method_configuration_details: null,
    payment_method_options: {},
    payment_method_types: readMethods(params, currency),
    payment_status: 'unpaid',
    permissions: null,
    phone_number_collection: { enabled: false },
    recovered_from: null,
    saved_payment_method_options: null,
    setup_intent: null,
    shipping_address_collection: readShipping(params),
    shipping_cost: null,
    shipping_options: [],
    status: 'open',
    submit_type: null,
    subscription: null,
    success_url: successUrl,
    total_details: { amount_discount: 0, amount_shipping: 0, amount_tax: 0 },
    ui_mode: 'hosted_page',
    url: urlOf(id),
    wallet_options: null,
  }
  return { session, items, intent: readIntentData(params) }
}
