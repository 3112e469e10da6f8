import { errors, type ApiError } from '../../../../base/errors.ts'
import { sql, type Sql } from '../../../../db/sql.ts'
import type { Index, IndexSet } from '../storage/entries/index-definition.ts'
import type { ListSource } from './list-source.ts'
import { plansOf, type Plan } from '../storage/plan/plan.ts'
import { effortOf } from '../language/query/effort.ts'
import type { SearchQuery } from '../language/search/search-query.ts'
import { allDocuments, documentsInOrder, documentsOfOwner } from '../storage/sql/document-rows.ts'
import { countEntriesSql, entriesSql, entryOrderOf, type EntryOrder } from '../storage/sql/entries-sql.ts'
import { countHitsSql, type SearchOf } from '../storage/sql/search-sql.ts'

/** How often a path is chosen: indexes may be dropped between a choice and its reads, and others be complete. */
export const TRIES_MAX = 3
const RETRY_AFTER = 1

/** To find a document by its id costs as much as to pass over so many. */
const LOOKUP_COST = 8
/** Documents that are looked into where it stalls nobody else. */
const FEW_DOCUMENTS = 100
/** How many bytes they may have together, divided by what is asked of each. */
const FEW_BYTES = 131_072
/** Entries that are counted where it stalls nobody else. */
export const FEW_ENTRIES = 1000
/** Of so many plans the entries are counted, if none is exact. */
const PLANS_MAX = 4
/** Hits are counted up to so many, to see whether another way leads to fewer documents. */
const HITS_MAX = 10_000
// Above this share of a collection, to find an owner's documents by their index costs more than to pass over the others.
const OWNER_SHARE = 0.4

/** A search is asked of a collection before its index is complete. */
export const wordsNotReady = (collection: string): ApiError =>
  errors.unavailable({
    message: `The words of ${collection} are still being indexed: search again later.`,
    retryAfter: RETRY_AFTER,
  })

const ANY_ORDER = { order: { keys: [], idDescending: false }, isIdOrdered: false }

/** How the page of a list is read. It is chosen before, from the indexes of the collection and what they lead to. */
export type AccessPath = {
  /** The plans whose indexes are used: one, or one for each alternative of the filter. */
  readonly plans: readonly Plan[]
  /** Whether so few rows are read that it runs with the short statements; else it waits in the queue of scans. */
  readonly isQuick: boolean
} & (
  | { readonly kind: 'scan'; readonly from: Sql }
  /** The entries alone decide which documents are on the page. If it is quick, they are counted up to `FEW_ENTRIES`. */
  | { readonly kind: 'entries'; readonly order: EntryOrder | undefined }
  /** In the order of the entries, until enough documents have matched. `total` is that of the whole list. */
  | { readonly kind: 'ordered'; readonly order: EntryOrder; readonly total: number }
  /** All documents that indexes lead to are looked into. */
  | { readonly kind: 'candidates'; readonly candidates: Candidates }
  /** A search finds them: among the candidates, if those are fewer than what it finds. */
  | { readonly kind: 'search'; readonly search: SearchOf; readonly candidates: Candidates | undefined }
)

/** Documents that may be in a list. */
export type Candidates = {
  readonly plans: readonly Plan[]
  /** Rows with `id`, each once. */
  readonly ids: Sql
  readonly entries: number
  /** Whether they are those of several alternatives: what one of them leads to does not tell that the others are as planned. */
  readonly isUnion: boolean
}

/** A plan, and how many entries it leads to: infinite if they are more than were counted, undefined if none were. */
type CountedPlan = { readonly plan: Plan; readonly entries: number | undefined }

/**
 * Chooses how a list is read. Entries are counted for it, documents are not read.
 *
 * @param set undefined for a list that no index is asked for
 * @returns undefined if the words that it searches for are not complete
 */
export async function choosePath(
  source: ListSource,
  set: IndexSet | undefined,
): Promise<AccessPath | undefined> {
  const { list, owner } = source
  if (set && list.search) return searchPath(source, set, list.search)
  if (set && set.indexes.length > 0) {
    const { filter, order, isPartial, isIdOrdered } = list
    const plans = plansOf(set.indexes, { filter, order, owner, isIdOrdered, isPartial })
    for (const counted of await fewestFirst(source, plans)) {
      const path = await pathOfPlan(source, counted)
      if (path) return path
    }
    const union = await unionPath(source, set.indexes)
    if (union) return union
  }
  if (!list.scans) {
    const from = owner === undefined ? documentsInOrder : documentsOfOwner
    return { kind: 'scan', plans: [], isQuick: source.isShort, from }
  }
  const isOwners = owner !== undefined && (await ownsFew(source))
  return { kind: 'scan', plans: [], isQuick: false, from: isOwners ? documentsOfOwner : allDocuments }
}

