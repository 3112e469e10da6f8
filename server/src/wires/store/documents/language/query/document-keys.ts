import { isObject, type Json, type JsonObject } from './filter.ts'
import { indexOf, type Path } from './path.ts'

/** A field's part of a key: a value, null for a missing one, undefined where an array at the end of the path is empty. */
export type KeyPart = Json | undefined

/**
 * Why a document has no key, as MongoDB has it: two fields run through different arrays, or a number in a path is both an
 * index of an array and the name of a field in one of its elements.
 */
export class NoKeyError extends Error {
  readonly reason: 'parallel' | 'ambiguous' | 'too-many'
  /** Which of the paths. */
  readonly fields: readonly number[]
  constructor(reason: NoKeyError['reason'], fields: readonly number[]) {
    super(`no key: ${[reason, ...fields].join(' ')}`)
    this.reason = reason
    this.fields = fields
  }
}

// Two fields of one array can make a document of a mebibyte have as many keys as the square of its elements.
const STEPS_MAX = 1_000_000

/**
 * Calls `visit` with each key that a document has for the fields at `paths`: one, or one for each element where they run
 * through an array. Fields that run through the same array have their values of the same element in each key.
 * https://www.mongodb.com/docs/manual/core/indexes/index-types/index-multikey/
 *
 * @param visit may get the same key several times, and must not keep the array
 * @throws NoKeyError
 */
export function eachKey(
  document: Json,
  paths: readonly Path[],
  visit: (key: readonly KeyPart[]) => void,
): void {
  const fields = paths.map(() => ({ at: 0, value: null }))
  new Walk(paths, visit).object(isObject(document) ? document : undefined, fields, [])
}

/** How far a field's path was followed, and the value at its end, once it was reached. */
type Field = { readonly at: number; readonly value: KeyPart }

/** Where a path leads from an array by the index in it. */
type Indexed = Field & { readonly isNested: boolean }

class Walk {
  readonly #paths: readonly Path[]
  readonly #visit: (key: readonly KeyPart[]) => void
  #steps = 0

  constructor(paths: readonly Path[], visit: (key: readonly KeyPart[]) => void) {
    this.#paths = paths
    this.#visit = visit
  }

  /**
   * Follows all paths from an object to their ends, or to the array that some of them run through.
   *
   * @param object undefined for a value that is none, in which every field is missing
   * @param indexed where a path leads if the array around the object has the index that the path names
   */
  object(
    object: JsonObject | undefined,
    before: readonly Field[],
    indexed: readonly (Indexed | undefined)[],
  ): void {
    if (++this.#steps > STEPS_MAX) throw new NoKeyError('too-many', [...this.#paths.keys()])
    let array: readonly Json[] | undefined
    const through: number[] = []
    // An array that is itself an element is a value: its own elements are not.
    let isNested = false
    const fields = before.map((field, i) => {
      const path = this.#paths[i]!
      if (field.at === path.length) return field
      const place = indexed[i]
      const isNamed = object !== undefined && Object.hasOwn(object, path[field.at]!)
      if (place && isNamed) throw new NoKeyError('ambiguous', [i])
      if (place?.isNested) isNested = true
      const foundPlace =
        place ?? (isNamed ? follow(object, path, field.at) : { at: path.length, value: null })
      if (Array.isArray(foundPlace.value)) {
        if (array && array !== foundPlace.value) throw new NoKeyError('parallel', [through[0]!, i])
        array = foundPlace.value as readonly Json[]
        through.push(i)
      }
      return foundPlace
    })
    if (array) this.#array(array, fields, new Set(through), isNested)
    else this.#visit(fields.map(({ value }) => value))
  }

  #array(
    array: readonly Json[],
    fields: readonly Field[],
    through: ReadonlySet<number>,
    isNested: boolean,
  ): void {
    const isEnd = fields.map(({ at }, i) => through.has(i) && at === this.#paths[i]!.length)
    const withElement = (element: KeyPart): Field[] =>
      fields.map((field, i) => (isEnd[i] ? { at: field.at, value: element } : field))
    if (array.length === 0) return this.object(undefined, withElement(undefined), [])

    const indexed = fields.map(({ at }, i): Indexed | undefined => {
      const path = this.#paths[i]!
      if (at === path.length) return undefined
      const element = elementAt(array, path[at]!)
      return element === undefined
        ? undefined
        : { ...follow(array, path, at), isNested: Array.isArray(element) }
    })
    const isSameForAll =
      (isNested || !isEnd.includes(true)) &&
      fields.every(({ at }, i) => at === this.#paths[i]!.length || indexed[i] !== undefined)
    for (const element of array) {
      const object = isObject(element) ? element : undefined
      if (!isSameForAll) this.object(object, withElement(isNested ? array : element), indexed)
      else if (object) this.#refuseAmbiguous(object, fields)
    }
    if (isSameForAll) this.object(undefined, withElement(array), indexed)
  }

  #refuseAmbiguous(object: JsonObject, fields: readonly Field[]): void {
    for (const [i, { at }] of fields.entries()) {
      const path = this.#paths[i]!
      if (at < path.length && Object.hasOwn(object, path[at]!)) throw new NoKeyError('ambiguous', [i])
    }
  }
}

/** Follows a path from an object, or from an array by its index, up to its end or the next array. */
function follow(from: Json, path: Path, start: number): Field {
  let value = from
  for (let at = start; at < path.length;) {
    const next: Json | undefined = memberOf(value, path[at++]!)
    if (next === undefined) break
    if (Array.isArray(next) || at === path.length) return { at, value: next }
    value = next
  }
  return { at: path.length, value: null }
}

function memberOf(value: Json, part: string): Json | undefined {
  if (Array.isArray(value)) return elementAt(value as readonly Json[], part)
  return isObject(value) && Object.hasOwn(value, part) ? value[part] : undefined
}

const elementAt = (array: readonly Json[], part: string): Json | undefined => array[indexOf(part)]
