import { randomToken } from '../../base/crypto.ts'
import type { Clock } from '../../base/clock.ts'
import { ApiError, errors } from '../../base/errors.ts'
import { StartError } from '../../base/start-error.ts'
import type { Database, Snapshot } from '../../db/database.ts'
import { openDatabase, openTableLoader, sqliteFileOf } from '../../db/open.ts'
import type { Dialect } from '../../db/sql.ts'
import { NotEmptyError, type TableLoader } from '../../db/table-loader.ts'
import {
  beginMove,
  closeTables,
  endMove,
  findMove,
  markMoved,
  problemOf,
  unmarkMoved,
  type Move,
} from './closed-source.ts'
import {
  copyTables,
  haveSameRows,
  planCopy,
  type Copied,
  type CopyOptions,
  type Tables,
} from './copy-tables.ts'
import { sourceOf, tablesIn } from './row-source.ts'

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
  /** Tables with rows that no wire has, and that may stay behind. */
  readonly leave?: readonly string[]
  /** Called when it is known that all tables can be copied, while servers still write. */
  readonly whenPlanned?: () => Promise<void>
  /** Called when nothing is written into this database any more, before its rows are copied. */
  readonly whenClosed?: () => Promise<void>
  /** Called when all rows are in the other database, before that is used, with the moment that was copied. */
  readonly whenCopied?: (snapshot: Snapshot) => Promise<void>
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
  const target = shownAddress(options.to)
  const earlier = await findMove(context.db)
  if (earlier?.moved_at && earlier.target !== target) throw new StartError(problemOf(earlier).join(': '))
  let loader: TableLoader
  try {
    loader = await openTableLoader(options.to)
  } catch (error) {
    if (error instanceof NotEmptyError && earlier?.target === target)
      return finishMove(context, options, earlier, error)
    throw error
  }
  const owner = randomToken()
  try {
    return await moveInto(context, loader, owner, options)
  } finally {
    await loader.close()
  }
}

async function moveInto(
  { db, clock, tablesOf }: MoveContext,
  loader: TableLoader,
  owner: string,
  options: MoveOptions,
): Promise<Moved> {
  const { signal } = options
  const tables = await tablesOf(loader.dialect)
  await loader.migrate(tables.migrations)
  const plan = await planCopy({ source: tablesIn(db.dialect, db), loader }, tables, options)
  await options.whenPlanned?.()
  await beginMove({ db, clock }, { ...options, owner, target: shownAddress(options.to) })
  let isMarked = false
  try {
    await closeTables(db, { owner, tables: plan.closed, signal })
    await options.whenClosed?.()
    const copied = await db.snapshot(async (snapshot) => {
      const all = await copyTables(sourceOf(db.dialect, snapshot), loader, plan, options)
      await options.whenCopied?.(snapshot)
      return all
    })
    signal.throwIfAborted()
    // In this order: a database that was taken over must not take writes, and one that was not can be moved again.
    await markMoved(db, owner, clock.now())
    isMarked = true
    await loader.commit()
    return { ...copied, wasDone: false }
  } catch (error) {
    // A loader says by a StartError that it has certainly not committed.
    if (isMarked && !(error instanceof StartError))
      throw new StartError(
        `nobody knows whether the other database is complete (${(error as Error).message}): run the same command again. Until then this one takes no writes`,
        { cause: error },
      )
    if (isMarked) await unmarkMoved(db, owner)
    await reopen(db, owner, error as Error)
    throw error
  }
}

/** Lets writes in again after a fault. @throws StartError with both faults if that fails */
async function reopen(db: Database, owner: string, fault: Error): Promise<void> {
  try {
    await endMove(db, { owner })
  } catch (error) {
    // It was cancelled, or is another command's: then that one says whether writes are let in.
    if (error instanceof ApiError && error.code === errors.conflict.code) return
    throw new StartError(
      `${fault.message}; and this database still refuses writes (${(error as Error).message}): see it with sixwire doctor, and open it with sixwire move --cancel`,
      { cause: fault },
    )
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
    if (move.moved_at === null) await markMoved(db, move.owner, clock.now())
    return { tables: [], stray: [], wasDone: true }
  } finally {
    await other.close()
  }
}

/**
 * Ends a move: this database takes writes again.
 *
 * @param options.isMoved whether it is one that is finished: then the other database must not be used
 * @throws StartError if there is none
 */
export async function cancelMove(
  { db }: Pick<MoveContext, 'db'>,
  { isMoved = false }: { isMoved?: boolean } = {},
): Promise<void> {
  const move = await findMove(db)
  if (!move) throw new StartError('there is no move of this database to cancel')
  if (move.moved_at !== null && !isMoved) throw new StartError(problemOf(move).join(': '))
  await endMove(db, isMoved ? 'any' : 'unfinished')
}

/** An address without its password and parameters. */
export function shownAddress(url: string): string {
  const file = sqliteFileOf(url)
  if (file !== undefined) return `sqlite:${file}`
  if (!URL.canParse(url)) return url
  const { protocol, username, host, pathname } = new URL(url)
  return `${protocol}//${username ? `${username}@` : ''}${host}${pathname}`
}
