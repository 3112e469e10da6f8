import {
  conjunctsOf,
  isObject,
  type FieldFilter,
  type FilterTree,
  type Json,
  type JsonObject,
} from '../query/filter.ts'
import { compileMatcher } from '../query/matcher.ts'
import { indexOf, quote, type Path } from '../query/path.ts'
import { refused } from './field-change.ts'

/** The index of the array element that `$` in a path means. @throws VALIDATION_ERROR if no element matches */
export type MatchedIndex = (fields: JsonObject) => number

/**
 * The position `$`: the first element that meets the filter's condition on its array.
 * https://www.mongodb.com/docs/manual/reference/operator/update/positional/
 *
 * @param array path of the array
 * @throws VALIDATION_ERROR unless the filter has exactly one condition that elements meet: of several, different elements may
 */
export function matchedIndex(filter: FilterTree, array: Path, at: string): MatchedIndex {
  const name = quote(array.join('.'))
  const conditions = conjunctsOf(filter).filter((part) => part.kind === 'field' && asksElement(part, array))
  if (conditions.length !== 1)
    throw refused(
      at,
      conditions.length === 0
        ? `The filter has no condition that an element of ${name} meets, and $ stands for the first one that does.`
        : `The filter has several conditions on ${name}: join them by $elemMatch, so that $ stands for one element.`,
    )
  const isMatch = compileElement(conditions[0] as FieldFilter, array.length)
  return (fields) => {
    const index = elementsAt(fields, array).findIndex(isMatch)
    if (index === -1) throw refused(at, `No element of ${name} in the document meets the filter.`)
    return index
  }
}

/** What these ask is met by an array, not by an element. */
const OF_ARRAYS = ['exists', 'size']

function asksElement({ path, test }: FieldFilter, array: Path): boolean {
  if (!array.every((part, i) => part === path[i])) return false
  const next = path[array.length]
  return next === undefined ? !OF_ARRAYS.includes(test.kind) : indexOf(next) === -1
}

function compileElement({ path, test }: FieldFilter, depth: number): (element: Json) => boolean {
  const rest = path.slice(depth)
  if (rest.length > 0) {
    const matches = compileMatcher({ kind: 'field', path: rest, test })
    return (element) => isObject(element) && matches(element)
  }
  if (test.kind === 'element') return compileMatcher(test.of)
  if (test.kind !== 'elementMatches') return compileMatcher({ kind: 'value', test })
  const matches = compileMatcher(test.of)
  return (element) => typeof element === 'object' && element !== null && matches(element)
}

/** The elements of the array at a path through objects; none if there is none. */
function elementsAt(fields: JsonObject, path: Path): readonly Json[] {
  let value: Json | undefined = fields
  for (const part of path) value = isObject(value) && Object.hasOwn(value, part) ? value[part] : undefined
  return Array.isArray(value) ? (value as readonly Json[]) : []
}
