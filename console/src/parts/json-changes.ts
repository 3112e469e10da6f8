/** A part of a document that differs. An absent value is undefined. */
export type JsonChange = { path: readonly string[]; before: unknown; after: unknown }

/** What two people made of the same part of a document. */
export type JsonConflict = { path: readonly string[]; base: unknown; mine: unknown; theirs: unknown }

type Fields = Record<string, unknown>

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Whether two values of JSON are the same; the order of names does not count. */
export function isSameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((item, at) => isSameJson(item, other[at]))
  if (!isFields(one) || !isFields(other)) return false
  const names = Object.keys(one)
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isSameJson(one[name], other[name]))
  )
}

const valueAt = (fields: Fields, name: string): unknown =>
  Object.hasOwn(fields, name) ? fields[name] : undefined

const namesOf = (...all: readonly Fields[]): readonly string[] => [...new Set(all.flatMap(Object.keys))]

/** What differs, by paths through objects; arrays are compared whole. */
export function changesOf(before: unknown, after: unknown, path: readonly string[] = []): JsonChange[] {
  if (isSameJson(before, after)) return []
  if (!isFields(before) || !isFields(after)) return [{ path, before, after }]
  return namesOf(before, after).flatMap((name) =>
    changesOf(valueAt(before, name), valueAt(after, name), [...path, name]),
  )
}

/**
 * Joins what two people made of one document. What both changed to different values is a conflict, and mine in the result.
 *
 * @returns the fields in the order of mine; those that only they added come last
 */
export function mergeJson(
  base: Fields,
  mine: Fields,
  theirs: Fields,
): { merged: Fields; conflicts: JsonConflict[] } {
  const conflicts: JsonConflict[] = []
  return { merged: mergeFields(base, mine, theirs, [], conflicts), conflicts }
}

function mergeFields(
  base: Fields,
  mine: Fields,
  theirs: Fields,
  path: readonly string[],
  conflicts: JsonConflict[],
): Fields {
  const entries = namesOf(mine, theirs).flatMap((name): [string, unknown][] => {
    const [old, ours, others] = [valueAt(base, name), valueAt(mine, name), valueAt(theirs, name)]
    const value = mergeValue(old, ours, others, [...path, name], conflicts)
    return value === undefined ? [] : [[name, value]]
  })
  return Object.fromEntries(entries)
}

function mergeValue(
  base: unknown,
  mine: unknown,
  theirs: unknown,
  path: readonly string[],
  conflicts: JsonConflict[],
): unknown {
  if (isSameJson(mine, theirs) || isSameJson(base, theirs)) return mine
  if (isSameJson(base, mine)) return theirs
  if (isFields(mine) && isFields(theirs))
    return mergeFields(isFields(base) ? base : {}, mine, theirs, path, conflicts)
  conflicts.push({ path, base, mine, theirs })
  return mine
}

/** The fields with another value at a path; undefined removes it. */
export function withValueAt(fields: Fields, [name, ...rest]: readonly string[], value: unknown): Fields {
  if (name === undefined) return fields
  const inner = valueAt(fields, name)
  const next = rest.length === 0 ? value : withValueAt(isFields(inner) ? inner : {}, rest, value)
  const entries = Object.entries(fields).filter(([one]) => one !== name || next !== undefined)
  const changed = entries.map(([one, old]): [string, unknown] => [one, one === name ? next : old])
  return Object.fromEntries(
    next === undefined || Object.hasOwn(fields, name) ? changed : [...changed, [name, next]],
  )
}