async function ownsFew({ documents, collection, countAll }: ListSource): Promise<boolean> {
  const [own, all] = await Promise.all([countAll(), documents.count(collection)])
  return own < all * OWNER_SHARE
}

/** The plans that lead to the fewest entries first, of some of the best ones; those that all lead to many stay in their order. */
async function fewestFirst(
  { db, owner }: ListSource,
  plans: readonly Plan[],
): Promise<readonly CountedPlan[]> {
  // The entries of one that is exact are the list, and no plan leads to fewer.
  if (plans.length < 2 || plans[0]!.isExact)
    return plans.slice(0, 1).map((plan) => ({ plan, entries: undefined }))
  const counted = await Promise.all(
    plans.slice(0, PLANS_MAX).map(async (plan) => {
      const { entries } = (await db.get(countEntriesSql(plan, owner, FEW_ENTRIES)))!
      return { plan, entries: entries <= FEW_ENTRIES ? entries : Infinity }
    }),
  )
  return counted.toSorted((a, b) => (a.entries === b.entries ? 0 : a.entries - b.entries))
}

/** @returns undefined if a scan is better */
async function pathOfPlan(
  source: ListSource,
  { plan, entries: counted }: CountedPlan,
): Promise<AccessPath | undefined> {
  const { list, cursor, limit, knownTotal, isShort, readsAll, countAll } = source
  const plans = [plan]
  const order = plan.order && entryOrderOf(plan.order, cursor?.position)
  if (!readsAll && plan.isExact && (order !== undefined || list.order.keys.length === 0)) {
    // Between those that count there may be any number of other entries of their documents.
    const isNext =
      !plan.hasRepeats &&
      (order ? !order.sortsIds : typeof knownTotal !== 'number' || knownTotal <= FEW_ENTRIES)
    return { kind: 'entries', plans, order, isQuick: isShort && isNext }
  }
  // Where enough of all documents match, the page is found soon, wherever the cursor is.
  if (order && cursor?.total !== undefined && cursor.total > LOOKUP_COST * (limit + 1))
    return { kind: 'ordered', plans, order, isQuick: false, total: cursor.total }

  const areMany = counted !== undefined && counted > FEW_DOCUMENTS
  const few = areMany ? { entries: counted, bytes: Infinity } : await countFew(source, plan)
  const isQuick = few.entries <= FEW_DOCUMENTS && few.bytes <= FEW_BYTES / effortOf(list.filter, list.order)
  const most = isQuick ? FEW_DOCUMENTS : Math.floor((await countAll()) / LOOKUP_COST)
  const entries = await countEntries(source, plan, most, few.entries)
  if (entries > most) return undefined
  const candidates = { plans, ids: idsSql(source, plan), entries, isUnion: false }
  return { kind: 'candidates', plans, isQuick, candidates }
}

/** A list whose documents match any of several alternatives, each of which an index leads to, or an owner. */
async function unionPath(source: ListSource, indexes: readonly Index[]): Promise<AccessPath | undefined> {
  const { db, list, collection } = source
  const union = await unionOf(source, indexes, (all) =>
    Math.max(Math.floor(all / LOOKUP_COST), FEW_DOCUMENTS),
  )
  if (!union) return undefined
  let { bytes } = union
  if (union.entries <= FEW_DOCUMENTS && list.ownerAlternative !== undefined) {
    const own = sql`d.collection = ${collection} and d.owner = ${list.ownerAlternative}`
    bytes += (await db.get(countFewSql(sql`d.bytes`, documentsOfOwner, own)))!.bytes
  }
  const effort = list.alternatives.reduce((sum, one) => sum + effortOf(one, list.order), 1)
  const isQuick = union.entries <= FEW_DOCUMENTS && bytes <= FEW_BYTES / effort
  return { kind: 'candidates', plans: union.plans, isQuick, candidates: union }
}

/**
 * The documents that the alternatives of a list lead to: of a rule such as `['owner', { members: '$$user._id' }]`, or of `$or`.
 *
 * @param mostOf how many they may be at most, of all that there are
 * @returns with the bytes of those that indexes lead to; undefined if there are no alternatives, if one of them has no index, or
 *   if they are more
 */
