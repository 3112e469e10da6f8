/** The longest pointer in an answer: the keys of a hostile request can have any length. */
const LONGEST_POINTER = 1000

/**
 * The JSON pointer of a member or element: `pointerTo('/body', 'a/b')` is `/body/a~1b`.
 *
 * @param at the pointer of the object or array
 * @see RFC 6901
 */
export const pointerTo = (at: string, key: string | number): string =>
  // Half of a surrogate pair cannot be answered in UTF-8.
  `${at}/${String(key).toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1')}`

/**
 * The JSON pointer along keys; one that would be longer than 1000 characters ends at the innermost container that fits.
 *
 * @param at the pointer of the outermost object or array
 */
export function boundedPointer(at: string, keys: Iterable<string | number>): string {
  let pointer = at
  for (const key of keys) {
    const longer = pointerTo(pointer, key)
    if (longer.length > LONGEST_POINTER) break
    pointer = longer
  }
  return pointer
}

/** A pointer that is longer than 1000 characters, up to the innermost container that fits. */
export const cutPointer = (pointer: string): string =>
  pointer.length > LONGEST_POINTER ? pointer.slice(0, pointer.lastIndexOf('/', LONGEST_POINTER)) : pointer

/**
 * The value at a JSON pointer.
 *
 * @returns undefined if there is none
 * @throws Error if the text is not a JSON pointer
 */
export function valueAtPointer(value: unknown, pointer: string): unknown {
  if (!/^(?:\/(?:[^~]|~[01])*)?$/.test(pointer)) throw new Error(`"${pointer}" is not a JSON pointer`)
  return keysOf(pointer).reduce<unknown>(memberOf, value)
}

/** The keys that a JSON pointer leads along. */
export const keysOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))

const memberOf = (container: unknown, key: string): unknown =>
  typeof container === 'object' && container !== null && Object.hasOwn(container, key)
    ? (container as Record<string, unknown>)[key]
    : undefined
