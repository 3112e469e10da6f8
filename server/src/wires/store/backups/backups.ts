import { PendingPromises } from '../../../base/pending-promises.ts'
import { isoTime } from '../../../base/clock.ts'
import { ApiError, errors, isPassing } from '../../../base/errors.ts'
import { newId } from '../../../base/ids.ts'
import type { Progress } from '../../../base/progress.ts'
import { sql } from '../../../db/sql.ts'
import { requireRow } from '../../../db/database.ts'
import { COMMAND_LINE, SYSTEM, type Actor } from '../../../http/actor.ts'
import { cutPage, type Page } from '../../../http/page.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import type { NewObject, Objects } from '../objects/objects.ts'
import type { Content } from '../files/content/file-content.ts'
import { NoSuchObject } from '../objects/storage.ts'
import {
  completeSql,
  deleteSql,
  failLapsedSql,
  failSql,
  insertSql,
  progressSql,
  recordOf,
  selectLastCompletedSql,
  selectObjectSql,
  selectPageSql,
  selectSql,
  selectSurplusSql,
  type BackupKind,
  type BackupRecord,
  type BackupRow,
} from './backup-rows.ts'
import { BackupFault, createArchives } from './create-backup.ts'
import { holdLease, releaseSql, renewSql } from './backup-lease.ts'

const RUNNING_RETRY_S = 5
const LOST_SHOWN = 20
const LOST_LOGGED = 1_000

export type { BackupKind, BackupRecord } from './backup-rows.ts'

export type CreateOptions = {
  /** The id of the backup, if a repeated call must not make another one. Default: a new one. */
  id?: string
  onProgress?: (progress: Progress) => void
  /** Ends it; it has failed then. */
  signal?: AbortSignal
  /** Who makes a manual one. Default: the command line. */
  actor?: Actor
}

/** Without a total if the page does not ask for it. */
export type BackupPage = { backups: BackupRecord[]; total: number | undefined; nextCursor?: string }

/** Backups of documents and files: their records, and their archives in the backups storage. */
export type Backups = {
  /**
   * Begins a backup. `done` resolves once it is completed, and rejects if it fails.
   *
   * @throws CONFLICT (409) if one is being made, on whichever replica
   */
  create(kind: BackupKind, options?: CreateOptions): Promise<{ id: string; done: Promise<BackupRecord> }>
  /** @throws NOT_FOUND */
  get(id: string): Promise<BackupRecord>
  /** Reads one page, newest first. */
  list(page: Page): Promise<BackupPage>
  /** The archive, to be answered. @throws NOT_FOUND, CONFLICT if it is not completed */
  archive(id: string): Promise<Content>
  /** Records that the archive is downloaded, which holds all documents. */
  recordDownload(id: string, actor: Actor): Promise<void>
  /** Opens the archive. The bytes must be read or destroyed. @throws NOT_FOUND, CONFLICT if it is not completed */
  open(id: string): Promise<{ bytes: Awaited<ReturnType<Objects['read']>>; size: number; sha256: string }>
  /** Deletes a backup and its archive. @throws NOT_FOUND, CONFLICT while it is being made */
  remove(id: string, actor?: Actor): Promise<void>
  /** Deletes all backups of a kind but the newest ones. */
  removeSurplus(kind: BackupKind, keep: number): Promise<void>
  /** When the last completed backup was completed; null if there is none. */
  lastCompletedAt(): Promise<string | null>
  /** Ends the records of backups whose process has died. */
  failLapsed(): Promise<void>
  /** Ends the backups that this process makes. */
  close(): Promise<void>
}

const noBackup = (id: string): ApiError => errors.not_found({ message: `There is no backup ${id}.` })

type BackupWork = Pick<WireContext, 'db' | 'clock' | 'log' | 'processes' | 'audit'> & {
  objects: Objects
  createArchive: ReturnType<typeof createArchives>
  /** The backups that this process makes, and what ends them. */
  running: PendingPromises
  closing: AbortController
}

