import { ApiError, invalid } from '../../base/errors.ts'
import { linesIn } from '../../base/json-lines.ts'
import { parseStrictJson } from '../../base/json.ts'
import { identifier } from '../../db/catalogue.ts'
import type { Snapshot } from '../../db/database.ts'
import { sql } from '../../db/sql.ts'
import type { ImportRecord } from '../../wires/store/index.ts'
import { foreignIdOf } from '../foreign-id.ts'
import type { PostgresColumn } from './postgres-tables.ts'
import { isNumber, type TranslatedTable } from './table-collection.ts'

const KEY = 'sixwire key'
const CREATED = 'sixwire created'
const UPDATED = 'sixwire updated'

/**
 * The rows of a table as documents.
 *
 * @param shown changes each text in them
 */
export async function* documentsOf(
  snapshot: Snapshot,
  schema: string,
  table: TranslatedTable,
  shown: (text: string) => string,
): AsyncGenerator<ImportRecord> {
  let line = 0
  const rows = sql.literal(rowsSql(schema, table))
  for await (const lines of linesIn(snapshot.lines(rows as ReturnType<typeof sql<{ line: string }>>)))
    for (const one of lines) {
      line++
      yield { line, fields: fieldsOrFault(() => documentOf(table, one.toString(), shown)) }
    }
}

function fieldsOrFault(read: () => Record<string, unknown>): ImportRecord['fields'] {
  try {
    return read()
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
}

/** Each row as JSON, with its key as an array of texts. */
function rowsSql(
  schema: string,
  { of, columns, references, createdColumn, updatedColumn }: TranslatedTable,
): string {
  const key =
    of.primaryKey.length > 0
      ? `json_build_array(${of.primaryKey.map((name) => `${identifier(name)}::text`).join(', ')})`
      : // The same rows have the same keys each time.
        `json_build_array(md5(r::text), row_number() over (partition by r::text)::text)`
  const fields = [
    ...columns.map((column) => `${valueSql(column, references)} as ${identifier(column.name)}`),
    ...(createdColumn === undefined ? [] : [`${timeSql(createdColumn)} as ${identifier(CREATED)}`]),
    ...(updatedColumn === undefined ? [] : [`${timeSql(updatedColumn)} as ${identifier(UPDATED)}`]),
    `${key} as ${identifier(KEY)}`,
  ]
  return `select row_to_json(f)::text as line
    from (select ${fields.join(', ')} from ${identifier(schema)}.${identifier(of.name)} as r) as f`
}

/** What ISO 8601 has no text for, such as infinity, stays as it is, and refuses its row. */
const timeSql = (column: string): string =>
  `case when ${identifier(column)} >= '0001-01-01' and ${identifier(column)} < '10000-01-01'
    then to_char(${identifier(column)}::timestamptz at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
    else ${identifier(column)}::text end`

const AS_JSON = ['bool', 'int2', 'int4', 'int8', 'float4', 'float8', 'json', 'jsonb']

function valueSql(column: PostgresColumn, references: ReadonlySet<string>): string {
  const { name, type, isArray } = column
  const value = identifier(name)
  if (references.has(name)) return `${value}::text`
  if (isArray || AS_JSON.includes(type) || isNumber(column)) return value
  if (type === 'timestamp' || type === 'timestamptz') return timeSql(name)
  return type === 'bytea' ? `encode(${value}, 'base64')` : `${value}::text`
}

/** @throws VALIDATION_ERROR for a number that JSON cannot have */
function documentOf(
  { references, ownerColumns }: TranslatedTable,
  text: string,
  shown: (text: string) => string,
): Record<string, unknown> {
  const {
    [KEY]: key,
    [CREATED]: createdAt,
    [UPDATED]: updatedAt,
    ...columns
  } = parseStrictJson(text, { at: '' }) as Record<string, unknown>
  const document: Record<string, unknown> = { _id: foreignIdOf(key as string[]) }
  for (const name of ['_id', '$owner'])
    if ((columns[name] ?? document[name]) !== document[name])
      throw invalid({ path: `/${name}`, message: 'is a name that no field can have: rename the column' })
  // What is not there is not compared by unique fields, as null is not by PostgreSQL.
  for (const [name, value] of Object.entries(columns))
    if (value !== null)
      document[name] = references.has(name) ? foreignIdOf([value as string]) : shownIn(value, shown)
  const owner = ownerColumns.map((name) => document[name]).find((one) => typeof one === 'string')
  return {
    ...document,
    ...(typeof createdAt === 'string' && { createdAt }),
    ...(typeof updatedAt === 'string' && { updatedAt }),
    ...(owner !== undefined && { $owner: owner }),
  }
}

/** A value with all texts in it changed. */
function shownIn(value: unknown, shown: (text: string) => string): unknown {
  if (typeof value === 'string') return shown(value)
  if (Array.isArray(value)) return value.map((one) => shownIn(one, shown))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shownIn(one, shown)]))
}
