import type { Database, Transaction } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import { newLogSql, unloggedSql } from '../documents/storage/sql/unlogged.ts'

/** Stops the log. For the transaction of a restore, which ends with `beginLog`: its changes are not logged. */
export const pauseLogSql = sql`insert into store_unlogged (collection) values ('*') on conflict do nothing`

/** Replaces the log by an empty one, at the end of a restore too. Followers of the old log receive `reset`. */
export async function beginLog(tx: Pick<Transaction, 'write'>): Promise<void> {
  for (const step of newLogSql()) await tx.write(step)
  await tx.write(sql`delete from store_unlogged where collection = '*'`)
}

/** Notes whose changes are not logged, and begins a new log in a copy of a database. */
export async function openLog(db: Database, unlogged: readonly string[]): Promise<void> {
  await db.batch([sql`delete from store_unlogged where collection = '*'`, ...unloggedSql(unlogged)])
  if (db.dialect === 'sqlite') return
  const [own] = await db.all<{ mayRead: number }>(
    sql`select has_function_privilege('pg_control_system()', 'execute') as "mayRead"`,
  )
  if (own?.mayRead !== 1) return
  // In a dump that is restored into another cluster, transaction ids may be higher than those of the new cluster.
  await db.transaction(async (tx) => {
    const [system] = await tx.write<{ system: string }>(sql`
      update store_feed set system = own.system
      from (select cast(system_identifier as text) as system from pg_control_system()) as own
      where store_feed.system <> own.system
      returning store_feed.system`)
    if (system) await beginLog(tx)
  })
}
