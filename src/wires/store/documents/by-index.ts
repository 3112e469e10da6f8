import { sql, type Sql } from '../../../db/sql.ts'
import type { IndexSet } from './indexes/definition.ts'
import type { Indexes } from './indexes/indexes.ts'
import { afterCursorSql, type ListSource } from './list-source.ts'
import { isShort, matchingRows, readPage, type ListPage, type PageRows } from './page.ts'
import { fewestFirst } from './plan/choose.ts'
import { plansOf, type Plan } from './plan/plan.ts'
import { effortOf } from './query/effort.ts'
import {
  countEntriesSql,
  documentsOfEntries,
  entriesSql,
  entryOrderOf,
  firstSql,
  isReadySql,
  unseenLimitSql,
  type EntriesSql,
  type EntryOrder,
} from './sql/entries.ts'
import { directionOf } from './sql/order.ts'

// Indexes may be dropped between a plan and its reads.
const TRIES_MAX = 3
/** Entries that are counted where it stalls nobody else. */
const FEW_ENTRIES = 1000
/** Documents that are looked into, likewise. */
const FEW_DOCUMENTS = 100
/** How many bytes they may have together, divided by what is asked of each. */
const FEW_BYTES = 131_072
/** To find a document by its id costs as much as to pass over so many. */
const LOOKUP_COST = 8

const NOTHING = sql.literal('')

/** What a list has cost: how many entries were looked at, and documents, those of the page among them. */
export type Examined = { readonly entries: number; readonly documents: number }

/** A page, and how it was read. */
type EntriesPage = ListPage & {
  /** Whether the entries were in the list's order. */
  readonly order: 'index' | 'sorted'
  readonly examined: Examined
}

/** A page that was read from an index. */
export type IndexPage = EntriesPage & { readonly plan: Plan }

/** Reads a list from the entries of an index; undefined if none is of use. */
export async function readByIndex(
  indexes: Pick<Indexes, 'recent' | 'reload' | 'used'>,
  source: ListSource,
): Promise<IndexPage | undefined> {
  let set = await indexes.recent(source.collection)
  for (let attempt = 0; attempt < TRIES_MAX; attempt++) {
    if (set.indexes.length === 0) return undefined
    const page = await readByOneOf(set, source)
    if (page !== 'outdated') {
      if (page) indexes.used(page.plan.index.id)
      return page
    }
    set = await indexes.reload(source.collection)
  }
  return undefined
}

/** @returns 'outdated' if an index is not as its plan took it any more */
async function readByOneOf(
  { indexes }: IndexSet,
  source: ListSource,
): Promise<IndexPage | 'outdated' | undefined> {
  const { db, list, owner } = source
  const plans = plansOf(indexes, { filter: list.filter, order: list.order, owner })
  for (const plan of await fewestFirst(db, plans, owner)) {
    const page = await readByPlan(source, plan)
    if (page === 'outdated') return page
    if (page !== 'wide') return { ...page, plan }
  }
  return undefined
}

/** @returns 'outdated' likewise, 'wide' if a scan is better */
async function readByPlan(source: ListSource, plan: Plan): Promise<EntriesPage | 'outdated' | 'wide'> {
  const { db, list, cursor } = source
  const order = plan.order && entryOrderOf(plan.order, cursor?.position)
  const isDecided = plan.isExact && (order !== undefined || list.order.keys.length === 0)
  const page = await (isDecided ? readEntries(source, plan, order) : readDocuments(source, plan, order))
  if (page === 'wide' || page.documents.length > 0) return page
  // What an index that was dropped meanwhile led to is nothing at all.
  const ready = await db.get(sql`select 1 as ready where ${isReadySql(plan.index)}`)
  return ready === undefined ? 'outdated' : page
}

/** Where the entries alone decide which documents are on the page. */
async function readEntries(
  source: ListSource,
  plan: Plan,
  order: EntryOrder | undefined,
): Promise<EntriesPage> {
  const { owner, offset, knownTotal } = source
  const isCounted = knownTotal === undefined
  const rowsOf = (entries: EntriesSql, most?: number): PageRows =>
    order
      ? rowsInOrder(source, plan, entries, order, most)
      : // More may have come since they were counted.
        rowsById(source, plan, entries, isCounted ? most : undefined)
  // Between those that count there may be any number of other entries of their documents.
  const isNext =
    !plan.hasRepeats &&
    isShort(source) &&
    (order ? !order.sortsIds : typeof knownTotal !== 'number' || knownTotal <= FEW_ENTRIES)
  let page = isNext
    ? await readPage(source, rowsOf(entriesSql(plan, owner, true), FEW_ENTRIES), true)
    : undefined
  if (!page || (isCounted && page.total > FEW_ENTRIES))
    page = await readPage(source, rowsOf(entriesSql(plan, owner, false)), false)
  const read = order ? page.documents.length + offset : page.total
  return {
    ...page,
    order: order ? 'index' : 'sorted',
    examined: { entries: read + (isCounted ? page.total : 0), documents: page.documents.length },
  }
}

/** @param most counts no further than one beyond it */
function rowsInOrder(
  source: ListSource,
  plan: Plan,
  entries: EntriesSql,
  { by, after }: EntryOrder,
  most?: number,
): PageRows {
  const { limit, limited, offset } = source
  const orderBy = by(sql`e`)
  const rows = sql`select e.key, e.id from ${entries.from} where ${entries.where} ${after}`
  const page =
    most !== undefined && offset === 0
      ? firstSql(rows, orderBy, limit + 1)
      : sql`${rows} order by ${orderBy} ${limited}`
  return rowsOfEntries(source, plan, entries, page, orderBy, most)
}

