import { setTimeout as delay } from 'node:timers/promises'

import type { Clock } from '../../base/clock.ts'
import type { Progress } from '../../base/progress.ts'
import { StartError } from '../../base/start-error.ts'
import type { CatalogueTable } from '../../db/catalogue.ts'
import { closeTablesSql, reopenTablesSql } from '../../db/closed-tables.ts'
import type { Database } from '../../db/database.ts'
import { sql, type Dialect, type Sql } from '../../db/sql.ts'
import type { TableCopies } from '../wire/table-copy.ts'

const LOOK_MS = 100

export type Move = { target: string; started_at: number; moved_at: number | null }

/** The move of this database that has begun, or is done; undefined if there is none. */
export const findMove = (db: Pick<Database, 'get'>): Promise<Move | undefined> =>
  db.get(sql<Move>`select target, started_at, moved_at from sixwire_moves`)

/** @throws StartError if this database was moved, or is being moved */
export async function refuseMoved(db: Pick<Database, 'get'>): Promise<void> {
  const move = await findMove(db)
  if (!move) return
  const [problem, remedy] = problemOf(move)
  throw new StartError(`DATABASE_URL: ${problem}: ${remedy}`)
}

/** What is wrong with serving a database with a move, and what to do. */
export const problemOf = ({ target, moved_at: movedAt }: Move): [problem: string, remedy: string] =>
  movedAt === null
    ? [
        `the data is being moved to ${target}, or a move was cut off`,
        'run sixwire move again to finish it, or sixwire move --cancel to go on with this database',
      ]
    : [
        `the data was moved to ${target} at ${new Date(movedAt).toISOString()}`,
        'set DATABASE_URL to it, or run sixwire move --cancel to go on with this database as it was then',
      ]

/** The tables that a move closes: those that servers need not write while only reads are answered. */
export const closedTables = (tables: ReadonlyMap<string, CatalogueTable>, copies: TableCopies): string[] =>
  [...tables.keys()].filter((name) => copies[name]?.isOpen !== true)

/**
 * Closes the tables of a database for the time of a move, and beyond it: whoever writes is refused. Before that, no job is begun
 * any more, and those under way may end; one that does not end in time is as one whose process has died.
 *
 * @param options.target what is shown as the address of the other database
 * @param options.drainMs how long jobs under way are waited for
 */
export async function closeSource(
  { db, clock }: { db: Database; clock: Pick<Clock, 'now'> },
  tables: readonly string[],
  options: {
    target: string
    now: number
    drainMs: number
    onProgress: (progress: Progress) => void
    signal: AbortSignal
  },
): Promise<void> {
  const { target, now, drainMs, onProgress, signal } = options
  await db.batch([
    [
      sql`insert into sixwire_moves (id, target, started_at, moved_at) values (1, ${target}, ${now}, null)
          on conflict (id) do update set target = excluded.target, started_at = excluded.started_at, moved_at = null`,
      ...PAUSE_JOBS[db.dialect],
    ],
  ])
  const until = performance.now() + drainMs
  for (let most = 0; performance.now() < until;) {
    const row = await db.get<{ running: number }>(sql`
      select count(*) as running from sixwire_jobs
      where state = 'ready' and claimed_by is not null and run_at > ${clock.now()}`)
    const running = row!.running
    most = Math.max(most, running)
    if (running === 0) break
    onProgress({ phase: 'Wait for jobs', done: most - running, total: most, unit: 'rows' })
    await delay(LOOK_MS, undefined, { signal })
  }
  signal.throwIfAborted()
  await db.batch([closeTablesSql(db.dialect, tables)])
}

/** Lets writes into the database again. */
export const openSource = (db: Database, tables: readonly string[]): Promise<unknown> =>
  db.batch([
    [...reopenTablesSql(db.dialect, tables), ...RESUME_JOBS[db.dialect], sql`delete from sixwire_moves`],
  ])

/** Notes that the other database takes over. @throws StartError if the move was cancelled meanwhile */
export async function markMoved(db: Database, startedAt: number, now: number): Promise<void> {
  const rows = await db.write(
    sql`update sixwire_moves set moved_at = ${now} where started_at = ${startedAt} returning id`,
  )
  if (rows.length === 0)
    throw new StartError('the move was cancelled by another command. Nothing was changed')
}

// A claim is passed over, and not refused: the batch of a claim also writes how jobs have ended.
const PAUSE_JOBS: Record<Dialect, readonly Sql[]> = {
  sqlite: [
    sql`create trigger if not exists sixwire_jobs_paused before update of claimed_by on sixwire_jobs
        when new.claimed_by is not null and new.claimed_by is not old.claimed_by
        begin select raise(ignore); end`,
  ],
  postgres: [
    sql`create or replace function sixwire_pause_jobs() returns trigger language plpgsql as
        'begin return null; end'`,
    sql`create or replace trigger sixwire_jobs_paused before update of claimed_by on sixwire_jobs
        for each row when (new.claimed_by is not null and new.claimed_by is distinct from old.claimed_by)
        execute function sixwire_pause_jobs()`,
  ],
}

const RESUME_JOBS: Record<Dialect, readonly Sql[]> = {
  sqlite: [sql`drop trigger if exists sixwire_jobs_paused`],
  postgres: [sql`drop trigger if exists sixwire_jobs_paused on sixwire_jobs`],
}
