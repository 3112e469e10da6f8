import { rm } from 'node:fs/promises'

import type { Logger } from '../../base/logger.ts'
import type { Clock } from '../../base/clock.ts'
import { errors } from '../../base/errors.ts'
import { newId } from '../../base/ids.ts'
import { requireRow, type Database, type Step } from '../../db/database.ts'
import { sqliteFileOf } from '../../db/open.ts'
import { sql } from '../../db/sql.ts'

const BEAT_MS = 2_000
/** After so many checks without a new beat a process counts as ended: 10 seconds. */
const CHECKS_WITHOUT_BEAT = 5

/**
 * The processes that work on this database, so that what one held that was killed is free before its lease is over. A lease
 * stays the rule behind it: a claim must be fenced, for a process that only stood still may go on after others took it over.
 * See docs/decisions/055-processes.md.
 */
export type Processes = {
  /** Of this process, another one at each start. A claim carries it. */
  readonly id: string
  /**
   * Adds what releases the claims of a process that has ended. The steps of all are one batch.
   *
   * @example
   * processes.onEnd((ended) => [sql`update shop_exports set lease_until = 0 where process = ${ended}`])
   */
  onEnd(releaseSql: (ended: string) => readonly Step[]): void
  /**
   * When the claims of a process are free at the latest, if it has died: milliseconds from now. 0 if it is alive, as far as is
   * known; Infinity if nothing is known of it.
   */
  freeInMs(process: string | null): number
  /** Whether processes of an older version may go on beside this one: it has changed the tables while they ran. */
  hasOlder(): boolean
}

/** Where nothing is known of other processes: leases alone decide. */
export const NO_PROCESSES: Processes = {
  id: '',
  onEnd: () => undefined,
  freeInMs: () => Infinity,
  hasOlder: () => false,
}

export type ProcessWatch = Processes & {
  /**
   * Enters this process, and releases what those held that are known to have ended.
   *
   * @param isOutdated called with each check of the others: whether this process must not go on, which ends the checks
   * @param hasMigrated whether this process has changed the tables
   */
  start(isOutdated?: () => Promise<boolean>, hasMigrated?: boolean): Promise<void>
  /** @param isSettled whether this process holds no claims any more */
  stop(isSettled: boolean): Promise<void>
}

type Row = { id: string; beat: number }

/** What was seen of another process. */
type Seen = { beat: number; checks: number; isAlive: boolean }

export function createProcesses(
  { db, clock, log }: { db: Database; clock: Clock; log: Logger },
  { databaseUrl }: { databaseUrl: string },
): ProcessWatch {
  const id = newId()
  const releases: ((ended: string) => readonly Step[])[] = []
  const stopping = new AbortController()
  const others = new Map<string, Seen>()
  const file = sqliteFileOf(databaseUrl)
  let unlock: (() => void) | undefined
  let watching: Promise<void> | undefined
  let hasOlder = false

  const lockOf = (process: string): string => `${file}-process-${process}`

  /** Deletes the row of a process and releases its claims. @returns false if it has shown itself since */
  async function release({ id: ended, beat }: Row): Promise<boolean> {
    const goneError = errors.conflict()
    try {
      await db.batch([
        requireRow(
          sql`delete from sixwire_processes where id = ${ended} and beat = ${beat} returning id`,
          () => goneError,
        ),
        ...releases.flatMap((one) => one(ended)),
      ])
    } catch (error) {
      if (error === goneError) return false
      throw error
    }
    log.warn({ process: ended }, 'a process ended without finishing: what it had claimed is released')
    return true
  }

  /** The system has released the lock of a process that ended, however it ended. */
  async function releaseUnlocked(row: Row): Promise<void> {
    const { tryLock } = await import('../../db/file-lock.ts')
    const lock = lockOf(row.id)
    const close = tryLock(lock)
    if (!close) return
    try {
      await release(row)
    } finally {
      close()
    }
    await rm(lock, { force: true })
  }

  /** Counts checks, not time: a database that was away, or an observer that stood still, makes nobody dead. */
  async function releaseSilent(row: Row): Promise<void> {
    const seen = others.get(row.id)
    if (!seen || seen.beat !== row.beat)
      others.set(row.id, { beat: row.beat, checks: 0, isAlive: seen !== undefined })
    else if (++seen.checks >= CHECKS_WITHOUT_BEAT && (await release(row))) others.delete(row.id)
  }

  async function checkOthers(): Promise<void> {
    const select = sql<Row>`select id, beat from sixwire_processes where id <> ${id}`
    const rows =
      file === undefined
        ? (
            await db.batch([
              sql`insert into sixwire_processes as own (id, beat) values (${id}, 1)
                  on conflict (id) do update set beat = own.beat + 1`,
              select,
            ])
          )[1]
        : await db.all(select)
    const ids = new Set(rows.map((row) => row.id))
    for (const other of others.keys()) if (!ids.has(other)) others.delete(other)
    for (const row of rows) {
      if (file === undefined) await releaseSilent(row)
      else {
        others.set(row.id, { beat: row.beat, checks: 0, isAlive: true })
        await releaseUnlocked(row)
      }
    }
  }

  async function watch(isOutdated: () => Promise<boolean>): Promise<void> {
    for (;;) {
      await clock.sleep(BEAT_MS, { signal: stopping.signal, idle: true })
      if (stopping.signal.aborted) return
      try {
        await checkOthers()
        if (await isOutdated()) return
      } catch (error) {
        log.warn({ err: error }, 'the processes of this database could not be watched')
      }
    }
  }

  return {
    id,
    onEnd: (one) => void releases.push(one),
    hasOlder: () => hasOlder,
    freeInMs(process) {
      if (process === id) return 0
      const seen = others.get(process ?? '')
      if (!seen) return Infinity
      return seen.isAlive && seen.checks <= 1 ? 0 : (CHECKS_WITHOUT_BEAT - seen.checks) * BEAT_MS
    },
    async start(isOutdated = async () => false, hasMigrated = false) {
      if (file !== undefined) {
        // Locked before there is a row: a row without a lock is that of a process that has ended.
        unlock = (await import('../../db/file-lock.ts')).tryLock(lockOf(id))
        await db.write(sql`insert into sixwire_processes (id, beat) values (${id}, 0)`)
      }
      await checkOthers()
      hasOlder = hasMigrated && others.size > 0
      watching = watch(isOutdated)
    },
    async stop(isSettled) {
      if (!watching) return
      stopping.abort()
      await watching
      try {
        if (isSettled) await db.write(sql`delete from sixwire_processes where id = ${id}`)
      } catch (error) {
        log.warn({ err: error }, 'this process could not be signed off: others find out that it has ended')
      }
      unlock?.()
      if (unlock && isSettled) await rm(lockOf(id), { force: true })
    },
  }
}