/** Likewise in the order of ids. */
function rowsById(source: ListSource, plan: Plan, entries: EntriesSql, most?: number): PageRows {
  const { list, cursor, limit, offset } = source
  const { idDescending } = list.order
  const orderBy = sql`e.id ${directionOf(idDescending)}`
  const beyond = sql.literal(idDescending ? '<' : '>')
  const after = cursor ? sql`and e.id ${beyond} ${cursor.position.id}` : NOTHING
  // Sorted are no more than are counted.
  const rows = sql`select ${idsOf(plan)} from ${entries.from} where ${entries.where} ${after} ${upTo(most)}`
  const page = sql`select e.id from (${rows}) as e order by ${orderBy} ${unseenLimitSql(limit + 1, offset)}`
  return rowsOfEntries(source, plan, entries, page, orderBy, most)
}

/** The documents of a page of entries, and how many entries there are. */
function rowsOfEntries(
  { knownTotal, scope }: ListSource,
  plan: Plan,
  { from, where }: EntriesSql,
  page: Sql,
  orderBy: Sql,
  most?: number,
): PageRows {
  const counted = sql`(select count(*) from (select ${idsOf(plan)} from ${from} where ${where} ${upTo(most)}) as counted)`
  return {
    total: knownTotal ?? counted,
    orderBy,
    limited: NOTHING,
    ...documentsOfEntries(sql`(${page}) as e`, scope),
  }
}

const upTo = (most: number | undefined): Sql => sql.literal(most === undefined ? '' : `limit ${most + 1}`)

/** Each document once. */
const idsOf = ({ hasRepeats }: Plan): Sql => sql.literal(hasRepeats ? 'distinct e.id' : 'e.id')

/** Where the documents must be looked into, to match or to sort them. */
async function readDocuments(
  source: ListSource,
  plan: Plan,
  order: EntryOrder | undefined,
): Promise<EntriesPage | 'wide'> {
  const { cursor, limit, countAll } = source
  // Where enough of all documents match, the page is found soon, wherever the cursor is.
  if (order && cursor?.total !== undefined && cursor.total > LOOKUP_COST * (limit + 1))
    return readUntilFull(source, plan, order, cursor.total)
  const few = await countFew(source, plan)
  const most = few === undefined ? Math.floor((await countAll()) / LOOKUP_COST) : FEW_DOCUMENTS
  const entries = few ?? (await countEntries(source, plan, most))
  if (entries > most) return 'wide'
  const page = await readPage(source, await rowsOfCandidates(source, plan), few !== undefined)
  return { ...page, order: 'sorted', examined: { entries: 2 * entries, documents: entries } }
}

/** In the order of the entries, until enough documents have matched. */
async function readUntilFull(
  source: ListSource,
  plan: Plan,
  { by, after }: EntryOrder,
  total: number,
): Promise<EntriesPage> {
  const { list, owner, scope, limited } = source
  const entries = entriesSql(plan, owner, false)
  const { from, where } = documentsOfEntries(
    sql`(select e.key, e.id from ${entries.from} where ${entries.where} ${after}) as e`,
    scope,
  )
  const matching = sql`${where} and ${sql.stoppable(list.where)}`
  const page = await readPage(source, { from, where: matching, orderBy: by(sql`e`), limited, total }, false)
  const { length } = page.documents
  return { ...page, order: 'index', examined: { entries: length, documents: length } }
}

/** The documents that the entries lead to, each once. */
async function rowsOfCandidates(source: ListSource, plan: Plan): Promise<PageRows> {
  const entries = entriesSql(plan, source.owner, false)
  const candidates = sql`candidates as materialized (select ${idsOf(plan)} from ${entries.from} where ${entries.where})`
  const { from, where } = documentsOfEntries(sql`candidates as e`, source.scope)
  const matching = sql`${where} and ${sql.stoppable(await afterCursorSql(source))}`
  return { ...matchingRows(source, from, matching, candidates), isOnce: true }
}

/** How many entries there are, if they lead to few documents, which are no great effort together either. */
async function countFew(
  { db, list, collection, owner }: ListSource,
  plan: Plan,
): Promise<number | undefined> {
  const { from, where } = entriesSql(plan, owner, true)
  const row = await db.get(sql<{ entries: number; bytes: number }>`
    select count(*) as entries, cast(coalesce(sum(bytes), 0) as bigint) as bytes from (
      select (select d.bytes from store_documents d where d.collection = ${collection} and d.id = e.id) as bytes
      from ${from} where ${where} limit ${sql.literal(String(FEW_DOCUMENTS + 1))}
    ) as counted`)
  const { entries, bytes } = row!
  return entries <= FEW_DOCUMENTS && bytes <= FEW_BYTES / effortOf(list.filter, list.order)
    ? entries
    : undefined
}

/** How many entries there are, no further than one beyond a limit. On SQLite this cannot be stopped: 0.1 µs for each. */
async function countEntries({ db, owner, options }: ListSource, plan: Plan, most: number): Promise<number> {
  const [row] = await db.scan(countEntriesSql(plan, owner, most), options)
  return row!.entries
}
