import type { FastifyPluginAsync } from 'fastify'

import { errors } from '../../server/src/base/errors.ts'
import { createFaultReader, type Faults } from './faults.ts'
import type { StandIn } from './stand-in.ts'
import type { WebhookLog } from './webhooks.ts'

/**
 * The body of `GET /sandbox/api`: every stand-in, and the faults that are set. One that stands in for a provider says
 * whether the application uses it (`inUse`); if not, its variables are what they would be, and it has no state.
 */
export async function describeAll(
  standIns: readonly StandIn[],
  used: ReadonlySet<StandIn>,
  faults: Faults,
): Promise<Record<string, unknown>> {
  const descriptions = standIns.map(async (one) => {
    const variables = one.describe()
    const isUsed = used.has(one)
    return [
      one.name,
      {
        ...(Object.keys(variables).length > 0 && { inUse: isUsed }),
        takesFaults: one.takesFaults,
        variables,
        ...(isUsed && (await one.state())),
      },
    ] as const
  })
  return { ...Object.fromEntries(await Promise.all(descriptions)), faults: await faults.all() }
}

/** `/sandbox/api`: shows and resets all stand-ins, and sets faults. Each stand-in has its own routes beside these. */
export const createApi =
  ({
    standIns,
    describe,
    faults,
    webhooks,
  }: {
    standIns: readonly StandIn[]
    describe: () => Promise<Record<string, unknown>>
    faults: Faults
    webhooks: WebhookLog
  }): FastifyPluginAsync =>
  async (engine) => {
    const readFault = createFaultReader()
    const providers = standIns.filter(({ takesFaults }) => takesFaults).map(({ name }) => name)

    engine.get('/api', describe)

    engine.delete('/api', async () => {
      for (const one of standIns) await one.reset()
      await faults.reset()
      return { message: 'The sandbox is reset.' }
    })

    engine.put<{ Params: { provider: string } }>(
      '/api/faults/:provider',
      async ({ params: { provider }, body }) => {
        if (!providers.includes(provider))
          throw errors.not_found({
            message: `There is no such provider: there are ${providers.join(', ')}.`,
          })
        const fault = readFault(body, webhooks.providers.includes(provider))
        await faults.set(provider, fault)
        return fault
      },
    )
  }
