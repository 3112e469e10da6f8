import { pointerTo } from '../../../../../base/json-pointer.ts'
import { isObject, type Json, type JsonObject } from '../query/filter.ts'
import { parsePath, type Path } from '../query/path.ts'
import { sortKeyOf } from '../query/sort-key.ts'
import { arrayOf, refused, type Operator } from './field-change.ts'
import { readElements } from './each.ts'

type Key = { readonly path: Path; readonly descending: boolean }

/** `$push`, whose modifiers apply in this order: https://www.mongodb.com/docs/manual/reference/operator/update/push/ */
export const push: Operator = (operand, place) => {
  const { elements, modifiers } = readElements(operand, place, ['$position', '$slice', '$sort'])
  const position = readInteger(modifiers, '$position', place.at) ?? Infinity
  const length = readInteger(modifiers, '$slice', place.at)
  const keys = readSort(modifiers['$sort'], pointerTo(place.at, '$sort'))
  return (old) => {
    const added = insert(arrayOf(old, '$push', place.at), elements, position)
    const sorted = keys ? sort(added, keys) : added
    if (length === undefined) return sorted
    return length < 0 ? sorted.slice(length) : sorted.slice(0, length)
  }
}

function readInteger(modifiers: JsonObject, name: string, at: string): number | undefined {
  const value = modifiers[name]
  if (value === undefined || Number.isInteger(value)) return value as number | undefined
  throw refused(pointerTo(at, name), `${name} takes a whole number.`)
}

/** A negative position counts from the end of the array. */
function insert(array: readonly Json[], elements: readonly Json[], position: number): readonly Json[] {
  const index = position < 0 ? Math.max(0, array.length + position) : position
  return [...array.slice(0, index), ...elements, ...array.slice(index)]
}

// A key costs as much as the element, so this is what one request may ask for.
const KEYS_MAX = 8

/** https://www.mongodb.com/docs/manual/reference/operator/update/sort/ */
function readSort(sort: Json | undefined, at: string): readonly Key[] | undefined {
  if (sort === undefined) return undefined
  if (!isObject(sort)) return [{ path: [], descending: isDescending(sort, at) }]
  const fields = Object.entries(sort)
  if (fields.length === 0 || fields.length > KEYS_MAX)
    throw refused(at, `$sort takes 1, -1 or an object of 1 to ${KEYS_MAX} fields, like {"score": -1}.`)
  return fields.map(([name, direction]) => {
    const here = pointerTo(at, name)
    const path = parsePath(name, here)
    if (path.includes('')) throw refused(here, 'A part of the path is empty: name a field.')
    return { path, descending: isDescending(direction, here) }
  })
}

function isDescending(direction: Json, at: string): boolean {
  if (direction !== 1 && direction !== -1) throw refused(at, '$sort takes 1 (ascending) or -1 (descending).')
  return direction === -1
}

/** Elements that are equal keep their order. */
function sort(elements: readonly Json[], keys: readonly Key[]): readonly Json[] {
  return elements
    .map((element) => ({ element, key: keys.map(({ path }) => sortKeyOf(valueAt(element, path))) }))
    .toSorted((one, other) => {
      for (const [i, { descending }] of keys.entries()) {
        const order = Buffer.compare(one.key[i]!, other.key[i]!)
        if (order !== 0) return descending ? -order : order
      }
      return 0
    })
    .map(({ element }) => element)
}

/** Unlike a list's sort, MongoDB's `$sort` takes an array at the path as a whole. What is missing sorts as null. */
function valueAt(element: Json, path: Path): Json {
  let value: Json | undefined = element
  for (const part of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return null
    value = (value as JsonObject)[part]
  }
  return value!
}
