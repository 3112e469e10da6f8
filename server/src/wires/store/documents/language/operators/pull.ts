import { effortOf } from '../query/effort.ts'
import type { FilterTree, Json } from '../query/filter.ts'
import { isObject } from '../query/filter.ts'
import { compileMatcher } from '../query/matcher.ts'
import { readElementFilter, type Counts } from '../query/parse-filter.ts'
import { arrayOf, refused, type Operator } from './field-change.ts'

/** Elements are compared on the event loop: 0.8 s for a document of 1 MiB at the very worst. */
const EFFORT_MAX = 20

/**
 * `$pull`: https://www.mongodb.com/docs/manual/reference/operator/update/pull/
 *
 * @param counts what the conditions of one patch may have together
 */
export const pull =
  (counts: Counts): Operator =>
  (operand, { at }) => {
    const matches = compile(operand, at, counts)
    return (old) =>
      old === undefined ? undefined : arrayOf(old, '$pull', at).filter((element) => !matches(element))
  }

/** `$pullAll`: https://www.mongodb.com/docs/manual/reference/operator/update/pullAll/ */
export const pullAll: Operator = (operand, { at }) => {
  if (!Array.isArray(operand)) throw refused(at, '$pullAll takes an array of the values to remove.')
  const matches = compileMatcher({ kind: 'value', test: { kind: 'in', values: operand as readonly Json[] } })
  return (old) =>
    old === undefined ? undefined : arrayOf(old, '$pullAll', at).filter((element) => !matches(element))
}

function compile(operand: Json, at: string, counts: Counts): (element: Json) => boolean {
  if (!isObject(operand)) return compileMatcher({ kind: 'value', test: { kind: 'in', values: [operand] } })
  const { asks, filter } = readElementFilter(operand, at, counts)
  refuseEffort(filter, at)
  const matches = compileMatcher(filter)
  return asks === 'object'
    ? (element) => isObject(element) && matches(element)
    : (element) => matches({ '': element })
}

function refuseEffort(filter: FilterTree, at: string): void {
  if (effortOf(filter, { keys: [], idDescending: false }) > EFFORT_MAX)
    throw refused(at, 'The condition is too large for $pull: use fewer conditions, or smaller patterns.')
}
