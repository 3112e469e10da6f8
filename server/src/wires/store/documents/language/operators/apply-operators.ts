import type { Fields } from '../document-json.ts'
import { isObject, type Json, type JsonObject } from '../query/filter.ts'
import { indexOf, quote } from '../query/path.ts'
import { nameOfType, refused, type FieldChange } from './field-change.ts'
import type { OperatorPatch } from './operators.ts'

/** How far behind the end of an array an element may be set; null fills the gap. */
const GAP_MAX = 1000
/** What all gaps of a patch may have together. */
const GAPS_MAX = 100_000

/** How many elements the patch filled with null so far. */
type Gaps = { filled: number }

/**
 * Applies update operators as MongoDB does. Fields keep their places; new ones come last, in the order of their names.
 *
 * @param fields of a document; they are not changed, and the result shares what the patch does not write
 * @throws VALIDATION_ERROR at the path of the operator that does not fit the document: `/body/$inc/votes`
 */
export const applyOperators = (fields: Fields, patch: OperatorPatch): Fields =>
  changeObject(fields as JsonObject, patch, 0, { filled: 0 })

/**
 * @param changes all of the changes below this value, at least one
 * @param depth how many parts of their paths lead to it
 */
function change(old: Json | undefined, changes: OperatorPatch, depth: number, gaps: Gaps): Json | undefined {
  // No other one writes below it.
  if (changes[0]!.path.length === depth) return changes[0]!.apply(old)
  if (old === undefined) {
    const object = changeObject({}, changes, depth, gaps)
    return Object.keys(object).length > 0 ? object : undefined
  }
  if (Array.isArray(old)) return changeArray(old as readonly Json[], changes, depth, gaps)
  if (isObject(old)) return changeObject(old, changes, depth, gaps)
  refuseWay(changes, `leads through ${nameOfType(old)}`)
  return old
}

/** The changes below each field or element. */
const byPart = (changes: OperatorPatch, depth: number): Map<string, FieldChange[]> =>
  Map.groupBy(changes, ({ path }) => path[depth]!)

function changeObject(old: JsonObject, changes: OperatorPatch, depth: number, gaps: Gaps): JsonObject {
  const object: Record<string, Json> = { ...old }
  for (const [name, inner] of byPart(changes, depth)) {
    const value = change(Object.hasOwn(object, name) ? object[name] : undefined, inner, depth + 1, gaps)
    if (value === undefined) delete object[name]
    else object[name] = value
  }
  return object
}

function changeArray(
  old: readonly Json[],
  changes: OperatorPatch,
  depth: number,
  gaps: Gaps,
): readonly Json[] {
  const array = [...old]
  for (const [part, inner] of byPart(changes, depth)) {
    const index = indexOf(part)
    if (index === -1) {
      refuseWay(inner, `needs an index for ${quote(part)}: there is an array`)
      continue
    }
    const value = change(array[index], inner, depth + 1, gaps)
    if (index >= array.length) {
      if (value === undefined) continue
      fillGap(array, index, old.length, inner[0]!, gaps)
    }
    array[index] = value ?? null
  }
  return array
}

function fillGap(array: Json[], index: number, length: number, { at }: FieldChange, gaps: Gaps): void {
  if (index > length + GAP_MAX)
    throw refused(at, `The index is more than ${GAP_MAX} behind the end of the array.`)
  gaps.filled += index - array.length
  if (gaps.filled > GAPS_MAX)
    throw refused(at, `The patch would fill more than ${GAPS_MAX} elements of arrays with null.`)
  while (array.length < index) array.push(null)
}

/** To `$unset` what cannot be there is no fault. */
function refuseWay(changes: OperatorPatch, fault: string): void {
  const refusal = changes.find(({ operator }) => operator !== '$unset')
  if (refusal) throw refused(refusal.at, `${quote(refusal.path.join('.'))} ${fault} in the document.`)
}
