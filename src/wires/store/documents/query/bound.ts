import type { Sql } from '../../../../db/sql.ts'
import type { Sort } from './sort.ts'

/** A place in the order of one field: the bytes of a key, or its beginning where it is too long for a cursor. */
export type Bound = { readonly bytes: Buffer; readonly isCut: boolean }

/** How one engine sorts row `d` of store_documents by field number `i` of a sort. */
export type OrderExpressions = {
  /** What the field sorts by. Fails with the message of a NoKeyError for a document that has no key. */
  key(sort: Sort, i: number): Sql
  /** Whether the field sorts after the bound; of a cut one, also with it. */
  after(sort: Sort, i: number, bound: Bound): Sql
  /** Whether the field is equal to a bound that is not cut. */
  same(sort: Sort, i: number, bound: Bound): Sql
}

/** A place in a list, just behind one document: what that one sorts by. */
export type Position = { readonly bounds: readonly Bound[]; readonly id: string }

/** The smallest bytes behind all that begin with these. */
export function endOfCut(bytes: Buffer): Buffer {
  let length = bytes.length
  while (bytes[length - 1] === 0xff) length--
  const end = Buffer.from(bytes.subarray(0, length))
  end[length - 1]!++
  return end
}
