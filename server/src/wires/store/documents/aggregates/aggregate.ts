import { parseJson } from '../../../../base/json.ts'
import type { ScanOptions } from '../../../../db/database.ts'
import { sql, type Dialect, type Sql, type SqlScalar } from '../../../../db/sql.ts'
import type { MakeRoom } from '../../../../http/route.ts'
import type { AggregateReader } from '../../../../kernel/aggregates/aggregate-engine.ts'
import { aggregatesOf, type Aggregates } from '../../../../kernel/aggregates/aggregate-groups.ts'
import {
  refusedParameter,
  type AggregateRequest,
  type FieldUse,
} from '../../../../kernel/aggregates/aggregate-request.ts'
import {
  ANSWER_BYTES,
  aggregateSql,
  type AggregateRows,
  type GroupRow,
} from '../../../../kernel/aggregates/aggregate-sql.ts'
import { choosePath, TRIES_MAX, wordsNotReady, type AccessPath } from '../lists/access-path.ts'
import { listSourceOf, type ListContext, type ListSource } from '../lists/list-source.ts'
import { gatheredRows } from '../lists/page-rows.ts'
import { createMiddles } from '../lists/middles.ts'
import { createParsedLists, type ListAccess } from '../lists/parsed-list.ts'
import type { Json } from '../language/query/filter.ts'
import type { IndexSet } from '../storage/entries/index-definition.ts'
import { allDocuments, documentsOfOwner } from '../storage/sql/document-rows.ts'
import { documentsOfEntries, isReadySql } from '../storage/sql/entries-sql.ts'
import { hitsSql, isSearchable } from '../storage/sql/search-sql.ts'
import { checkValues, type FieldView } from '../language/fields/view.ts'
import { emptyPart, parsePath } from '../language/query/path.ts'
import type { DocumentEngine, DocumentField } from './document-engine.ts'
import { postgresAggregates } from './postgres-aggregates.ts'
import { sqliteAggregates } from './sqlite-aggregates.ts'

// The rows, and the answer that is made of them.
const COPIES = 2

const NOTHING = sql.literal('')

const documentEngines: Readonly<Record<Dialect, DocumentEngine>> = {
  sqlite: sqliteAggregates,
  postgres: postgresAggregates,
}

/**
 * Reads the names of fields of documents.
 *
 * @param view what the caller sees of the documents; undefined for all of it
 */
export const documentField =
  (view: FieldView | undefined) =>
  (name: string, { parameter }: FieldUse): DocumentField => {
    const path = parsePath(name, `/query/${parameter}`)
    if (path.includes('')) throw refusedParameter(parameter, emptyPart(name))
    checkValues(view, [path], `/query/${parameter}`, `used in ${parameter}`)
    return { name, path }
  }

/** Which documents are aggregated, and what is answered of them. */
export type AggregateCall = {
  readonly collection: string
  readonly access: ListAccess
  readonly documents: { readonly filter?: string; readonly search?: string }
  readonly request: AggregateRequest<DocumentField>
  /** For whom the documents are read, and when to stop. */
  readonly options?: ScanOptions
  /** Called before the groups are read. */
  readonly makeRoom: MakeRoom
}

/** What documents of a group have in common, and what is computed of them. */
export type DocumentAggregate = {
  by: Record<string, Json>
  count: number
  sum?: Record<string, number>
  average?: Record<string, number | null>
  min?: Record<string, Json>
  max?: Record<string, Json>
  distinct?: Record<string, number>
}

export type DocumentAggregates = Aggregates<Json> & { data: DocumentAggregate[] }

export function createAggregates(context: Omit<ListContext, 'parsed' | 'middles'>) {
  const lists: ListContext = { ...context, parsed: createParsedLists(), middles: createMiddles() }
  return {
    /**
     * Groups the documents of a collection that a filter finds, and computes with their values.
     *
     * @throws VALIDATION_ERROR at `/query/…`; UNAVAILABLE if it takes too long, or too many wait
     */
    aggregate: async (call: AggregateCall): Promise<DocumentAggregates> => {
      const { request } = call
      await call.makeRoom(COPIES * ANSWER_BYTES)
      const rows = await readGroups(lists, call)
      return aggregatesOf(readerOf(lists.db.dialect), request, rows) as DocumentAggregates
    },
  }
}

