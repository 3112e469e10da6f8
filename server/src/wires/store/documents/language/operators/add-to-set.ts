import type { Json } from '../query/filter.ts'
import { arrayOf, type Operator } from './field-change.ts'
import { readElements } from './each.ts'

/** `$addToSet`: https://www.mongodb.com/docs/manual/reference/operator/update/addToSet/ */
export const addToSet: Operator = (operand, place) => {
  const { elements } = readElements(operand, place, [])
  return (old) => {
    const array = arrayOf(old, '$addToSet', place.at)
    // MongoDB takes objects as equal with the same fields in the same order, and so do their texts.
    const texts = new Set(array.map((element) => JSON.stringify(element)))
    const isNew = (element: Json): boolean => texts.size < texts.add(JSON.stringify(element)).size
    return [...array, ...elements.filter(isNew)]
  }
}
