import { open } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Readable } from 'node:stream'

import { ApiError, errors } from '../../../base/errors.ts'
import { newId } from '../../../base/ids.ts'
import { requireRow, type Step } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import { COMMAND_LINE, type Actor } from '../../../http/actor.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import type { ArchivedDefinitions } from '../documents/definition-changes/archived-definitions.ts'
import type { Indexes } from '../documents/storage/indexes/indexes.ts'
import type { Objects } from '../objects/objects.ts'
import type { Manifest } from './archive-format.ts'
import type { ArchivedDefinition } from './archive-lines.ts'
import { readArchive, type ArchiveSink } from './archive-reader.ts'
import type { Backups } from './backups.ts'
import type { Progress } from '../../../base/progress.ts'
import { damaged } from './damaged-archive.ts'
import { closeGateSql, openGateSql } from './restore-gate.ts'
import { holdLease, releaseSql, renewSql, type Lease } from './backup-lease.ts'
import { createRecovery, type Recovery } from './restore-recovery.ts'
import { insertSql } from './restore-rows.ts'
import { previewOf, type RestorePreview } from './restore-preview.ts'
import { withSha256 } from '../../../base/with-sha256.ts'
import { createStaging, restoredObjectsSql } from './restore-staging.ts'
import { swap, type LoadedArchive } from './restore-swap.ts'

const EXTEND_MS = 600_000
const BACKUP_WAIT_MS = 1_000
const RETRY_AFTER_S = 5

/** A backup of this installation, or a file of an archive, of whichever installation. */
export type RestoreSource = { id: string } | { file: string }

export type RestoreOptions = {
  onProgress?: (progress: Progress) => void
  /** Ends it, as long as nothing has been replaced. */
  signal?: AbortSignal
  /** Who restores it. Default: the command line. */
  actor?: Actor
}

/** Replaces all documents and files by those of a backup. */
export type Restores = Pick<Recovery, 'recover'> & {
  /**
   * Checks the archive whole, makes a safety backup, and replaces everything at once. While the safety backup is made,
   * writes of documents and files are answered UNAVAILABLE; reading goes on.
   *
   * @returns the id of the safety backup
   * @throws BACKUP_DAMAGED; NOT_FOUND; CONFLICT if a restore or a backup runs; UNAVAILABLE
   */
  restore(source: RestoreSource, options?: RestoreOptions): Promise<{ safetyBackup: string }>
  /**
   * Checks the archive whole, as a restore does, and tells what it would replace by what. Changes nothing.
   *
   * @throws BACKUP_DAMAGED; NOT_FOUND; CONFLICT if the backup is not completed; UNAVAILABLE
   */
  preview(source: RestoreSource, options?: RestoreOptions): Promise<RestorePreview>
  /** Ends the restore that this process runs, unless it is being completed. */
  close(): Promise<void>
}

type Opened = { bytes: Readable; size: number; sha256?: string }