export function createBackups(
  context: Pick<WireContext, 'db' | 'clock' | 'log' | 'processes' | 'audit'>,
  { objects }: { objects: Objects },
): Backups {
  const { db, clock, log, processes, audit } = context
  const closing = new AbortController()
  const running = new PendingPromises()
  const createArchive = createArchives(context, { objects })
  const work: BackupWork = { db, clock, log, processes, audit, objects, createArchive, running, closing }
  processes.onEnd((ended) => [releaseSql('store_backups', ended)])

  return {
    create: (kind, options = {}) => create(work, kind, options),
    get: (id) => get(work, id),
    async list(page) {
      const { limit, offset, before } = page
      const [rows, [counted]] = await Promise.all([
        db.scan(selectPageSql(limit + 1, offset, before)),
        page.counts === false
          ? [undefined]
          : db.scan<{ total: number }>(sql`select count(*) as total from store_backups`),
      ])
      const { rows: cut, ...rest } = cutPage(rows, page, ({ id }) => id)
      return { backups: cut.map(recordOf), total: counted?.total, ...rest }
    },
    async archive(id) {
      const row = await completed(work, id)
      return {
        what: `archive of the backup ${id}`,
        name: row.object,
        contentType: 'application/zstd',
        size: row.size,
        etag: `"${row.sha256}"`,
        modifiedAt: row.created_at,
        open: (range) => objects.read('backups', row.object, range),
      }
    },
    async open(id) {
      const { object, size, sha256 } = await completed(work, id)
      try {
        return { bytes: await objects.read('backups', object), size, sha256 }
      } catch (error) {
        if (!(error instanceof NoSuchObject)) throw error
        throw errors.not_found({ message: `The archive of the backup ${id} does not exist any more.` })
      }
    },
    async recordDownload(id, actor) {
      await db.write(audit.entrySql(actor, { action: 'backup.downloaded', target: `backup:${id}` }))
    },
    remove: (id, actor = COMMAND_LINE) => remove(work, id, actor),
    async removeSurplus(kind, keep) {
      for (const { id } of await db.scan(selectSurplusSql(kind, keep)))
        try {
          await remove(work, id, SYSTEM)
        } catch (error) {
          // Another replica has deleted it.
          if (!(error instanceof ApiError && error.status === 404)) throw error
        }
    },
    async lastCompletedAt() {
      const row = await db.get(selectLastCompletedSql())
      return row ? isoTime(row.completed_at) : null
    },
    async failLapsed() {
      for (const { id } of await db.write(failLapsedSql(clock.now())))
        log.error({ backup: id }, 'a backup failed: the server that made it ended')
    },
    async close() {
      closing.abort()
      await running.idle()
    },
  }
}

async function create(
  work: BackupWork,
  kind: BackupKind,
  options: CreateOptions,
): Promise<{ id: string; done: Promise<BackupRecord> }> {
  const { db, clock, processes, running, audit } = work
  const now = clock.now()
  const id = options.id ?? newId(now)
  const [, [inserted]] = await db.batch([
    failLapsedSql(now),
    insertSql(id, kind, { now, process: processes.id }),
    kind === 'manual'
      ? audit.entrySql(options.actor ?? COMMAND_LINE, {
          action: 'backup.created',
          target: `backup:${id}`,
          // Not if it was begun before, or another one is being made.
          onlyIf: sql`exists (
            select 1 from store_backups where id = ${id} and process = ${processes.id} and created_at = ${now})`,
        })
      : [],
  ])
  if (!inserted) {
    const row = await db.get(selectSql(id))
    if (!row) throw isRunning()
    if (row.status === 'failed') throw failed(row.reason!)
    return { id, done: Promise.resolve(recordOf(row)) }
  }
  const done = run(work, id, kind, options)
  // A failure is in the log, in the record, and in `done`.
  return { id, done: running.add(done) }
}

