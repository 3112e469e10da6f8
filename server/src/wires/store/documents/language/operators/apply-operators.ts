import type { Fields } from '../document-json.ts'
import { isObject, type Json, type JsonObject } from '../query/filter.ts'
import { indexOf, quote } from '../query/path.ts'
import { nameOfType, refused, type FieldChange, type UpdateContext } from './field-change.ts'
import type { OperatorPatch } from './operators.ts'
import { renamed } from './rename.ts'
import { EACH, inOrder, MATCHED } from './value-paths.ts'

/** How far behind the end of an array an element may be set; null fills the gap. */
const GAP_MAX = 1000
/** What all gaps of a patch may have together. */
const GAPS_MAX = 100_000

/** What the changes of all elements may write together: so many times what a document has. */
const EACH_BYTES_MAX = 16 * 1_048_576

/** An update of one document. */
type Run = UpdateContext & {
  /** How many elements the patch filled with null so far. */
  filled: number
  /** What changes of all elements wrote so far. */
  bytes: number
}

/**
 * Applies update operators as MongoDB does. Fields keep their places; new ones come last, in the order of their names.
 *
 * @param fields of a document; they are not changed, and the result shares what the patch does not write
 * @throws VALIDATION_ERROR at the path of the operator that does not fit the document: `/body/$inc/votes`
 */
export function applyOperators(fields: Fields, patch: OperatorPatch, context: UpdateContext): Fields {
  const object = fields as JsonObject
  const changes = changesOf(patch, object, context)
  return changeObject(object, changes, 0, { ...context, filled: 0, bytes: 0 })
}

/** The changes of one document: with the element that its filter matched, and the values that are renamed. */
function changesOf(patch: OperatorPatch, fields: JsonObject, { isInsert }: UpdateContext): OperatorPatch {
  let isMoved = false
  const changes = patch.flatMap((change): readonly FieldChange[] => {
    if (change.operator === '$setOnInsert' && !isInsert) return []
    if (change.renames) return renamed(change, fields)
    if (!change.matched) return [change]
    isMoved = true
    const index = String(change.matched(fields))
    return [{ ...change, path: change.path.map((part) => (part === MATCHED ? index : part)) }]
  })
  return isMoved ? inOrder(changes) : changes
}

/**
 * @param changes all of the changes below this value, at least one
 * @param depth how many parts of their paths lead to it
 */
function change(old: Json | undefined, changes: OperatorPatch, depth: number, run: Run): Json | undefined {
  // No other one writes below it.
  if (changes[0]!.path.length === depth) return changes[0]!.apply(old, run)
  if (old === undefined) {
    const object = changeObject({}, changes, depth, run)
    return Object.keys(object).length > 0 ? object : undefined
  }
  if (Array.isArray(old)) return changeArray(old as readonly Json[], changes, depth, run)
  if (isObject(old)) return changeObject(old, changes, depth, run)
  refuseElements(changes, depth)
  refuseWay(changes, `leads through ${nameOfType(old)}`)
  return old
}

/** The changes below each field or element. */
const byPart = (changes: OperatorPatch, depth: number): Map<string, FieldChange[]> =>
  Map.groupBy(changes, ({ path }) => path[depth]!)

function changeObject(old: JsonObject, changes: OperatorPatch, depth: number, run: Run): JsonObject {
  refuseElements(changes, depth)
  const object: Record<string, Json> = { ...old }
  for (const [name, inner] of byPart(changes, depth)) {
    const value = change(Object.hasOwn(object, name) ? object[name] : undefined, inner, depth + 1, run)
    if (value === undefined) delete object[name]
    else object[name] = value
  }
  return object
}

function changeArray(old: readonly Json[], changes: OperatorPatch, depth: number, run: Run): readonly Json[] {
  // No change of a single element stands beside those of all.
  if (changes[0]!.path[depth] === EACH) {
    countBytes(old.length, changes, run)
    return old.map((element) => change(element, changes, depth + 1, run) ?? null)
  }
  const array = [...old]
  for (const [part, inner] of byPart(changes, depth)) {
    const index = indexOf(part)
    if (index === -1) {
      refuseWay(inner, `needs an index for ${quote(part)}: there is an array`)
      continue
    }
    const value = change(array[index], inner, depth + 1, run)
    if (index >= array.length) {
      if (value === undefined) continue
      fillGap(array, index, old.length, inner[0]!, run)
    }
    array[index] = value ?? null
  }
  return array
}

function countBytes(elements: number, changes: OperatorPatch, run: Run): void {
  for (const { bytes } of changes) run.bytes += elements * bytes
  if (run.bytes > EACH_BYTES_MAX)
    throw refused(
      changes[0]!.at,
      'The patch would change too many elements: change some of them by their indexes.',
    )
}

/** @throws VALIDATION_ERROR if the elements of what is no array are to be changed */
function refuseElements(changes: OperatorPatch, depth: number): void {
  const refusal = changes.find(({ path }) => path[depth] === EACH)
  if (!refusal) return
  const array = quote(refusal.path.slice(0, depth).join('.'))
  throw refused(refusal.at, `$[] changes the elements of an array, and the document has none at ${array}.`)
}

function fillGap(array: Json[], index: number, length: number, { at }: FieldChange, run: Run): void {
  if (index > length + GAP_MAX)
    throw refused(at, `The index is more than ${GAP_MAX} behind the end of the array.`)
  run.filled += index - array.length
  if (run.filled > GAPS_MAX)
    throw refused(at, `The patch would fill more than ${GAPS_MAX} elements of arrays with null.`)
  while (array.length < index) array.push(null)
}

/** To `$unset` what cannot be there is no fault. */
function refuseWay(changes: OperatorPatch, fault: string): void {
  const refusal = changes.find(({ operator }) => operator !== '$unset')
  if (refusal) throw refused(refusal.at, `${quote(refusal.path.join('.'))} ${fault} in the document.`)
}
