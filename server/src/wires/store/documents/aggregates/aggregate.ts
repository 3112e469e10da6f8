import { parseJson } from '../../../../base/json.ts'
import type { ScanOptions } from '../../../../db/database.ts'
import { sql, type Sql, type SqlScalar } from '../../../../db/sql.ts'
import type { MakeRoom } from '../../../../http/route.ts'
import { choosePath, TRIES_MAX, wordsNotReady, type AccessPath } from '../lists/access-path.ts'
import { listSourceOf, type ListContext, type ListSource } from '../lists/list-source.ts'
import { gatheredRows } from '../lists/page-rows.ts'
import { createParsedLists, type ListAccess } from '../lists/parsed-list.ts'
import type { Json } from '../language/query/filter.ts'
import type { IndexSet } from '../storage/entries/index-definition.ts'
import { allDocuments, documentsOfOwner } from '../storage/sql/document-rows.ts'
import { documentsOfEntries, isReadySql } from '../storage/sql/entries-sql.ts'
import { hitsSql, isSearchable } from '../storage/sql/search-sql.ts'
import { ACCUMULATORS, type AggregateRequest, type NamedPath, type Accumulator } from './aggregate-request.ts'
import {
  ANSWER_BYTES,
  aggregateEngines,
  aggregateSql,
  keyFields,
  numberFields,
  type AggregateRows,
  type GroupRow,
} from './aggregate-sql.ts'
import { slotText } from '../../../../base/time-slots.ts'

// The rows, and the answer that is made of them.
const COPIES = 2

const NOTHING = sql.literal('')

/** Which documents are aggregated, and what is answered of them. */
export type AggregateCall = {
  readonly collection: string
  readonly access: ListAccess
  readonly documents: { readonly filter?: string; readonly search?: string }
  readonly request: AggregateRequest
  /** For whom the documents are read, and when to stop. */
  readonly options?: ScanOptions
  /** Called before the groups are read. */
  readonly makeRoom: MakeRoom
}

/** What documents of a group have in common, and what is computed of them. */
export type AnsweredGroup = {
  by: Record<string, Json>
  count: number
  sum?: Record<string, number>
  average?: Record<string, number | null>
  min?: Record<string, Json>
  max?: Record<string, Json>
  distinct?: Record<string, number>
}

export type Aggregates = { data: AnsweredGroup[]; more: boolean }

export function createAggregates(context: Omit<ListContext, 'parsed'>) {
  const lists: ListContext = { ...context, parsed: createParsedLists() }
  return {
    /**
     * Groups the documents of a collection that a filter finds, and computes with their values.
     *
     * @throws VALIDATION_ERROR at `/query/…`; UNAVAILABLE if it takes too long, or too many wait
     */
    aggregate: async (call: AggregateCall): Promise<Aggregates> => {
      const { request } = call
      await call.makeRoom(COPIES * ANSWER_BYTES)
      const rows = await readGroups(lists, call)
      const groups = rows.slice(0, request.limit).map((row) => groupOf(lists, request, row))
      return { data: groups, more: (rows[0]?.fetched ?? rows.length) > groups.length }
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
        const total = rows.reduce((sum, { documents }) => sum + documents, 0)
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

function groupsOfPath(source: ListSource, request: AggregateRequest, path: AccessPath): Promise<GroupRow[]> {
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
  request: AggregateRequest,
  { ctes, from, where }: { readonly ctes?: Sql; readonly from: Sql; readonly where: Sql },
): Promise<GroupRow[]> {
  if (list.callsFunctions) {
    const gathered = gatheredRows(list, { from, where, condition: list.where, ...(ctes && { ctes }) })
    const matching = {
      ctes: NOTHING,
      from: sql`temp.gathered as m cross join store_documents d`,
      where: sql`d.collection = ${collection} and d.id = m.id and ${sql.stoppable(sql`true`)}`,
    }
    return db.scan(sql.gathering(aggregateSql(db.dialect, request, matching), gathered), options)
  }
  const rows: AggregateRows = {
    ctes: ctes ? sql`with ${ctes}` : NOTHING,
    from,
    where: sql`${where} and ${sql.stoppable(list.where)}`,
  }
  return db.scan(aggregateSql(db.dialect, request, rows), options)
}

/** Whether nothing has changed of what the path was chosen by: else documents may be missing. */
async function isStillReady({ db }: ListSource, path: AccessPath): Promise<boolean> {
  const conditions = path.plans.map(({ index }) => isReadySql(index))
  if (path.kind === 'search') conditions.push(isSearchable(path.search.index))
  if (conditions.length === 0) return true
  return (await db.get(sql`select 1 as ready where ${sql.join(conditions, ' and ')}`)) !== undefined
}

function groupOf({ db }: ListContext, { by, fields, zone }: AggregateRequest, row: GroupRow): AnsweredGroup {
  const { sumOf } = aggregateEngines[db.dialect]
  const keys = by.map(({ name, slot }, i): [string, Json] => {
    const value = row[`by${i}`]
    if (slot === undefined) return [name, valueOf(value)]
    return [name, typeof value === 'number' ? slotText(slot, value, zone) : null]
  })
  const numbers = numberFields(fields).map(({ name }) => name)
  const values = keyFields(fields).map(({ name }) => name)
  // JSON has no infinite number.
  const sum = (name: string): number =>
    Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, sumOf(row[`sum${numbers.indexOf(name)}`])))
  const compute: Readonly<Record<Accumulator, (name: string) => Json>> = {
    sum,
    average(name) {
      const count = row[`numbers${numbers.indexOf(name)}`] as number
      return count === 0 ? null : sum(name) / count
    },
    min: (name) => valueOf(row[`min${values.indexOf(name)}`]),
    max: (name) => valueOf(row[`max${values.indexOf(name)}`]),
    distinct: (name) => row[`distinct${values.indexOf(name)}`] as number,
  }
  const computed = ACCUMULATORS.filter((one) => fields[one].length > 0).map((one) => [
    one,
    Object.fromEntries(fields[one].map(({ name }: NamedPath) => [name, compute[one](name)])),
  ])
  return {
    by: Object.fromEntries(keys),
    count: row.documents,
    ...Object.fromEntries(computed),
  } as AnsweredGroup
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
