import { sql, type Sql } from '../../../db/sql.ts'
import { afterSql } from './by-scan.ts'
import { isCounted, isShort, matchingRows, readPage, rowsInPlace } from './page.ts'
import type { ListSource, ListPage, PageRows } from './page.ts'
import {
  countEntriesSql,
  documentsOfEntries,
  entriesSql,
  firstSql,
  isReadySql,
  orderSql,
  type EntriesSql,
  type OrderSql,
} from './sql/entries.ts'
import type { Plan } from './plan/plan.ts'
import { effortOf, effortOfSort } from './query/effort.ts'

/** Entries that are counted where it stalls nobody else. */
const FEW_ENTRIES = 1000
/** Documents that are looked into, likewise. */
const FEW_DOCUMENTS = 100
/** How many bytes they may have together, divided by what is asked of each. */
const FEW_BYTES = 131_072
/** To find a document by its id costs as much as to pass over so many. */
const LOOKUP_COST = 8

/** What a list has cost: how many entries were looked at, and documents, those of the page among them. */
export type Examined = { readonly entries: number; readonly documents: number }

/** A page, and how it was read. */
export type IndexPage = ListPage & {
  /** Whether the entries were in the list's order. */
  readonly order: 'index' | 'sorted'
  readonly examined: Examined
}

/**
 * Reads a list from the entries of an index.
 *
 * @returns 'outdated' if the index is not as the plan took it any more, 'wide' if a scan is better
 */
export async function readByIndex(list: ListSource, plan: Plan): Promise<IndexPage | 'outdated' | 'wide'> {
  const order = plan.order && orderSql(plan.order, list.query.position)
  const isDecided = plan.isExact && (order !== undefined || list.query.order.keys.length === 0)
  const page = isDecided ? await readEntries(list, plan, order) : await readDocuments(list, plan, order)
  // What an index that was dropped meanwhile led to is nothing at all.
  if (page !== 'wide' && page.found.length === 0 && !(await isReady(list, plan))) return 'outdated'
  return page
}

async function isReady({ db }: ListSource, { index }: Plan): Promise<boolean> {
  return (await db.get(sql`select 1 as ready where ${isReadySql(index)}`)) !== undefined
}

/** Where the entries alone decide which documents are on the page. */
async function readEntries(list: ListSource, plan: Plan, order: OrderSql | undefined): Promise<IndexPage> {
  const { query, owner, offset } = list
  const rowsOf = (entries: EntriesSql, most?: number): PageRows =>
    order ? rowsInOrder(list, plan, entries, order, most) : rowsById(list, plan, entries, most)
  // Between those that count there may be any number of other entries of their documents.
  const isNext =
    !plan.hasRepeats && isShort(list) && (order ? !order.sortsIds : (query.total ?? 0) <= FEW_ENTRIES)
  let page = isNext
    ? await readPage(list, rowsOf(entriesSql(plan, owner, true), FEW_ENTRIES), true)
    : undefined
  if (!page || (isCounted(query) && page.total > FEW_ENTRIES))
    page = await readPage(list, rowsOf(entriesSql(plan, owner, false)), false)
  const counted = isCounted(query) ? page.total : 0
  const read = order ? page.found.length + offset : page.total
  return {
    ...page,
    order: order ? 'index' : 'sorted',
    examined: { entries: counted + read, documents: page.found.length },
  }
}

/** @param most counts no further than one beyond it */
function rowsInOrder(
  list: ListSource,
  plan: Plan,
  entries: EntriesSql,
  { by, after }: OrderSql,
  most?: number,
): PageRows {
  const orderBy = by(sql`e`)
  const rows = sql`select e.key, e.id from ${entries.from} where ${entries.where} ${after}`
  const isFirst = most !== undefined && list.offset === 0
  const page = isFirst
    ? firstSql(rows, orderBy, list.limit + 1)
    : sql`${rows} order by ${orderBy} ${list.limited}`
  return rowsOfEntries(list, plan, entries, page, orderBy, most)
}

/** Likewise in the order of ids. */
function rowsById(list: ListSource, plan: Plan, entries: EntriesSql, most?: number): PageRows {
  const { order, position } = list.query
  const [toward, beyond] = (order.idDescending ? ['desc', '<'] : ['asc', '>']).map((one) => sql.literal(one))
  const orderBy = sql`e.id ${toward!}`
  const after = position ? sql`and e.id ${beyond!} ${position.id}` : sql``
  // Sorted are no more than are counted.
  const rows = sql`select ${idsOf(plan)} from ${entries.from} where ${entries.where} ${after} ${upTo(most)}`
  const page = sql`select e.id from (${rows}) as e order by ${orderBy} ${list.limited}`
  return rowsOfEntries(list, plan, entries, page, orderBy, most)
}

