import { endOfCut } from '../../language/query/bound.ts'
import type { Json, Test } from '../../language/query/filter.ts'
import { NULL_KEY, sortKeyOf } from '../../language/query/sort-key.ts'
import { inverted, type IndexField } from '../entries/entries.ts'

/** Keys of one field, from `low` up to and without `high`. */
export type Interval = {
  readonly low: Buffer
  readonly high: Buffer
  /** The only key in it, if it is of one value. */
  readonly point?: Buffer
}

/** The keys that a field of an index may have. */
export type IntervalBound = {
  readonly field: IndexField
  readonly intervals: readonly Interval[]
  /** What the filter asks of it, by its operators. */
  readonly operators: readonly Json[]
}

/** What values pass a test. */
export type Passing = {
  /** In order, and apart from each other. */
  readonly intervals: readonly Interval[]
  /** Whether every value of a key in them passes. A key of null may be of a field that the test does not find. */
  readonly isExact: boolean
}

const pointAt = (key: Buffer): Interval => ({ low: key, high: endOfCut(key), point: key })

/**
 * The keys of the values that pass, or of more; undefined if nothing is known of them. An array as a whole has no key: its
 * elements have.
 */
export function passing(test: Test): Passing | undefined {
  if (test.kind === 'in') {
    if (test.values.some((value) => Array.isArray(value))) return undefined
    return { intervals: points(test.values), isExact: true }
  }
  if (test.kind === 'range' && (typeof test.bound === 'string' || typeof test.bound === 'number'))
    return { intervals: [rangeOf(test.operator, test.bound)], isExact: true }
  const prefix = test.kind === 'pattern' ? test.pattern.prefix : undefined
  if (!prefix) return undefined
  const low = sortKeyOf(prefix.text).subarray(0, -1) // without the end of the text
  return { intervals: [{ low, high: endOfCut(low) }], isExact: prefix.whole }
}

function points(values: readonly Json[]): Interval[] {
  const keys = values.map(sortKeyOf).toSorted((a, b) => a.compare(b))
  return keys.filter((key, i) => i === 0 || !key.equals(keys[i - 1]!)).map(pointAt)
}

/** Comparisons stay within a type, which is the first byte of a key. */
function rangeOf(operator: '>' | '>=' | '<' | '<=', bound: string | number): Interval {
  const key = sortKeyOf(bound)
  const type = key.subarray(0, 1)
  if (operator === '>') return { low: endOfCut(key), high: endOfCut(type) }
  if (operator === '>=') return { low: key, high: endOfCut(type) }
  return { low: type, high: operator === '<' ? key : endOfCut(key) }
}

/** Keys that are in both. */
export function intersection(some: readonly Interval[], others: readonly Interval[]): Interval[] {
  const intervals: Interval[] = []
  for (let [i, j] = [0, 0]; i < some.length && j < others.length;) {
    const [one, other] = [some[i]!, others[j]!]
    const low = one.low.compare(other.low) > 0 ? one.low : other.low
    const endsFirst = one.high.compare(other.high) < 0
    const high = endsFirst ? one.high : other.high
    const point = one.point ?? other.point
    if (low.compare(high) < 0) intervals.push(point ? pointAt(point) : { low, high })
    if (endsFirst) i++
    else j++
  }
  return intervals
}

/** The same keys in a field that descends. */
export const descending = ({ low, high, point }: Interval): Interval => ({
  low: endOfCut(inverted(high)),
  high: endOfCut(inverted(low)),
  ...(point && { point: inverted(point) }),
})

export const holdsNull = ({ intervals }: Pick<Passing, 'intervals'>): boolean =>
  intervals.some(({ point }) => point?.equals(NULL_KEY))
