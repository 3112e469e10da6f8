import { sql, type Sql } from '../../../../db/sql.ts'
import { areHitsOfList, FEW_ENTRIES, type AccessPath } from './access-path.ts'
import { afterCursorSql, type ListSource } from './list-source.ts'
import type { ParsedList } from './parsed-list.ts'
import {
  documentsOfEntries,
  entriesSql,
  firstSql,
  unseenLimitSql,
  type EntryOrder,
} from '../storage/sql/entries-sql.ts'
import type { Plan } from '../storage/plan/plan.ts'
import { listEngines } from '../storage/sql/engines.ts'
import { afterHitSql, afterPositionSql, ASC, DESC, orderOfHits } from '../storage/sql/order-sql.ts'
import { hitsSql } from '../storage/sql/search-sql.ts'

// Bytes × conditions of a document that is examined in microseconds.
const QUICK_BYTES = 4096

const NOTHING = sql.literal('')

/** Where the documents of a page are: rows `d` among others, and their order. */
export type PageRows = {
  /** `with …`, if the others need it. */
  readonly ctes?: Sql
  readonly from: Sql
  readonly where: Sql
  readonly orderBy: Sql
  /** Ends the query, unless `from` is limited itself. */
  readonly limited: Sql
  /** How many documents the list has, or an expression for it. */
  readonly total: Sql | number
  /** Whether the text depends on what a client asks: see `sql.once`. */
  readonly isOnce?: boolean
  /** Whether the documents' own index has the page in its order: see `sql.inOrder`. */
  readonly isInOrder?: boolean
  /** What `sql.gathering` gathers before. */
  readonly gathered?: { readonly rows: Sql; readonly most: number }
}

/** Documents that must be looked into, rows `d` of `from`. */
type ExaminedRows = {
  readonly from: Sql
  readonly where: Sql
  /** Which documents are looked into so quickly that the scan need not stop there. */
  readonly unless?: Sql
  /** What `from` needs, without `with`. */
  readonly ctes?: Sql
}

/** The rows that a path leads to. */
export async function rowsOf(source: ListSource, path: AccessPath): Promise<PageRows> {
  const { list, scope } = source
  if (path.kind === 'entries') return rowsOfEntries(source, path.plans[0]!, path.order, path.isQuick)
  if (path.kind === 'ordered') return rowsInOrder(source, path.plans[0]!, path.order, path.total)
  if (path.kind === 'scan') {
    const unless = sql`d.bytes < ${Math.floor(QUICK_BYTES / Math.max(list.conditions, 1))}`
    const rows = await matchingRows(source, { from: path.from, where: scope, unless }, path.isQuick)
    return { ...rows, isInOrder: path.isQuick }
  }
  if (path.kind === 'candidates') {
    const ctes = sql`candidates as materialized (${path.candidates.ids})`
    const documents = documentsOfEntries(sql`candidates as e`, scope)
    return { ...(await matchingRows(source, { ...documents, ctes }, path.isQuick)), isOnce: true }
  }
  const hits = sql`hits as materialized (${hitsSql(path.search, path.candidates?.ids)})`
  if (areHitsOfList(source) && list.order.keys.length === 0) return rowsOfHits(source, hits)
  const documents = documentsOfEntries(sql`hits as e`, scope)
  return { ...(await matchingRows(source, { ...documents, ctes: hits }, false)), isOnce: true }
}

/**
 * The documents of a page of entries, and how many entries there are.
 *
 * @param isQuick counts no further than one beyond `FEW_ENTRIES`
 */
