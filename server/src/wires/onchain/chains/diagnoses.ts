import { fault, findingIf, warning, type Diagnosis, type Finding } from '../../../kernel/wire/diagnosis.ts'
import type { Chain } from './chain.ts'
import type { Follower } from './follower.ts'

const BEHIND_BLOCKS = 200

/** Of each configured chain whether a node answers, and whether its blocks are followed while that is needed. */
export const chainDiagnoses = (
  chains: readonly Chain[],
  followers: readonly Pick<Follower, 'consumer' | 'cursor'>[],
): Diagnosis[] =>
  chains
    .filter(({ isConfigured }) => isConfigured)
    .map((chain) => ({
      name: chain.name,
      about: 'whether a node answers, and how far its blocks are followed',
      opens: { title: 'Show the chains', at: 'chains' },
      async find() {
        const head = await chain.head({ isFresh: true }).catch(() => undefined)
        if (!head)
          return [
            fault(
              `no node of ${chain.name} answers: ${chain.rpc.hosts.join(', ')}`,
              'see whether the node runs and the key in its address is valid, or name further ones, joined by commas',
            ),
          ]
        const findings: Finding[] = []
        for (const { consumer, cursor: read } of followers) {
          if (!(await consumer.isNeeded(chain.name))) continue
          const cursor = await read(chain.name)
          const behind = cursor ? head.number - cursor.number : 0
          findings.push(
            ...findingIf(behind > BEHIND_BLOCKS, () =>
              warning(
                `${consumer.name} of ${chain.name} are ${behind} blocks behind the chain`,
                'a running server catches up: start one, or read its log about this chain',
              ),
            ),
          )
        }
        return findings
      },
    }))
