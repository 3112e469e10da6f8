import { within } from '../../../base/within.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import type { Series } from '../../../kernel/wire/series.ts'
import type { Chain } from './chain.ts'
import { watchedChains } from './chain-metrics.ts'
import type { Chains } from './chains.ts'
import type { Follower } from './follower.ts'

const HEAD_LIMIT_MS = 1_500

/** How many blocks each chain is ahead of what was read of it, where that is needed. Chains of the sandbox are left out. */
export function chainSeries(
  { settings, clock }: Pick<WireContext, 'settings' | 'clock'>,
  chains: Chains,
  followers: readonly Pick<Follower, 'consumer' | 'cursor'>[],
): Series[] {
  const watched = watchedChains(chains, settings)
  async function lagOf(chain: Chain): Promise<number | undefined> {
    const head = await within(HEAD_LIMIT_MS, () => chain.head(), clock).catch(() => undefined)
    if (!head) return undefined
    let most = 0
    for (const { consumer, cursor: read } of followers) {
      if (!(await consumer.isNeeded(chain.name))) continue
      const cursor = await read(chain.name)
      if (cursor) most = Math.max(most, head.number - cursor.number)
    }
    return most
  }
  if (watched.length === 0) return []
  return [
    {
      name: 'chain-lag',
      title: 'Blocks behind chains',
      unit: 'blocks',
      kind: 'level',
      parts: watched.map(({ name }) => name),
      opens: 'chains',
      async sample() {
        const lags = await Promise.all(watched.map(lagOf))
        return watched.flatMap(({ name }, at) =>
          lags[at] === undefined ? [] : [{ part: name, value: lags[at] }],
        )
      },
    },
  ]
}
