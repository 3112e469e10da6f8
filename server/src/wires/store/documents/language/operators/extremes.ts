import type { Json } from '../query/filter.ts'
import { sortTextOf } from '../query/sort-key.ts'
import { checkDepth, type Operator } from './field-change.ts'

/** `$min`: https://www.mongodb.com/docs/manual/reference/operator/update/min/ */
export const minimum: Operator = extreme((value, old) => value < old)

/** `$max`: https://www.mongodb.com/docs/manual/reference/operator/update/max/ */
export const maximum: Operator = extreme((value, old) => value > old)

/** Values of all types compare as lists sort them; a missing field takes any value. */
function extreme(replaces: (value: string, old: string) => boolean): Operator {
  return (operand, place) => {
    checkDepth(operand, place)
    const key = sortTextOf(operand)
    const keyOf = (old: Json): string => sortTextOf(old, key.length)
    return (old) => (old === undefined || replaces(key, keyOf(old)) ? operand : old)
  }
}
