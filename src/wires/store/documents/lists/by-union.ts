import { sql, type Sql } from '../../../../db/sql.ts'
import type { IndexSet } from '../indexes/definition.ts'
import { afterCursorSql, type ListSource } from './list-source.ts'
import { matchingRows, readPage, type IndexPage } from './page.ts'
import { plansOf, type Plan } from '../plan/plan.ts'
import { countEntriesSql, documentsOfEntries, entriesSql, isReadySql } from '../sql/entries.ts'
import { documentsOfOwner } from '../sql/document-rows.ts'

/** To find a document by its id costs as much as to pass over so many. */
const LOOKUP_COST = 8
/** Documents that are looked into where it stalls nobody else. */
const FEW_DOCUMENTS = 100

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
  const { db, list, collection, documents } = source
  const { alternatives, ownerAlternative } = list
  if (alternatives.length + Number(ownerAlternative !== undefined) < 2) return undefined
  const plans: Plan[] = []
  for (const filter of alternatives) {
    const [plan] = plansOf(indexes, { filter, order: ANY_ORDER, owner: source.owner })
    if (!plan?.ranges) return undefined
    plans.push(plan)
  }
  const all = await source.countAll()
  const most = Math.max(Math.floor(all / LOOKUP_COST), FEW_DOCUMENTS)
  const counts = await Promise.all([
    ...plans.map(async (plan) => (await db.get(countEntriesSql(plan, source.owner, most)))!.entries),
    ...(ownerAlternative === undefined ? [] : [documents.count(collection, ownerAlternative)]),
  ])
  const entries = counts.reduce((sum, one) => sum + one, 0)
  if (entries > most) return undefined
  const candidates = sql`candidates as materialized (${sql.join(
    [
      ...plans.map((plan) => {
        const { from, where } = entriesSql(plan, source.owner, false)
        return sql`select e.id from ${from} where ${where}`
      }),
      ...(ownerAlternative === undefined ? [] : [ownIdsSql(collection, ownerAlternative)]),
    ],
    ' union ',
  )})`
  const { from, where } = documentsOfEntries(sql`candidates as e`, source.scope)
  const matching = sql`${where} and ${sql.stoppable(await afterCursorSql(source))}`
  const rows = { ...matchingRows(source, from, matching, candidates), isOnce: true }
  const page = await readPage(source, rows, entries <= FEW_DOCUMENTS)
  if (!(await areReady(source, plans))) return 'outdated'
  return { ...page, plans, order: 'sorted', examined: { entries, documents: entries } }
}

const ownIdsSql = (collection: string, owner: string): Sql => sql`
  select d.id from ${documentsOfOwner} where d.collection = ${collection} and d.owner = ${owner}`

/** Whether all indexes are as the plans took them: one that was dropped leads to nothing. */
async function areReady({ db }: ListSource, plans: readonly Plan[]): Promise<boolean> {
  const conditions = plans.map(({ index }) => isReadySql(index))
  return (await db.get(sql`select 1 as ready where ${sql.join(conditions, ' and ')}`)) !== undefined
}
