import { pointerTo } from '../../../../../base/json-pointer.ts'
import { isObject, type Json, type JsonObject } from '../query/filter.ts'
import { quote } from '../query/path.ts'
import { checkDepth, refused, type OperandPlace } from './field-change.ts'

/** The elements that `$push` and `$addToSet` add, and the modifiers beside `$each`. */
export type Elements = { readonly elements: readonly Json[]; readonly modifiers: JsonObject }

/**
 * Reads one element, or `{"$each": […]}`.
 *
 * @param known the modifiers that the operator takes beside `$each`
 * @throws VALIDATION_ERROR
 */
export function readElements(operand: Json, place: OperandPlace, known: readonly string[]): Elements {
  const { at, depth } = place
  const isModified = isObject(operand) && Object.keys(operand).some((name) => name.startsWith('$'))
  if (!isModified) {
    checkDepth(operand, { at, depth: depth + 1 })
    return { elements: [operand], modifiers: {} }
  }
  const { $each: elements, ...modifiers } = operand
  const unknown = Object.keys(modifiers).find((name) => !known.includes(name))
  if (unknown !== undefined) {
    const names = ['$each', ...known].join(' ')
    throw refused(
      pointerTo(at, unknown),
      `${quote(unknown)} is no modifier here: these are ${names}, with no field beside them.`,
    )
  }
  if (!Array.isArray(elements))
    throw refused(pointerTo(at, '$each'), 'Give an array of the elements to add, [] for none.')
  checkDepth(elements as readonly Json[], { at: pointerTo(at, '$each'), depth })
  return { elements: elements as readonly Json[], modifiers }
}
