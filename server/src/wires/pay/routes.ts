import { Type } from '../../base/schema.ts'
import { healthRoute } from '../../http/health-route.ts'
import { route } from '../../http/route.ts'
import type { Policy } from '../../kernel/policy/policy.ts'
import { PROVIDER_STATUS } from '../../providers/health.ts'
import type { WireContext } from '../../kernel/wire/wire.ts'
import { eventEndpoints } from './routes/event-endpoints.ts'
import { summaryEndpoint } from './routes/summary-endpoint.ts'
import type { Cancellations } from './operations/cancellations.ts'
import type { Captures } from './operations/captures.ts'
import { checkoutEndpoints } from './routes/checkout-endpoints.ts'
import type { Checkouts } from './operations/checkouts.ts'
import type { PaymentEvents } from './inbox/provider-events.ts'
import type { PayHealth } from './providers/health.ts'
import { refundEndpoints } from './routes/refund-endpoints.ts'
import { requestEndpoints } from './routes/request-endpoints.ts'
import type { PaymentRequests } from './requests/requests.ts'
import type { OperationProvider, PaymentProvider } from './providers/provider.ts'
import type { Refunds } from './operations/refunds.ts'
import type { ReturnRule } from './routes/schemas.ts'
import { transactionEndpoints } from './routes/transaction-endpoints.ts'
import type { Transactions } from './ledger/transactions.ts'
import { webhookEndpoints } from './routes/webhook-endpoints.ts'
import type { Webhooks } from './inbox/webhooks.ts'

/** All routes of the wire. */
export function payRoutes(wire: {
  context: Pick<WireContext, 'db' | 'clock' | 'audit'>
  events: PaymentEvents
  checkouts: Checkouts
  captures: Captures
  cancellations: Cancellations
  refunds: Refunds
  transactions: Transactions
  webhooks: Webhooks
  /** Undefined: nothing configures the receiving addresses. */
  requests: PaymentRequests | undefined
  providers: ReadonlyMap<OperationProvider, PaymentProvider>
  health: () => Promise<PayHealth>
  policy: Policy
  publicUrl: string
  returns: ReturnRule
}) {
  const checkouts = checkoutEndpoints(wire)
  const refunds = refundEndpoints(wire)
  const webhooks = webhookEndpoints(wire)
  const requests = requestEndpoints(wire)
  const transactions = transactionEndpoints(wire)
  const events = eventEndpoints(wire)
  return [
    route('POST /pay/cardpay/checkout', ...checkouts.createSession),
    route('POST /pay/cardpay/refund', ...refunds.cardpay),
    route('POST /pay/cardpay/webhook', ...webhooks.cardpay),
    route('POST /pay/walletpay/order', ...checkouts.createOrder),
    route('POST /pay/walletpay/capture/:orderId', ...checkouts.captureOrder),
    route('POST /pay/walletpay/refund', ...refunds.walletpay),
    route('POST /pay/walletpay/webhook', ...webhooks.walletpay),
    route('POST /pay/onchain/payment', ...requests.create),
    route('GET /pay/onchain/payment', ...requests.list),
    route('GET /pay/onchain/payment/:id', ...requests.get),
    route('GET /pay/transactions', ...transactions.list),
    route('GET /pay/transactions.csv', ...transactions.exportCsv),
    route('GET /pay/transactions/aggregate', ...transactions.aggregate),
    route('GET /pay/transactions/:id', ...transactions.get),
    route('GET /pay/transactions/:id/timeline', ...transactions.timeline),
    route('GET /pay/summary', ...summaryEndpoint(wire)),
    route('GET /pay/events', ...events.list),
    route('GET /pay/events/:id', ...events.get),
    route('POST /pay/events/:id/replay', ...events.replay),
    route('POST /pay/transactions/:id/cancel', ...transactions.cancel),
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
