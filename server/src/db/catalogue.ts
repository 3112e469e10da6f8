import type { Snapshot } from './database.ts'
import { sql, type Dialect, type Sql } from './sql.ts'

/**
 * What a column holds, as far as both engines tell it apart. `text` is also whatever has a text form of its own on PostgreSQL, and
 * `any` what SQLite has no type for.
 */
export type ColumnKind = 'text' | 'integer' | 'boolean' | 'real' | 'bytes' | 'any'

export type CatalogueColumn = {
  readonly name: string
  readonly kind: ColumnKind
  /** Computed from others, so that nobody writes it. */
  readonly isGenerated: boolean
  /** The engine counts it up: an identity or a serial column of PostgreSQL, `autoincrement` of SQLite. */
  readonly isCounted: boolean
}

/** A table as the engine knows it. */
export type CatalogueTable = {
  readonly name: string
  /** None of a virtual table of SQLite. */
  readonly columns: readonly CatalogueColumn[]
  readonly isVirtual: boolean
  /** The other tables that its foreign keys name. */
  readonly references: readonly string[]
}

/** The name of a table, column or trigger, as SQL has it. */
export const identifier = (name: string): string => `"${name.replaceAll('"', '""')}"`

type ColumnRow = {
  table: string
  is_virtual: number
  column: string
  type: string
  is_generated: number
  is_counted: number
}

// Neither the tables of SQLite itself, nor those behind virtual ones, nor those of extensions.
const COLUMNS: Record<Dialect, Sql<ColumnRow>> = {
  sqlite: sql`
    select t.name as "table", t.type = 'virtual' as is_virtual, c.name as "column", c.type as type,
      c.hidden in (2, 3) as is_generated,
      c.pk = 1 and s.sql like '%autoincrement%' as is_counted
    from pragma_table_list as t
    join sqlite_schema as s on s.type = 'table' and s.name = t.name
    join pragma_table_xinfo(t.name) as c
    where t.schema = 'main' and t.type in ('table', 'virtual') and t.name not like 'sqlite\\_%' escape '\\'
    order by t.name, c.cid`,
  postgres: sql`
    select t.relname::text as "table", 0 as is_virtual, c.attname::text as "column",
      y.typname::text as type, (c.attgenerated <> '')::int as is_generated,
      (pg_get_serial_sequence(quote_ident(t.relname), c.attname) is not null)::int as is_counted
    from pg_class as t
    join pg_attribute as c on c.attrelid = t.oid and c.attnum > 0 and not c.attisdropped
    join pg_type as y on y.oid = c.atttypid
    where t.relnamespace = (select oid from pg_namespace where nspname = current_schema())
      and t.relkind in ('r', 'p')
      and not exists (select from pg_depend as d where d.objid = t.oid and d.deptype = 'e')
    order by t.relname collate "C", c.attnum`,
}

const REFERENCES: Record<Dialect, Sql<{ table: string; other: string }>> = {
  sqlite: sql`
    select t.name as "table", r."table" as other
    from pragma_table_list as t, pragma_foreign_key_list(t.name) as r
    where t.schema = 'main' and t.type = 'table'`,
  postgres: sql`
    select t.relname::text as "table", o.relname::text as other
    from pg_constraint as c join pg_class as t on t.oid = c.conrelid join pg_class as o on o.oid = c.confrelid
    where c.contype = 'f'`,
}

const POSTGRES_KINDS: Record<string, ColumnKind> = {
  int2: 'integer',
  int4: 'integer',
  int8: 'integer',
  bool: 'boolean',
  float4: 'real',
  float8: 'real',
  bytea: 'bytes',
}

const kindOf: Record<Dialect, (type: string) => ColumnKind> = {
  /** By the name of the type: https://www.sqlite.org/datatype3.html#determination_of_column_affinity */
  sqlite(type) {
    if (/bool/i.test(type)) return 'boolean'
    if (/int/i.test(type)) return 'integer'
    if (/char|clob|text/i.test(type)) return 'text'
    if (/blob/i.test(type)) return 'bytes'
    return /real|floa|doub/i.test(type) ? 'real' : 'any'
  },
  postgres: (type) => POSTGRES_KINDS[type] ?? 'text',
}

/** The tables of a database, by name. */
export async function readCatalogue(
  db: Pick<Snapshot, 'all'>,
  dialect: Dialect,
): Promise<Map<string, CatalogueTable>> {
  const columns = await db.all(COLUMNS[dialect])
  const references = await db.all(REFERENCES[dialect])
  const tables = [...Map.groupBy(columns, (one) => one.table)].map(([name, rows]): CatalogueTable => ({
    name,
    isVirtual: rows[0]!.is_virtual === 1,
    columns: rows.map((row) => ({
      name: row.column,
      kind: kindOf[dialect](row.type),
      isGenerated: row.is_generated === 1,
      isCounted: row.is_counted === 1,
    })),
    references: references
      .filter(({ table, other }) => table === name && other !== name)
      .map(({ other }) => other),
  }))
  return new Map(tables.map((table) => [table.name, table]))
}
