import { Type } from '../../base/schema.ts'
import { healthRoute } from '../../http/health-route.ts'
import { CHAIN_STATUS, type OnchainHealth } from './chains/health.ts'

/** The routes of the wire beside those of its parts: `*-routes.ts` in their folders. */
export const healthRoutes = (health: () => Promise<OnchainHealth>) =>
  [
    healthRoute(
      'GET /onchain/health',
      {
        title: 'OnchainHealth',
        summary: 'Check whether the chains answer',
        fields: {
          chains: Type.Record(
            Type.String(),
            Type.Object(
              {
                status: Type.Enum(CHAIN_STATUS),
                blockNumber: Type.Integer({ description: 'The latest block; 0 if no node answers.' }),
              },
              { title: 'ChainHealth' },
            ),
            { description: 'Every chain of the configuration, by name.' },
          ),
        },
        isAlways200: true,
      },
      health,
    ),
  ] as const
