import { invalid, type Issue } from '../../../../../base/errors.ts'
import { boundedPointer, keysOf } from '../../../../../base/json-pointer.ts'
import type { Fields } from '../document-json.ts'
import { isObject } from '../query/filter.ts'
import type { Path } from '../query/path.ts'
import { allValuesAt, firstKeysAt, isInside, withoutIndexes } from './field-path.ts'

/**
 * Refuses values for fields in what a client sends, whatever they are: an answer that depended on them would tell whether they
 * are right.
 *
 * @param at where the value is in the request
 * @throws VALIDATION_ERROR
 */
export function refuseValues(value: unknown, paths: readonly Path[], at = '/body'): void {
  const issues = paths.flatMap((path) => {
    const keys = firstKeysAt(value, path)
    return keys ? [issueAt(at, keys, path)] : []
  })
  if (issues.length > 0) throw invalid(...issues)
}

/**
 * Refuses a change of fields, their removal included.
 *
 * @throws VALIDATION_ERROR
 */
export function refuseChanges(before: Fields, after: Fields, paths: readonly Path[], at = '/body'): void {
  const [removed, added] = [fieldsNotIn(before, after), fieldsNotIn(after, before)]
  const issues = paths.flatMap((path) => {
    const [old, fresh] = [valuesText(removed, path), valuesText(added, path)]
    return old === fresh ? [] : [issueAt(at, path, path)]
  })
  if (issues.length > 0) throw invalid(...issues)
}

const valuesText = (fields: Fields, path: Path): string => JSON.stringify(allValuesAt(fields, path))

/** A change leaves most values as they are: not only equal, but the same. */
const fieldsNotIn = (fields: Fields, others: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name, value]) => others[name] !== value))

const issueAt = (at: string, keys: readonly (string | number)[], path: Path): Issue => ({
  path: boundedPointer(at, keys),
  message: `${path.join('.')} cannot be written by you: leave it out`,
})

/**
 * Why a document does not fit its schema, as somebody is told of it who does not see some of its fields: names and types in
 * them stay untold.
 *
 * @param at where the document is in the request
 */
export function withoutConcealed(
  issues: readonly Issue[],
  concealed: readonly Path[],
  { at, collection }: { readonly at: string; readonly collection: string },
): Issue[] {
  const shown = issues.filter(({ path }) => {
    const keys = withoutIndexes(keysOf(path.slice(at.length)))
    return !concealed.some((one) => isInside(keys, one))
  })
  if (shown.length === issues.length) return shown
  const message = `does not fit the schema of ${collection} in fields that you cannot see: an administrator can correct them`
  return [...shown, { path: at, message }]
}

/**
 * The fields with what a client could not send, because it is not shown or not to be changed: where an object is replaced, its
 * protected members stay.
 */
export const keepProtected = (before: Fields, after: Fields, paths: readonly Path[]): Fields =>
  paths.reduce((fields, path) => keepAt(before, fields, path), after)

function keepAt(before: Fields, after: Fields, [name, ...rest]: Path): Fields {
  if (!Object.hasOwn(before, name!)) return after
  const old = before[name!]
  if (rest.length === 0) return Object.hasOwn(after, name!) ? after : { ...after, [name!]: old }
  const inner = after[name!]
  if (!isObject(old) || !isObject(inner)) return after
  const filled = keepAt(old, inner, rest)
  return filled === inner ? after : { ...after, [name!]: filled }
}
