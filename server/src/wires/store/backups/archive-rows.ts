import { sql, type Sql } from '../../../db/sql.ts'

/** Text, and how many bytes it has. */
type Column = { text: Sql; bytes: Sql }

/** A line of JSON in SQL: text that stands in every line, and what is between in each. */
type Line = readonly (string | Column)[]

const measured = (text: Sql): Column => ({ text, bytes: sql`octet_length(${text})` })
const column = (name: string): Column => measured(sql.literal(name))
const number = (name: string): Column => measured(sql.literal(`cast(${name} as text)`))

/** Text as a JSON string, the same on both engines. */
const quoted = (name: string): Column =>
  measured(
    sql`${sql.either({ sqlite: sql.literal(`json_quote(${name})`), postgres: sql.literal(`to_json(${name})::text`) })}`,
  )

const optional = (name: string): Column => measured(sql`coalesce(${quoted(name).text}, 'null')`)

/** JSON as it is answered. */
const json = (name: string): Sql =>
  sql`${sql.either({ sqlite: sql.literal(name), postgres: sql.literal(`${name}::text`) })}`

// Ids are letters, digits, `_` and `-`. An owner may be that of an application's own accounts.
const DOCUMENT: Line = [
  '{"id":"',
  column('id'),
  '","owner":',
  quoted('owner'),
  ',"version":',
  number('version'),
  ',"document":',
  { text: json('body'), bytes: sql.literal('bytes') },
  '}',
]

const FILE: Line = [
  '{"id":"',
  column('id'),
  '","owner":',
  quoted('owner'),
  ',"originalName":',
  quoted('original_name'),
  ',"contentType":',
  quoted('content_type'),
  ',"size":',
  number('size'),
  ',"sha256":"',
  column('sha256'),
  '","createdAt":',
  number('created_at'),
  ',"access":"',
  column('access'),
  '","publicKey":"',
  column('public_key'),
  '","status":"',
  column('status'),
  '","refusal":',
  optional('refusal'),
  ',"image":',
  measured(sql.literal("coalesce(image, 'null')")),
  ',"attachedBy":',
  optional('attached_by'),
  ',"metadata":',
  measured(json('metadata')),
  '}',
]

const DEFINITION: Line = ['{"id":"', column('collection'), '","definition":', column('definition'), '}']

const textSql = (line: Line): Sql =>
  sql.join(
    line.map((part) => (typeof part === 'string' ? sql.literal(`'${part}'`) : part.text)),
    ' || ',
  )

/** How many bytes the lines of a group have together, line breaks included. */
function sizeSql(line: Line): Sql {
  const constant = 1 + line.reduce((sum, part) => sum + (typeof part === 'string' ? part.length : 0), 0)
  const lengths = line.flatMap((part) => (typeof part === 'string' ? [] : [part.bytes]))
  return sql`cast(coalesce(sum(${sql.join(lengths, ' + ')}), 0) + count(*) * ${sql.literal(String(constant))} as bigint)`
}

export type CollectionSize = { name: string; lines: number; size: number }

/** Each collection with the length of its lines. */
export const selectCollectionsSql = (): Sql<CollectionSize> => sql`
  select collection as name, count(*) as lines, ${sizeSql(DOCUMENT)} as size
  from store_documents group by collection order by collection`

export const selectDocumentLinesSql = (collection: string): Sql<{ line: string }> => sql`
  select ${textSql(DOCUMENT)} as line from store_documents where collection = ${collection} order by id`

const DEFINED = sql`from store_collection_versions where state = 'active' and definition is not null`

/** The length of the lines of all definitions that are in force. */
export const selectDefinitionsSizeSql = (): Sql<{ lines: number; size: number }> => sql`
  select count(*) as lines, ${sizeSql(DEFINITION)} as size ${DEFINED}`

export const selectDefinitionLinesSql = (): Sql<{ line: string }> => sql`
  select ${textSql(DEFINITION)} as line ${DEFINED} order by collection`

const unless = (ids: readonly string[]): Sql =>
  ids.length === 0
    ? sql.literal('')
    : sql`where id not in (${sql.either({
        sqlite: sql`select value from json_each(${JSON.stringify(ids)})`,
        postgres: sql`select json_array_elements_text(${JSON.stringify(ids)}::json)`,
      })})`

/** The length of the lines of all files but those left out, and their bytes together. */
export const selectFilesSizeSql = (
  leftOut: readonly string[],
): Sql<{ lines: number; size: number; bytes: number }> => sql`
  select count(*) as lines, ${sizeSql(FILE)} as size, cast(coalesce(sum(size), 0) as bigint) as bytes
  from store_files ${unless(leftOut)}`

export const selectFileLinesSql = (leftOut: readonly string[]): Sql<{ line: string }> => sql`
  select ${textSql(FILE)} as line from store_files ${unless(leftOut)} order by id`

export type StoredFile = { id: string; object: string; size: number; sha256: string }

/** The next files after an id, in the order of ids. */
export const selectFilesSql = (after: string, limit: number): Sql<StoredFile> => sql`
  select id, object, size, sha256 from store_files where id > ${after} order by id limit ${limit}`
