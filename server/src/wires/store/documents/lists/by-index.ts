import type { Database } from '../../../../db/database.ts'
import { sql, type Sql } from '../../../../db/sql.ts'
import type { IndexSet } from '../storage/entries/index-definition.ts'
import { afterCursorSql, type ListContext, type ListSource } from './list-source.ts'
import { readByUnion } from './by-union.ts'
import { FEW_BYTES, FEW_DOCUMENTS, LOOKUP_COST } from './costs.ts'
import { isShort, matchingRows, readPage, type IndexPage, type PageRows } from './page.ts'
import { plansOf, type Plan } from '../storage/plan/plan.ts'
import { effortOf } from '../language/query/effort.ts'
import {
  countEntriesSql,
  documentsOfEntries,
  entriesSql,
  entryOrderOf,
  firstSql,
  isReadySql,
  unseenLimitSql,
  type EntryOrder,
} from '../storage/sql/entries-sql.ts'
import { directionOf } from '../storage/sql/order-sql.ts'

// Indexes may be dropped between a plan and its reads.
const TRIES_MAX = 3
/** Of so many plans the entries are counted, if none is exact. */
const PLANS_MAX = 4
/** Entries that are counted where it stalls nobody else. */
const FEW_ENTRIES = 1000

const NOTHING = sql.literal('')

/** Reads a list from the entries of an index; undefined if none is of use. */
export async function readByIndex(
  { indexes, automaticIndexes }: Pick<ListContext, 'indexes' | 'automaticIndexes'>,
  source: ListSource,
): Promise<IndexPage | undefined> {
  let set = await indexes.recent(source.collection)
  for (let attempt = 0; attempt < TRIES_MAX; attempt++) {
    if (set.indexes.length === 0) return undefined
    const page = await readByOneOf(set, source)
    if (page !== 'outdated') {
      for (const { index } of page?.plans ?? []) automaticIndexes.used(index.id)
      return page
    }
    set = await indexes.reload(source.collection)
  }
  return undefined
}

/** @returns 'outdated' if an index is not as its plan took it any more */
async function readByOneOf(set: IndexSet, source: ListSource): Promise<IndexPage | 'outdated' | undefined> {
  const { db, list, owner } = source
  const plans = plansOf(set.indexes, {
    filter: list.filter,
    order: list.order,
    owner,
    isPartial: list.isPartial,
  })
  for (const plan of await fewestFirst(db, plans, owner)) {
    const page = await readByPlan(source, plan)
    if (page !== 'wide') return page
  }
  return readByUnion(set, source)
}

/** The plans that lead to the fewest entries first, of some of the best ones; those that all lead to many stay in their order. */
async function fewestFirst(
  db: Database,
  plans: readonly Plan[],
  owner: string | undefined,
): Promise<readonly Plan[]> {
  // The entries of one that is exact are the list, and no plan leads to fewer.
  if (plans.length < 2 || plans[0]!.isExact) return plans.slice(0, 1)
  const counted = await Promise.all(
    plans.slice(0, PLANS_MAX).map(async (plan) => {
      const row = await db.get(countEntriesSql(plan, owner, FEW_ENTRIES))
      return { plan, entries: row!.entries }
    }),
  )
  return counted.toSorted((a, b) => a.entries - b.entries).map(({ plan }) => plan)
}

/** @returns 'outdated' likewise, 'wide' if a scan is better */
async function readByPlan(source: ListSource, plan: Plan): Promise<IndexPage | 'outdated' | 'wide'> {
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
): Promise<IndexPage> {
  const { offset, knownTotal } = source
  const isCounted = knownTotal === undefined
  // Between those that count there may be any number of other entries of their documents.
  const isNext =
    !plan.hasRepeats &&
    isShort(source) &&
    (order ? !order.sortsIds : typeof knownTotal !== 'number' || knownTotal <= FEW_ENTRIES)
  let page = isNext ? await readPage(source, rowsOfEntries(source, plan, order, true), true) : undefined
  if (!page || (isCounted && page.total > FEW_ENTRIES))
    page = await readPage(source, rowsOfEntries(source, plan, order, false), false)
  const read = order ? page.documents.length + offset : page.total
  return {
    ...page,
    plans: [plan],
    order: order ? 'index' : 'sorted',
    examined: { entries: read + (isCounted ? page.total : 0), documents: page.documents.length },
  }
}

