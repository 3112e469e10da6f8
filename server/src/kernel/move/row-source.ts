import { identifier, readCatalogue, type CatalogueTable } from '../../db/catalogue.ts'
import type { Snapshot } from '../../db/database.ts'
import { sql, type Dialect } from '../../db/sql.ts'
import type { LoadedRow } from '../../db/table-loader.ts'
import type { CopiedTable } from './copied-tables.ts'
import { countRowsSql, readRows, selectLinesSql } from './table-rows.ts'

export type ReportRead = (read: { rows: number; bytes: number }) => void

/** Which tables there are. */
export type TableList = {
  catalogue(): Promise<ReadonlyMap<string, CatalogueTable>>
  hasRows(table: string): Promise<boolean>
}

/** Where rows are copied from: one moment of a database, or an archive of it. */
export type RowSource = TableList & {
  count(table: CopiedTable): Promise<number>
  /** The last number that the engine has given to a row, which may be deleted; 0 if it does not count there. */
  lastOf(table: string): Promise<number>
  /**
   * The rows of tables, in an order in which foreign keys find their rows. Those of a table must be read to their end before the
   * next table is asked for.
   */
  read(tables: readonly CopiedTable[], report?: ReportRead): AsyncIterable<ReadTable>
}

export type ReadTable = { readonly table: CopiedTable; readonly rows: AsyncIterable<LoadedRow[]> }

/** The tables of a database. */
export const tablesIn = (dialect: Dialect, db: Pick<Snapshot, 'all'>): TableList => ({
  catalogue: () => readCatalogue(db, dialect),
  async hasRows(table) {
    const [first] = await db.all(sql`select 1 as found from ${sql.literal(identifier(table))} limit 1`)
    return first !== undefined
  },
})

/** A snapshot, or a database that is being filled, as the source of rows. */
export const sourceOf = (dialect: Dialect, snapshot: Pick<Snapshot, 'all' | 'lines'>): RowSource => ({
  ...tablesIn(dialect, snapshot),
  count: async (table) => (await snapshot.all(countRowsSql(table, dialect)))[0]!.count,
  lastOf: (table) => lastOf(dialect, snapshot, table),
  async *read(tables, report) {
    for (const table of tables)
      yield { table, rows: readRows(snapshot.lines(selectLinesSql(table, dialect)), report) }
  },
})

async function lastOf(dialect: Dialect, db: Pick<Snapshot, 'all'>, table: string): Promise<number> {
  if (dialect === 'sqlite') {
    const [counts] = await db.all(sql`select 1 as found from sqlite_schema where name = 'sqlite_sequence'`)
    if (!counts) return 0
    const [row] = await db.all(sql<{ seq: number }>`select seq from sqlite_sequence where name = ${table}`)
    return row?.seq ?? 0
  }
  const [row] = await db.all(sql<{ last: number | null }>`
    select max(pg_sequence_last_value(pg_get_serial_sequence(quote_ident(${table}), attname)::regclass)) as last
    from pg_attribute where attrelid = quote_ident(${table})::regclass and attnum > 0 and not attisdropped`)
  return row?.last ?? 0
}
