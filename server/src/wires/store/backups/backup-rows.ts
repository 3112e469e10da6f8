import { isoTime } from '../../../base/clock.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import { LEASE_MS } from './backup-lease.ts'

/** `safety` ones are made by a restore of what it replaces. */
export type BackupKind = 'manual' | 'scheduled' | 'safety'

export type BackupStatus = 'running' | 'completed' | 'failed'

/** What an archive holds, and its bytes. */
export type ArchiveSummary = {
  /** Of the archive, in bytes. */
  size: number
  /** Of the archive, in hex. */
  sha256: string
  collections: number
  documents: number
  files: number
}

export type BackupRow = { [K in keyof ArchiveSummary]: ArchiveSummary[K] | null } & {
  id: string
  kind: BackupKind
  status: BackupStatus
  /** The key of the archive in the backups storage. */
  object: string
  /** Why it failed, or what it does not hold. */
  reason: string | null
  lease_until: number
  created_at: number
  completed_at: number | null
  bytes_done: number
  bytes_total: number
}

export type BackupProgress = { done: number; total: number }

/** A backup as it is answered; what is known only at its end is absent until then. */
export type BackupRecord = {
  _id: string
  status: BackupStatus
  kind: BackupKind
  createdAt: string
  completedAt?: string
  /** Why it failed. */
  error?: string
  /** What a completed one does not hold. */
  warning?: string
  /** How far a running one is, in bytes. */
  progress?: BackupProgress
} & Partial<ArchiveSummary>

export function recordOf(row: BackupRow): BackupRecord {
  const { size, sha256, collections, documents, files } = row
  return {
    _id: row.id,
    status: row.status,
    kind: row.kind,
    ...(size !== null && sha256 !== null && { size, sha256 }),
    ...(collections !== null && documents !== null && files !== null && { collections, documents, files }),
    createdAt: isoTime(row.created_at),
    ...(row.completed_at !== null && { completedAt: isoTime(row.completed_at) }),
    ...(row.status === 'running' &&
      row.bytes_total > 0 && { progress: { done: row.bytes_done, total: row.bytes_total } }),
    ...(row.reason !== null && { [row.status === 'failed' ? 'error' : 'warning']: row.reason }),
  }
}

const COLUMNS = sql.literal(
  'id, kind, status, object, size, sha256, collections, documents, files, reason, lease_until, created_at, completed_at, bytes_done, bytes_total',
)

export const objectOf = (id: string): string => `${id}.tar.zst`

/** Inserts a running backup; no row if there is one already, or one of this id. */
export const insertSql = (
  id: string,
  kind: BackupKind,
  { now, process }: { now: number; process: string },
): Sql<{ id: string }> => sql`
  insert into store_backups (id, kind, status, object, lease_until, process, created_at)
  values (${id}, ${kind}, 'running', ${objectOf(id)}, ${now + LEASE_MS}, ${process}, ${now})
  on conflict do nothing
  returning id`

/** Of a running backup. */
export const progressSql = (id: string, { done, total }: BackupProgress): Sql => sql`
  update store_backups set bytes_done = ${done}, bytes_total = ${total} where id = ${id} and status = 'running'`

/** For the batch that claims the archive. */
export const completeSql = (
  id: string,
  archive: ArchiveSummary,
  now: number,
  warning: string | null,
): Sql<BackupRow> => sql`
  update store_backups set
    status = 'completed', completed_at = ${now}, reason = ${warning}, size = ${archive.size}, sha256 = ${archive.sha256},
    collections = ${archive.collections}, documents = ${archive.documents}, files = ${archive.files}
  where id = ${id} and status = 'running'
  returning ${COLUMNS}`

export const failSql = (id: string, reason: string, now: number): Sql => sql`
  update store_backups set status = 'failed', reason = ${reason}, completed_at = ${now}
  where id = ${id} and status = 'running'`

/** Ends backups whose process has died; the garbage collector deletes what they have written. */
export const failLapsedSql = (now: number): Sql<{ id: string }> => sql`
  update store_backups set
    status = 'failed', reason = 'The server that made it ended before it was finished.', completed_at = ${now}
  where status = 'running' and lease_until <= ${now}
  returning id`

export const selectSql = (id: string): Sql<BackupRow> =>
  sql`select ${COLUMNS} from store_backups where id = ${id}`

/** Newest first. */
export const selectPageSql = (
  limit: number,
  offset: number,
  before: string | undefined,
): Sql<BackupRow> => sql`
  select ${COLUMNS} from store_backups
  ${before === undefined ? sql.literal('') : sql`where id < ${before}`}
  order by id desc limit ${limit} offset ${offset}`

export const selectLastCompletedSql = (): Sql<{ completed_at: number }> => sql`
  select completed_at from store_backups where status = 'completed' order by completed_at desc limit 1`

/**
 * The ids of the backups of a kind that are over, but for the newest of each status. None while a restore runs: it may
 * be what is restored.
 */
export const selectSurplusSql = (kind: BackupKind, keep: number): Sql<{ id: string }> => sql`
  select id from (
    select id, row_number() over (partition by status order by id desc) as place from store_backups
    where kind = ${kind} and status <> 'running'
  ) as placed
  where place > ${keep} and not exists (select 1 from store_restores where status = 'running')
  order by id`

/** The keys of the archives of a backup: one if it is completed. */
export const selectObjectSql = (id: string): Sql<{ key: string }> =>
  sql`select object as key from store_backups where id = ${id} and status = 'completed'`

export const deleteSql = (id: string): Sql<{ id: string }> =>
  sql`delete from store_backups where id = ${id} and status <> 'running' returning id`