/** Reads by the access path of the list with the same filter; and again if an index has changed meanwhile. */
async function readGroups(lists: ListContext, call: AggregateCall): Promise<readonly GroupRow[]> {
  const { indexes, automaticIndexes } = lists
  const { collection, request } = call
  const began = performance.now()
  const source = sourceOf(lists, call)
  const { list, isEmpty } = source
  if (isEmpty) return groupsOf(source, request, { from: allDocuments, where: sql`false` })
  let set: IndexSet | undefined = list.scans ? await indexes.recent(collection) : undefined
  for (let tries = 1; ; tries++) {
    const path = await choosePath(source, set)
    const rows = path && (await groupsOfPath(source, request, path))
    if (path && rows && (await isStillReady(source, path))) {
      if (path.kind !== 'search') for (const { index } of path.plans) automaticIndexes.used(index.id)
      if (path.kind === 'scan' && list.scans && rows.length <= request.limit) {
        const total = rows.reduce((sum, { records }) => sum + records, 0)
        automaticIndexes.observe(source, { ms: performance.now() - began, total })
      }
      return rows
    }
    set = await indexes.reload(collection)
    if (tries < TRIES_MAX) continue
    if (list.search) throw wordsNotReady(collection)
    // A scan asks for none.
    set = undefined
  }
}

/** The list of the documents. All of them are read, so it has no order that would cost anything. */
const sourceOf = (
  lists: ListContext,
  { collection, access, documents, options }: AggregateCall,
): ListSource =>
  listSourceOf(
    lists,
    {
      collection,
      access,
      parameters: { ...documents, sort: '_id', limit: Infinity, offset: 0, total: 'none' },
      ...(options && { options }),
      readsAll: true,
    },
    { isIdOrdered: false },
  )

function groupsOfPath(
  source: ListSource,
  request: AggregateRequest<DocumentField>,
  path: AccessPath,
): Promise<GroupRow[]> {
  const { scope, list, owner } = source
  if (path.kind === 'scan') {
    const isById = !list.scans && list.isFiltered
    const from = isById || list.scans ? path.from : owner === undefined ? allDocuments : documentsOfOwner
    return groupsOf(source, request, { from, where: scope })
  }
  if (path.kind === 'search') {
    const ctes = sql`hits as materialized (${hitsSql(path.search, path.candidates?.ids)})`
    return groupsOf(source, request, { ctes, ...documentsOfEntries(sql`hits as e`, scope) })
  }
  if (path.kind !== 'candidates') throw new TypeError(`aggregates cannot be read by ${path.kind}`)
  const ctes = sql`candidates as materialized (${path.candidates.ids})`
  return groupsOf(source, request, { ctes, ...documentsOfEntries(sql`candidates as e`, scope) })
}

/** @param rows the documents among which those that match are grouped */
function groupsOf(
  { db, collection, list, options }: ListSource,
  request: AggregateRequest<DocumentField>,
  { ctes, from, where }: { readonly ctes?: Sql; readonly from: Sql; readonly where: Sql },
): Promise<GroupRow[]> {
  if (list.callsFunctions) {
    const gathered = gatheredRows(list, { from, where, condition: list.where, ...(ctes && { ctes }) })
    const matching = {
      ctes: NOTHING,
      from: sql`temp.gathered as m cross join store_documents d`,
      where: sql`d.collection = ${collection} and d.id = m.id and ${sql.stoppable(sql`true`)}`,
    }
    return db.scan(
      sql.gathering(aggregateSql(documentEngines[db.dialect], db.dialect, request, matching), gathered),
      options,
    )
  }
  const rows: AggregateRows = {
    ctes: ctes ? sql`with ${ctes}` : NOTHING,
    from,
    where: sql`${where} and ${sql.stoppable(list.where)}`,
  }
  return db.scan(aggregateSql(documentEngines[db.dialect], db.dialect, request, rows), options)
}

/** Whether nothing has changed of what the path was chosen by: else documents may be missing. */
async function isStillReady({ db }: ListSource, path: AccessPath): Promise<boolean> {
  const conditions = path.plans.map(({ index }) => isReadySql(index))
  if (path.kind === 'search') conditions.push(isSearchable(path.search.index))
  if (conditions.length === 0) return true
  return (await db.get(sql`select 1 as ready where ${sql.join(conditions, ' and ')}`)) !== undefined
}

/** How groups of documents are read. JSON has no infinite number. */
function readerOf(dialect: Dialect): AggregateReader<DocumentField, Json> {
  const sumOf = (text: SqlScalar | undefined): number =>
    Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, documentEngines[dialect].sumOf(text)))
  return {
    valueOf,
    sumOf,
    averageOf: (text, count) => (count === 0 ? null : sumOf(text) / count),
  }
}

/** The value of a key, which has the number of its type in front of it, unless it is a number or null. */
function valueOf(key: SqlScalar | undefined): Json {
  if (typeof key === 'number') return key
  if (typeof key !== 'string') return null
  const text = key.slice(1)
  if (key.startsWith('3')) return text
  return key.startsWith('2') ? numberOf(text) : (parseJson(text) as Json)
}

/** The number of bytes that compare as numbers do. */
function numberOf(hex: string): number {
  const bytes = Buffer.from(hex, 'hex')
  const isNegative = bytes[0]! < 0x80
  if (isNegative) for (let i = 0; i < 8; i++) bytes[i]! ^= 0xff
  else bytes[0]! ^= 0x80
  return bytes.readDoubleBE()
}
