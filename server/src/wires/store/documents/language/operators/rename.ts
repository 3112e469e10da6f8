import { isObject, type Json, type JsonObject } from '../query/filter.ts'
import { indexOf, quote, type Path } from '../query/path.ts'
import { checkDepth, nameOfType, refused, type FieldChange } from './field-change.ts'
import { parseWritePath } from './value-paths.ts'

/**
 * `$rename`: https://www.mongodb.com/docs/manual/reference/operator/update/rename/
 *
 * @returns the removal of the old field, and the new one
 * @throws VALIDATION_ERROR
 */
export function readRename(text: string, operand: Json, at: string): readonly FieldChange[] {
  if (typeof operand !== 'string')
    throw refused(at, '$rename takes the new path as text, like {"old": "new"}.')
  const [from, to] = [text, operand].map((path) => readPath(path, at)) as [Path, Path]
  if (from.every((part, i) => part === to[i]) || to.every((part, i) => part === from[i]))
    throw refused(at, `${quote(text)} and ${quote(operand)} lead into one another: rename to another field.`)
  const change = { at, operator: '$rename', operand, bytes: 0, renames: { from, to } }
  return [
    { ...change, path: from, apply: () => undefined },
    // The value is that of a document.
    { ...change, path: to, apply: (old) => old },
  ]
}

function readPath(text: string, at: string): Path {
  const path = parseWritePath(text, at)
  if (path.some((part) => part.startsWith('$')))
    throw refused(at, `${quote(text)} has a position: $rename is for fields of objects only.`)
  return path
}

/**
 * What a change of a `$rename` does to a document: nothing if there is no field of the old name.
 *
 * @throws VALIDATION_ERROR if one of the paths leads through an array
 */
export function renamed(change: FieldChange, fields: JsonObject): readonly FieldChange[] {
  const { at, path } = change
  const { from, to } = change.renames!
  const value = valueAt(fields, from, at)
  if (value === undefined) return []
  refuseArrays(fields, to, at)
  checkDepth(value, { at, depth: to.length })
  return [path === to ? { ...change, apply: () => value } : change]
}

function valueAt(fields: JsonObject, path: Path, at: string): Json | undefined {
  let value: Json | undefined = fields
  let isInArray = false
  for (const part of path) {
    if (Array.isArray(value)) isInArray = true
    if (value === undefined) return undefined
    const index = Array.isArray(value) ? indexOf(part) : 0
    if (typeof value !== 'object' || value === null || index === -1)
      throw refused(at, `${quote(path.join('.'))} leads through ${nameOfType(value)} in the document.`)
    value = Object.hasOwn(value, part) ? (value as JsonObject)[part] : undefined
  }
  if (isInArray && value !== undefined) throw throughArray(path, at)
  return value
}

function refuseArrays(fields: JsonObject, path: Path, at: string): void {
  let value: Json | undefined = fields
  for (const part of path) {
    if (Array.isArray(value)) throw throughArray(path, at)
    value = isObject(value) && Object.hasOwn(value, part) ? value[part] : undefined
  }
}

const throughArray = (path: Path, at: string) =>
  refused(
    at,
    `${quote(path.join('.'))} leads into an array in the document: $rename is for fields of objects only.`,
  )
