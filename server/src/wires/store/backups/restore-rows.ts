import { requireRow, type Step } from '../../../db/database.ts'
import { errors } from '../../../base/errors.ts'
import { sql, type Dialect, type Sql } from '../../../db/sql.ts'
import type { Objects } from '../objects/objects.ts'
import { openGateSql } from './restore-gate.ts'
import { LEASE_MS } from './backup-lease.ts'
import { restoredObjectsSql } from './restore-staging.ts'

export type RestoreRow = {
  id: string
  status: 'running' | 'completed' | 'failed'
  safety_backup: string | null
  reason: string | null
}

/** Inserts a running restore; no row if there is one. */
export const insertSql = (
  id: string,
  source: string,
  { now, process }: { now: number; process: string },
): Sql<{ id: string }> => sql`
  insert into store_restores (id, status, source, lease_until, process, created_at)
  values (${id}, 'running', ${source}, ${now + LEASE_MS}, ${process}, ${now})
  on conflict do nothing
  returning id`

export const selectSql = (id: string): Sql<RestoreRow> =>
  sql`select id, status, safety_backup, reason from store_restores where id = ${id}`

export const selectLapsedSql = (now: number): Sql<{ id: string }> =>
  sql`select id from store_restores where status = 'running' and lease_until <= ${now}`

/** Thrown by the batch of `failSteps` if the restore is over already. */
export const isOver = () => errors.conflict({ message: 'The restore is over.' })

/**
 * The steps that fail a restore: the old state stays, writes go through again, and what was loaded is deleted.
 *
 * @param lapsedAt only if its lease is over then
 */
export const failSteps = (
  { dialect, objects }: { dialect: Dialect; objects: Objects },
  { id, reason, now, lapsedAt }: { id: string; reason: string; now: number; lapsedAt?: number },
): Step[] => [
  requireRow(
    sql`
      update store_restores set status = 'failed', reason = ${reason}, completed_at = ${now}
      where id = ${id} and status = 'running'
        ${lapsedAt === undefined ? sql.literal('') : sql`and lease_until <= ${lapsedAt}`}
      returning id`,
    isOver,
  ),
  ...openGateSql[dialect],
  ...objects.discardSql('uploads', restoredObjectsSql(id)),
]
