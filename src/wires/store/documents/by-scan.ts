import { parseJson } from '../../../base/json.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import { ofCollection, ofOwner } from './sql/document-rows.ts'
import { isCounted, isShort, matchingRows, readPage, rowsInPlace } from './page.ts'
import type { ListSource, ListPage } from './page.ts'
import { countConditions, type Json } from './query/filter.ts'
import type { ListQuery } from './list-query.ts'

// Bytes × conditions of a document that is examined in microseconds.
const QUICK_BYTES = 4096
// Above this share of a collection, to find an owner's documents by their index costs more than to pass over the others.
const OWNER_SHARE = 0.4

/** Reads a list from the documents in the order of their ids, one after the other. */
export async function readByScan(list: ListSource): Promise<ListPage> {
  const { query, scope } = list
  const after = await afterSql(list)
  const where = sql`${scope} and ${query.scans ? stoppable(query, after) : after}`
  const from = await tableOf(list)
  const rows = isCounted(query) ? matchingRows(list, from, where) : rowsInPlace(list, from, where)
  return readPage(list, rows, !query.scans && isShort(list))
}

function stoppable({ filter }: ListQuery, condition: Sql): Sql {
  const quick = sql`d.bytes < ${Math.floor(QUICK_BYTES / Math.max(countConditions(filter), 1))}`
  return sql`${sql.stoppable(condition, quick)}`
}

async function tableOf({ query, owner, countAll, countCollection }: ListSource): Promise<Sql> {
  if (owner === undefined) return query.scans ? ofCollection : query.from
  if (!query.scans) return ofOwner
  const [own, all] = await Promise.all([countAll(), countCollection()])
  return own < all * OWNER_SHARE ? ofOwner : ofCollection
}

/** The filter, and only what comes after the cursor, whose key may be too long to be in it. */
export async function afterSql({ db, query, scope }: ListSource): Promise<Sql> {
  if (query.anchor === undefined) return query.whereAfter
  const anchor = await db.get<{ body: string }>(
    sql`select d.body from store_documents d where ${scope} and d.id = ${query.anchor}`,
  )
  return query.exactAfter(anchor && (parseJson(anchor.body) as Json))
}
