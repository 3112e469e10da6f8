import { errors } from '../../../server/src/base/errors.ts'
import type { StandIn, StandInContext } from '../stand-in.ts'
import { createPeople, type PersonInput } from './people.ts'

/** `/sandbox/api/people`: the people who have an account at both identity providers. */
export function createDirectory({ db, clock, base }: StandInContext): StandIn {
  const people = createPeople({ db, clock })
  const inputOf = (body: unknown): PersonInput => (typeof body === 'object' && body !== null ? body : {})
  return {
    name: 'people',
    takesFaults: false,
    describe: () => ({}),
    async routes(engine) {
      engine.get('/api/people', async () => ({ people: await people.all() }))
      engine.post('/api/people', async ({ body }, reply) => {
        const person = await people.add(inputOf(body), '/body')
        return reply.code(201).send(person)
      })
      engine.patch<{ Params: { id: string } }>('/api/people/:id', async ({ params: { id }, body }) => {
        const person = await people.change(id, inputOf(body), '/body')
        if (!person) throw errors.not_found({ message: 'No person has this id.' })
        return person
      })
    },
    state: async () => ({ address: `${base}/api/people`, people: (await people.all()).length }),
    part: { name: 'people', version: () => people.all() },
    reset: () => people.reset(),
    start: () => people.start(),
  }
}
