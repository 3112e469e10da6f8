import { isOneOf } from '../../../db/is-one-of.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { StorageName } from '../objects/storage.ts'

/** Records that are nothing without the bytes of their object. */
export type RecordKind = 'file' | 'variant' | 'backup'

/** A table whose rows name objects. */
type RecordTable = {
  readonly table: string
  readonly storage: StorageName | 'each'
  /** Undefined if the bytes may be missing: they are being written or deleted. */
  readonly kind?: RecordKind
  /** The expressions of the key, and of the size and the id where there is a kind. */
  readonly key: string
  readonly size?: string
  readonly id?: string
  readonly where?: string
}

/** Every table that names objects. What is in none of them is garbage that nothing knows. */
export const RECORD_TABLES: readonly RecordTable[] = [
  { table: 'store_files', storage: 'uploads', kind: 'file', key: 'object', size: 'size', id: 'id' },
  {
    table: 'store_variants',
    storage: 'uploads',
    kind: 'variant',
    key: 'object',
    size: 'size',
    id: 'file_id',
  },
  {
    table: 'store_backups',
    storage: 'backups',
    kind: 'backup',
    key: 'object',
    size: 'size',
    id: 'id',
    where: "status = 'completed'",
  },
  // Of uploads under way: they are gone within a day.
  { table: 'store_upload_pieces', storage: 'uploads', key: 'object' },
  { table: 'store_uploads', storage: 'uploads', key: 'object', where: 'object is not null' },
  { table: 'store_unclaimed', storage: 'each', key: 'key' },
  { table: 'store_restored_files', storage: 'uploads', key: 'object', where: 'object is not null' },
  // Archives of the data of persons. One that is gone is made again on request.
  { table: 'sixwire_exports', storage: 'uploads', key: "'export-' || id" },
]

/** The lines `storage key kind size id` of a table; kind is `-` and the others are missing where bytes may be. */
export const linesSql = ({
  table,
  storage,
  kind,
  key,
  size,
  id,
  where,
}: RecordTable): Sql<{ line: string }> => {
  const parts = [
    storage === 'each' ? 'storage' : `'${storage}'`,
    key,
    `'${kind ?? '-'}'`,
    ...(kind === undefined ? [] : [`cast(${size} as text)`, id!]),
  ]
  return sql.literal(
    `select ${parts.join(" || ' ' || ")} as line from ${table}${where === undefined ? '' : ` where ${where}`}`,
  ) as Sql<{ line: string }>
}

/** How many rows there are in all the tables together. */
export const countSql = sql.literal(
  `select cast(sum(rows) as bigint) as count from (${RECORD_TABLES.map(({ table }) => `select count(*) as rows from ${table}`).join(' union all ')}) as counts`,
) as Sql<{ count: number }>

/** A record as an operator knows it: what it is called, and whose it is. */
export type NamedRecord = { key: string; name: string | null; owner: string | null }

/** Those of the records with these ids that are there still. */
export const namedSql = (kind: RecordKind, ids: readonly string[]): Sql<NamedRecord> =>
  ({
    file: () => sql<NamedRecord>`
      select object as key, original_name as name, owner from store_files where ${isOneOf('id', ids)}`,
    variant: () => sql<NamedRecord>`
      select variants.object as key, original_name as name, owner
      from store_variants as variants join store_files on id = file_id where ${isOneOf('file_id', ids)}`,
    backup: () => sql<NamedRecord>`
      select object as key, null as name, null as owner from store_backups
      where ${isOneOf('id', ids)} and status = 'completed'`,
  })[kind]()
