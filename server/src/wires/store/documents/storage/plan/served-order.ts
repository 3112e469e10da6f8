import type { Index } from '../entries/index-definition.ts'
import { inverted, type IndexField } from '../entries/entries.ts'
import type { Position } from '../../language/query/bound.ts'
import { isCreatedAt, type Sort } from '../../language/query/sort.ts'
import { timeKeyOf } from '../../language/query/cursor.ts'
import { descending, type IntervalBound } from './interval.ts'
import { storedKey } from './key-range.ts'

/** How entries are read in the order of a list. */
export type ServedOrder = {
  readonly isBackward: boolean
  /** Whether entries with the same key are in the order of descending ids. */
  readonly idDescending: boolean
  /** Of a document that has several entries, only its first (1) or last (2) one counts. */
  readonly end: 1 | 2 | undefined
  /** The key of the entry at a position of the list; undefined if it is too long. */
  readonly keyOf: (position: Position) => Buffer | undefined
}

/**
 * Whether entries within bounds are in a list's order, and how.
 *
 * @param isIdOrdered whether ids are in the order of `createdAt`
 */
export function servedOrder(
  index: Index,
  bounds: readonly IntervalBound[],
  order: Sort,
  isIdOrdered: boolean,
): ServedOrder | undefined {
  if (bounds.some(({ intervals }) => intervals.length !== 1)) return undefined
  const fixed = bounds.filter(({ intervals }) => intervals[0]!.point)
  if (fixed.length === index.fields.length && order.keys.length === 0)
    return {
      isBackward: order.idDescending,
      idDescending: order.idDescending,
      end: undefined,
      keyOf: () => storedKey(beginningOf(fixed)),
    }
  // The ends of keys that are cut do not compare; and within bounds it is not the first key of a document that is found.
  if (index.hasCutKeys || (index.hasArrays && bounds.length > 0)) return undefined
  for (let from = fixed.length; from >= 0; from--) {
    const isBackward = isReadBackward(index.fields.slice(from), order, isIdOrdered)
    if (isBackward === undefined) continue
    const beginning = beginningOf(fixed.slice(0, from))
    return {
      isBackward,
      idDescending: order.idDescending,
      end: index.hasArrays ? (isBackward ? 2 : 1) : undefined,
      keyOf: (position) => positionKey(beginning, index.fields.slice(from), order, position),
    }
  }
  return undefined
}

const beginningOf = (bounds: readonly IntervalBound[]): Buffer =>
  Buffer.concat(
    bounds.map(({ field, intervals: [one] }) => (field.descending ? descending(one!) : one!).point!),
  )

/**
 * Whether fields are in the order of a list if they are read backward; undefined if in neither direction. Behind the sort's
 * keys there may be `createdAt`, if that is in the order of ids.
 */
function isReadBackward(
  fields: readonly IndexField[],
  { keys, idDescending }: Sort,
  isIdOrdered: boolean,
): boolean | undefined {
  const wanted = [...keys]
  if (isIdOrdered && fields.length === keys.length + 1 && isCreatedAt(fields.at(-1)!))
    wanted.push({ path: ['createdAt'], descending: idDescending })
  if (fields.length !== wanted.length || wanted.length === 0) return undefined
  const isBackward = fields[0]!.descending !== wanted[0]!.descending
  const isServed = fields.every(({ path, descending }, i) => {
    const key = wanted[i]!
    return path.join('.') === key.path.join('.') && (descending !== key.descending) === isBackward
  })
  return isServed ? isBackward : undefined
}

function positionKey(
  beginning: Buffer,
  fields: readonly IndexField[],
  { keys }: Sort,
  { bounds, id }: Position,
): Buffer | undefined {
  if (bounds.some(({ isCut }) => isCut)) return undefined
  const parts = bounds.map(({ bytes }) => bytes)
  if (fields.length > keys.length) parts.push(timeKeyOf(id))
  return Buffer.concat([
    beginning,
    ...parts.map((bytes, i) => (fields[i]!.descending ? inverted(bytes) : bytes)),
  ])
}
