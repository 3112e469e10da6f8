import { Type } from '../../base/schema.ts'
import { errors, invalid } from '../../base/errors.ts'
import { idPattern } from '../../base/ids.ts'
import { json, raw } from '../../http/bodies.ts'
import type { RawRequest } from '../../http/raw-request.ts'
import { healthRoute } from '../../http/health-route.ts'
import { pageOf, PageQuery, PageReply } from '../../http/page.ts'
import { route } from '../../http/route.ts'
import type { Policy } from '../../kernel/policy.ts'
import { PROVIDER_STATUS } from '../../providers/health.ts'
import { receiveErrors } from '../../providers/receive.ts'
import { checkSum, readAmount, readCurrency } from './amounts.ts'
import type { Captures } from './captures.ts'
import type { Checkouts } from './checkouts.ts'
import { notConfigured, payErrors, type CallProvider } from './errors.ts'
import type { PayHealth } from './health.ts'
import { requestRoutes } from './requests/request-routes.ts'
import type { PaymentRequests } from './requests/requests.ts'
import { PROVIDERS, type PaymentProvider } from './provider.ts'
import type { Refunds } from './refunds.ts'
import { Currency, Line, Refund, ReturnUrl, Transaction, TransactionDetails } from './schemas.ts'
import { STATUSES } from './state.ts'
import type { TransactionRow } from './transaction-rows.ts'
import type { Transactions } from './transactions.ts'
import type { Webhooks } from './webhooks.ts'

const ITEMS_MAX = 100
const QUANTITY_MAX = 999_999
const WEBHOOK_BYTES = 1_048_576
/** For each client address: a provider sends the events of all payments from a few addresses. */
const WEBHOOKS_LIMIT = '60000/min'

/** What a service key needs to give money back, without the rights to the whole wire. */
const OPERATOR_SCOPE = 'pay:refund'

const Id = (description: string) =>
  Type.String({ pattern: idPattern, description, examples: ['01arz3ndektsv4rrffq69g5fav'] })

const Received = Type.Object({ received: Type.Literal(true) }, { title: 'Received' })

const RefundCurrency = Type.Optional(
  Type.String({
    minLength: 3,
    maxLength: 3,
    description: 'That of the payment; another one is refused.',
    examples: ['EUR'],
  }),
)

const REFUND_AMOUNTS: Readonly<Record<CallProvider, { description: string; examples: number[] }>> = {
  cardpay: { description: 'In minor units.', examples: [500] },
  walletpay: { description: 'A decimal number in major units.', examples: [6.15] },
}

/** The words of Stripe's and PayPal's parameters, and where they come from in a request. */
const CHECKOUT_PARAMETERS = {
  success_url: '/body/successUrl',
  cancel_url: '/body/cancelUrl',
  'price_data[product_data][name]': '/body/items',
  line_items: '/body/items',
}
const ORDER_PARAMETERS = {
  return_url: '/body/returnUrl',
  cancel_url: '/body/cancelUrl',
  description: '/body/description',
  currency_code: '/body/currency',
  amount: '/body/amount',
}

const callErrors = [errors.provider_not_configured, payErrors.provider_error] as const

