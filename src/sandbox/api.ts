import type { FastifyPluginAsync } from 'fastify'

import { errors } from '../base/errors.ts'
import { createFaultReader, type Faults } from './faults.ts'
import type { StandIn } from './stand-in.ts'

/** What `GET /sandbox/api` answers: every stand-in with its state, and the faults in force. */
export async function describeAll(
  standIns: readonly StandIn[],
  faults: Faults,
): Promise<Record<string, unknown>> {
  const states = await Promise.all(
    standIns.map(
      async (one) =>
        [
          one.name,
          { takesFaults: one.takesFaults, variables: one.variables, ...(await one.state()) },
        ] as const,
    ),
  )
  return { ...Object.fromEntries(states), faults: await faults.all() }
}

/** `/sandbox/api`: shows and drives all stand-ins. Each has its own routes beside these. */
export const createApi =
  (standIns: readonly StandIn[], faults: Faults): FastifyPluginAsync =>
  async (engine) => {
    const readFault = createFaultReader()
    const providers = standIns.filter(({ takesFaults }) => takesFaults).map(({ name }) => name)

    engine.get('/api', () => describeAll(standIns, faults))

    engine.delete('/api', async () => {
      for (const one of standIns) await one.reset()
      await faults.reset()
      return { message: 'The sandbox has forgotten everything.' }
    })

    engine.put<{ Params: { provider: string } }>(
      '/api/faults/:provider',
      async ({ params: { provider }, body }) => {
        if (!providers.includes(provider))
          throw errors.not_found({
            message: `There is no such provider: there are ${providers.join(', ')}.`,
          })
        const fault = readFault(body)
        await faults.set(provider, fault)
        return fault
      },
    )
  }