export function createRestores(
  context: Pick<WireContext, 'db' | 'clock' | 'jobs' | 'log' | 'processes' | 'audit' | 'personalData'>,
  {
    objects,
    backups,
    indexes,
    definitions,
  }: {
    objects: Objects
    backups: Backups
    indexes: Pick<Indexes, 'replace'>
    definitions: ArchivedDefinitions
  },
): Restores {
  const { db, clock, log, processes, audit, personalData } = context
  const closing = new AbortController()
  const recovery = createRecovery(context, { objects })
  let running: Promise<unknown> | undefined
  processes.onEnd((ended) => [releaseSql('store_restores', ended)])

  async function openSource(source: RestoreSource): Promise<Opened> {
    if ('id' in source) return backups.open(source.id)
    const file = await open(source.file)
    return { bytes: file.createReadStream(), size: (await file.stat()).size }
  }

  /** What a backup brings back of an account that was deleted since is erased again. */
  const eraseSql = (account: string): Step =>
    personalData.eraseSql({ id: account, emails: [], phones: [], until: clock.now() })

  /** The lease, and the time of the objects that were written. */
  function leaseOf(id: string): Lease {
    let extendAt = clock.elapsed() + EXTEND_MS
    return holdLease(context, { restore: id }, async () => {
      const [row] = await db.write(renewSql('store_restores', id, clock.now()))
      if (clock.elapsed() >= extendAt) {
        await db.write(objects.extendSql('uploads', restoredObjectsSql(id)))
        extendAt = clock.elapsed() + EXTEND_MS
      }
      return row !== undefined
    })
  }

  /** Reads the archive to its end, into the tables and objects of the restore. */
  async function load(
    id: string,
    opened: Opened,
    signal: AbortSignal,
    onProgress: RestoreOptions['onProgress'],
  ): Promise<LoadedArchive> {
    const staging = createStaging({ db, objects }, { id, signal })
    try {
      const { collections, files } = await readWhole(opened, staging.sink, { signal, onProgress })
      await staging.finish()
      const documents = collections.reduce((sum, { lines }) => sum + lines, 0)
      return {
        counts: { documents, files: files.lines },
        unordered: staging.unordered,
        definitions: staging.definitions,
      }
    } catch (error) {
      await staging.discard()
      throw error
    }
  }

  /** Makes the safety backup with the gate closed, so that nothing is written between it and the replacement. */
  async function makeSafetyBackup(
    id: string,
    signal: AbortSignal,
    onProgress: RestoreOptions['onProgress'],
  ): Promise<string> {
    const stillRunning = () =>
      requireRow(renewSql('store_restores', id, clock.now()), () =>
        errors.unavailable({ message: 'The lease was over.' }),
      )
    for (;;) {
      signal.throwIfAborted()
      await db.batch([stillRunning(), ...closeGateSql[db.dialect]])
      try {
        const backup = await backups.create('safety', { signal, ...(onProgress && { onProgress }) })
        await backup.done
        return backup.id
      } catch (error) {
        if (!(error instanceof ApiError && error.status === 409)) throw error
      }
      // A scheduled backup has begun meanwhile: until it is over, writes go on.
      await db.batch([stillRunning(), ...openGateSql[db.dialect]])
      await clock.sleep(BACKUP_WAIT_MS, { signal })
    }
  }

  async function run(
    id: string,
    target: string,
    opened: Opened,
    { onProgress, signal, actor = COMMAND_LINE }: RestoreOptions,
  ): Promise<string> {
    const lease = leaseOf(id)
    const stop = AbortSignal.any([closing.signal, lease.lapsed, ...(signal ? [signal] : [])])
    let safetyBackup: string | undefined
    try {
      const loaded = await load(id, opened, stop, onProgress)
      const { counts } = loaded
      safetyBackup = await makeSafetyBackup(id, stop, onProgress)
      const total = counts.documents
      onProgress?.({ phase: 'Replace', done: 0, total, unit: 'documents' })
      stop.throwIfAborted()
      const after = { ...counts, safetyBackup }
      const entrySql = audit.entrySql(actor, { action: 'backup.restored', target, after })
      await swap(
        { db, objects, indexes },
        {
          id,
          safetyBackup,
          entrySql,
          eraseSql,
          define: (tx, archived) => definitions.restore(tx, archived, actor),
          now: () => clock.now(),
        },
        loaded,
      )
      await definitions.refresh()
      onProgress?.({ phase: 'Replace', done: total, total, unit: 'documents' })
      log.info({ restore: id, safetyBackup, ...counts }, 'restore completed')
    } catch (error) {
      const reason = stop.aborted ? stopped() : error
      // The answer to the last commit may have been lost.
      if ((await recovery.fail(id, reason)) !== 'completed') throw reason
    } finally {
      await lease.release()
    }
    await recovery.deleteStaged(id)
    return safetyBackup!
  }

  return {
    async restore(source, options = {}) {
      await recovery.recover()
      const isBackingUp = await db.get(sql`
        select id from store_backups where status = 'running' and lease_until > ${clock.now()}`)
      if (isBackingUp)
        throw errors.conflict({
          message: 'A backup is being made: restore when it is finished.',
          retryAfter: RETRY_AFTER_S,
        })
      const opened = await openSource(source)
      // Not before the recovery, which can take longer than the lease.
      const now = clock.now()
      const id = newId(now)
      const name = 'id' in source ? source.id : basename(source.file)
      const [inserted] = await db.write(insertSql(id, name, { now, process: processes.id }))
      if (!inserted) {
        opened.bytes.destroy()
        throw errors.conflict({
          message: 'Another backup is being restored: wait until it is done.',
          retryAfter: RETRY_AFTER_S,
        })
      }
      const restoring = run(id, `${'id' in source ? 'backup' : 'file'}:${name}`, opened, options)
      running = restoring.catch(() => undefined)
      return { safetyBackup: await restoring }
    },
    async preview(source, options = {}) {
      const archived: ArchivedDefinition[] = []
      const sink: ArchiveSink = { definitions: (batch) => void archived.push(...batch) }
      const manifest = await readWhole(await openSource(source), sink, options)
      return previewOf(db, manifest, await definitions.compare(archived))
    },
    recover: () => recovery.recover(),
    async close() {
      closing.abort()
      await running
    },
  }
}

/** Reads an archive to its end, and checks that it is the one of the backup. @throws BACKUP_DAMAGED */
async function readWhole(
  { bytes, size, sha256 }: Opened,
  sink: ArchiveSink,
  { signal, onProgress }: RestoreOptions,
): Promise<Manifest> {
  const hashed = withSha256(bytes as AsyncIterable<Buffer>)
  const manifest = await readArchive(hashed.bytes, sink, {
    ...(signal && { signal }),
    onProgress: (done) => onProgress?.({ phase: 'Check', done, total: size, unit: 'bytes' }),
  })
  if (sha256 !== undefined && hashed.digest() !== sha256)
    throw damaged('the archive', 'its SHA-256 is not that of the backup')
  return manifest
}

const stopped = () =>
  errors.unavailable({ message: 'The restore was stopped before it was finished: nothing was changed.' })
