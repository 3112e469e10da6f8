import { momentOf } from '../../../../../base/time-text.ts'
import { isoTime } from '../../../../../base/clock.ts'
import type { FilterTree, Json, Test } from './filter.ts'

const TIMES = ['createdAt', 'updatedAt']
// Stored times have milliseconds.
const FINER = /\.\d{3}\d*[1-9]/

/** The filter with the times of createdAt and updatedAt in the form that these are stored in, whatever their offset and fraction. */
export function withMoments(filter: FilterTree): FilterTree {
  if (filter.kind === 'not') return { ...filter, of: withMoments(filter.of) }
  if ('of' in filter) return { ...filter, of: filter.of.map(withMoments) }
  if (filter.path.length > 1 || !TIMES.includes(filter.path[0]!)) return filter
  if (filter.kind === 'field') return { ...filter, test: atMoments(filter.test) }
  const { operator, to } = filter
  if ('path' in to) return filter
  const isEquality = operator === '=' || operator === '<>'
  return { ...filter, to: { value: isEquality ? equalTime(to.value) : boundTime(to.value, operator) } }
}

function atMoments(test: Test): Test {
  if (test.kind === 'in') return { ...test, values: test.values.map(equalTime) }
  return test.kind === 'range' ? { ...test, bound: boundTime(test.bound, test.operator) } : test
}

/** What is finer than a stored time equals none. */
const equalTime = (value: Json): Json =>
  typeof value === 'string' && FINER.test(value) ? value : storedTime(value, false)

const boundTime = (value: Json, operator: '>' | '>=' | '<' | '<='): Json =>
  storedTime(value, operator === '>=' || operator === '<')

/** @param isRoundedUp whether what is finer than a millisecond counts as the next one */
function storedTime(value: Json, isRoundedUp: boolean): Json {
  const moment = typeof value === 'string' && value.includes(':') ? momentOf(value) : undefined
  if (moment === undefined) return value
  return isoTime(moment + (isRoundedUp && FINER.test(value as string) ? 1 : 0))
}