/** Makes a backup whose record is there. @throws the reason, if it fails */
async function run(
  work: BackupWork,
  id: string,
  kind: BackupKind,
  { onProgress, signal }: CreateOptions,
): Promise<BackupRecord> {
  const { db, clock, log, closing, createArchive } = work
  // Once the lease is over, the garbage collector may delete files that the snapshot names: the backup must stop.
  let progress: Progress | undefined
  const lease = holdLease(work, { backup: id }, async () => {
    const renewed = renewSql('store_backups', id, clock.now())
    const [[row]] = await db.batch([renewed, ...(progress ? [progressSql(id, progress)] : [])])
    return row !== undefined
  })
  const stop = AbortSignal.any([closing.signal, lease.lapsed, ...(signal ? [signal] : [])])
  let archive: NewObject | undefined
  try {
    const created = await createArchive(id, {
      signal: stop,
      // A restore is wanted most where bytes were lost: nothing can save them, and the rest is saved.
      skipsLost: kind === 'safety',
      onProgress(now) {
        progress = now
        onProgress?.(now)
      },
    })
    const { summary, lost } = created
    archive = created.archive
    const [, [row]] = await db.batch([
      archive.claimSql,
      requireRow(completeSql(id, summary, clock.now(), warningOf(lost)), () =>
        errors.unavailable({ message: 'The lease of the backup was over before it was completed.' }),
      ),
    ])
    if (lost.length > 0)
      log.warn(
        { backup: id, lost: lost.length, files: lost.slice(0, LOST_LOGGED) },
        'files are not in a safety backup, because their bytes are missing',
      )
    log.info({ backup: id, ...summary }, 'backup completed')
    return recordOf(row!)
  } catch (error) {
    await archive?.discard()
    return await settle(work, id, stop.aborted ? STOPPED : error)
  } finally {
    await lease.release()
  }
}

/** Writes down why a backup failed. @throws the reason, unless it was completed: the answer to a commit can be lost */
async function settle({ db, clock, log }: BackupWork, id: string, error: unknown): Promise<BackupRecord> {
  const isExpected = error instanceof BackupFault || error instanceof ApiError
  const reason = isExpected
    ? error.message
    : 'Internal error. The log has the details under the id of the backup.'
  try {
    await db.write(failSql(id, reason, clock.now()))
    const row = await db.get(selectSql(id))
    if (row?.status === 'completed') return recordOf(row)
  } catch (failure) {
    log.warn({ err: failure, backup: id }, 'the end of a backup could not be written: its lease ends it')
  }
  log.error({ err: error, backup: id }, `backup failed: ${reason}`)
  throw failed(reason, error)
}

async function get({ db }: BackupWork, id: string): Promise<BackupRecord> {
  const row = await db.get(selectSql(id))
  if (!row) throw noBackup(id)
  return recordOf(row)
}

/** @throws NOT_FOUND, CONFLICT */
async function completed(
  { db }: BackupWork,
  id: string,
): Promise<BackupRow & { size: number; sha256: string }> {
  const row = await db.get(selectSql(id))
  if (!row) throw noBackup(id)
  const { status, size, sha256 } = row
  if (status !== 'completed' || size === null || sha256 === null)
    throw errors.conflict({ message: `The backup ${id} has no archive: it is ${status}.` })
  return { ...row, size, sha256 }
}

async function remove(work: BackupWork, id: string, actor: Actor): Promise<void> {
  const { status, kind, createdAt } = await get(work, id)
  if (status === 'running') throw isRunning()
  await work.db.batch([
    work.objects.discardSql('backups', selectObjectSql(id)),
    requireRow(deleteSql(id), () => noBackup(id)),
    work.audit.entrySql(actor, {
      action: 'backup.deleted',
      target: `backup:${id}`,
      before: { kind, status, createdAt },
    }),
  ])
}

const STOPPED = new BackupFault('It was stopped before it was finished.')

function warningOf(lost: readonly string[]): string | null {
  if (lost.length === 0) return null
  const more = lost.length > LOST_SHOWN ? ` and ${lost.length - LOST_SHOWN} more` : ''
  return `Without the files whose bytes are missing: ${lost.slice(0, LOST_SHOWN).join(', ')}${more}.`
}

const isRunning = (): ApiError =>
  errors.conflict({
    message: 'A backup is being made: wait until it is finished.',
    retryAfter: RUNNING_RETRY_S,
  })

/** The error for the caller, with the status of its cause if that is known. */
function failed(reason: string, cause?: unknown): ApiError {
  const message = `The backup failed: ${reason}`
  if (!isPassing(cause)) return errors.internal_error({ message })
  const { code, status, retryAfter } = cause
  return new ApiError(code, status, message, { ...(retryAfter !== undefined && { retryAfter }) })
}
