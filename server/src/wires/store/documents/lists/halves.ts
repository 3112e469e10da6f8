import { sql, type Sql } from '../../../../db/sql.ts'
import { allDocuments } from '../storage/sql/document-rows.ts'
import type { AccessPath } from './access-path.ts'
import { SHORT_LIMIT, type ListSource } from './list-source.ts'
import { middleOf } from './middles.ts'

/** As many are examined by one thread in a few milliseconds. */
const FEW_DOCUMENTS = 20_000

/**
 * The two halves of a list in the order of ids, the first one first, if all documents of a large collection must be looked into:
 * the page of the list is the beginning of both pages behind each other, and its total the sum of both.
 */
export async function halvesOf(
  source: ListSource,
  path: AccessPath,
): Promise<readonly [ListSource, ListSource] | undefined> {
  const { db, documents, collection, list } = source
  if (!db.scanTogether || !isDivisible(source, path)) return undefined
  const count = await documents.count(collection)
  if (count < FEW_DOCUMENTS) return undefined
  const middle = await middleOf(source, collection, count)
  if (middle === undefined) return undefined
  const half = (of: Sql): ListSource => ({ ...source, scope: sql`${source.scope} and ${of}` })
  const before = half(sql`d.id < ${middle}`)
  const behind = half(sql`d.id >= ${middle}`)
  return list.order.idDescending ? [behind, before] : [before, behind]
}

const isDivisible = (
  { list, cursor, knownTotal, limit, offset, reads }: ListSource,
  path: AccessPath,
): boolean =>
  path.kind === 'scan' &&
  path.from === allDocuments &&
  list.order.keys.length === 0 &&
  !list.callsFunctions &&
  cursor === undefined &&
  knownTotal === undefined &&
  limit <= SHORT_LIMIT &&
  offset === 0 &&
  reads === 'bodies'
