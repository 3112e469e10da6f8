import { errors, invalid } from '../../../base/errors.ts'
import { Type } from '../../../base/schema.ts'
import { json } from '../../../http/bodies.ts'
import { endpoint } from '../../../http/route.ts'
import type { Policy } from '../../../kernel/policy/policy.ts'
import { checkSum, readAmount, readCurrency } from '../ledger/amounts.ts'
import { orderFieldsOf } from '../ledger/merchant-columns.ts'
import type { Captures } from '../operations/captures.ts'
import type { Checkouts } from '../operations/checkouts.ts'
import { operationErrors, causeOf, payErrors, providerIn } from '../errors.ts'
import { NEW_PAYMENTS, PAYMENT_OPERATIONS } from './limits.ts'
import { LIVES, merchantFields, readMerchant } from './merchant-fields.ts'
import type { OperationProvider, PaymentProvider } from '../providers/provider.ts'
import { Currency, Line, ReturnUrl, type ReturnRule } from './schemas.ts'

const ITEMS_MAX = 100
const QUANTITY_MAX = 999_999

/** The words of Stripe's and PayPal's parameters, and where they come from in a request. */
const CHECKOUT_PARAMETERS = {
  success_url: '/body/successUrl',
  cancel_url: '/body/cancelUrl',
  'price_data[product_data][name]': '/body/items',
  line_items: '/body/items',
  customer_email: '/body/email',
  shipping_address_collection: '/body/shippingCountries',
  expires_at: '/body/expiresAt',
}
const ORDER_PARAMETERS = {
  return_url: '/body/returnUrl',
  cancel_url: '/body/cancelUrl',
  description: '/body/description',
  currency_code: '/body/currency',
  amount: '/body/amount',
  email_address: '/body/email',
}

