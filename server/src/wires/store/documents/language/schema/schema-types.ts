import type { Path } from '../query/path.ts'
import { always, schemasAt } from './required-fields.ts'

/** The type of a value, as JSON Schema names it. */
export const jsonTypeOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value

/** The types that a schema allows at a path; undefined if it does not name them. */
export function typesAt(root: unknown, path: Path): ReadonlySet<string> | undefined {
  for (const schema of schemasAt(root, path)) {
    const types = typesOf(schema, root)
    if (types) return types
  }
  return undefined
}

function typesOf(schema: unknown, root: unknown): ReadonlySet<string> | undefined {
  for (const one of always(schema, root)) {
    const { type, enum: values, anyOf, oneOf } = one as Record<string, unknown>
    if (typeof type === 'string' || Array.isArray(type)) return new Set([type].flat() as string[])
    if ('const' in one) return new Set([jsonTypeOf(one['const'])])
    if (Array.isArray(values)) return new Set(values.map(jsonTypeOf))
    const choices = [anyOf, oneOf].find(Array.isArray)?.map((choice: unknown) => typesOf(choice, root))
    if (choices?.every((types) => types !== undefined)) return new Set(choices.flatMap((types) => [...types]))
  }
  return undefined
}
