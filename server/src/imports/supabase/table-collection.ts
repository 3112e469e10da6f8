import { SERVICE_FIELDS, type CollectionDeclaration } from '../../wires/store/index.ts'
import type { CollectionNames } from '../collection-names.ts'
import type { PostgresColumn, PostgresForeignKey, PostgresTable } from './postgres-tables.ts'

/** A table whose rows become documents. */
export type TranslatedTable = {
  readonly of: PostgresTable
  readonly name: string
  readonly declaration: CollectionDeclaration
  readonly notes: readonly string[]
  /** The columns that stay in documents. */
  readonly columns: readonly PostgresColumn[]
  /** Columns that are the `_id` of a document of another table. */
  readonly references: ReadonlySet<string>
  readonly createdColumn: string | undefined
  readonly updatedColumn: string | undefined
  /** Columns that may name the owner: `_id` where the row is that of an account. */
  readonly ownerColumns: readonly string[]
}

const USERS = 'auth.users'
/** Of several accounts that a row names, whom it belongs to. */
const OWNER_NAMES = ['user_id', 'owner_id', 'owner', 'author_id', 'created_by']
const CREATED_NAMES = ['created_at', 'inserted_at', 'createdAt']
const UPDATED_NAMES = ['updated_at', 'updatedAt']
const ON_DELETE = { a: 'restrict', r: 'restrict', c: 'cascade', n: 'unset', d: 'restrict' } as const
/** What a double keeps. */
export const DIGITS_MAX = 15

/**
 * What a table is here.
 *
 * @param byName the tables that come, by schema and name
 */
export function translateTable(
  of: PostgresTable,
  byName: ReadonlyMap<string, PostgresTable>,
  { names, ownerFields }: { names: CollectionNames; ownerFields: readonly string[] },
): TranslatedTable {
  const toUsers = of.foreignKeys.filter(({ to, columns }) => to === USERS && columns.length === 1)
  const toTables = of.foreignKeys.filter((key) => isRelation(key, byName))
  const times = of.columns.filter(({ type }) => type === 'timestamptz' || type === 'timestamp')
  const createdColumn = times.find(({ name }) => CREATED_NAMES.includes(name))?.name
  const updatedColumn = times.find(({ name }) => UPDATED_NAMES.includes(name))?.name
  const columns = of.columns.filter(
    (column) => column.name !== createdColumn && column.name !== updatedColumn && !isOnlyId(column, of),
  )
  const ownColumns = new Set(columns.map(({ name }) => name))
  const unique = [...of.unique, ...(of.primaryKey.length > 1 ? [of.primaryKey] : [])].filter((key) =>
    key.every((name) => ownColumns.has(name)),
  )
  const required = columns.flatMap(({ name, isRequired, hasDefault }) =>
    isRequired && !hasDefault && !SERVICE_FIELDS.includes(name) ? [name] : [],
  )
  const references = new Set(toTables.flatMap((key) => key.columns))
  const relations = toTables.filter((key) => ownColumns.has(key.columns[0]!))
  return {
    of,
    name: names.of(of.name),
    declaration: {
      // Policies are not translated, so nobody else may do anything.
      read: 'admin',
      create: 'admin',
      update: 'admin',
      delete: 'admin',
      schema: {
        type: 'object',
        properties: Object.fromEntries(
          columns.map((column) => [
            column.name,
            references.has(column.name) ? { type: 'string' } : schemaOf(column),
          ]),
        ),
        ...(required.length > 0 && { required }),
      },
      ...(unique.length > 0 && { unique: unique.map((key) => (key.length === 1 ? key[0]! : [...key])) }),
      ...(relations.length > 0 && {
        relations: Object.fromEntries(
          relations.map(({ columns: [column], to, onDelete }) => [
            column!,
            { to: names.of(byName.get(to)!.name), onDelete: ON_DELETE[onDelete] },
          ]),
        ),
      }),
    },
    notes: notesOf(of, toTables, columns),
    columns,
    references,
    createdColumn,
    updatedColumn,
    ownerColumns: [...ownerFields, ...ownersOf(of, toUsers)],
  }
}

