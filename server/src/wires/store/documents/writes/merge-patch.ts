import type { Fields } from '../language/document-json.ts'
import { isObject } from '../language/query/filter.ts'

/**
 * Applies a JSON Merge Patch (RFC 7396) to an object: null removes a field, an object changes the fields that it names,
 * and any other value replaces what was there. Fields keep their places; new ones come last.
 */
export function mergePatch(target: Fields, patch: Fields): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...target }
  for (const [name, value] of Object.entries(patch)) {
    const old = Object.hasOwn(merged, name) ? merged[name] : undefined
    if (value === null) delete merged[name]
    else merged[name] = isObject(value) ? mergePatch(isObject(old) ? old : {}, value) : value
  }
  return merged
}
