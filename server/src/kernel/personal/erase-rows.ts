import { identifier } from '../../db/catalogue.ts'
import type { Database } from '../../db/database.ts'
import { sql } from '../../db/sql.ts'
import type { NotYet } from '../jobs/job.ts'
import type { DataSubject, PersonalTable } from '../wire/personal-data.ts'

/** Rows of one statement, so that no other write waits for long. */
const PART = 500

/** Does to the rows of a table what the deletion of an account does to them. */
export async function eraseRows(
  db: Database,
  name: string,
  table: PersonalTable,
  person: DataSubject,
  stopping: AbortSignal,
): Promise<NotYet | void> {
  const { deletion, erase, rows } = table
  if (erase) return erase(person, { stopping })
  if (deletion === 'with the account') return
  const clears = typeof deletion === 'object' ? (deletion.clears ?? []) : undefined
  if (clears?.length === 0) return
  const from = sql.literal(identifier(name))
  const key = sql.literal((table.key ?? ['id']).map(identifier).join(', '))
  const columns = clears?.map(identifier) ?? []
  const verb = clears
    ? sql`update ${from} set ${sql.literal(columns.map((column) => `${column} = null`).join(', '))}`
    : sql`delete from ${from}`
  const also = clears
    ? sql` and (${sql.literal(columns.map((column) => `${column} is not null`).join(' or '))})`
    : sql``
  for (let changed = PART; changed === PART && !stopping.aborted;) {
    // Materialized, because PostgreSQL may otherwise run the inner query, with its limit, more than once.
    const done = await db.write(sql`
      with part as materialized (select ${key} from ${from} where ${rows(person)}${also} limit ${PART})
      ${verb} where (${key}) in (select ${key} from part) returning 1 as one`)
    changed = done.length
  }
}
