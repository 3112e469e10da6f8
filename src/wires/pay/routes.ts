import { Type } from '../../base/schema.ts'
import { healthRoute } from '../../http/health-route.ts'
import type { Policy } from '../../kernel/policy.ts'
import { PROVIDER_STATUS } from '../../providers/health.ts'
import type { Cancellations } from './cancellations.ts'
import type { Captures } from './captures.ts'
import { checkoutRoutes } from './checkout-routes.ts'
import type { Checkouts } from './checkouts.ts'
import type { CallProvider } from './errors.ts'
import type { PayHealth } from './health.ts'
import { refundRoutes } from './refund-routes.ts'
import { requestRoutes } from './requests/request-routes.ts'
import type { PaymentRequests } from './requests/requests.ts'
import type { PaymentProvider } from './provider.ts'
import type { Refunds } from './refunds.ts'
import type { ReturnRule } from './schemas.ts'
import { transactionRoutes } from './transaction-routes.ts'
import type { Transactions } from './transactions.ts'
import { webhookRoutes } from './webhook-routes.ts'
import type { Webhooks } from './webhooks.ts'

/** All routes of the wire. */
export function payRoutes(wire: {
  checkouts: Checkouts
  captures: Captures
  cancellations: Cancellations
  refunds: Refunds
  transactions: Transactions
  webhooks: Webhooks
  /** Undefined: nothing configures the receiving addresses. */
  requests: PaymentRequests | undefined
  providers: ReadonlyMap<CallProvider, PaymentProvider>
  health: () => Promise<PayHealth>
  policy: Policy
  publicUrl: string
  returns: ReturnRule
}) {
  return [
    ...checkoutRoutes(wire),
    ...refundRoutes(wire),
    ...requestRoutes(wire),
    ...transactionRoutes(wire),
    ...webhookRoutes(wire),
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
      wire.health,
    ),
  ] as const
}
