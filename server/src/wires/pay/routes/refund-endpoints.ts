import { errors } from '../../../base/errors.ts'
import { idPattern } from '../../../base/ids.ts'
import { Type } from '../../../base/schema.ts'
import { json } from '../../../http/bodies.ts'
import { endpoint } from '../../../http/route.ts'
import type { Policy } from '../../../kernel/policy/policy.ts'
import { readAmount } from '../ledger/amounts.ts'
import { operationErrors, causeOf, payErrors, providerIn } from '../errors.ts'
import { REFUNDS } from './limits.ts'
import { type OperationProvider, REFUND_WORDS, type PaymentProvider } from '../providers/provider.ts'
import type { Refunds } from '../operations/refunds.ts'
import { Line, Refund } from './schemas.ts'
import type { TransactionRow } from '../ledger/transaction-rows.ts'

/** What a service key needs to give money back, without the rights to the whole wire. */
const OPERATOR_SCOPE = 'pay:refund'

const RefundCurrency = Type.Optional(
  Type.String({
    minLength: 3,
    maxLength: 3,
    description: 'That of the payment; another one is refused.',
    examples: ['EUR'],
  }),
)

const REFUND_AMOUNTS: Readonly<Record<OperationProvider, { description: string; examples: number[] }>> = {
  cardpay: { description: 'In minor units.', examples: [500] },
  walletpay: { description: 'A decimal number in major units.', examples: [6.15] },
}

const REFUND_REASONS: Readonly<Record<OperationProvider, { description: string }>> = {
  cardpay: {
    description: `Why. ${REFUND_WORDS.join(', ')} are Stripe’s words, and count there; anything else is metadata of the refund.`,
  },
  walletpay: {
    description: `Why. The buyer sees it at PayPal, except ${REFUND_WORDS.join(', ')}.`,
  },
}

/** The endpoints that give money back. */
export function refundEndpoints({
  refunds,
  providers,
  policy,
}: {
  refunds: Refunds
  providers: ReadonlyMap<OperationProvider, PaymentProvider>
  policy: Policy
}) {
  /** The amount of a refund, in the unit of the transaction's provider. */
  const amountOf = (value: number | undefined, provider: OperationProvider) =>
    value === undefined
      ? undefined
      : (row: TransactionRow): bigint =>
          readAmount(
            value,
            { ...row, multiple: providerIn(providers, provider).currencies[row.currency]?.multiple },
            '/body/amount',
          )

  const refund = (provider: OperationProvider) =>
    endpoint(
      {
        limit: REFUNDS,
        summary: `Refund a ${provider === 'cardpay' ? 'card' : 'wallet'} payment`,
        description:
          'Without an amount, all that is left is refunded. In production, and under the policy guarded, administrators and service keys only.',
        access: 'admin',
        irreversible: true,
        proof: 'console',
        scope: OPERATOR_SCOPE,
        idempotent: true,
        // Two people who refund the same payment under one key mean one refund.
        keysOf: ({ body }) => `transaction:${(body as { transactionId: string }).transactionId}`,
        body: json(
          Type.Object(
            {
              transactionId: Type.String({
                pattern: idPattern,
                description: 'The _id of the transaction.',
                examples: ['01arz3ndektsv4rrffq69g5fav'],
              }),
              amount: Type.Optional(Type.Number(REFUND_AMOUNTS[provider])),
              currency: RefundCurrency,
              reason: Type.Optional(
                Line({
                  minLength: 1,
                  maxLength: 255,
                  ...REFUND_REASONS[provider],
                  examples: ['Damaged in the post'],
                }),
              ),
            },
            { title: provider === 'cardpay' ? 'RefundCardPaymentRequest' : 'RefundWalletPaymentRequest' },
          ),
        ),
        reply: { 200: Refund },
        errors: [...operationErrors, errors.not_found, payErrors.invalid_state, payErrors.amount_exceeded],
      },
      ({ body: { transactionId, amount, currency, reason }, caller, actor, recordId, requestId }) =>
        refunds.refund({
          id: recordId,
          transactionId,
          provider,
          amount: amountOf(amount, provider),
          currency,
          reason,
          rowFilter: policy.rowFilter(caller),
          cause: causeOf(requestId),
          actor,
        }),
    )

  return { cardpay: refund('cardpay'), walletpay: refund('walletpay') }
}
