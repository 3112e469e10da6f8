import type { Static } from 'typebox'

import { asset } from '../../base/asset.ts'
import { StartError } from '../../base/start-error.ts'
import { sql } from '../../db/sql.ts'
import { defineWire, type WireContext } from '../../kernel/wire/wire.ts'
import { onchain, type Onchain } from '../onchain/index.ts'
import { createOperations } from './operations/operations.ts'
import { createCancellations } from './operations/cancellations.ts'
import { createCaptures } from './operations/captures.ts'
import { createCheckouts } from './operations/checkouts.ts'
import { notConfigured } from './errors.ts'
import type { OperationProvider } from './providers/provider.ts'
import { createEventList } from './inbox/event-list.ts'
import { createEvents } from './inbox/provider-events.ts'
import { createHealth } from './providers/health.ts'
import { createLedger, type Ledger } from './ledger/ledger.ts'
import { declarePaymentEvents } from './requests/payment-events.ts'
import type { OnchainPayments } from './requests/onchain-payments.ts'
import type { OpenPaymentRequest } from './requests/requests.ts'
import type { CoinSweep } from './requests/sweep.ts'
import { payDiagnoses } from './administration/diagnoses.ts'
import { PAY_ENV, PAY_PROVIDERS, PAY_SETTABLE, PayOptions } from './options.ts'
import { openProviders } from './providers/open-providers.ts'
import { createReconcile, type Reconcile } from './operations/reconcile.ts'
import { createRefunds } from './operations/refunds.ts'
import { PAY_TABLES } from './personal-tables.ts'
import { payRoutes } from './routes.ts'
import { PAY_EXPORT } from './table-exports.ts'
import { paymentTimeline } from './administration/person-timeline.ts'
import { forgetSums, paymentSeries } from './ledger/sums.ts'
import { createTransactionEvents, type TransactionEvents } from './ledger/transaction-events.ts'
import { createTransactions, type Transactions } from './ledger/transactions.ts'
import { createRechecks } from './operations/rechecks.ts'
import { createWebhooks } from './inbox/webhooks.ts'

const EVENTS_MS = 10_000
const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const UNDER_WAY_MAX = 10_000

export type { SweepItem } from './requests/sweep-plan.ts'

/** The service of the pay wire. */
export type Pay = {
  readonly transactions: Transactions
  /**
   * Brings a transaction up to what its provider has now, as reconciliation does; answers false if the provider does not say.
   */
  retrieve(transactionId: string): Promise<boolean>
  /** Payment requests that a payment is awaited for, newest first: at most 20. */
  openPaymentRequests(): Promise<OpenPaymentRequest[]>
  /** Collects what was paid on chains. @throws StartError if nothing configures the receiving addresses */
  sweep(): CoinSweep
  /** Expires payment requests whose time is over on chains that make no blocks, as reconciliation does. */
  expireSilent(): Promise<void>
  /** Finds events whose webhook was lost in the lists of the providers, as reconciliation does. */
  listEvents(): Promise<void>
}

