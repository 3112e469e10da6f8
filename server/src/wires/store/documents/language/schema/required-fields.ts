import { valueAtPointer } from '../../../../../base/json-pointer.ts'
import { isObject, type JsonObject } from '../query/filter.ts'
import type { Path } from '../query/path.ts'
import { targetOf } from './schema-references.ts'

/**
 * Whether a schema, without asking for conditions, requires the field at a path in each object that could have it. A path
 * leads through arrays into their elements: `lines.product`.
 *
 * @param schema that `compileSchema` takes
 */
export const isRequired = (schema: unknown, path: Path): boolean =>
  schemasAt(schema, path.slice(0, -1))
    .flatMap((one) => withElements(one, schema))
    .some(({ required }) => Array.isArray(required) && required.includes(path.at(-1)))

/** The schemas that hold of the values at a path in any case. */
export const schemasAt = (root: unknown, path: Path): readonly unknown[] =>
  path.reduce<readonly unknown[]>(
    (schemas, name) =>
      schemas
        .flatMap((schema) => withElements(schema, root))
        .flatMap(({ properties }) =>
          isObject(properties) && Object.hasOwn(properties, name) ? [properties[name]] : [],
        ),
    [root],
  )

/** What holds of a value in any case, and of the elements if it is an array. */
function withElements(schema: unknown, root: unknown): JsonObject[] {
  const all = always(schema, root)
  const elements = all.flatMap(({ items }) => always(items, root))
  return [...all, ...elements]
}

/** A schema, and those that hold of each value of it: of `allOf` and `$ref`. */
export function always(schema: unknown, root: unknown): JsonObject[] {
  if (!isObject(schema)) return []
  const { allOf = [], $ref } = schema as { allOf?: unknown[]; $ref?: unknown }
  const referred = $ref === undefined ? [] : [valueAtPointer(root, targetOf($ref)!)]
  return [schema, ...[...allOf, ...referred].flatMap((one) => always(one, root))]
}
