import type { Step } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import type { ProviderStatus } from '../../../providers/health.ts'
import type { Chain, Onchain } from '../../onchain/index.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { TransactionEvents } from '../ledger/transaction-events.ts'
import { createElsewhere, ELSEWHERE_MS } from './elsewhere.ts'
import { createLateRechecks, LATE_MS } from './late-rechecks.ts'
import { createPaymentEvents } from './payment-events.ts'
import type { Receivers } from './receivers.ts'
import { selectRequestsSql, stateOf, storedRequests } from './request-rows.ts'
import { depthOf } from './request-record.ts'
import { createPaymentRequests, type PaymentRequests } from './requests.ts'
import { createSettle } from './settle.ts'
import { createSweep, type CoinSweep } from './sweep.ts'
import { createConsumer } from './watch.ts'

const SILENT_MS = 30_000

/** Payments to addresses on chains. */
export type OnchainPayments = {
  readonly requests: PaymentRequests
  /** Brings the transaction of a request up to what its chain shows. */
  settle(id: string): Promise<void>
  /** Settles requests whose time is over on chains that make no blocks. */
  expireSilent(): Promise<void>
  /** The steps that publish that a request is cancelled, for the batch that cancels its transaction. */
  cancelledSql(id: string): Promise<readonly Step[]>
  status(): Promise<ProviderStatus>
  readonly sweep: CoinSweep
}

/** @param options.lifeMs how long a request can be paid */
export function createOnchainPayments(
  context: WireContext,
  options: {
    ledger: Ledger
    events: TransactionEvents
    onchain: Onchain
    receivers: Receivers
    lifeMs: number
    treasury: string | undefined
  },
): OnchainPayments {
  const { db, jobs, settings } = context
  const { ledger, events, onchain, receivers, lifeMs, treasury } = options
  const { chains } = onchain
  const payments = createPaymentEvents(context, { chains })
  const settle = createSettle(context, { ledger, chains, payments, isCaughtUp })
  const settleSql = (chain: string, series: string): Step => settle.settleSql(chain, series)
  const follower = onchain.follow(createConsumer(context, { chains, payments, settleSql }))
  jobs.every('pay.expire-silent', SILENT_MS, () => settle.expireSilent())
  // Released kinds of jobs.
  jobs.every('pay.look-elsewhere', ELSEWHERE_MS, createElsewhere(context, { chains }))
  jobs.every('pay.look-late', LATE_MS, createLateRechecks(context, { chains, settleSql }))
  onchain.signers.add(async (address) => {
    const row = await db.get(sql<{ address_index: number }>`
      select address_index from pay_requests
      where address = ${address.toLowerCase()} and fingerprint = ${receivers.fingerprint}`)
    return row && receivers.signerOf(row.address_index)
  })

  async function isCaughtUp(chain: Chain): Promise<boolean> {
    // In production a chain that makes no blocks is a node that stands still: what was paid in time may show later.
    if (!chain.isConfigured || settings.production) return false
    try {
      const head = await chain.head({ isFresh: true })
      const cursor = await follower.cursor(chain.name)
      return cursor?.number === head.number && cursor.hash === head.hash
    } catch {
      // It is known later.
      return false
    }
  }

  return {
    requests: createPaymentRequests(context, {
      onchain,
      receivers,
      events: { transactions: events, payments },
      lifeMs,
      settle: (id) => settle.settle(id),
      followSql: (chain, head): Promise<Step[]> => follower.followSql(chain, head),
      isCaughtUp,
    }),
    sweep: createSweep(context, { onchain, receivers, treasury }),
    settle: (id) => settle.settle(id),
    expireSilent: () => settle.expireSilent(),
    async cancelledSql(id) {
      const [request] = storedRequests(await db.all(selectRequestsSql(sql`r.id = ${id}`)))
      if (!request) return []
      const stored = { ...request, order: { ...request.order, status: 'cancelled' as const } }
      const state = stateOf(stored, { depth: depthOf(chains, stored) })
      return payments.changedSql('cancelled', stored, { state, cause: '' })
    },
    async status() {
      const { chains } = await onchain.health()
      const states = Object.values(chains).filter(({ status }) => status !== 'not_configured')
      if (states.length === 0) return 'not_configured'
      return states.some(({ status }) => status === 'connected') ? 'connected' : 'error'
    },
  }
}
