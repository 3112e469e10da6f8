import type { Clock } from '../../../base/clock.ts'
import { within } from '../../../base/within.ts'
import type { HealthStatus } from '../../../http/health-route.ts'
import { cached } from '../../../providers/health.ts'
import { NO_BASE_FEE } from '../errors.ts'
import type { Chain } from './chain.ts'
import type { Chains } from './chains.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'

const LIMIT_MS = 5_000

/** The words of a chain's state. */
export const CHAIN_STATUS = ['connected', 'not_configured', 'unhealthy'] as const

export type ChainHealth = { status: (typeof CHAIN_STATUS)[number]; blockNumber: number; reason?: string }
export type OnchainHealth = { status: HealthStatus; chains: Record<string, ChainHealth> }

/**
 * Whether the chains answer, and take transactions: healthy as long as one that is configured does, or none is. A chain that does not answer shows
 * the block number 0. Remembered for a few seconds.
 */
export const createHealth = (
  { clock }: Pick<WireContext, 'clock'>,
  { chains }: { chains: Chains },
): (() => Promise<OnchainHealth>) =>
  cached(async () => {
    const states = await Promise.all(
      chains.all.map(async (chain) => [chain.name, await healthOf(chain, clock)] as const),
    )
    const configured = states.filter(([, { status }]) => status !== 'not_configured')
    const isHealthy = configured.length === 0 || configured.some(([, { status }]) => status === 'connected')
    return { status: isHealthy ? 'healthy' : 'unhealthy', chains: Object.fromEntries(states) }
  }, clock)

async function healthOf(chain: Chain, clock: Clock): Promise<ChainHealth> {
  if (!chain.isConfigured) return { status: 'not_configured', blockNumber: 0 }
  try {
    const { number, baseFeePerGas } = await within(LIMIT_MS, () => chain.head(), clock)
    if (baseFeePerGas === undefined)
      return { status: 'unhealthy', blockNumber: number, reason: `nothing can be sent: ${NO_BASE_FEE}` }
    return { status: 'connected', blockNumber: number }
  } catch {
    // The fault is in the log; the answer is read by anybody.
    return { status: 'unhealthy', blockNumber: 0 }
  }
}
