import { momentOf } from '../../../../../base/time-text.ts'
import { isoTime } from '../../../../../base/clock.ts'
import type { FilterTree, Json, Test } from './filter.ts'

const TIMES = ['createdAt', 'updatedAt']
// Stored times have milliseconds.
const FINER = /\.\d{3}\d*[1-9]/

/** The filter with the times of createdAt and updatedAt in the form that these are stored in, whatever their offset and fraction. */
export function withMoments(filter: FilterTree): FilterTree {
  if (filter.kind === 'not') return { ...filter, of: withMoments(filter.of) }
  if (filter.kind !== 'field') return { ...filter, of: filter.of.map(withMoments) }
  if (filter.path.length > 1 || !TIMES.includes(filter.path[0]!)) return filter
  return { ...filter, test: atMoments(filter.test) }
}

function atMoments(test: Test): Test {
  // What is finer than a stored time equals none.
  if (test.kind === 'in')
    return {
      ...test,
      values: test.values.map((one) =>
        typeof one === 'string' && FINER.test(one) ? one : storedTime(one, false),
      ),
    }
  if (test.kind !== 'range') return test
  return { ...test, bound: storedTime(test.bound, test.operator === '>=' || test.operator === '<') }
}

/** @param isRoundedUp whether what is finer than a millisecond counts as the next one */
function storedTime(value: Json, isRoundedUp: boolean): Json {
  const moment = typeof value === 'string' && value.includes(':') ? momentOf(value) : undefined
  if (moment === undefined) return value
  return isoTime(moment + (isRoundedUp && FINER.test(value as string) ? 1 : 0))
}
