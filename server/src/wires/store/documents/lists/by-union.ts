import { sql, type Sql } from '../../../../db/sql.ts'
import type { Index, IndexSet } from '../storage/entries/index-definition.ts'
import { afterCursorSql, type ListSource } from './list-source.ts'
import { FEW_BYTES, FEW_DOCUMENTS, LOOKUP_COST } from './costs.ts'
import { matchingRows, readPage, type IndexPage } from './page.ts'
import { plansOf, type Plan } from '../storage/plan/plan.ts'
import { effortOf } from '../language/query/effort.ts'
import { countEntriesSql, documentsOfEntries, entriesSql, isReadySql } from '../storage/sql/entries-sql.ts'
import { documentsOfOwner } from '../storage/sql/document-rows.ts'

const ANY_ORDER = { keys: [], idDescending: false }

/**
 * Reads a list whose documents match any of several alternatives, each of which an index leads to: a rule such as
 * `['owner', { members: '$$user._id' }]`, or `$or`. All candidates are looked into.
 *
 * @returns undefined if an alternative has no index, or if a scan is better; 'outdated' if an index has changed meanwhile
 */
export async function readByUnion(
  { indexes }: IndexSet,
  source: ListSource,
): Promise<IndexPage | 'outdated' | undefined> {
  const union = await unionOf(indexes, source, (all) =>
    Math.max(Math.floor(all / LOOKUP_COST), FEW_DOCUMENTS),
  )
  if (!union) return undefined
  const { plans, entries, ids } = union
  const candidates = sql`candidates as materialized (${ids})`
  const isQuick = entries <= FEW_DOCUMENTS && (await areSmall(source, candidates))
  const documents = documentsOfEntries(sql`candidates as e`, source.scope)
  const condition = await afterCursorSql(source)
  const rows = {
    ...matchingRows(source, { ...documents, condition, ctes: candidates, isQuick }),
    isOnce: true,
  }
  const page = await readPage(source, rows, isQuick)
  if (!(await areReady(source, plans))) return 'outdated'
  return { ...page, plans, order: 'sorted', examined: { entries, documents: entries } }
}

/** The documents that may match any of several alternatives. */
export type Union = {
  /** One for each alternative, but that of an owner. */
  readonly plans: readonly Plan[]
  readonly ids: Sql
  readonly entries: number
}

/**
 * The documents that the alternatives of a list lead to.
 *
 * @param mostOf how many they may be at most, of all that there are
 * @returns undefined if there are no alternatives, if one of them has no index, or if they are more
 */
export async function unionOf(
  indexes: readonly Index[],
  source: ListSource,
  mostOf: (all: number) => number,
): Promise<Union | undefined> {
  const { list, collection, documents } = source
  const { alternatives, ownerAlternative } = list
  if (alternatives.length + Number(ownerAlternative !== undefined) < 2) return undefined
  const plans: Plan[] = []
  for (const filter of alternatives) {
    const [plan] = plansOf(indexes, { filter, order: ANY_ORDER, owner: source.owner })
    if (!plan?.ranges) return undefined
    plans.push(plan)
  }
  const most = mostOf(await source.countAll())
  const counts = await Promise.all([
    ...plans.map((plan) => countEntries(source, plan, most)),
    ...(ownerAlternative === undefined ? [] : [documents.count(collection, ownerAlternative)]),
  ])
  const entries = counts.reduce((sum, one) => sum + one, 0)
  if (entries > most) return undefined
  const ids = [
    ...plans.map((plan) => {
      const { from, where } = entriesSql(plan, source.owner, false)
      return sql`select e.id from ${from} where ${where}`
    }),
    ...(ownerAlternative === undefined ? [] : [ownIdsSql(collection, ownerAlternative)]),
  ]
  return { plans, entries, ids: sql.join(ids, ' union ') }
}

/** How many entries there are, no further than one beyond a limit; many are counted where it stalls nobody else. */
async function countEntries({ db, owner, options }: ListSource, plan: Plan, most: number): Promise<number> {
  const few = await db.get(countEntriesSql(plan, owner, FEW_DOCUMENTS))
  if (few!.entries <= FEW_DOCUMENTS) return few!.entries
  const [row] = await db.scan(countEntriesSql(plan, owner, most), options)
  return row!.entries
}

/** Whether the documents are no great effort together. */
async function areSmall({ db, list, collection }: ListSource, candidates: Sql): Promise<boolean> {
  const row = await db.get(sql<{ bytes: number }>`
    with ${candidates}
    select cast(coalesce(sum((
      select d.bytes from store_documents d where d.collection = ${collection} and d.id = e.id)), 0) as bigint) as bytes
    from candidates as e`)
  const effort = list.alternatives.reduce((sum, one) => sum + effortOf(one, list.order), 1)
  return row!.bytes <= FEW_BYTES / effort
}

const ownIdsSql = (collection: string, owner: string): Sql => sql`
  select d.id from ${documentsOfOwner} where d.collection = ${collection} and d.owner = ${owner}`

/** Whether all indexes are as the plans took them: one that was dropped leads to nothing. */
async function areReady({ db }: ListSource, plans: readonly Plan[]): Promise<boolean> {
  const conditions = plans.map(({ index }) => isReadySql(index))
  return (await db.get(sql`select 1 as ready where ${sql.join(conditions, ' and ')}`)) !== undefined
}