/** All routes of the wire. */
export function payRoutes(wire: {
  checkouts: Checkouts
  captures: Captures
  refunds: Refunds
  transactions: Transactions
  webhooks: Webhooks
  /** Undefined: nothing configures the receiving addresses. */
  requests: PaymentRequests | undefined
  providers: ReadonlyMap<CallProvider, PaymentProvider>
  health: () => Promise<PayHealth>
  policy: Policy
  publicUrl: string
  isProduction: boolean
}) {
  const { checkouts, captures, refunds, transactions, webhooks, providers, health, policy } = wire

  function providerOf(name: CallProvider): PaymentProvider {
    const provider = providers.get(name)
    if (!provider) throw notConfigured(name)
    return provider
  }

  const causeOf = (requestId: string): string => `request ${requestId}`

  /** The amount of a refund, in the unit of the transaction's provider. */
  const amountOf = (value: number | undefined, provider: CallProvider) =>
    value === undefined
      ? undefined
      : (row: TransactionRow): bigint =>
          readAmount(
            value,
            { ...row, multiple: providerOf(provider).currencies[row.currency]?.multiple },
            '/body/amount',
          )

  const webhook = async (provider: CallProvider, body: RawRequest) => {
    const publicUrl = `${wire.publicUrl}/pay/${provider}/webhook`
    await webhooks.receive(provider, { ...body, publicUrl })
    return { received: true } as const
  }
  const webhookSpec = (provider: CallProvider) =>
    ({
      access: 'public',
      limit: WEBHOOKS_LIMIT,
      limitIn: 'process',
      authorize: (headers) => webhooks.authorize(provider, headers),
      body: raw({ maxBytes: WEBHOOK_BYTES }),
      reply: { 200: Received },
      errors: [receiveErrors.invalid_signature, errors.provider_not_configured, errors.unavailable],
    }) as const satisfies Omit<Parameters<typeof route>[1], 'summary'>

  const refundRoute = <const P extends CallProvider>(provider: P) =>
    route(
      `POST /pay/${provider}/refund` as const,
      {
        summary: `Refund a ${provider === 'cardpay' ? 'card' : 'wallet'} payment`,
        description:
          'Without an amount, all that is left is refunded. In production, and under the policy guarded, administrators and service keys only.',
        access: 'admin',
        irreversible: true,
        scope: OPERATOR_SCOPE,
        idempotent: true,
        body: json(
          Type.Object({
            transactionId: Id('The _id of the transaction.'),
            amount: Type.Optional(Type.Number(REFUND_AMOUNTS[provider])),
            currency: RefundCurrency,
          }),
        ),
        reply: { 200: Refund },
        errors: [...callErrors, errors.not_found, payErrors.invalid_state, payErrors.amount_exceeded],
      },
      ({ body: { transactionId, amount, currency }, caller, recordId, requestId }) =>
        refunds.refund({
          id: recordId,
          transactionId,
          provider,
          amount: amountOf(amount, provider),
          currency,
          rowFilter: policy.rowFilter(caller),
          cause: causeOf(requestId),
        }),
    )

  return [
    route(
      'POST /pay/cardpay/checkout',
      {
        summary: 'Create a checkout session',
        description:
          'Send the buyer to the url of the answer. The transaction is pending until the provider has the money.',
        access: 'user',
        idempotent: true,
        body: json(
          Type.Object({
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
            successUrl: ReturnUrl(wire.isProduction, 'Where the buyer goes after paying.'),
            cancelUrl: ReturnUrl(wire.isProduction, 'Where the buyer goes after cancelling.'),
          }),
        ),
        reply: {
          200: Type.Object(
            { sessionId: Type.String(), url: Type.String(), transactionId: Type.String() },
            { title: 'Checkout' },
          ),
        },
        errors: callErrors,
      },
      async ({ body: { items, successUrl, cancelUrl }, caller, recordId, requestId }) => {
        const { currencies } = providerOf('cardpay')
        const read = items.map((item, at) => {
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
        const currency = read[0]!.currency
        const other = read.findIndex((item) => item.currency !== currency)
        if (other !== -1)
          throw invalid({
            path: `/body/items/${other}/currency`,
            message: `must be ${currency}, like the first item: a checkout has one currency`,
          })
        const amount = read.reduce((sum, item) => sum + item.amount * BigInt(item.quantity), 0n)
        checkSum(amount, '/body/items')
        const order = { amount, currency, items: read, successUrl, cancelUrl }
        const { transactionId, reference, url } = await checkouts.create(order, {
          id: recordId,
          caller,
          provider: 'cardpay',
          cause: causeOf(requestId),
          parameters: CHECKOUT_PARAMETERS,
        })
        return { sessionId: reference, url, transactionId }
      },
    ),
    refundRoute('cardpay'),
    route(
      'POST /pay/cardpay/webhook',
      { ...webhookSpec('cardpay'), summary: 'Receive an event of the card provider' },
      ({ body }) => webhook('cardpay', body),
    ),
    route(
      'POST /pay/walletpay/order',
      {
        summary: 'Create a wallet order',
        description: 'Send the buyer to the approvalUrl of the answer, then capture the order.',
        access: 'user',
        idempotent: true,
        body: json(
          Type.Object({
            amount: Type.Number({ description: 'A decimal number in major units.', examples: [12.3] }),
            currency: Currency,
            description: Type.Optional(
              Line({ maxLength: 127, description: 'What the buyer sees.', examples: ['Momo, paperback'] }),
            ),
            returnUrl: ReturnUrl(wire.isProduction, 'Where the buyer goes after approving.'),
            cancelUrl: ReturnUrl(wire.isProduction, 'Where the buyer goes after cancelling.'),
          }),
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
        errors: callErrors,
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
        const order = {
          amount,
          currency,
          successUrl,
          cancelUrl,
          ...(description !== undefined && description !== '' && { description }),
        }
        const { transactionId, reference, url } = await checkouts.create(order, {
          id: recordId,
          caller,
          provider: 'walletpay',
          cause: causeOf(requestId),
          parameters: ORDER_PARAMETERS,
        })
        return { orderId: reference, approvalUrl: url, status: 'CREATED', transactionId } as const
      },
    ),
    route(
      'POST /pay/walletpay/capture/:orderId',
      {
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
        errors: [...callErrors, errors.not_found, payErrors.invalid_state, payErrors.payment_declined],
      },
      ({ params: { orderId }, caller, requestId }) => {
        providerOf('walletpay')
        return captures.capture(orderId, { rowFilter: policy.rowFilter(caller), cause: causeOf(requestId) })
      },
    ),
    refundRoute('walletpay'),
    route(
      'POST /pay/walletpay/webhook',
      { ...webhookSpec('walletpay'), summary: 'Receive an event of the wallet provider' },
      ({ body }) => webhook('walletpay', body),
    ),
    ...requestRoutes(wire),
    route(
      'GET /pay/transactions',
      {
        summary: 'List transactions',
        access: 'user',
        readsOnly: true,
        query: Type.Object({
          ...PageQuery,
          provider: Type.Optional(Type.Enum(PROVIDERS)),
          status: Type.Optional(Type.Enum(STATUSES)),
          reference: Type.Optional(
            Type.String({
              maxLength: 300,
              description: 'The id of a checkout session, order or payment request.',
            }),
          ),
          from: Type.Optional(
            Type.String({ format: 'date-time', description: 'Created at this time or later.' }),
          ),
          to: Type.Optional(Type.String({ format: 'date-time', description: 'Created before this time.' })),
        }),
        reply: {
          200: Type.Object(
            { transactions: Type.Array(Transaction), ...PageReply },
            { title: 'TransactionPage' },
          ),
        },
      },
      async ({ query: { provider, status, reference, from, to, ...query }, caller }) => {
        const page = pageOf(query)
        const filters = {
          ...(provider !== undefined && { provider }),
          ...(status !== undefined && { status }),
          ...(reference !== undefined && { reference }),
          ...(from !== undefined && { from: timeOf(from, '/query/from') }),
          ...(to !== undefined && { to: timeOf(to, '/query/to') }),
        }
        const { limit, offset } = page
        return { ...(await transactions.list(policy.rowFilter(caller), filters, page)), limit, offset }
      },
    ),
    route(
      'GET /pay/transactions/:id',
      {
        summary: 'Get a transaction',
        description: 'With its refunds, its dispute, and each change of its status.',
        access: 'user',
        readsOnly: true,
        params: Type.Object({ id: Type.String({ maxLength: 64, examples: ['01arz3ndektsv4rrffq69g5fav'] }) }),
        reply: { 200: TransactionDetails },
        errors: [errors.not_found],
      },
      ({ params: { id }, caller }) => transactions.get(id, policy.rowFilter(caller)),
    ),
    healthRoute(
      'GET /pay/health',
      {
        title: 'PayHealth',
        isAlways200: true,
        summary: 'Check whether payments can be made',
        fields: {
          providers: Type.Object({
            cardpay: Type.Enum(PROVIDER_STATUS),
            walletpay: Type.Enum(PROVIDER_STATUS),
            onchain: Type.Enum(PROVIDER_STATUS),
          }),
        },
      },
      health,
    ),
  ] as const
}

/** A day, or a time with its zone: `Date.parse` takes much else for a time of the server's zone. */
const TIME = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d))?$/i

function timeOf(text: string, path: string): number {
  const time = TIME.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(time) || time < 0)
    throw invalid({ path, message: 'must be a time like 2026-01-31T00:00:00Z' })
  return time
}
