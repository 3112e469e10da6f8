import { sql, type Sql } from '../../../../db/sql.ts'
import { afterCursorSql, type ListSource } from './list-source.ts'
import { isShort, matchingRows, readPage, type ListPage } from './page.ts'
import { allDocuments, documentsInOrder, documentsOfOwner } from '../storage/sql/document-rows.ts'

// Bytes × conditions of a document that is examined in microseconds.
const QUICK_BYTES = 4096
// Above this share of a collection, to find an owner's documents by their index costs more than to pass over the others.
const OWNER_SHARE = 0.4

/** Reads a list from the documents in the order of their ids, one after the other. */
export async function readByScan(source: ListSource): Promise<ListPage> {
  const { list, scope } = source
  const after = await afterCursorSql(source)
  const quick = sql`d.bytes < ${Math.floor(QUICK_BYTES / Math.max(list.conditions, 1))}`
  const rows = matchingRows(source, {
    from: await tableOf(source),
    where: scope,
    condition: after,
    unless: quick,
    isQuick: !list.scans,
  })
  return readPage(source, rows, !list.scans && isShort(source))
}

async function tableOf({ list, owner, countAll, countCollection }: ListSource): Promise<Sql> {
  if (owner === undefined) return list.scans ? allDocuments : documentsInOrder
  if (!list.scans) return documentsOfOwner
  const [own, all] = await Promise.all([countAll(), countCollection()])
  return own < all * OWNER_SHARE ? documentsOfOwner : allDocuments
}
