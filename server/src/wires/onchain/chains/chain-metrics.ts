import type { WireContext } from '../../../kernel/wire/wire.ts'
import { sql } from '../../../db/sql.ts'
import { within } from '../../../base/within.ts'
import type { Chain, Head } from './chain.ts'
import type { Chains } from './chains.ts'

const HEAD_LIMIT_MS = 1_500

/** The configured chains, without those of the sandbox, whose nodes a look would start. */
export function watchedChains(chains: Chains, settings: WireContext['settings']): Chain[] {
  const sandboxHost = settings.sandbox ? new URL(settings.sandboxUrl).host : ''
  return chains.all.filter((chain) => chain.isConfigured && !chain.rpc.hosts.includes(sandboxHost))
}

/**
 * The metrics of chains: heads as this process sees them, and transactions from the database. Chains of the sandbox are left
 * out: a scrape would start their nodes.
 */
export function declareChainMetrics(
  { db, clock, metrics, settings }: Pick<WireContext, 'db' | 'clock' | 'metrics' | 'settings'>,
  chains: Chains,
): void {
  const watched = watchedChains(chains, settings)
  const labels = ['chain'] as const

  metrics.gauge(
    {
      name: 'sixwire_chain_healthy',
      help: 'Whether a node of the chain answers this process: 1, or 0',
      labels,
    },
    async () => {
      const heads = await Promise.all(watched.map((chain) => headOf(chain)))
      return watched.map(({ name }, at) => ({ labels: { chain: name }, value: heads[at] ? 1 : 0 }))
    },
  )
  metrics.gauge(
    {
      name: 'sixwire_chain_head_age_seconds',
      help: 'Time since the latest block of the chain, by its own time; missing if no node answers',
      labels,
    },
    async () => {
      const heads = await Promise.all(watched.map((chain) => headOf(chain)))
      return watched.flatMap(({ name }, at) => {
        const head = heads[at]
        return head
          ? [{ labels: { chain: name }, value: Math.max(0, clock.now() / 1000 - head.timestamp) }]
          : []
      })
    },
  )
  metrics.gauge(
    {
      name: 'sixwire_chain_transactions_pending',
      help: 'Transactions of this installation that are not final on their chain, from the database',
      labels,
    },
    async () => {
      const rows = await db.scan(sql<{ chain: string; count: number }>`
        select chain, count(*) as count from onchain_transactions
        where is_final = 0 and chain in (${sql.join(chains.all.map(({ name }) => name))}) group by chain`)
      return rows.map(({ chain, count }) => ({ labels: { chain }, value: count }))
    },
  )

  const headOf = (chain: Chain): Promise<Head | undefined> =>
    within(HEAD_LIMIT_MS, () => chain.head(), clock).catch(() => undefined)
}
