import type { Progress } from '../../base/progress.ts'
import { StartError } from '../../base/start-error.ts'
import { identifier, readCatalogue, type CatalogueTable } from '../../db/catalogue.ts'
import type { Migration, Snapshot } from '../../db/database.ts'
import type { Dialect } from '../../db/sql.ts'
import type { LoadedRow, TableLoader } from '../../db/table-loader.ts'
import type { TableCopies } from '../wire/table-copy.ts'
import { copiedTables, strayTables, type CopiedTable } from './copied-tables.ts'
import { countRowsSql, readRows, RowSums, selectLinesSql, type TableSum } from './table-rows.ts'

/** Where rows are read: a snapshot, with the engine that it is of. */
export type RowSource = Pick<Snapshot, 'all' | 'lines'> & { readonly dialect: Dialect }

/** What the tables of an application are created by, and how they are copied. */
export type Tables = { readonly migrations: readonly Migration[]; readonly copies: TableCopies }

export type Copied = {
  readonly tables: readonly { readonly name: string; readonly rows: number }[]
  /** Those that no wire has. */
  readonly stray: readonly string[]
}

export type CopyOptions = { readonly onProgress: (progress: Progress) => void; readonly signal: AbortSignal }

/**
 * Copies all rows of all tables, and then reads them again on both sides: each table must have as many rows, and the same ones.
 *
 * @throws StartError with a table that is not the same afterwards
 */
export async function copyTables(
  source: RowSource,
  loader: TableLoader,
  { migrations, copies }: Tables,
  options: CopyOptions,
): Promise<Copied> {
  await loader.migrate(migrations)
  const from = await readCatalogue(source, source.dialect)
  const to = await readCatalogue(loader, loader.dialect)
  const tables = copiedTables(from, to, copies)
  const copying = await progressOf('Copy', source, tables, options)
  const sums = new Map<string, TableSum>()
  for (const table of tables) sums.set(table.name, await copyTable(source, loader, table, copying))
  for (const { after } of Object.values(copies)) await loader.run(after?.[loader.dialect] ?? [])
  await loader.run(tables.flatMap(({ name }) => countOnSql(loader.dialect, to.get(name)!)))
  await loader.complete()
  const checking = await progressOf('Check', source, tables, options)
  for (const table of tables) refuseOther(table, sums.get(table.name)!, await sumOf(loader, table, checking))
  return {
    tables: tables.map(({ name }) => ({ name, rows: sums.get(name)!.rows })),
    stray: strayTables(from, to, copies),
  }
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
  const tables = copiedTables(
    await readCatalogue(source, source.dialect),
    await readCatalogue(other, other.dialect),
    copies,
  ).filter(({ copy }) => copy.isOpen !== true)
  const comparing = await progressOf('Compare', source, tables, options)
  for (const table of tables) {
    const [own, others] = [await sumOf(source, table, comparing), await sumOf(other, table)]
    if (own.rows !== others.rows || own.sum !== others.sum) return false
  }
  return true
}

type Report = (read: { rows: number; bytes: number }) => void

/** Shows how many of all rows were read. */
async function progressOf(
  phase: string,
  source: RowSource,
  tables: readonly CopiedTable[],
  { onProgress, signal }: CopyOptions,
): Promise<Report> {
  let [total, done, bytes] = [0, 0, 0]
  for (const table of tables) total += (await source.all(countRowsSql(table, source.dialect)))[0]!.count
  return (read) => {
    signal.throwIfAborted()
    done += read.rows
    bytes += read.bytes
    onProgress({ phase, done, total, unit: 'rows', bytes })
  }
}

async function copyTable(
  source: RowSource,
  loader: TableLoader,
  table: CopiedTable,
  report: Report,
): Promise<TableSum> {
  const sums = new RowSums()
  const rows = readRows(source, selectLinesSql(table, source.dialect), report)
  await loader.load(
    {
      name: table.name,
      columns: table.columns.map(({ name }) => name),
      bytes: new Set(table.columns.filter(({ kind }) => kind === 'bytes').map(({ name }) => name)),
      sqliteInsert: table.copy.sqliteInsert,
    },
    added(rows, sums),
  )
  return sums.total
}

async function* added(rows: AsyncIterable<LoadedRow[]>, sums: RowSums): AsyncGenerator<LoadedRow[]> {
  for await (const some of rows) {
    for (const row of some) sums.add(row)
    yield some
  }
}

async function sumOf(source: RowSource, table: CopiedTable, report?: Report): Promise<TableSum> {
  const sums = new RowSums()
  for await (const rows of readRows(source, selectLinesSql(table, source.dialect), report))
    for (const row of rows) sums.add(row)
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

/** The statements with which PostgreSQL counts on behind the rows that were copied; SQLite does so by itself. */
const countOnSql = (dialect: Dialect, { name, columns }: CatalogueTable): string[] =>
  dialect === 'sqlite'
    ? []
    : columns
        .filter(({ isIdentity }) => isIdentity)
        .map(
          (column) => `
            select setval(pg_get_serial_sequence('${identifier(name)}', '${column.name}'),
              coalesce(max(${identifier(column.name)}), 0) + 1, false)
            from ${identifier(name)}`,
        )

/** A loader or snapshot as the source of rows. */
export const sourceOf = (dialect: Dialect, snapshot: Pick<Snapshot, 'all' | 'lines'>): RowSource => ({
  dialect,
  all: (query) => snapshot.all(query),
  lines: (query) => snapshot.lines(query),
})
