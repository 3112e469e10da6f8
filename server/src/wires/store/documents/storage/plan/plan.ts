import type { Index } from '../entries/index-definition.ts'
import type { IndexField } from '../entries/entries.ts'
import type { FilterTree } from '../../language/query/filter.ts'
import type { Sort } from '../../language/query/sort.ts'
import { areIndependent, conditionsOf, type PlanCondition, type PlanConditions } from './plan-conditions.ts'
import { holdsNull, intersection, type IntervalBound, type Interval } from './interval.ts'
import { keyRanges, type KeyRange } from './key-range.ts'
import { servedOrder, type ServedOrder } from './served-order.ts'

/** How a list is answered from the entries of an index. */
export type Plan = {
  readonly index: Index
  /** The fields that the entries are searched by, each with the keys that it may have. */
  readonly bounds: readonly IntervalBound[]
  /** The entries of all documents that match, apart from each other; undefined for all entries. */
  readonly ranges: readonly KeyRange[] | undefined
  /** Whether a document has an entry in the ranges only if it matches. */
  readonly isExact: boolean
  /** Whether a document may have several entries in the ranges. */
  readonly hasRepeats: boolean
  /** How the entries are read in the list's order; undefined if they are not in it. */
  readonly order: ServedOrder | undefined
}

/** What a list asks for. */
export type Asked = {
  readonly filter: FilterTree
  readonly order: Sort
  /** The owner of all documents of the list, if it is one. */
  readonly owner: string | undefined
  /** Whether ids are in the order of `createdAt`. */
  readonly isIdOrdered: boolean
  /** Whether a document that the filter matches may not be in the list. */
  readonly isPartial?: boolean
}

/** The ways to answer a list from the indexes of its collection, the best one first. */
export function plansOf(indexes: readonly Index[], asked: Asked): Plan[] {
  const found = conditionsOf(asked.filter)
  const conditions = asked.isPartial ? { ...found, isWhole: false } : found
  return (
    indexes
      // The filter takes texts as they are.
      .filter(({ state, ignoreCase }) => state === 'ready' && !ignoreCase)
      .flatMap((index) => planWith(index, conditions, asked) ?? [])
      .toSorted((a, b) => scoreOf(b) - scoreOf(a) || a.index.fields.length - b.index.fields.length)
  )
}

function planWith(
  index: Index,
  filter: PlanConditions,
  { order, owner, isIdOrdered }: Asked,
): Plan | undefined {
  const isOwners = owner === undefined || index.byOwner
  const { bounds, isComplete } = boundsOf(index, filter)
  if (index.isSparse && !leadToValues(index, bounds)) return undefined
  if (bounds.length === 0) {
    // An index that serves the order only would lead to all documents.
    if (filter.conditions.length > 0 || !filter.isWhole || !isOwners || order.keys.length === 0)
      return undefined
    const served = servedOrder(index, [], order, isIdOrdered)
    const { hasArrays: hasRepeats } = index
    return served && { index, bounds, ranges: undefined, isExact: true, hasRepeats, order: served }
  }
  // A condition that nothing meets, of any field: beside it SQLite finds no use for the index.
  const isEmpty = filter.conditions.some(({ intervals }) => intervals.length === 0)
  const ranges = isEmpty ? [] : keyRanges(index, bounds)
  if (!ranges) return undefined
  return {
    index,
    bounds,
    ranges,
    isExact: isComplete && isOwners,
    hasRepeats: index.hasArrays && !(ranges.length === 1 && ranges[0]!.isKey),
    order: servedOrder(index, bounds, order, isIdOrdered),
  }
}

/** Whether each document that meets the bounds has an entry in a sparse index: one key of it meets all of them. */
const leadToValues = ({ fields }: Index, bounds: readonly IntervalBound[]): boolean =>
  bounds.length === fields.length && !bounds.some(holdsNull)

const isPoint = ({ point }: Interval): boolean => point !== undefined

/**
 * The first fields of an index that a filter has conditions for. Behind a field with another condition than equality, the
 * others do not narrow the search.
 *
 * @returns with whether they are the whole filter
 */
function boundsOf(
  index: Index,
  { conditions, isWhole }: PlanConditions,
): { bounds: IntervalBound[]; isComplete: boolean } {
  const bounds: IntervalBound[] = []
  const used: PlanCondition[] = []
  for (const field of index.fields) {
    const fieldConditions = conditionsAt(field, conditions, index.hasArrays)
    const [first] = fieldConditions
    if (!first || (index.hasArrays && used.some((one) => !areIndependent(one, first)))) break
    used.push(...fieldConditions)
    const intervals = fieldConditions.map((one) => one.intervals).reduce(intersection)
    bounds.push({ field, intervals, operators: fieldConditions.map(({ operators }) => operators) })
    if (!intervals.every(isPoint)) break
  }
  return { bounds, isComplete: isWhole && conditions.every((one) => one.isExact && used.includes(one)) }
}

/** The conditions that one key of a document must meet: all, or only the best one if it may have several keys. */
function conditionsAt(
  { path }: IndexField,
  conditions: readonly PlanCondition[],
  hasArrays: boolean,
): PlanCondition[] {
  const sameField = conditions.filter(
    (one) => one.path.length === path.length && one.path.every((part, i) => part === path[i]),
  )
  if (!hasArrays) return sameField
  return sameField.toSorted((a, b) => widthOf(a) - widthOf(b)).slice(0, 1)
}

/** Roughly how much of an index a condition leads to. */
function widthOf({ intervals }: PlanCondition): number {
  if (intervals.every(isPoint)) return intervals.length
  // One end is the beginning or the end of the type.
  return Math.max(...intervals.map(({ low, high }) => (low.length > 1 && high.length > 1 ? 1e3 : 1e6)))
}

/** More fields with equality are better, then a range, then what spares a sort and reading documents. */
function scoreOf({ bounds, order, isExact, index }: Plan): number {
  const points = bounds.filter(({ intervals }) => intervals.every(isPoint)).length
  const isOne = index.isUnique && points === index.fields.length
  return (
    Number(isOne) * 1e6 +
    points * 100 +
    (bounds.length - points) * 10 +
    Number(isExact) * 4 +
    Number(order !== undefined) * 2
  )
}
