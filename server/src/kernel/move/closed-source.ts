import { setTimeout as delay } from 'node:timers/promises'

import type { Clock } from '../../base/clock.ts'
import { ApiError, errors } from '../../base/errors.ts'
import type { Progress } from '../../base/progress.ts'
import { StartError } from '../../base/start-error.ts'
import { CLOSED_FUNCTION, closeTableSql, reopenTablesSql } from '../../db/closed-tables.ts'
import { requireRow, type Database, type StepWith } from '../../db/database.ts'
import { sql, type Dialect, type Sql } from '../../db/sql.ts'

const LOOK_MS = 100

/** A move of this database. Of several commands the last one owns it; all others find out, and change nothing. */
export type Move = { owner: string; target: string; started_at: number; moved_at: number | null }

/** The move that has begun, or is done; undefined if there is none. */
export const findMove = (db: Pick<Database, 'get'>): Promise<Move | undefined> =>
  db.get(sql<Move>`select owner, target, started_at, moved_at from sixwire_moves`).catch((error: unknown) => {
    if (error instanceof ApiError) throw error
    return undefined // the database has no tables yet, or older ones
  })

/** @throws StartError if this database was moved, or is being moved */
export async function refuseMoved(db: Pick<Database, 'get'>): Promise<void> {
  const move = await findMove(db)
  if (!move) return
  const [problem, remedy] = problemOf(move)
  throw new StartError(`DATABASE_URL: ${problem}: ${remedy}`)
}

/** What is wrong with serving a database with a move, and what to do. */
export const problemOf = ({
  target,
  moved_at: movedAt,
}: Pick<Move, 'target' | 'moved_at'>): [problem: string, remedy: string] =>
  movedAt === null
    ? [
        `the data is being moved to ${target}, or a move was cut off`,
        'run sixwire move again to finish it, or sixwire move --cancel to go on with this database',
      ]
    : [
        `the data was moved to ${target} at ${new Date(movedAt).toISOString()}`,
        'set DATABASE_URL to it; if that one is not used, sixwire move --reopen goes on with this database as it was then',
      ]

const taken = (): ApiError =>
  errors.conflict({
    message: 'the move was cancelled, or another command has taken it over. This one changed nothing',
  })

/** Fails a batch unless the move is still that of its owner, and holds others up until its end. */
const ownedSql = (owner: string): StepWith =>
  requireRow(
    sql`update sixwire_moves set owner = owner where owner = ${owner} and moved_at is null returning id`,
    taken,
  )

/**
 * Begins a move, or takes over one that is not finished. No job is begun from then on, and those under way may end; one that does
 * not end in time is as one whose process has died.
 *
 * @param options.target what is shown as the address of the other database
 * @param options.drainMs how long jobs under way are waited for
 */
export async function beginMove(
  { db, clock }: { db: Database; clock: Pick<Clock, 'now'> },
  options: {
    owner: string
    target: string
    drainMs: number
    onProgress: (progress: Progress) => void
    signal: AbortSignal
  },
): Promise<void> {
  const { owner, target, drainMs, onProgress, signal } = options
  await db.batch([
    requireRow(
      sql`insert into sixwire_moves (id, owner, target, started_at, moved_at)
          values (1, ${owner}, ${target}, ${clock.now()}, null)
          on conflict (id) do update set
            owner = excluded.owner, target = excluded.target, started_at = excluded.started_at, moved_at = null
          where sixwire_moves.moved_at is null or sixwire_moves.target = excluded.target
          returning id`,
      taken,
    ),
    PAUSE_JOBS[db.dialect],
  ])
  const until = performance.now() + drainMs
  for (let most = 0; performance.now() < until;) {
    const row = await db.get<{ running: number }>(sql`
      select count(*) as running from sixwire_jobs
      where state = 'ready' and claimed_by is not null and run_at > ${clock.now()}`)
    const running = row!.running
    most = Math.max(most, running)
    if (running === 0) break
    onProgress({ phase: 'Wait for jobs', done: most - running, total: most, unit: 'jobs' })
    signal.throwIfAborted()
    await delay(LOOK_MS)
  }
  signal.throwIfAborted()
}

/**
 * Makes tables refuse all writes, also after this process ends. On PostgreSQL each table is a transaction of its own: writers lock
 * tables in different orders, so that one for all tables could deadlock.
 */
export async function closeTables(
  db: Database,
  { owner, tables, signal }: { owner: string; tables: readonly string[]; signal: AbortSignal },
): Promise<void> {
  if (db.dialect === 'sqlite')
    return void (await db.batch([ownedSql(owner), tables.flatMap((table) => closeTableSql('sqlite', table))]))
  await db.batch([ownedSql(owner), CLOSED_FUNCTION])
  for (const table of tables) {
    signal.throwIfAborted()
    await db.batch([ownedSql(owner), closeTableSql('postgres', table)])
  }
}

/**
 * Ends a move: the database takes writes again.
 *
 * @param which whose it must be: of one owner and not finished, of anybody and not finished, or any
 * @throws CONFLICT if it is not
 */
export async function endMove(db: Database, which: { owner: string } | 'unfinished' | 'any'): Promise<void> {
  const condition =
    which === 'any'
      ? sql`true`
      : which === 'unfinished'
        ? sql`moved_at is null`
        : sql`moved_at is null and owner = ${which.owner}`
  const reopening = await reopenTablesSql(db, db.dialect)
  await db.batch([
    requireRow(sql`delete from sixwire_moves where ${condition} returning id`, taken),
    reopening,
    RESUME_JOBS[db.dialect],
  ])
}

/** Notes that the other database takes over. @throws CONFLICT if the move is another command's by now */
export async function markMoved(db: Database, owner: string, now: number): Promise<void> {
  await db.batch([
    requireRow(
      sql`update sixwire_moves set moved_at = ${now} where owner = ${owner} and moved_at is null returning id`,
      taken,
    ),
  ])
}

/** Takes the mark back, if the other database is certainly not there. */
export const unmarkMoved = (db: Database, owner: string): Promise<unknown> =>
  db.write(sql`update sixwire_moves set moved_at = null where owner = ${owner}`)

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
    sql`alter table sixwire_jobs enable trigger sixwire_jobs_paused`,
  ],
}

const RESUME_JOBS: Record<Dialect, readonly Sql[]> = {
  sqlite: [sql`drop trigger if exists sixwire_jobs_paused`],
  postgres: [sql`alter table sixwire_jobs disable trigger sixwire_jobs_paused`],
}
