import { PassThrough, type Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setImmediate } from 'node:timers/promises'

import { csvHeadings, csvLine } from '../../../../../base/csv.ts'
import { invalid } from '../../../../../base/errors.ts'
import { linesIn } from '../../../../../base/json-lines.ts'
import { parseJson } from '../../../../../base/json.ts'
import type { Semaphore } from '../../../../../base/semaphore.ts'
import type { Database, Snapshot } from '../../../../../db/database.ts'
import { sql, type Sql } from '../../../../../db/sql.ts'
import type { Actor } from '../../../../../http/actor.ts'
import type { Audit } from '../../../../../kernel/audit/audit.ts'
import { SERVICE_FIELDS } from '../../language/document-json.ts'
import { parseProjection, project, type Projection } from '../../language/fields/projection.ts'
import { gatheredRows } from '../../lists/page-rows.ts'
import { parseList, type ParsedList } from '../../lists/parsed-list.ts'
import { listFault } from '../../language/query/sort.ts'
import { selectSetSql, setOf } from '../../storage/sql/index-rows.ts'
import { cellOf, headingOf, valueAt, type CsvColumn } from './csv-cells.ts'

const COLUMNS_MAX = 1000
const BUFFER_BYTES = 262_144
/** Where a line has the owner; no document has such a field. */
export const OWNER = '$owner'

export type TransferFormat = 'ndjson' | 'csv'

/** Which documents of a collection are exported, and what of them. */
export type ExportQuery = {
  readonly format: TransferFormat
  readonly filter?: string
  readonly sort?: string
  /** As in lists. */
  readonly fields?: string
  readonly owner?: string
  /** Whether each line has the owner, as `$owner`. */
  readonly owners?: boolean
}

export type ExportContext = {
  readonly db: Database
  readonly audit: Audit
  /** Each export has a connection of its own while it is read. */
  readonly exporting: Semaphore
}

/**
 * Exports documents as they are at one moment, one a line. They are read no faster than they are taken.
 *
 * @param counted called with how many more documents are written
 * @returns the bytes, once the first of them are there
 * @throws VALIDATION_ERROR for the query; UNAVAILABLE while too many exports run
 */
export async function exportDocuments(
  { db, audit, exporting }: ExportContext,
  collection: string,
  query: ExportQuery,
  actor: Actor,
  counted: (documents: number) => void = () => undefined,
): Promise<Readable> {
  const hasOwners = query.owners === true
  const projection = projectionOf(query)
  const { order } = parseList(query, db.dialect)
  const owned = query.owner === undefined ? sql`` : sql`and d.owner = ${query.owner}`
  const scope = sql`d.collection = ${collection} ${owned}`
  await db.batch([
    audit.entrySql(actor, { action: 'documents.exported', target: `collection:${collection}`, after: query }),
  ])
  const out = new PassThrough({ highWaterMark: BUFFER_BYTES })
  const begun = Promise.withResolvers<void>()
  const parts = async function* (snapshot: Snapshot): AsyncGenerator<string> {
    const { isIdOrdered } = setOf(collection, await snapshot.all(selectSetSql(collection)))
    const list = parseList(query, db.dialect, isIdOrdered)
    const { from, where, orderBy } = rowsOf(list, collection, scope)
    const rows = sql<{ line: string }>`
      select ${hasOwners ? OWNED_TEXT : TEXT} as line from ${from} where ${where} order by ${orderBy}`
    if (list.callsFunctions) {
      const matching = gatheredRows(list, { from: DOCUMENTS, where: scope, condition: list.where })
      await snapshot.all(sql.gathering(sql`select 1`, matching))
    }
    const fields = sql`${from} cross join ${FIELDS} where ${where}`
    const columns = query.format === 'csv' ? await columnsOf(snapshot, fields, query, projection) : undefined
    if (columns) yield csvHeadings(columns.map(headingOf))
    for await (const lines of linesIn(snapshot.lines(rows))) {
      yield lines.map((line) => shownLine(line.toString(), columns, projection)).join('')
      counted(lines.length)
      await setImmediate()
    }
  }
  const watched = async function* (snapshot: Snapshot): AsyncGenerator<string> {
    for await (const part of parts(snapshot)) {
      begun.resolve()
      yield part
    }
    begun.resolve()
  }
  exporting
    .run(() => db.snapshot((snapshot) => pipeline(watched(snapshot), out)))
    .catch((error: unknown) => {
      const fault = listFault(error, order) as Error
      begun.reject(fault)
      out.destroy(fault)
    })
  // Its error is that of `begun` if nothing was written.
  out.on('error', () => undefined)
  await begun.promise
  return out
}

/** The documents of an export, and their order. */
const rowsOf = (list: ParsedList, collection: string, scope: Sql) =>
  list.callsFunctions
    ? {
        // The limit keeps it apart, so that SQLite sorts ids and keys, not documents.
        from: sql`(select * from temp.gathered as m order by ${list.orderByColumns} limit -1) as m cross join store_documents d`,
        where: sql`d.collection = ${collection} and d.id = m.id`,
        orderBy: list.orderByColumns,
      }
    : { from: DOCUMENTS, where: sql`${scope} and ${list.where}`, orderBy: list.orderBy }

const DOCUMENTS = sql`store_documents d`
const FIELDS = sql.either({
  sqlite: sql`json_each(d.doc) as field`,
  postgres: sql`lateral json_object_keys(d.body) as field (key)`,
})
const TEXT = sql`${sql.either({ sqlite: sql`d.body`, postgres: sql`cast(d.body as text)` })}`
/** A document `d` with its owner, as a line of NDJSON. */
export const OWNED_TEXT = sql`'{"$owner":"' || d.owner || '",' || substr(${TEXT}, 2)`

function projectionOf({ fields, owners }: ExportQuery): Projection | undefined {
  if (fields === undefined) return undefined
  const projection = parseProjection(fields)
  if (projection.keeps && owners) projection.chosen.set(OWNER, 'all')
  return projection
}

/** The columns of a table: the fields that are asked for, or all that a document has. */
async function columnsOf(
  snapshot: Snapshot,
  fields: Sql,
  { owners }: ExportQuery,
  projection: Projection | undefined,
): Promise<readonly CsvColumn[]> {
  const first = [...(owners ? [OWNER] : []), '_id']
  const all = projection?.keeps
    ? projection.paths
    : (await namesIn(snapshot, fields))
        .filter((name) => projection?.chosen.get(name) !== 'all')
        .map((name) => [name])
  return [...first.map((name) => [name]), ...all.filter((column) => column.length > 1 || column[0] !== '_id')]
}

/** The names of all fields of documents, those of the server first. @throws VALIDATION_ERROR if they are too many */
async function namesIn(snapshot: Snapshot, fields: Sql): Promise<readonly string[]> {
  const rows = await snapshot.all(
    sql<{ name: string }>`select distinct field.key as name from ${fields} limit ${COLUMNS_MAX + 1}`,
  )
  if (rows.length > COLUMNS_MAX)
    throw invalid({
      path: '/query/fields',
      message: `is required: the documents have more than ${COLUMNS_MAX} fields`,
    })
  const names = rows.map(({ name }) => name).filter((name) => !SERVICE_FIELDS.includes(name))
  return [...SERVICE_FIELDS, ...names.toSorted()]
}

function shownLine(
  text: string,
  columns: readonly CsvColumn[] | undefined,
  projection: Projection | undefined,
): string {
  const shown = projection ? project(text, projection) : text
  if (!columns) return `${shown}\n`
  const document = parseJson(shown)
  return csvLine(columns.map((column) => cellOf(valueAt(document, column))))
}
