import { existsSync } from 'node:fs'
import { link, mkdir, open, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'

import { StartError } from '../base/start-error.ts'
import { identifier } from './catalogue.ts'
import type { Migration } from './database.ts'
import { withChecksum } from './migrations.ts'
import { failedMigration, migrationsTable } from './pending-migrations.ts'
import { tryLock } from './file-lock.ts'
import { createPrivate } from './private-file.ts'
import { isFullDisk } from './sqlite-faults.ts'
import { joinLines } from './sqlite-lines.ts'
import { NotEmptyError, type LoadedRow, type LoadedTable, type TableLoader } from './table-loader.ts'
import type { Row, Sql, SqlScalar } from './sql.ts'

const SUFFIXES = ['', '-journal', '-wal', '-shm']
const CACHE_KIB = 32_768
const PIECES_A_TURN = 8

type Kept = { name: string; sql: string }

/**
 * Fills a draft file beside the target file. The commit links the draft to the name of the target, and fails if that file exists.
 * A crash before it loses the draft only, so there is no journal; the next load deletes what is left.
 */
export async function openSqliteLoader(file: string): Promise<TableLoader> {
  refuseTaken(file)
  const draft = `${file}.moving`
  let unlock: (() => void) | undefined
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    unlock = tryLock(`${draft}-lock`)
    if (!unlock)
      throw new StartError(`${file} is being filled by another command: let it end, or name another file`)
    for (const suffix of SUFFIXES) await rm(draft + suffix, { force: true })
    createPrivate(draft)
    return tellingFullDisk(createSqliteLoader({ draft, file }, unlock), file)
  } catch (error) {
    unlock?.()
    if (error instanceof StartError) throw error
    throw new StartError(`${file} can't be created: ${(error as Error).message}`, { cause: error })
  }
}

/** A database with its logs: what is left of one would be taken for that of the new one. */
function refuseTaken(file: string): void {
  if (SUFFIXES.some((suffix) => existsSync(file + suffix)))
    throw new NotEmptyError(file, 'name a file that does not exist, or remove it with its -wal and -shm')
}

/** A loader that says in one line that the disk is full. */
function tellingFullDisk(loader: TableLoader, file: string): TableLoader {
  const tell = (cause: unknown): never => {
    throw isFullDisk(cause, file)
      ? new StartError(`${file}: its disk is full: make room, and run it again. Nothing was changed`, {
          cause,
        })
      : cause
  }
  return {
    ...loader,
    migrate: (migrations) => loader.migrate(migrations).catch(tell),
    load: (table, rows) => loader.load(table, rows).catch(tell),
    run: (statements) => loader.run(statements).catch(tell),
    complete: () => loader.complete().catch(tell),
  }
}

function createSqliteLoader(
  { draft, file }: { draft: string; file: string },
  unlock: () => void,
): TableLoader {
  const db = new DatabaseSync(draft, { enableForeignKeyConstraints: false })
  db.exec(`
    pragma journal_mode = off;
    pragma synchronous = off;
    pragma locking_mode = exclusive;
    pragma cache_size = -${CACHE_KIB};
    begin`)
  // Called with a number in migrations of large tables, which are empty here.
  db.function('sixwire_progress', { directOnly: true }, (total) => total)
  let kept: Kept[] = []
  let [isOpen, isStripped, isFilling] = [true, false, true]

  const prepare = ({ text, params }: { text: string; params: SqlScalar[] }) => {
    const statement = db.prepare(text)
    return { statement, values: params.map(bindable) }
  }

  /** Takes triggers and indexes away. */
  function strip(): void {
    // What is indexed afterwards takes a fraction of the time.
    kept = db
      .prepare(
        "select type, name, sql from sqlite_schema where type in ('trigger', 'index') and sql is not null order by rowid",
      )
      .all() as Kept[]
    for (const { name, type } of kept as (Kept & { type: string })[])
      db.exec(`drop ${type} ${identifier(name)}`)
    isStripped = true
  }

  return {
    dialect: 'sqlite',

    async migrate(migrations) {
      if (!isFilling) db.exec('begin')
      db.exec(migrationsTable)
      const insert = db.prepare(
        'insert into sixwire_migrations (wire, name, checksum, applied_at) values (?, ?, ?, ?)',
      )
      for (const migration of migrations.map(withChecksum)) {
        runMigration(db, migration)
        insert.run(migration.wire, migration.name, migration.checksum, Date.now())
      }
      if (!isFilling) {
        db.exec('commit')
        await flush(draft)
      }
    },

    async load(table, rows) {
      if (!isStripped) strip()
      db.exec(`delete from ${identifier(table.name)}`)
      const insert = db.prepare(table.sqliteInsert ?? insertText(table))
      const bytesAt = table.columns.flatMap((name, at) => (table.bytes.has(name) ? [at] : []))
      for await (const some of rows) for (const row of some) insert.run(...valuesOf(row, bytesAt))
    },

    async run(statements) {
      for (const text of statements) db.exec(text)
    },

    async all<R = Row>(query: Sql<R>) {
      const { statement, values } = prepare(query.render('sqlite'))
      return statement.all(...values).map((row) => ({ ...row })) as R[]
    },

    async *lines(query) {
      const { statement, values } = prepare(query.render('sqlite'))
      statement.setReturnArrays(true)
      let pieces = 0
      for (const piece of joinLines(
        statement.iterate(...values) as Iterable<unknown> as Iterable<SqlScalar[]>,
      )) {
        yield Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)
        if (++pieces % PIECES_A_TURN === 0) await nextTurn()
      }
    },

    async complete() {
      for (const { sql: text } of kept) {
        db.exec(text)
        await nextTurn()
      }
      const [broken] = db.prepare('pragma foreign_key_check').all()
      if (broken)
        throw new StartError(
          `a row of ${String(broken['table'])} names a row of ${String(broken['parent'])} that is not there`,
        )
      db.exec('commit; pragma optimize = 0x10002')
      isFilling = false
      await flush(draft)
      refuseTaken(file)
    },

    async commit() {
      db.close()
      isOpen = false
      refuseTaken(file)
      try {
        // Not a rename, which would put it in the place of a database that a server has just created.
        await link(draft, file)
      } catch (error) {
        throw new StartError(`${file} can't be created: ${(error as Error).message}. Nothing was changed`, {
          cause: error,
        })
      }
      await flush(dirname(file)).catch(() => undefined) // not every system can flush a folder
    },

    async close() {
      if (isOpen) db.close()
      await rm(draft, { force: true })
      unlock()
      await rm(`${draft}-lock`, { force: true })
    },
  }
}

function runMigration(db: DatabaseSync, migration: Migration): void {
  try {
    db.exec(migration.text)
  } catch (error) {
    throw failedMigration(migration, error)
  }
}

const insertText = ({ name, columns }: LoadedTable): string =>
  `insert into ${identifier(name)} (${columns.map(identifier).join(', ')})
   values (${columns.map(() => '?').join(', ')})`

function valuesOf(row: LoadedRow, bytesAt: readonly number[]): SQLInputValue[] {
  if (bytesAt.length === 0) return row as SQLInputValue[]
  const values: SQLInputValue[] = [...row]
  for (const at of bytesAt) if (values[at] !== null) values[at] = Buffer.from(values[at] as string, 'hex')
  return values
}

const bindable = (value: SqlScalar): SQLInputValue => (Number.isSafeInteger(value) ? BigInt(value!) : value)

async function flush(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
