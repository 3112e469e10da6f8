import type { Progress } from '../../base/progress.ts'
import { StartError } from '../../base/start-error.ts'
import { identifier, readCatalogue } from '../../db/catalogue.ts'
import type { Migration } from '../../db/database.ts'
import type { Dialect } from '../../db/sql.ts'
import type { LoadedRow, TableLoader } from '../../db/table-loader.ts'
import type { TableCopies } from '../wire/table-copy.ts'
import { copiedTables, strayTables, type CopiedTable } from './copied-tables.ts'
import { sourceOf, type ReportRead, type RowSource, type TableList } from './row-source.ts'
import { ForeignValueError, RowSums, type TableSum } from './table-rows.ts'

/** What the tables of an application are created by, and how they are copied. */
export type Tables = { readonly migrations: readonly Migration[]; readonly copies: TableCopies }

export type Copied = {
  readonly tables: readonly { readonly name: string; readonly rows: number }[]
  /** Those that no wire has, and that stay behind. */
  readonly stray: readonly string[]
}

export type CopyOptions = { readonly onProgress: (progress: Progress) => void; readonly signal: AbortSignal }

/** What is copied, once the other database has its tables. */
export type CopyPlan = {
  readonly tables: readonly CopiedTable[]
  readonly stray: readonly string[]
  /** The tables that no server may write meanwhile: all that are copied, but those that reads write. */
  readonly closed: readonly string[]
  /** The statements that the engine needs once all tables are filled. */
  readonly after: readonly string[]
  /** The columns that engines count up, by their tables. */
  readonly counted: ReadonlyMap<string, string>
}

/**
 * Finds what is to be copied.
 *
 * @param options.leave tables that may stay behind with their rows
 * @throws StartError with a table or column that nobody knows how to copy
 */
export async function planCopy(
  { source, loader }: { source: TableList; loader: TableLoader },
  { copies }: Tables,
  { leave = [] }: { readonly leave?: readonly string[] | undefined },
): Promise<CopyPlan> {
  const from = await source.catalogue()
  const to = await readCatalogue(loader, loader.dialect)
  const tables = copiedTables(from, to, copies)
  const stray: string[] = []
  for (const { name } of strayTables(from, to, copies)) {
    if (!(await source.hasRows(name))) continue
    if (!leave.includes(name))
      throw new StartError(
        `the table ${name} has rows, and the other database has no such table: no wire has it there. Copy it yourself, and add --leave ${name}`,
      )
    stray.push(name)
  }
  return {
    tables,
    stray,
    closed: tables.filter(({ copy }) => copy.isOpen !== true).map(({ name }) => name),
    after: [...to.keys()].flatMap((name) => copies[name]?.after?.[loader.dialect] ?? []),
    counted: new Map(
      [...to.values()].flatMap(({ name, columns }) =>
        columns.filter(({ isCounted }) => isCounted).map((column) => [name, column.name] as const),
      ),
    ),
  }
}

/**
 * Copies all rows of all tables, and then reads them again on both sides: each table must have as many rows, and the same ones.
 *
 * @throws StartError with a table that is not the same afterwards
 */
export async function copyTables(
  source: RowSource,
  loader: TableLoader,
  { tables, stray, after, counted }: CopyPlan,
  options: CopyOptions,
): Promise<Copied> {
  const copying = await progressOf('Copy', source, tables, options)
  const sums = new Map<string, TableSum>()
  for await (const { table, rows } of source.read(tables, copying))
    sums.set(table.name, await loadTable(loader, table, rows))
  await loader.run(after)
  for (const { name } of tables) {
    const column = counted.get(name)
    if (column !== undefined)
      await loader.run(countOnSql(loader.dialect, { name, column, last: await source.lastOf(name) }))
  }
  await loader.complete()
  const checking = await progressOf('Check', source, tables, options)
  for await (const { table, rows } of sourceOf(loader.dialect, loader).read(tables, checking))
    refuseOther(table, sums.get(table.name)!, await sumOf(rows))
  return { tables: tables.map(({ name }) => ({ name, rows: sums.get(name)!.rows })), stray }
}

