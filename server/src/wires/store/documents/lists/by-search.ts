import { errors } from '../../../../base/errors.ts'
import { sql, type Sql } from '../../../../db/sql.ts'
import type { Index } from '../storage/entries/index-definition.ts'
import type { Indexes } from '../storage/indexes/indexes.ts'
import { plansOf, type Plan } from '../storage/plan/plan.ts'
import type { SearchQuery } from '../language/search/search-query.ts'
import { documentsOfOwner } from '../storage/sql/document-rows.ts'
import { countEntriesSql, documentsOfEntries, entriesSql, isReadySql } from '../storage/sql/entries-sql.ts'
import { countHitsSql, hitsSql, isSearchable, type SearchOf } from '../storage/sql/search-sql.ts'
import { afterHitSql, orderOfHits } from '../storage/sql/order-sql.ts'
import { unionOf } from './by-union.ts'
import { FEW_DOCUMENTS } from './costs.ts'
import { afterCursorSql, type ListSource } from './list-source.ts'
import { matchingRows, readPage, type ListPage, type PageRows } from './page.ts'

// The index may be dropped and another one be complete meanwhile.
const TRIES_MAX = 3
const RETRY_AFTER = 1
/** Hits are counted up to so many, to see whether another way leads to fewer documents. */
const HITS_MAX = 10_000
const ANY_ORDER = { keys: [], idDescending: false }

const NOTHING = sql.literal('')

/** A page of what a search found. */
export type SearchPage = ListPage & {
  readonly search: SearchOf
  /** How many documents the search was asked of, if they were fewer than it finds. */
  readonly among: number | undefined
}

/**
 * Reads a list of what a search finds, of what the filter finds. It never stalls others: how much an engine looks into for a search
 * is not known before.
 *
 * @throws UNAVAILABLE while the words of the documents are not complete
 */
export async function readBySearch(
  indexes: Pick<Indexes, 'recent' | 'reload'>,
  source: ListSource,
  query: SearchQuery,
): Promise<SearchPage> {
  let set = await indexes.recent(source.collection)
  for (let attempt = 0; attempt < TRIES_MAX; attempt++) {
    const fields = JSON.stringify(source.searchFields)
    const index = set.searches.find(
      (one) => one.state === 'ready' && JSON.stringify(one.fields.map(({ path }) => path)) === fields,
    )
    if (index) {
      const search = { index, query }
      const among = await fewerThanHits(source, set.indexes, search)
      const page = await readHits(source, search, among)
      // What an index that was dropped meanwhile led to is nothing at all.
      const plans = among?.plans ?? []
      const conditions = [isSearchable(index), ...plans.map((plan) => isReadySql(plan.index))]
      const isCertain = page.documents.length > 0 && plans.length < 2
      if (isCertain || (await source.db.get(sql`select 1 as ready where ${sql.join(conditions, ' and ')}`)))
        return { ...page, search, among: among?.entries }
    }
    set = await indexes.reload(source.collection)
  }
  throw errors.unavailable({
    message: `The words of ${source.collection} are still being indexed: search again later.`,
    retryAfter: RETRY_AFTER,
  })
}

/** How many documents a search that was read has found, whatever the filter finds. */
export async function countHits(
  { db, options, countCollection }: ListSource,
  { search }: SearchPage,
): Promise<number> {
  const [row] = await db.scan(countHitsSql(search, await countCollection()), options)
  return row!.hits
}

async function readHits(source: ListSource, search: SearchOf, among: Among | undefined): Promise<ListPage> {
  const { list } = source
  const hits = sql`hits as materialized (${hitsSql(search, among?.ids)})`
  const rows =
    isOfHits(source) && list.order.keys.length === 0
      ? rowsOfHits(source, hits)
      : await rowsOfDocuments(source, hits)
  return readPage(source, { ...rows, isOnce: true }, false)
}

/** Whether all that the search finds is in the list. */
const isOfHits = ({ list, owner }: ListSource): boolean =>
  owner === undefined && !list.isPartial && list.filter.kind === 'and' && list.filter.of.length === 0

/** The page of the hits themselves: only its documents are read. */
function rowsOfHits({ list, cursor, collection, knownTotal, limited }: ListSource, hits: Sql): PageRows {
  const { order } = list
  const after = cursor ? sql`where ${afterHitSql(order, cursor.position)}` : NOTHING
  const by = orderOfHits(order)
  const page = sql`(select e.id, e.score from hits as e ${after} order by ${by(sql`e`)} ${limited})`
  return {
    ctes: sql`with ${hits}`,
    total: knownTotal ?? sql`(select count(*) from hits)`,
    from: sql`${page} as m cross join store_documents d`,
    where: sql`d.collection = ${collection} and d.id = m.id`,
    orderBy: by(sql`m`),
    limited: NOTHING,
  }
}

/** The hits that the filter finds too. */
async function rowsOfDocuments(source: ListSource, hits: Sql): Promise<PageRows> {
  const documents = documentsOfEntries(sql`hits as e`, source.scope)
  return matchingRows(source, { ...documents, condition: await afterCursorSql(source), ctes: hits })
}

/** Documents of which some are in the list, and how many they are. */
type Among = { readonly ids: Sql; readonly entries: number; readonly plans: readonly Plan[] }

/** The documents that an owner has, or that indexes lead to, if they are fewer than what the search finds. */
async function fewerThanHits(
  source: ListSource,
  indexes: readonly Index[],
  search: SearchOf,
): Promise<Among | undefined> {
  const { db, list, owner, options } = source
  if (isOfHits(source)) return undefined
  const [plan] = plansOf(indexes, { filter: list.filter, order: ANY_ORDER, owner })
  if (owner === undefined && !plan?.ranges && list.alternatives.length === 0) return undefined
  const [row] = await db.scan(countHitsSql(search, HITS_MAX), options)
  const { hits } = row!
  if (hits <= FEW_DOCUMENTS) return undefined
  const own = owner === undefined ? Infinity : await source.countAll()
  const ofIndex = plan?.ranges ? await entriesOf(source, plan, Math.min(hits, own)) : undefined
  if (ofIndex) return ofIndex
  if (own < hits) {
    const ids = sql`select d.id from ${documentsOfOwner} where ${source.scope}`
    return { ids, entries: own, plans: [] }
  }
  return unionOf(indexes, source, () => hits)
}

/** The documents that a plan leads to, if they are fewer than so many. */
async function entriesOf(source: ListSource, plan: Plan, most: number): Promise<Among | undefined> {
  const { db, owner, options } = source
  const [row] = await db.scan(countEntriesSql(plan, owner, most), options)
  const { entries } = row!
  if (entries >= most) return undefined
  const { from, where } = entriesSql(plan, owner, false)
  return { ids: sql`select distinct e.id from ${from} where ${where}`, entries, plans: [plan] }
}