/** The documents of a page of entries, and how many entries there are. */
function rowsOfEntries(
  list: ListSource,
  plan: Plan,
  entries: EntriesSql,
  page: Sql,
  orderBy: Sql,
  most?: number,
): PageRows {
  const all = sql`select ${idsOf(plan)} from ${entries.from} where ${entries.where} ${upTo(most)}`
  const total = isCounted(list.query) ? sql`(select count(*) from (${all}) as found)` : list.knownTotal
  return { total, orderBy, limited: sql``, ...documentsOfEntries(sql`(${page}) as e`, list.scope) }
}

const upTo = (most: number | undefined): Sql => sql.literal(most === undefined ? '' : `limit ${most + 1}`)

/** Each document once. */
const idsOf = ({ hasRepeats }: Plan): Sql => sql.literal(hasRepeats ? 'distinct e.id' : 'e.id')

/** Where the documents must be looked into, to match or to sort them. */
async function readDocuments(
  list: ListSource,
  plan: Plan,
  order: OrderSql | undefined,
): Promise<IndexPage | 'wide'> {
  const { query, limit, countAll } = list
  // Where enough of all documents match, the page is found soon, wherever the cursor is.
  if (order && query.total !== undefined && query.total > LOOKUP_COST * (limit + 1))
    return readUntilFull(list, plan, order)
  const few = await countFew(list, plan)
  const most = few === undefined ? Math.floor((await countAll()) / LOOKUP_COST) : FEW_DOCUMENTS
  const entries = few ?? (await countEntries(list, plan, most))
  if (entries > most) return 'wide'
  const page = await readPage(list, await rowsOfCandidates(list, plan), few !== undefined)
  return { ...page, order: 'sorted', examined: { entries: 2 * entries, documents: entries } }
}

/** In the order of the entries, until enough documents have matched. */
async function readUntilFull(list: ListSource, plan: Plan, { by, after }: OrderSql): Promise<IndexPage> {
  const { from, where } = entriesSql(plan, list.owner, false)
  const documents = documentsOfEntries(
    sql`(select e.key, e.id from ${from} where ${where} ${after}) as e`,
    list.scope,
  )
  const matching = sql`${documents.where} and ${sql.stoppable(list.query.where)}`
  const rows = { ...rowsInPlace(list, documents.from, matching), orderBy: by(sql`e`) }
  const page = await readPage(list, rows, false)
  return { ...page, order: 'index', examined: { entries: page.found.length, documents: page.found.length } }
}

/** The documents that the entries lead to, each once. */
async function rowsOfCandidates(list: ListSource, plan: Plan): Promise<PageRows> {
  const { query, scope, owner } = list
  const entries = entriesSql(plan, owner, false)
  const candidates = sql`candidates as materialized (select ${idsOf(plan)} from ${entries.from} where ${entries.where})`
  const { from, where } = documentsOfEntries(sql`candidates as e`, scope)
  const matching = sql`${where} and ${sql.stoppable(await afterSql(list))}`
  if (isCounted(query)) return { ...matchingRows(list, from, matching, candidates), isOnce: true }
  return { ...rowsInPlace(list, from, matching), ctes: sql`with ${candidates}`, isOnce: true }
}

/** How many entries there are, if they lead to few documents, which are no great effort together either. */
async function countFew(
  { db, query, collection, owner }: ListSource,
  plan: Plan,
): Promise<number | undefined> {
  const { from, where } = entriesSql(plan, owner, true)
  const row = await db.get(sql<{ entries: number; bytes: number }>`
    select count(*) as entries, cast(coalesce(sum(bytes), 0) as bigint) as bytes from (
      select (select d.bytes from store_documents d where d.collection = ${collection} and d.id = e.id) as bytes
      from ${from} where ${where} limit ${sql.literal(String(FEW_DOCUMENTS + 1))}
    ) as found`)
  const { entries, bytes } = row!
  const effort = Math.max(1, effortOf(query.filter) + effortOfSort(query.order))
  return entries <= FEW_DOCUMENTS && bytes <= FEW_BYTES / effort ? entries : undefined
}

/** How many entries there are, no further than one beyond a limit. */
async function countEntries({ db, owner, options }: ListSource, plan: Plan, most: number): Promise<number> {
  const [row] = await db.scan(countEntriesSql(plan, owner, most), options)
  return row!.entries
}
