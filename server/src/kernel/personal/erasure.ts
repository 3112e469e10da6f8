import type { Clock } from '../../base/clock.ts'
import { Type } from '../../base/schema.ts'
import type { Database, StepWith } from '../../db/database.ts'
import type { Jobs, NotYet } from '../jobs/job.ts'
import type { DeclaredTable, DataSubject } from '../wire/personal-data.ts'
import { eraseRows } from './erase-rows.ts'

/** When nothing is under way any more that the account has begun, and all is looked for once more. */
const SETTLED_MS = 3_600_000
/** A month of them. */
const ATTEMPTS = 720

const Payload = Type.Object({
  id: Type.String(),
  emails: Type.Array(Type.String()),
  phones: Type.Array(Type.String()),
  until: Type.Integer(),
})

/**
 * Erases what the tables hold of a person whose account is deleted: at once, and once more when all that the account had begun is
 * over. The row of the job has the addresses until then.
 */
export function createErasure(
  { db, clock, jobs }: { db: Database; clock: Clock; jobs: Jobs },
  {
    tables,
    personOf,
  }: {
    tables: () => readonly DeclaredTable[]
    personOf: (account: string) => Promise<DataSubject | undefined>
  },
): { eraseSql(person: DataSubject): StepWith } {
  const job = jobs.define(
    'sixwire.erase-person',
    {
      payload: Payload,
      retry: { firstMs: 1_000, maxMs: 3_600_000, attempts: ATTEMPTS },
      neededFor: 'it erases the data of a deleted account',
    },
    async ({ payload: person, stopping }): Promise<NotYet | void> => {
      // An import has brought an account of the same id.
      if (await personOf(person.id)) return
      let againInMs = person.until + SETTLED_MS - clock.now()
      const failures: Error[] = []
      for (const { name, table } of tables()) {
        stopping.throwIfAborted()
        try {
          const waits = await eraseRows(db, name, table, person, stopping)
          if (waits) againInMs = againInMs > 0 ? Math.min(againInMs, waits.againInMs) : waits.againInMs
        } catch (error) {
          // One table must not keep what all others hold.
          failures.push(new Error(`${name}: ${(error as Error).message}`, { cause: error }))
        }
      }
      if (failures[0]) throw failures[0]
      if (againInMs > 0) return { againInMs }
    },
  )
  return {
    eraseSql: ({ id, emails, phones, until }) =>
      job.enqueueSql({ id, emails: [...emails], phones: [...phones], until }, { id: `erase-${id}-${until}` }),
  }
}
