import { sandboxAsset } from '../asset.ts'
import { formatAmount } from '../../../server/src/base/money.ts'
import { createFiles } from '../files.ts'
import { PROVIDER_PAGE_POLICY } from '../provider-page.ts'
import type { StandIn, StandInContext } from '../stand-in.ts'
import { addApprovalRoutes } from './approval.ts'
import { FUNDING_LABELS } from './approval-page.ts'
import { CURRENCIES } from './currencies.ts'
import { createPayPalApi } from './paypal-api.ts'
import { addSimulationRoutes } from './simulation-api.ts'
import { createWallet } from './wallet.ts'

/** What each way to pay does, for people. */
const MAGIC = Object.fromEntries(
  Object.values(FUNDING_LABELS).map(({ label, hint }) => [label, hint] as const),
)

/** Stands in for PayPal: orders, a page to approve them, captures, refunds, disputes, and signed webhooks. */
export function createWalletpay(context: StandInContext): StandIn {
  const { db, clock, log, settings, faults, base } = context
  const wallet = createWallet(context)
  const { address, credentials, orders, webhooks } = wallet
  const root = new URL(base).pathname
  return {
    name: 'walletpay',
    takesFaults: true,
    describe: () => ({
      PAYPAL_API_BASE: address,
      PAYPAL_CLIENT_ID: credentials.clientId,
      PAYPAL_CLIENT_SECRET: credentials.clientSecret,
      PAYPAL_WEBHOOK_ID: credentials.webhookId,
    }),
    async routes(engine) {
      await engine.register(createPayPalApi({ db, clock, log, faults, wallet }), { prefix: '/walletpay' })
      await engine.register(
        createFiles({
          folder: sandboxAsset('walletpay/page/'),
          at: '/walletpay/page',
          pages: [],
          words: {},
          policy: PROVIDER_PAGE_POLICY,
        }),
      )
      addApprovalRoutes(engine, { wallet, faults, name: settings.name, root })
      addSimulationRoutes(engine, wallet, faults)
    },
    async state() {
      const { count, balances } = await orders.totals()
      return {
        address,
        clientId: credentials.clientId,
        clientSecret: credentials.clientSecret,
        webhookId: wallet.webhookId() ?? null,
        webhookUrl: wallet.webhookUrl,
        orders: count,
        webhooksWaiting: await webhooks.waiting(),
        balance: Object.fromEntries(
          Array.from(balances, ([currency, { available, onHold }]) => [
            currency,
            { available: signedAmount(available, currency), onHold: signedAmount(onHold, currency) },
          ]),
        ),
        magic: MAGIC,
      }
    },
    part: { name: 'walletpay', version: () => orders.version() },
    start: (configured) => wallet.start(configured['PAYPAL_WEBHOOK_ID']),
    async reset() {
      await db.batch([webhooks.deleteSql(), ...orders.deleteSql()])
    },
  }
}

/** A balance may be negative: fees are not given back by refunds. */
const signedAmount = (amount: bigint, currency: string): string =>
  amount < 0n ? `-${formatAmount(-amount, currency, CURRENCIES)}` : formatAmount(amount, currency, CURRENCIES)
