// An installation of PocketBase, in the tables that version 0.39 makes: the fields that it writes, as it writes them.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

type Field = { name: string; type: string; [option: string]: unknown }
type Row = Record<string, string | number | null>

export type CollectionFixture = {
  id: string
  name: string
  type?: 'base' | 'auth' | 'view'
  /** `listRule`, `viewRule` and so on; missing ones are null. */
  rules?: Record<string, string>
  indexes?: string[]
  fields?: Field[]
  rows?: Row[]
  authRule?: string | null
}

const AUTH_FIELDS: readonly Field[] = [
  { name: 'password', type: 'password', system: true, hidden: true, required: true },
  { name: 'tokenKey', type: 'text', system: true, hidden: true, required: true },
  { name: 'email', type: 'email', system: true, required: true },
  { name: 'emailVisibility', type: 'bool', system: true },
  { name: 'verified', type: 'bool', system: true },
]
const ID: Field = { name: 'id', type: 'text', system: true, primaryKey: true, required: true }
const MULTIPLE = (field: Field): boolean => Number(field['maxSelect'] ?? 0) > 1

/** The column of a field: https://github.com/pocketbase/pocketbase/tree/master/core, `ColumnType` of each field. */
function columnOf(field: Field): string {
  if (field.type === 'number') return `"${field.name}" NUMERIC DEFAULT 0 NOT NULL`
  if (field.type === 'bool') return `"${field.name}" BOOLEAN DEFAULT FALSE NOT NULL`
  if (field.type === 'json') return `"${field.name}" JSON DEFAULT NULL`
  if (field.type === 'geoPoint') return `"${field.name}" JSON DEFAULT '{"lon":0,"lat":0}' NOT NULL`
  return MULTIPLE(field)
    ? `"${field.name}" JSON DEFAULT '[]' NOT NULL`
    : `"${field.name}" TEXT DEFAULT '' NOT NULL`
}

/** Writes a folder `pb_data`: its database, and files by their paths in `storage`. */
export async function writePocketbase(
  dir: string,
  collections: readonly CollectionFixture[],
  files: Record<string, string> = {},
): Promise<void> {
  await mkdir(dir, { recursive: true })
  const db = new DatabaseSync(join(dir, 'data.db'))
  db.exec(`
    create table _collections (id text primary key not null, system boolean default false not null,
      type text default "base" not null, name text unique not null, fields json default "[]" not null,
      indexes json default "[]" not null, listRule text, viewRule text, createRule text, updateRule text, deleteRule text,
      options json default "{}" not null);
    create table _externalAuths (collectionRef text, id text primary key, provider text, providerId text, recordRef text);
    create table _superusers (id text primary key, email text, password text, tokenKey text);
    begin`)
  for (const {
    id,
    name,
    type = 'base',
    rules = {},
    indexes = [],
    fields = [],
    rows = [],
    authRule = '',
  } of collections) {
    const all = [ID, ...(type === 'auth' ? AUTH_FIELDS : []), ...fields]
    const rule = (of: string): string | null => rules[of] ?? null
    db.prepare('insert into _collections values (?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)').run(
      id,
      type,
      name,
      JSON.stringify(all),
      JSON.stringify(indexes),
      rule('listRule'),
      rule('viewRule'),
      rule('createRule'),
      rule('updateRule'),
      rule('deleteRule'),
      JSON.stringify(type === 'auth' ? { authRule } : {}),
    )
    if (type === 'view') continue
    db.exec(
      `create table "${name}" (id text primary key not null${all
        .slice(1)
        .map((one) => `, ${columnOf(one)}`)
        .join('')})`,
    )
    for (const row of rows) {
      const columns = Object.keys(row)
      db.prepare(
        `insert into "${name}" (${columns.map((one) => `"${one}"`).join(', ')}) values (${columns.map(() => '?').join(', ')})`,
      ).run(...Object.values(row))
    }
  }
  db.exec('commit')
  db.close()
  for (const [path, text] of Object.entries(files)) {
    const file = join(dir, 'storage', path)
    await mkdir(join(file, '..'), { recursive: true })
    await writeFile(file, text)
  }
}

/** Another row of `_externalAuths`, or of `_superusers`. */
export function addSystemRow(dir: string, table: '_externalAuths' | '_superusers', row: Row): void {
  const db = new DatabaseSync(join(dir, 'data.db'))
  const columns = Object.keys(row)
  db.prepare(
    `insert into ${table} (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`,
  ).run(...Object.values(row))
  db.close()
}