/** Payments by card and wallet, refunds, and the ledger of them. */
export const pay = defineWire({
  name: 'pay',
  description: 'Payments by card, by wallet and on chains, refunds, and the ledger of all of them.',
  needs: [onchain.optional],
  options: PayOptions,
  env: PAY_ENV,
  providers: PAY_PROVIDERS,
  settable: PAY_SETTABLE,
  migrations: asset('wires/pay/migrations/'),
  async setup(context, options) {
    const { db, clock, jobs, settings, policy } = context
    const providers = await openProviders({ clock, settings }, options)
    const { firstSeconds, maxSeconds, eventsSeconds } = { ...options.reconcile, ...options.sweep }
    const rechecks = createRechecks(
      context,
      { retrieve: (id) => reconcile(id, { cause: 'reconciliation', repeats: true }) },
      { firstMs: firstSeconds * 1000, maxMs: maxSeconds * 1000 },
    )
    const events = createTransactionEvents(context.events)
    declarePaymentEvents(context.events)
    const ledger = createLedger(
      context,
      {
        events,
        recheckSql: ({ id, provider, version }) =>
          // The chain itself tells what becomes of these.
          provider === 'onchain' ? [] : [rechecks.recheckSql(id, { series: `${id}-${version}` })],
      },
      { providers: [...providers.keys(), 'onchain'] },
    )
    const onchainPayments = await openOnchain(context, { ledger, events }, options.onchain)
    const operations = createOperations(context, {
      ledger,
      providerOf: ({ provider }) => providers.get(provider as OperationProvider)!,
    })
    const reconcile: Reconcile = createReconcile(context, { ledger, operations, providers })
    const providerEvents = createEvents(context, { providers, reconcile })
    const eventList = createEventList(context, {
      providers,
      events: providerEvents,
      intervalMs: eventsSeconds * 1000,
    })
    const transactions = createTransactions({ db }, { ledger })
    const service: Pay = {
      transactions,
      openPaymentRequests: async () => (await onchainPayments?.requests.open()) ?? [],
      sweep() {
        if (!onchainPayments) throw new StartError('PAYMENT_MNEMONIC: it is not set')
        return onchainPayments.sweep
      },
      expireSilent: async () => onchainPayments?.expireSilent(),
      async retrieve(id) {
        await onchainPayments?.settle(id)
        return (await reconcile(id, { cause: 'reconciliation', repeats: true })).failure === undefined
      },
      listEvents: () => eventList.list(),
    }
    jobs.every('pay.handle-events', EVENTS_MS, () => providerEvents.handleDue())
    jobs.every('pay.clean', HOUR_MS, async () => {
      await providerEvents.forget()
      await forgetSums(context)
    })

    return {
      routes: payRoutes({
        context,
        events: providerEvents,
        checkouts: createCheckouts(context, {
          ledger,
          events,
          providers,
          recheckSql: (id, series) => rechecks.recheckSql(id, series),
        }),
        cancellations: createCancellations(context, {
          ledger,
          reconcile,
          providers,
          cancelledSql: async (id) => (await onchainPayments?.cancelledSql(id)) ?? [],
        }),
        captures: createCaptures(context, { ledger, operations, reconcile }),
        refunds: createRefunds(context, {
          ledger,
          operations,
          isConfigured(name) {
            if (!providers.has(name)) throw notConfigured(name)
          },
          recheckSql: (transactionId, operationId) =>
            rechecks.recheckSql(transactionId, { series: operationId }),
        }),
        transactions,
        webhooks: createWebhooks({ providers, events: providerEvents }),
        requests: onchainPayments?.requests,
        providers,
        health: createHealth(
          { clock },
          { providers, onchain: async () => (await onchainPayments?.status()) ?? 'not_configured' },
        ),
        policy,
        publicUrl: settings.publicUrl,
        returns: { isProduction: settings.production, hosts: returnHosts(options.returnHosts, settings) },
      }),
      service,
      exports: PAY_EXPORT,
      series: paymentSeries({ db }),
      timeline: paymentTimeline({ db }),
      personalTables: PAY_TABLES,
      sandboxLists: { paymentRequests: () => service.openPaymentRequests() },
      async start() {
        const underWay = await db.all<{ transaction_id: string }>(sql`
          select transaction_id from pay_calls where status in ('running', 'unknown')
          union select id from pay_transactions where status = 'lost' and is_settled = 0 limit ${UNDER_WAY_MAX}`)
        for (const { transaction_id } of underWay)
          await db.batch([rechecks.recheckSql(transaction_id, { isNow: true })])
        if (providers.size > 0) await eventList.listSoon()
      },
      warnings: [
        ...(options.sweep ? ['pay.sweep: this option is called pay.reconcile now'] : []),
        ...withoutWebhooks(options).map(
          (variable) =>
            `${variable}: it is not set: webhooks are refused, and payments complete when they are reconciled`,
        ),
      ],
      // A provider that is unavailable is no reason to stop this server: GET /pay/health reports it.
      health: () => db.ping(),
      diagnoses: payDiagnoses(context, options, {
        production: settings.production,
        providers: [...providers.keys()],
      }),
      checks: new Map(
        Array.from(providers, ([name, provider]) => [`${name} by ${provider.name}`, () => provider.check()]),
      ),
      async close() {
        await providerEvents.close()
        await Promise.all(Array.from(providers.values(), (provider) => provider.close()))
      },
    }
  },
})

/** Payments on chains, if there is a mnemonic for their addresses. */
async function openOnchain(
  context: WireContext & { onchain: Onchain | undefined },
  { ledger, events }: { ledger: Ledger; events: TransactionEvents },
  { mnemonic, expiresMinutes, treasuryAddress }: Static<typeof PayOptions>['onchain'],
): Promise<OnchainPayments | undefined> {
  if (mnemonic === undefined || !context.onchain) return undefined
  // Loaded only if it is configured.
  const { createReceivers } = await import('./requests/receivers.ts')
  const { createOnchainPayments } = await import('./requests/onchain-payments.ts')
  return createOnchainPayments(context, {
    ledger,
    events,
    onchain: context.onchain,
    receivers: createReceivers({ db: context.db }, { mnemonic }),
    lifeMs: expiresMinutes * MINUTE_MS,
    treasury: treasuryAddress,
  })
}

/**
 * Where a buyer may be sent back to: in production the application's pages, unless hosts are named.
 *
 * @throws StartError if one of them is no host
 */
function returnHosts(
  hosts: readonly string[] | undefined,
  { production, appUrl }: WireContext['settings'],
): readonly string[] | undefined {
  if (hosts?.includes('*')) return undefined
  const wrong = hosts?.find((host) => !URL.canParse(`http://${host}`))
  if (wrong !== undefined)
    throw new StartError(`PAYMENT_RETURN_HOSTS: "${wrong}" is not a host, with a port or without`)
  if (hosts) return hosts
  return production ? [new URL(appUrl).host] : undefined
}

/** What configured providers lack to verify webhooks. */
function withoutWebhooks({ stripe, paypal }: Static<typeof PayOptions>): string[] {
  const isBlank = (text: string | undefined): boolean => text === undefined || text.trim() === ''
  return [
    ...(stripe && isBlank(stripe.webhookSecret) ? ['STRIPE_WEBHOOK_SECRET'] : []),
    ...(paypal && isBlank(paypal.webhookId) ? ['PAYPAL_WEBHOOK_ID'] : []),
  ]
}