async function unionOf(
  source: ListSource,
  indexes: readonly Index[],
  mostOf: (all: number) => number,
): Promise<(Candidates & { readonly bytes: number }) | undefined> {
  const { list, collection, documents, countAll } = source
  const { alternatives, ownerAlternative } = list
  if (alternatives.length + Number(ownerAlternative !== undefined) < 2) return undefined
  const plans: Plan[] = []
  for (const filter of alternatives) {
    const [plan] = plansOf(indexes, { ...ANY_ORDER, filter, owner: source.owner })
    if (!plan?.ranges) return undefined
    plans.push(plan)
  }
  const most = mostOf(await countAll())
  const counts = await Promise.all(
    plans.map(async (plan) => {
      const { entries, bytes } = await countFew(source, plan)
      return { entries: await countEntries(source, plan, most, entries), bytes }
    }),
  )
  const ids = plans.map((plan) => idsSql(source, plan, false))
  if (ownerAlternative !== undefined) {
    counts.push({ entries: await documents.count(collection, ownerAlternative), bytes: 0 })
    ids.push(ownIdsSql(collection, ownerAlternative))
  }
  const entries = counts.reduce((sum, one) => sum + one.entries, 0)
  if (entries > most) return undefined
  const bytes = counts.reduce((sum, one) => sum + one.bytes, 0)
  return { plans, ids: sql.join(ids, ' union '), entries, isUnion: true, bytes }
}

/** How much an engine looks into for a search is not known before, so it is never quick. */
async function searchPath(
  source: ListSource,
  set: IndexSet,
  query: SearchQuery,
): Promise<AccessPath | undefined> {
  const fields = JSON.stringify(source.searchFields)
  const index = set.searches.find(
    (one) => one.state === 'ready' && JSON.stringify(one.fields.map(({ path }) => path)) === fields,
  )
  if (!index) return undefined
  const search = { index, query }
  const candidates = await fewerThanHits(source, set.indexes, search)
  return { kind: 'search', plans: candidates?.plans ?? [], isQuick: false, search, candidates }
}

/** Whether all that a search finds is in the list. */
export const areHitsOfList = ({ list, owner }: ListSource): boolean =>
  owner === undefined && !list.isPartial && list.filter.kind === 'and' && list.filter.of.length === 0

/** The documents that an owner has, or that indexes lead to, if they are fewer than what the search finds. */
async function fewerThanHits(
  source: ListSource,
  indexes: readonly Index[],
  search: SearchOf,
): Promise<Candidates | undefined> {
  const { db, list, owner, collection, options, countAll } = source
  if (areHitsOfList(source)) return undefined
  const [plan] = plansOf(indexes, { ...ANY_ORDER, filter: list.filter, owner })
  if (owner === undefined && !plan?.ranges && list.alternatives.length === 0) return undefined
  const [row] = await db.scan(countHitsSql(search, HITS_MAX), options)
  const { hits } = row!
  if (hits <= FEW_DOCUMENTS) return undefined
  const own = owner === undefined ? Infinity : await countAll()
  if (plan?.ranges) {
    const most = Math.min(hits, own)
    const entries = await countEntries(source, plan, most)
    if (entries < most) return { plans: [plan], ids: idsSql(source, plan), entries, isUnion: false }
  }
  if (own < hits) return { plans: [], ids: ownIdsSql(collection, owner!), entries: own, isUnion: false }
  return unionOf(source, indexes, () => hits)
}

const ownIdsSql = (collection: string, owner: string): Sql => sql`
  select d.id from ${documentsOfOwner} where d.collection = ${collection} and d.owner = ${owner}`

/** The ids of the documents that a plan leads to. */
function idsSql({ owner }: ListSource, plan: Plan, isDistinct = plan.hasRepeats): Sql {
  const { from, where } = entriesSql(plan, owner, false)
  return sql`select ${sql.literal(isDistinct ? 'distinct e.id' : 'e.id')} from ${from} where ${where}`
}

/** How many entries a plan leads to, infinite if they are more than `FEW_DOCUMENTS`, and how many bytes their documents have. */
async function countFew({ db, collection, owner }: ListSource, plan: Plan) {
  const entries = entriesSql(plan, owner, true)
  const ofEntry = sql`(select d.bytes from store_documents d where d.collection = ${collection} and d.id = e.id)`
  const row = (await db.get(countFewSql(ofEntry, entries.from, entries.where)))!
  return row.entries <= FEW_DOCUMENTS ? row : { entries: Infinity, bytes: Infinity }
}

const countFewSql = (bytes: Sql, from: Sql, where: Sql): Sql<{ entries: number; bytes: number }> => sql`
  select count(*) as entries, cast(coalesce(sum(bytes), 0) as bigint) as bytes from (
    select ${bytes} as bytes from ${from} where ${where} limit ${sql.literal(String(FEW_DOCUMENTS + 1))}
  ) as counted`

/**
 * How many entries there are, no further than one beyond a limit. On SQLite this cannot be stopped: 0.1 µs for each.
 *
 * @param counted if that was counted before; infinite if they are more than were counted
 */
async function countEntries(
  { db, owner, options }: ListSource,
  plan: Plan,
  most: number,
  counted = Infinity,
): Promise<number> {
  if (counted !== Infinity) return counted
  const [row] = await db.scan(countEntriesSql(plan, owner, most), options)
  return row!.entries
}
