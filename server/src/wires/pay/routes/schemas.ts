import { Type } from '../../../base/schema.ts'
import { withRule } from '../../../base/with-rule.ts'
import { isLoopback } from '../../../base/loopback.ts'
import { PROVIDERS } from '../providers/provider.ts'
import { STATUSES } from '../ledger/state.ts'

/** A time in an answer. */
export const Timestamp = Type.String({
  format: 'date-time',
  description: 'ISO 8601, UTC, with milliseconds.',
})

/** One line of text that is shown to the buyer. */
export const Line = (options: {
  minLength?: number
  maxLength: number
  description: string
  examples: string[]
}) =>
  withRule(Type.String({ ...options, pattern: '^[^\\u0000-\\u001f\\u007f]*$' }), (text) =>
    text.isWellFormed() ? undefined : 'holds a half of a surrogate pair: send well-formed Unicode',
  )

/** Where a buyer's browser may be sent to. */
export type ReturnRule = {
  /** Whether it must be https. */
  isProduction: boolean
  /** The hosts, with a port or for all ports; undefined: any. */
  hosts: readonly string[] | undefined
}

const isHost = (url: URL, host: string): boolean => {
  const [, name = '', port] = /^(\[.*\]|[^:]*)(?::(\d+))?$/.exec(host) ?? []
  if (new URL(`http://${name}`).hostname !== url.hostname) return false
  return port === undefined || Number(port) === portOf(url)
}

/** A URL does not keep the port that its protocol has anyway. */
const portOf = ({ port, protocol }: URL): number =>
  port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)