function rowsOfEntries(
  { list, cursor, owner, limit, offset, limited, knownTotal, scope }: ListSource,
  plan: Plan,
  order: EntryOrder | undefined,
  isQuick: boolean,
): PageRows {
  const { from, where } = entriesSql(plan, owner, isQuick)
  const ids = sql.literal(plan.hasRepeats ? 'distinct e.id' : 'e.id')
  const upTo = sql.literal(isQuick ? `limit ${FEW_ENTRIES + 1}` : '')
  const { idDescending } = list.order
  const orderBy = order ? order.by(sql`e`) : sql`e.id ${idDescending ? DESC : ASC}`
  let page: Sql
  if (order) {
    const rows = sql`select e.key, e.id from ${from} where ${where} ${order.after}`
    page =
      isQuick && offset === 0
        ? firstSql(rows, orderBy, limit + 1)
        : sql`${rows} order by ${orderBy} ${limited}`
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

/** The documents of entries in their order, as far as they match. */
function rowsInOrder(
  { list, owner, scope, limited }: ListSource,
  plan: Plan,
  { by, after }: EntryOrder,
  total: number,
): PageRows {
  const entries = entriesSql(plan, owner, false)
  const { from, where } = documentsOfEntries(
    sql`(select e.key, e.id from ${entries.from} where ${entries.where} ${after}) as e`,
    scope,
  )
  return { from, where: sql`${where} and ${sql.stoppable(list.where)}`, orderBy: by(sql`e`), limited, total }
}

/** The page of what a search finds, if that is the list: only its documents are read. */
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
    isOnce: true,
  }
}

/** The rows of documents that must be looked into: each once, to count them if that is needed, and to sort them. */
async function matchingRows(
  source: ListSource,
  { from, where: scope, unless, ctes: candidates }: ExaminedRows,
  isQuick: boolean,
): Promise<PageRows> {
  const { list, collection, cursor, limited, knownTotal, limit, offset } = source
  const condition = cursor ? await afterCursorSql(source, cursor) : list.where
  const where = sql`${scope} and ${list.scans ? sql.stoppable(condition, unless) : condition}`
  const gathers = list.callsFunctions && !isQuick
  if (!gathers && knownTotal !== undefined)
    return {
      ...(candidates && { ctes: sql`with ${candidates}` }),
      from,
      where,
      orderBy: list.orderBy,
      limited,
      total: knownTotal,
    }
  const ofMatches = {
    total: knownTotal ?? sql`(select count(*) from matches)`,
    from: sql`(select * from matches as m order by ${list.orderByColumns} ${limited}) as m
      cross join store_documents d`,
    where: sql`d.collection = ${collection} and d.id = m.id`,
    orderBy: list.orderByColumns,
    limited: NOTHING,
  }
  if (!gathers) {
    const columns = sql`d.id${list.sortColumns}`
    const matches = sql`matches as materialized (select ${columns} from ${from} where ${where} ${list.readOrder})`
    return { ctes: candidates ? sql`with ${candidates}, ${matches}` : sql`with ${matches}`, ...ofMatches }
  }
  const isById = list.order.keys.length === 0 && !list.order.byScore
  // Candidates are in no order, and to sort them would call the functions for all of them at once.
  const inOrder = isById && candidates === undefined
  // The primary key is searched by it.
  const afterId =
    cursor && isById
      ? sql` and ${afterPositionSql(list.order, cursor.position, listEngines.sqlite.order)}`
      : NOTHING
  const rows = gatheredRows(list, {
    from,
    where: sql`${scope}${afterId}`,
    condition,
    ...(unless && { unless }),
    ...(candidates && { ctes: candidates }),
    readOrder: inOrder ? list.readOrder : NOTHING,
  })
  const most = inOrder && knownTotal !== undefined ? limit + offset + 1 : Infinity
  return { ctes: sql`with matches as (select * from temp.gathered)`, gathered: { rows, most }, ...ofMatches }
}

/**
 * What `sql.gathering` gathers of documents that must be looked into: the ids and sort keys of those that match.
 *
 * @param condition what a document of the list meets
 */
export function gatheredRows(
  list: ParsedList,
  {
    from,
    where,
    condition,
    unless,
    ctes,
    readOrder = NOTHING,
  }: ExaminedRows & { readonly condition: Sql; readonly readOrder?: Sql },
): Sql {
  const passes = sql.stoppable(sql`sixwire_pass((${condition}))`, unless)
  return sql`
    ${ctes ? sql`with ${ctes}` : NOTHING} select d.id${list.sortColumns}, (${condition}) as matches from ${from}
    where ${where} and ${list.idConditions}${passes} ${readOrder}`
}
