import type { Clock } from '../../base/clock.ts'
import { StartError } from '../../base/start-error.ts'
import { readCatalogue } from '../../db/catalogue.ts'
import type { Database } from '../../db/database.ts'
import { openDatabase, openTableLoader, sqliteFileOf } from '../../db/open.ts'
import type { Dialect } from '../../db/sql.ts'
import { NotEmptyError, type TableLoader } from '../../db/table-loader.ts'
import { closedTables, closeSource, findMove, markMoved, openSource, type Move } from './closed-source.ts'
import {
  copyTables,
  haveSameRows,
  sourceOf,
  type Copied,
  type CopyOptions,
  type Tables,
} from './copy-tables.ts'

export type MoveContext = {
  readonly db: Database
  readonly clock: Clock
  /** The tables of an engine. */
  readonly tablesOf: (dialect: Dialect) => Promise<Tables>
}

export type MoveOptions = CopyOptions & {
  /** The address of the other database. */
  readonly to: string
  /** How long jobs under way may take to end. */
  readonly drainMs: number
  /** Called when nothing is written into this database any more, before its rows are copied. */
  readonly whenClosed?: () => Promise<void>
}

/** `wasDone`: an earlier move was cut off when all was there already. */
export type Moved = Copied & { readonly wasDone: boolean }

/**
 * Moves all of a database into a new one. Meanwhile this one refuses writes, and keeps doing so afterwards. If the move fails or
 * is aborted, all is as before; if its process is killed, this database stays closed until the move is repeated or cancelled.
 *
 * @throws StartError with one line that says why nothing was moved
 */
export async function moveDatabase(context: MoveContext, options: MoveOptions): Promise<Moved> {
  const { db, clock, tablesOf } = context
  const { to, drainMs, signal, onProgress } = options
  const earlier = await findMove(db)
  if (earlier?.moved_at && earlier.target !== shownAddress(to))
    throw new StartError(
      `the data was moved to ${earlier.target} already: run sixwire move there, or sixwire move --cancel here to go on with this database as it was then`,
    )
  const own = await tablesOf(db.dialect)
  const closed = closedTables(await readCatalogue(db, db.dialect), own.copies)
  let loader: TableLoader
  try {
    loader = await openTableLoader(to)
  } catch (error) {
    if (error instanceof NotEmptyError && earlier) return finishMove(context, options, earlier, error)
    throw error
  }
  let isMarked = false
  try {
    const startedAt = clock.now()
    await closeSource({ db, clock }, closed, {
      target: shownAddress(to),
      now: startedAt,
      drainMs,
      onProgress,
      signal,
    })
    await options.whenClosed?.()
    const copied = await db.snapshot(async (snapshot) =>
      copyTables(sourceOf(db.dialect, snapshot), loader, await tablesOf(loader.dialect), options),
    )
    signal.throwIfAborted()
    // In this order: a database that was taken over must not take writes, and one that was not can be moved again.
    await markMoved(db, startedAt, clock.now())
    isMarked = true
    await loader.commit()
    return { ...copied, wasDone: false }
  } catch (error) {
    if (isMarked)
      throw new StartError(
        `nobody knows whether the other database is complete (${(error as Error).message}): run the same command again. Until then this one takes no writes`,
        { cause: error },
      )
    await openSource(db, closed)
    throw error
  } finally {
    await loader.close()
  }
}

/** Finishes a move that was cut off behind the commit of the other database, if that has what this one has. */
async function finishMove(
  { db, clock, tablesOf }: MoveContext,
  options: MoveOptions,
  move: Move,
  notEmpty: NotEmptyError,
): Promise<Moved> {
  const other = await openDatabase(options.to)
  try {
    const tables = await tablesOf(db.dialect)
    const isSame = await db.snapshot((one) =>
      other.snapshot((two) =>
        haveSameRows(sourceOf(db.dialect, one), sourceOf(other.dialect, two), tables, options),
      ),
    )
    if (!isSame) throw notEmpty
    await markMoved(db, move.started_at, clock.now())
    return { tables: [], stray: [], wasDone: true }
  } finally {
    await other.close()
  }
}

/** Ends a move that was cut off, or one that is not wanted any more: this database takes writes again. */
export async function cancelMove({ db, tablesOf }: Pick<MoveContext, 'db' | 'tablesOf'>): Promise<void> {
  if (!(await findMove(db))) throw new StartError('there is no move of this database to cancel')
  const { copies } = await tablesOf(db.dialect)
  await openSource(db, closedTables(await readCatalogue(db, db.dialect), copies))
}

/** An address without its password and parameters. */
export function shownAddress(url: string): string {
  const file = sqliteFileOf(url)
  if (file !== undefined) return `sqlite:${file}`
  if (!URL.canParse(url)) return url
  const { protocol, username, host, pathname } = new URL(url)
  return `${protocol}//${username ? `${username}@` : ''}${host}${pathname}`
}