/** An address of the application that the buyer's browser is sent to. */
export const ReturnUrl = ({ isProduction, hosts }: ReturnRule, description: string) =>
  withRule(
    Type.String({
      minLength: 1,
      maxLength: 2000,
      description: `${description} An absolute http or https URL${isProduction ? ', in production https' : ''}.`,
      examples: ['https://shop.example/paid'],
    }),
    (text) => {
      const url = URL.canParse(text) ? new URL(text) : undefined
      if (!url || !/^https?:\/\//i.test(text) || !/^https?:$/.test(url.protocol))
        return 'must be an absolute URL that starts with https:// or http://'
      if (url.username !== '' || url.password !== '') return 'must not have credentials'
      if (isProduction && url.protocol !== 'https:' && !isLoopback(url.hostname))
        return 'must start with https://'
      if (hosts && !hosts.some((host) => isHost(url, host)))
        return `must lead to ${hosts.join(' or ')}: PAYMENT_RETURN_HOSTS names the hosts to which a buyer may be sent`
      return /[\0-\x20\x7f]/.test(text) || !text.isWellFormed()
        ? 'must not have spaces or control characters'
        : undefined
    },
  )

export const Currency = Type.String({
  pattern: '^[A-Za-z]{3}$',
  description: 'ISO 4217, in any case.',
  examples: ['eur'],
})

const TransactionFields = {
  _id: Type.String(),
  provider: Type.Enum(PROVIDERS),
  status: Type.Enum(STATUSES, {
    description:
      'pending, then completed, failed, expired or cancelled; completed becomes partially_refunded, refunded, disputed or lost. Money decides: what was lost, expired, cancelled or failed goes on if the provider has the money after all.',
  }),
  reference: Type.Optional(
    Type.String({ description: 'The id of the checkout session, order or payment request.' }),
  ),
  amount: Type.Number({
    description: 'As the provider’s own routes take it: of cardpay in minor units, else a decimal number.',
  }),
  displayAmount: Type.String({ description: 'The exact decimal in major units.', examples: ['12.30'] }),
  currency: Type.String({ description: 'In upper case.' }),
  refundedAmount: Type.Number({ description: 'In the unit of amount.' }),
  disputedAmount: Type.Number({
    description: 'What open disputes concern, in the unit of amount. It cannot be refunded.',
  }),
  lostAmount: Type.Number({
    description: 'What disputes and reversals took, in the unit of amount. It cannot be refunded.',
  }),
  userId: Type.String({ description: 'The user to whom it belongs, or the service key that created it.' }),
  merchantReference: Type.Optional(Type.String({ description: 'The merchant’s own reference.' })),
  email: Type.Optional(Type.String({ description: 'The buyer’s.' })),
  metadata: Type.Optional(Type.Record(Type.String(), Type.String())),
  expiresAt: Type.Optional(Timestamp),
  fee: Type.Optional(
    Type.String({ description: 'What the provider took of the payment, once it tells.', examples: ['0.59'] }),
  ),
  net: Type.Optional(Type.String({ description: 'What it left, before refunds.', examples: ['11.71'] })),
  feeCurrency: Type.Optional(Type.String({ description: 'Of fee and net: that of the payout.' })),
  createdAt: Timestamp,
  updatedAt: Timestamp,
}
export const Transaction = Type.Object(TransactionFields, { title: 'Transaction' })

const RefundReason = Type.String({ description: 'As it was sent with the refund.' })

const RefundFields = {
  refundId: Type.String(),
  amount: Type.Number({ description: 'In the unit of the transaction’s amount.' }),
  status: Type.Enum(['pending', 'completed', 'failed']),
  reason: Type.Optional(RefundReason),
  createdAt: Timestamp,
}

const Address = Type.Object(
  {
    line1: Type.Optional(Type.String()),
    line2: Type.Optional(Type.String()),
    postalCode: Type.Optional(Type.String()),
    city: Type.Optional(Type.String()),
    state: Type.Optional(Type.String()),
    country: Type.Optional(Type.String({ description: 'ISO 3166-1 alpha-2.', examples: ['DE'] })),
  },
  { title: 'PostalAddress' },
)

const Buyer = Type.Object(
  {
    name: Type.Optional(Type.String({ examples: ['Ada Lovelace'] })),
    email: Type.Optional(Type.String()),
    phone: Type.Optional(Type.String()),
    address: Type.Optional(Address),
    shipping: Type.Optional(
      Type.Object(
        { name: Type.Optional(Type.String()), address: Type.Optional(Address) },
        { description: 'Where the goods go, if the payment asked for it.' },
      ),
    ),
  },
  {
    title: 'Buyer',
    description: 'Who paid, as the provider told with the money. For operators; erased with the account.',
  },
)

const ItemFields = {
  name: Type.String(),
  quantity: Type.Integer(),
  amount: Type.Number({ description: 'Of one of them, in the unit of the transaction’s amount.' }),
  displayAmount: Type.String({ examples: ['10.99'] }),
}

export const TransactionDetails = Type.Object(
  {
    ...TransactionFields,
    items: Type.Optional(
      Type.Array(Type.Object(ItemFields, { title: 'TransactionItem' }), {
        description: 'What the request asked for; the description of a wallet order is one item.',
      }),
    ),
    buyer: Type.Optional(Buyer),
    paymentId: Type.Optional(Type.String({ description: 'The provider’s id of the payment.' })),
    exponent: Type.Integer({ description: 'Decimal places of the currency at this provider.' }),
    displayRefundable: Type.String({
      description: 'What can still be refunded: the exact decimal in major units.',
      examples: ['12.30'],
    }),
    refunds: Type.Array(Type.Object(RefundFields, { title: 'TransactionRefund' })),
    dispute: Type.Optional(
      Type.Object(
        {
          status: Type.Enum(['inquiry', 'open', 'won', 'lost']),
          amount: Type.Number(),
          reason: Type.Optional(Type.String()),
          createdAt: Timestamp,
        },
        { title: 'TransactionDispute' },
      ),
    ),
    history: Type.Array(
      Type.Object(
        {
          status: Type.Enum(STATUSES),
          at: Timestamp,
          cause: Type.String({
            description: 'The request, event or reconciliation that caused it.',
            examples: ['event evt_1PfVd2'],
          }),
        },
        { title: 'TransactionChange' },
      ),
      { description: 'Each change of status, oldest first.' },
    ),
  },
  { title: 'TransactionDetails' },
)

export const Refund = Type.Object(
  {
    refundId: Type.String(),
    transactionId: Type.String(),
    provider: Type.Enum(['cardpay', 'walletpay']),
    status: Type.Enum(['pending', 'completed', 'failed'], {
      description: 'pending also while the outcome at the provider is unknown.',
    }),
    amount: Type.Number({ description: 'In the unit of the transaction’s amount.' }),
    currency: Type.String(),
    reason: Type.Optional(RefundReason),
  },
  { title: 'Refund' },
)