/**
 * The documents of a page of entries, and how many entries there are.
 *
 * @param isFew counts no further than one beyond `FEW_ENTRIES`
 */
function rowsOfEntries(
  source: ListSource,
  plan: Plan,
  order: EntryOrder | undefined,
  isFew: boolean,
): PageRows {
  const { list, cursor, owner, limit, offset, limited, knownTotal, scope } = source
  const { from, where } = entriesSql(plan, owner, isFew)
  const ids = idsOf(plan)
  const upTo = sql.literal(isFew ? `limit ${FEW_ENTRIES + 1}` : '')
  const { idDescending } = list.order
  const orderBy = order ? order.by(sql`e`) : sql`e.id ${directionOf(idDescending)}`
  let page: Sql
  if (order) {
    const rows = sql`select e.key, e.id from ${from} where ${where} ${order.after}`
    page =
      isFew && offset === 0 ? firstSql(rows, orderBy, limit + 1) : sql`${rows} order by ${orderBy} ${limited}`
  } else {
    const beyond = sql.literal(idDescending ? '<' : '>')
    const after = cursor ? sql`and e.id ${beyond} ${cursor.position.id}` : NOTHING
    // Sorted are no more than are counted. If they were counted before, more may have come since.
    const most = knownTotal === undefined ? upTo : NOTHING
    const rows = sql`select ${ids} from ${from} where ${where} ${after} ${most}`
    page = sql`select e.id from (${rows}) as e order by ${orderBy} ${unseenLimitSql(limit + 1, offset)}`
  }
  return {
    total:
      knownTotal ??
      sql`(select count(*) from (select ${ids} from ${from} where ${where} ${upTo}) as counted)`,
    orderBy,
    limited: NOTHING,
    ...documentsOfEntries(sql`(${page}) as e`, scope),
  }
}

/** Each document once. */
const idsOf = ({ hasRepeats }: Plan): Sql => sql.literal(hasRepeats ? 'distinct e.id' : 'e.id')

/** Where the documents must be looked into, to match or to sort them. */
async function readDocuments(
  source: ListSource,
  plan: Plan,
  order: EntryOrder | undefined,
): Promise<IndexPage | 'wide'> {
  const { cursor, limit, countAll } = source
  // Where enough of all documents match, the page is found soon, wherever the cursor is.
  if (order && cursor?.total !== undefined && cursor.total > LOOKUP_COST * (limit + 1))
    return readUntilFull(source, plan, order, cursor.total)
  const few = await countFew(source, plan)
  const most = few === undefined ? Math.floor((await countAll()) / LOOKUP_COST) : FEW_DOCUMENTS
  const entries = few ?? (await countEntries(source, plan, most))
  if (entries > most) return 'wide'
  const isQuick = few !== undefined
  const page = await readPage(source, await rowsOfCandidates(source, plan, isQuick), isQuick)
  return { ...page, plans: [plan], order: 'sorted', examined: { entries: 2 * entries, documents: entries } }
}

/** In the order of the entries, until enough documents have matched. */
async function readUntilFull(
  source: ListSource,
  plan: Plan,
  { by, after }: EntryOrder,
  total: number,
): Promise<IndexPage> {
  const { list, owner, scope, limited } = source
  const entries = entriesSql(plan, owner, false)
  const { from, where } = documentsOfEntries(
    sql`(select e.key, e.id from ${entries.from} where ${entries.where} ${after}) as e`,
    scope,
  )
  const matching = sql`${where} and ${sql.stoppable(list.where)}`
  const page = await readPage(source, { from, where: matching, orderBy: by(sql`e`), limited, total }, false)
  const { length } = page.documents
  return { ...page, plans: [plan], order: 'index', examined: { entries: length, documents: length } }
}

/** The documents that the entries lead to, each once. */
async function rowsOfCandidates(source: ListSource, plan: Plan, isQuick: boolean): Promise<PageRows> {
  const entries = entriesSql(plan, source.owner, false)
  const candidates = sql`candidates as materialized (select ${idsOf(plan)} from ${entries.from} where ${entries.where})`
  const documents = documentsOfEntries(sql`candidates as e`, source.scope)
  const condition = await afterCursorSql(source)
  return { ...matchingRows(source, { ...documents, condition, ctes: candidates, isQuick }), isOnce: true }
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