/**
 * Compares two databases that the same migrations have created.
 *
 * @returns whether all tables that are copied have the same rows
 */
export async function haveSameRows(
  source: RowSource,
  other: RowSource,
  { copies }: Tables,
  options: CopyOptions,
): Promise<boolean> {
  const tables = copiedTables(await source.catalogue(), await other.catalogue(), copies).filter(
    ({ copy }) => copy.isOpen !== true,
  )
  const comparing = await progressOf('Compare', source, tables, options)
  const sums = new Map<string, TableSum>()
  for await (const { table, rows } of source.read(tables, comparing)) sums.set(table.name, await sumOf(rows))
  for await (const { table, rows } of other.read(tables)) {
    const [own, others] = [sums.get(table.name)!, await sumOf(rows)]
    if (own.rows !== others.rows || own.sum !== others.sum) return false
  }
  return true
}

/** Shows how many of all rows were read. */
export async function progressOf(
  phase: string,
  source: Pick<RowSource, 'count'>,
  tables: readonly CopiedTable[],
  { onProgress, signal }: CopyOptions,
): Promise<ReportRead> {
  let [total, done, bytes] = [0, 0, 0]
  for (const table of tables) total += await source.count(table)
  return (read) => {
    signal.throwIfAborted()
    done += read.rows
    bytes += read.bytes
    onProgress({ phase, done, total, unit: 'rows', bytes })
  }
}

async function loadTable(
  loader: TableLoader,
  table: CopiedTable,
  rows: AsyncIterable<LoadedRow[]>,
): Promise<TableSum> {
  const sums = new RowSums()
  await refusingForeign(
    table,
    loader.load(
      {
        name: table.name,
        columns: table.columns.map(({ name }) => name),
        bytes: new Set(table.columns.filter(({ kind }) => kind === 'bytes').map(({ name }) => name)),
        sqliteInsert: table.copy.sqliteInsert,
      },
      added(rows, sums),
    ),
  )
  return sums.total
}

/** Names the table in the error of a row that no other engine takes. */
export const refusingForeign = <T>({ name }: CopiedTable, reading: Promise<T>): Promise<T> =>
  reading.catch((error: unknown) => {
    throw error instanceof ForeignValueError
      ? new StartError(
          `${name} has a row with bytes in a column of text, or text in one of bytes: change it before`,
        )
      : error
  })

async function* added(rows: AsyncIterable<LoadedRow[]>, sums: RowSums): AsyncGenerator<LoadedRow[]> {
  for await (const some of rows) {
    for (const row of some) sums.add(JSON.stringify(row))
    yield some
  }
}

async function sumOf(rows: AsyncIterable<LoadedRow[]>): Promise<TableSum> {
  const sums = new RowSums()
  for await (const some of rows) for (const row of some) sums.add(JSON.stringify(row))
  return sums.total
}

function refuseOther({ name }: CopiedTable, own: TableSum, other: TableSum): void {
  if (own.rows === other.rows && own.sum === other.sum) return
  throw new StartError(
    own.rows === other.rows
      ? `the rows of ${name} are not the same in the other database: its wire must say in tableCopies how it is copied`
      : `${name} has ${own.rows} rows, and ${other.rows} in the other database`,
  )
}

/** The statements with which an engine counts on behind the rows that were copied, and behind those that were deleted before. */
function countOnSql(
  dialect: Dialect,
  { name, column, last }: { name: string; column: string; last: number },
): string[] {
  const [table, text] = [identifier(name), `'${name.replaceAll("'", "''")}'`]
  const next = `max(${identifier(column)})`
  return dialect === 'sqlite'
    ? [
        `delete from sqlite_sequence where name = ${text}`,
        `insert into sqlite_sequence (name, seq) select ${text}, max(coalesce(${next}, 0), ${last}) from ${table}`,
      ]
    : [
        `select setval(pg_get_serial_sequence(quote_ident(${text}), '${column.replaceAll("'", "''")}'),
           greatest(coalesce(${next}, 0), ${last}) + 1, false) from ${table}`,
      ]
}
