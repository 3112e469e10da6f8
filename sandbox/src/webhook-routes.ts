import { Type } from '../../server/src/base/schema.ts'
import { readerOf, LIST_MAX } from './reader.ts'
import type { StandIn, StandInContext } from './stand-in.ts'

const DELAY_MAX_MS = 86_400_000

/** `/sandbox/api/webhooks`: shows the webhooks of payments, and sends, delays and drops them. */
export function createWebhooks({ webhooks, base }: StandInContext): StandIn {
  const readQuery = readerOf(
    'query',
    Type.Object({
      provider: Type.Optional(Type.String()),
      limit: Type.Integer({ minimum: 1, maximum: LIST_MAX, default: LIST_MAX }),
    }),
  )
  const readDelay = readerOf('body', Type.Object({ ms: Type.Integer({ minimum: 0, maximum: DELAY_MAX_MS }) }))
  return {
    name: 'webhooks',
    takesFaults: false,
    describe: () => ({}),
    async routes(engine) {
      type Params = { Params: { id: string } }
      engine.get('/api/webhooks', async ({ query }) => ({ webhooks: await webhooks.list(readQuery(query)) }))
      engine.post<Params>('/api/webhooks/:id/resend', ({ params }) => webhooks.resend(params.id))
      engine.post<Params>('/api/webhooks/:id/delay', ({ params, body }) =>
        webhooks.delay(params.id, readDelay(body).ms),
      )
      engine.post<Params>('/api/webhooks/:id/drop', ({ params }) => webhooks.drop(params.id))
    },
    state: async () => ({ address: `${base}/api/webhooks`, ...(await webhooks.counts()) }),
    part: { name: 'webhooks', version: () => webhooks.version() },
    reset: () => webhooks.reset(),
  }
}
