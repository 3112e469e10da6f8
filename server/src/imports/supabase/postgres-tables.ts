import type { Snapshot } from '../../db/database.ts'
import { sql } from '../../db/sql.ts'

export type PostgresColumn = {
  readonly name: string
  /** Of `pg_type`; of an array that of its elements. */
  readonly type: string
  /** Digits that a `numeric` has at most; null: any number. */
  readonly precision: number | null
  readonly isArray: boolean
  readonly isRequired: boolean
  readonly hasDefault: boolean
  /** The values of an enum. */
  readonly values: readonly string[] | null
}

export type PostgresForeignKey = {
  readonly columns: readonly string[]
  /** With its schema. */
  readonly to: string
  readonly toColumns: readonly string[]
  /** As `pg_constraint` has it: no (a)ction, (r)estrict, (c)ascade, set (n)ull, set (d)efault. */
  readonly onDelete: 'a' | 'r' | 'c' | 'n' | 'd'
}

export type PostgresPolicy = {
  readonly name: string
  readonly action: string
  readonly roles: string
  readonly using: string | null
  readonly check: string | null
}

/** A table, as PostgreSQL describes it. */
export type PostgresTable = {
  readonly name: string
  readonly columns: readonly PostgresColumn[]
  readonly primaryKey: readonly string[]
  readonly foreignKeys: readonly PostgresForeignKey[]
  /** Those that hold for all rows, and for columns as they are. */
  readonly unique: readonly (readonly string[])[]
  /** Definitions of other unique indexes, and of checks. */
  readonly otherRules: readonly string[]
  readonly triggers: readonly string[]
  readonly hasRowSecurity: boolean
  readonly policies: readonly PostgresPolicy[]
}

// In the order of the columns of a key.
const COLUMN_NAMES = (keys: string, table: string) =>
  `(select json_agg(a.attname order by k.place) from unnest(${keys}) with ordinality as k (number, place)
    join pg_attribute as a on a.attrelid = ${table} and a.attnum = k.number)`

const TABLES = `
  select json_build_object(
    'name', t.relname,
    'hasRowSecurity', t.relrowsecurity,
    'columns', (
      select json_agg(json_build_object(
        'name', c.attname,
        'type', coalesce(e.typname, b.typname, y.typname),
        'precision', case when coalesce(b.typname, y.typname) = 'numeric' and c.atttypmod > 0 then (c.atttypmod - 4) >> 16 end,
        'isArray', e.oid is not null,
        'isRequired', c.attnotnull,
        'hasDefault', c.atthasdef or c.attidentity <> '',
        'values', (select json_agg(l.enumlabel order by l.enumsortorder) from pg_enum as l where l.enumtypid = coalesce(e.oid, y.oid))
      ) order by c.attnum)
      from pg_attribute as c join pg_type as y on y.oid = c.atttypid
      left join pg_type as b on b.oid = y.typbasetype and y.typtype = 'd'
      left join pg_type as e on e.oid = y.typelem and y.typcategory = 'A'
      where c.attrelid = t.oid and c.attnum > 0 and not c.attisdropped),
    'primaryKey', coalesce((
      select ${COLUMN_NAMES('p.conkey', 't.oid')} from pg_constraint as p where p.conrelid = t.oid and p.contype = 'p'), '[]'),
    'foreignKeys', coalesce((
      select json_agg(json_build_object(
        'columns', ${COLUMN_NAMES('f.conkey', 't.oid')},
        'to', o.relnamespace::regnamespace::text || '.' || o.relname,
        'toColumns', ${COLUMN_NAMES('f.confkey', 'o.oid')},
        'onDelete', f.confdeltype) order by f.conname)
      from pg_constraint as f join pg_class as o on o.oid = f.confrelid
      where f.conrelid = t.oid and f.contype = 'f'), '[]'),
    'unique', coalesce((
      select json_agg(${COLUMN_NAMES('i.indkey::smallint[]', 't.oid')} order by i.indexrelid) from pg_index as i
      where i.indrelid = t.oid and i.indisunique and not i.indisprimary and i.indpred is null and i.indexprs is null), '[]'),
    'otherRules', coalesce((
      select json_agg(r.text order by r.text) from (
        select pg_get_indexdef(i.indexrelid) as text from pg_index as i
        where i.indrelid = t.oid and i.indisunique and (i.indpred is not null or i.indexprs is not null)
        union all select pg_get_constraintdef(k.oid) from pg_constraint as k where k.conrelid = t.oid and k.contype in ('c', 'x')
      ) as r), '[]'),
    'triggers', coalesce((
      select json_agg(g.tgname order by g.tgname) from pg_trigger as g where g.tgrelid = t.oid and not g.tgisinternal), '[]'),
    'policies', coalesce((
      select json_agg(json_build_object('name', p.policyname, 'action', p.cmd, 'roles', array_to_string(p.roles, ', '),
        'using', p.qual, 'check', p.with_check) order by p.policyname)
      from pg_policies as p where p.schemaname = t.relnamespace::regnamespace::text and p.tablename = t.relname), '[]')
  )::text as line
  from pg_class as t
  where t.relkind in ('r', 'p') and not t.relispartition
    and not exists (select from pg_depend as d where d.objid = t.oid and d.deptype = 'e')`

/** The tables of a schema, by their names; none of extensions. */
export async function readTables(snapshot: Snapshot, schema: string): Promise<PostgresTable[]> {
  const rows = await snapshot.all(
    sql<{
      line: string
    }>`${sql.literal(TABLES)} and t.relnamespace::regnamespace::text = quote_ident(${schema}) order by t.relname collate "C"`,
  )
  return rows.map(({ line }) => JSON.parse(line) as PostgresTable)
}

/** The names of the views of a schema. */
export async function readViews(snapshot: Snapshot, schema: string): Promise<string[]> {
  const rows = await snapshot.all(
    sql<{ name: string }>`
      select relname::text as name from pg_class
      where relkind in ('v', 'm') and relnamespace::regnamespace::text = quote_ident(${schema})
        and not exists (select from pg_depend as d where d.objid = pg_class.oid and d.deptype = 'e')
      order by relname collate "C"`,
  )
  return rows.map(({ name }) => name)
}