/** The endpoints at which a payment by card or wallet begins, and at which a wallet order is captured. */
export function checkoutEndpoints(wire: {
  checkouts: Checkouts
  captures: Captures
  providers: ReadonlyMap<OperationProvider, PaymentProvider>
  policy: Policy
  returns: ReturnRule
}) {
  const { checkouts, captures, providers, policy } = wire
  const providerOf = (name: OperationProvider): PaymentProvider => providerIn(providers, name)

  return {
    createSession: endpoint(
      {
        limit: NEW_PAYMENTS,
        summary: 'Create a checkout session',
        description:
          'Send the buyer to the url of the answer. The transaction is pending until the provider has the money.',
        access: 'user',
        idempotent: true,
        body: json(
          Type.Object(
            {
              items: Type.Array(
                Type.Object(
                  {
                    name: Line({
                      minLength: 1,
                      maxLength: 250,
                      description: 'What the buyer sees.',
                      examples: ['Momo, paperback'],
                    }),
                    amount: Type.Number({
                      description: 'In minor units of the currency: 1099 is 10.99 EUR.',
                      examples: [1099],
                    }),
                    currency: Currency,
                    quantity: Type.Optional(Type.Integer({ minimum: 1, maximum: QUANTITY_MAX, default: 1 })),
                  },
                  { title: 'CheckoutItem' },
                ),
                {
                  minItems: 1,
                  maxItems: ITEMS_MAX,
                  description: 'All in one currency.',
                  examples: [[{ name: 'Momo, paperback', amount: 1099, currency: 'eur', quantity: 1 }]],
                },
              ),
              successUrl: ReturnUrl(
                wire.returns,
                'Where the buyer goes after paying. Stripe puts the id of the session in the place of {CHECKOUT_SESSION_ID}.',
              ),
              cancelUrl: ReturnUrl(wire.returns, 'Where the buyer goes after cancelling.'),
              shippingCountries: Type.Optional(
                Type.Array(Type.String({ pattern: '^[A-Z]{2}$' }), {
                  minItems: 1,
                  maxItems: 250,
                  uniqueItems: true,
                  description:
                    'The provider asks the buyer where the goods go, in one of these countries (ISO 3166-1 alpha-2).',
                  examples: [['DE', 'AT']],
                }),
              ),
              ...merchantFields(LIVES.cardpay.words),
            },
            { title: 'CreateCheckoutRequest' },
          ),
        ),
        reply: {
          200: Type.Object(
            { sessionId: Type.String(), url: Type.String(), transactionId: Type.String() },
            { title: 'Checkout' },
          ),
        },
        errors: [...operationErrors, errors.forbidden],
      },
      async ({
        body: { items, successUrl, cancelUrl, shippingCountries, ...given },
        caller,
        recordId,
        requestId,
      }) => {
        const { currencies } = providerOf('cardpay')
        const lineItems = items.map((item, at) => {
          const currency = readCurrency(item.currency, currencies, `/body/items/${at}/currency`)
          const unit = { provider: 'cardpay', currency, exponent: currencies[currency]!.exponent } as const
          const quantity = item.quantity ?? 1
          return {
            currency,
            name: item.name,
            amount: readAmount(item.amount, { ...unit, ...currencies[currency] }, `/body/items/${at}/amount`),
            quantity,
          }
        })
        const currency = lineItems[0]!.currency
        const other = lineItems.findIndex((item) => item.currency !== currency)
        if (other !== -1)
          throw invalid({
            path: `/body/items/${other}/currency`,
            message: `must be ${currency}, like the first item: a checkout has one currency`,
          })
        const amount = lineItems.reduce((sum, item) => sum + item.amount * BigInt(item.quantity), 0n)
        checkSum(
          amount,
          { provider: 'cardpay', currency, exponent: currencies[currency]!.exponent },
          '/body/items',
        )
        const merchant = readMerchant(given, { id: recordId, caller, life: LIVES.cardpay })
        const order = {
          amount,
          currency,
          items: lineItems,
          successUrl,
          cancelUrl,
          ...(shippingCountries && { shipping: shippingCountries }),
          ...orderFieldsOf(merchant),
        }
        const { transactionId, reference, url } = await checkouts.create(order, {
          id: recordId,
          merchant,
          provider: 'cardpay',
          cause: causeOf(requestId),
          parameters: CHECKOUT_PARAMETERS,
        })
        return { sessionId: reference, url, transactionId }
      },
    ),
    createOrder: endpoint(
      {
        limit: NEW_PAYMENTS,
        summary: 'Create a wallet order',
        description: 'Send the buyer to the approvalUrl of the answer, then capture the order.',
        access: 'user',
        idempotent: true,
        body: json(
          Type.Object(
            {
              amount: Type.Number({ description: 'A decimal number in major units.', examples: [12.3] }),
              currency: Currency,
              description: Type.Optional(
                Line({ maxLength: 127, description: 'What the buyer sees.', examples: ['Momo, paperback'] }),
              ),
              returnUrl: ReturnUrl(wire.returns, 'Where the buyer goes after approving.'),
              cancelUrl: ReturnUrl(wire.returns, 'Where the buyer goes after cancelling.'),
              hasShipping: Type.Optional(
                Type.Boolean({ description: 'The provider asks the buyer where the goods go.' }),
              ),
              ...merchantFields(LIVES.walletpay.words),
            },
            { title: 'CreateWalletOrderRequest' },
          ),
        ),
        reply: {
          200: Type.Object(
            {
              orderId: Type.String(),
              approvalUrl: Type.String(),
              status: Type.Literal('CREATED'),
              transactionId: Type.String(),
            },
            { title: 'WalletOrder' },
          ),
        },
        errors: [...operationErrors, errors.forbidden],
      },
      async ({ body, caller, recordId, requestId }) => {
        const { currencies } = providerOf('walletpay')
        const currency = readCurrency(body.currency, currencies, '/body/currency')
        const { exponent, multiple } = currencies[currency]!
        const amount = readAmount(
          body.amount,
          { provider: 'walletpay', currency, exponent, multiple },
          '/body/amount',
        )
        const { description, returnUrl: successUrl, cancelUrl } = body
        const merchant = readMerchant(body, { id: recordId, caller, life: LIVES.walletpay })
        const order = {
          amount,
          currency,
          successUrl,
          cancelUrl,
          ...orderFieldsOf(merchant),
          ...(body.hasShipping === true && { shipping: 'anywhere' as const }),
          ...(description !== undefined && description !== '' && { description }),
        }
        const { transactionId, reference, url } = await checkouts.create(order, {
          id: recordId,
          merchant,
          provider: 'walletpay',
          cause: causeOf(requestId),
          parameters: ORDER_PARAMETERS,
        })
        return { orderId: reference, approvalUrl: url, status: 'CREATED', transactionId } as const
      },
    ),
    captureOrder: endpoint(
      {
        limit: PAYMENT_OPERATIONS,
        summary: 'Capture an approved order',
        description:
          'Takes the money. Calling it again is safe: an order that is captured already is answered as the first time.',
        access: 'user',
        idempotent: true,
        params: Type.Object({
          orderId: Type.String({ minLength: 1, maxLength: 100, examples: ['5O190127TN364715T'] }),
        }),
        reply: {
          200: Type.Object(
            {
              orderId: Type.String(),
              status: Type.Enum(['COMPLETED', 'PENDING'], {
                description: 'PENDING while the money is on its way; ask again, or read the transaction.',
              }),
              transactionId: Type.String(),
            },
            { title: 'Capture' },
          ),
        },
        errors: [...operationErrors, errors.not_found, payErrors.invalid_state, payErrors.payment_declined],
      },
      ({ params: { orderId }, caller, requestId }) => {
        providerOf('walletpay')
        return captures.capture(orderId, { rowFilter: policy.rowFilter(caller), cause: causeOf(requestId) })
      },
    ),
  }
}
