import type { Database, Transaction } from './database.ts'
import { sql } from './sql.ts'

/**
 * `row exclusive` is that of writers and keeps those out who ask for `share`, `share` keeps writers out, `share row exclusive`
 * others who ask for it too, `exclusive` leaves readers only.
 */
export type TableLock = 'row exclusive' | 'share' | 'share row exclusive' | 'exclusive'

/**
 * Locks a table until the transaction ends, on PostgreSQL. SQLite runs one transaction at a time.
 *
 * @see https://www.postgresql.org/docs/current/explicit-locking.html#LOCKING-TABLES
 */
export async function lockTable(tx: Transaction, table: string, mode: TableLock): Promise<void> {
  if (tx.dialect === 'postgres') await tx.write(sql.literal(`lock table ${table} in ${mode} mode`))
}

/**
 * Has PostgreSQL count what is in a table, so that it plans by that: after many rows have come at once. SQLite's plans are
 * given by the statements.
 */
export async function analyzeTable(db: Pick<Database, 'dialect' | 'write'>, table: string): Promise<void> {
  if (db.dialect === 'postgres') await db.write(sql.literal(`analyze (skip_locked) ${table}`))
}
