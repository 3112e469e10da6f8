import { endOfCut } from '../../language/query/bound.ts'
import { COMPARABLE_BYTES, cutKey, CUT_KEY_BYTES } from '../entries/entries.ts'
import type { Index } from '../entries/index-definition.ts'
import { descending, type IntervalBound, type Interval } from './interval.ts'

/** Keys of entries, from `low` up to and without `high`; with `isKey` only the key `low`. */
export type KeyRange = { readonly low: Buffer; readonly high: Buffer; readonly isKey: boolean }

// Each is a search of its own.
const RANGES_MAX = 200

/**
 * The ranges of keys whose first fields are in the bounds; undefined if there would be too many, or if the keys are cut too
 * early to tell.
 */
export function keyRanges(index: Index, bounds: readonly IntervalBound[]): KeyRange[] | undefined {
  const count = bounds.reduce((product, { intervals }) => product * intervals.length, 1)
  if (count > RANGES_MAX) return undefined
  let beginnings: Buffer[] = [Buffer.alloc(0)]
  let ends: readonly Interval[] | undefined
  for (const { field, intervals } of bounds) {
    const stored = field.descending ? intervals.map(descending).toReversed() : intervals
    const keys = stored.flatMap(({ point }) => point ?? [])
    if (keys.length < stored.length) ends = stored
    else beginnings = beginnings.flatMap((beginning) => keys.map((key) => Buffer.concat([beginning, key])))
  }
  const isKey = !ends && bounds.length === index.fields.length
  const ranges = beginnings.flatMap((beginning): KeyRange[] => {
    if (isKey) return [keyRange(beginning)]
    if (!ends) return [{ low: beginning, high: endOfCut(beginning), isKey }]
    return ends.map(({ low, high }) => ({
      low: Buffer.concat([beginning, low]),
      high: Buffer.concat([beginning, high]),
      isKey,
    }))
  })
  const isLong = ({ low, high }: KeyRange): boolean =>
    low.length > COMPARABLE_BYTES || high.length > COMPARABLE_BYTES
  return !isKey && index.hasCutKeys && ranges.some(isLong) ? undefined : ranges
}

function keyRange(whole: Buffer): KeyRange {
  const low = storedKey(whole)
  return { low, high: endOfCut(low), isKey: true }
}

/** A key of all fields as entries have it. */
export const storedKey = (whole: Buffer): Buffer => (whole.length < CUT_KEY_BYTES ? whole : cutKey(whole))