/** Whether the values of a key are ids of documents: it has one column, which is that of the primary key there. */
const isRelation = (
  { columns, to, toColumns }: PostgresForeignKey,
  byName: ReadonlyMap<string, PostgresTable>,
): boolean => {
  const other = byName.get(to)
  return columns.length === 1 && other?.primaryKey.length === 1 && other.primaryKey[0] === toColumns[0]
}

/** Whether a column is the `_id`, and nothing more: a text could be one that no `_id` can be. */
const isOnlyId = ({ name, type }: PostgresColumn, { primaryKey }: PostgresTable): boolean =>
  primaryKey.length === 1 && primaryKey[0] === name && /^(?:uuid|int[248])$/.test(type)

function ownersOf({ primaryKey }: PostgresTable, toUsers: readonly PostgresForeignKey[]): string[] {
  const names = toUsers.map(({ columns: [name] }) => name!)
  const placeOf = (name: string): number => OWNER_NAMES.indexOf(name) + 1 || OWNER_NAMES.length + 1
  return names
    .toSorted((one, other) => placeOf(one) - placeOf(other))
    .map((name) => (primaryKey.length === 1 && primaryKey[0] === name ? '_id' : name))
}

const text = { type: 'string' }
const TYPES: Readonly<Record<string, object>> = {
  bool: { type: 'boolean' },
  int2: { type: 'integer' },
  int4: { type: 'integer' },
  int8: { type: 'integer' },
  float4: { type: 'number' },
  float8: { type: 'number' },
  uuid: text,
  date: { type: 'string', format: 'date' },
  timestamp: { type: 'string', format: 'date-time' },
  timestamptz: { type: 'string', format: 'date-time' },
  json: {},
  jsonb: {},
}

function schemaOf(column: PostgresColumn): object {
  const { type, isArray, values } = column
  const one = values ? { enum: values } : isNumber(column) ? { type: 'number' } : (TYPES[type] ?? text)
  return isArray ? { type: 'array', items: isPlainInArrays(column) ? one : {} } : one
}

/** Whether a `numeric` comes as a number: one of more digits comes as text. */
export const isNumber = ({ type, precision }: PostgresColumn): boolean =>
  type === 'numeric' && precision !== null && precision <= DIGITS_MAX

/** In arrays PostgreSQL writes the elements. */
const isPlainInArrays = ({ type }: PostgresColumn): boolean =>
  !['numeric', 'timestamp', 'timestamptz', 'bytea'].includes(type)

/** What of a table is not as it was. */
const notesOf = (
  of: PostgresTable,
  toTables: readonly PostgresForeignKey[],
  columns: readonly PostgresColumn[],
): string[] => [
  ...(of.primaryKey.length === 0
    ? ['has no primary key: each document has an _id that is made of its row']
    : []),
  ...(of.primaryKey.length > 1
    ? [`the primary key (${of.primaryKey.join(', ')}) is unique here, and the _id is made of it`]
    : []),
  ...of.foreignKeys
    .filter((key) => !toTables.includes(key) && key.to !== USERS)
    .map(({ columns: own, to }) => `(${own.join(', ')}) refers to ${to}, and is no relation here`),
  ...columnsNote(columns, ({ hasDefault }) => hasDefault, 'have defaults there, and none here'),
  ...columnsNote(
    columns,
    (one) => one.type === 'numeric' && !isNumber(one),
    'have numbers of any length, and come as text',
  ),
  ...columnsNote(
    columns,
    ({ type }) => type === 'bytea',
    'have bytes, and come in base64: keep them as files',
  ),
  ...of.otherRules.map((rule) => `is not translated: ${rule}`),
  ...of.triggers.map((name) => `the trigger ${name} does not come: write a hook`),
  ...(of.hasRowSecurity
    ? of.policies.map(
        ({ name, action, roles, using, check }) =>
          `policy "${name}" is not translated, so administrators only: ${action} to ${roles}${using === null ? '' : ` using ${using}`}${check === null ? '' : ` with check ${check}`}`,
      )
    : [
        'had no row level security, so that everybody with the key of the project could read and write it: here administrators only',
      ]),
]

function columnsNote(
  columns: readonly PostgresColumn[],
  isMeant: (column: PostgresColumn) => boolean,
  what: string,
): string[] {
  const names = columns.filter(isMeant).map(({ name }) => name)
  return names.length > 0 ? [`${names.join(', ')} ${what}`] : []
}
