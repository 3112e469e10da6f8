import type { Static } from 'typebox'

import { invalid } from '../../../../base/errors.ts'
import { boundedPointer } from '../../../../base/json-pointer.ts'
import { Type } from '../../../../base/schema.ts'
import { valuesAt } from '../language/fields/field-path.ts'
import type { Path } from '../language/query/path.ts'

/** What the configuration says of a field that holds the `_id` of another document. */
export const RelationOption = Type.Object(
  {
    to: Type.String(),
    onDelete: Type.Optional(
      Type.Enum(['restrict', 'unset', 'cascade'], {
        description:
          'If the other document is deleted: that is refused (restrict, the default), the field is removed, or this document is deleted as well.',
      }),
    ),
  },
  { additionalProperties: false },
)
export type RelationOption = Static<typeof RelationOption>

/** A field that holds the `_id` of a document of a collection, or several in arrays. */
export type Relation = {
  readonly path: Path
  readonly to: string
  readonly onDelete: 'restrict' | 'unset' | 'cascade'
}

/** A value where a relation has the `_id` of a document. */
export type ReferenceAt = { readonly keys: readonly (string | number)[]; readonly value: unknown }

/** The values of a relation in a document, through all arrays; null is none. */
export function* referencesIn(document: unknown, { path }: Pick<Relation, 'path'>): Generator<ReferenceAt> {
  for (const { keys, value } of valuesAt(document, path)) {
    const values = Array.isArray(value) ? (value as unknown[]) : undefined
    if (!values && value !== null) yield { keys, value }
    for (const [i, one] of (values ?? []).entries())
      if (one !== null) yield { keys: [...keys, i], value: one }
  }
}

/**
 * The values that a document does not have yet.
 *
 * @param at where the document is in the request
 * @throws VALIDATION_ERROR for a value in an array in an array, also of what the document had: it may have been moved
 */
export function addedReferences(
  reference: Pick<Relation, 'path'>,
  before: unknown,
  after: unknown,
  at: string,
): ReferenceAt[] {
  const old = new Set([...referencesIn(before, reference)].map(({ value }) => value))
  const references = [...referencesIn(after, reference)]
  refuseNested(references, at)
  return references.filter(({ value }) => !old.has(value))
}

/** Indexes look into arrays, but not into arrays in arrays: what they lack, a deletion would not find. */
function refuseNested(references: readonly ReferenceAt[], at: string): void {
  const nested = references.find(({ keys }) =>
    keys.some((key, i) => typeof key === 'number' && typeof keys[i + 1] === 'number'),
  )
  if (nested)
    throw invalid({
      path: boundedPointer(at, nested.keys),
      message: 'a reference cannot be in an array in an array',
    })
}

/** The fields without the references to some documents: elements are taken out of arrays. */
export function withoutReferences(value: unknown, path: Path, ids: ReadonlySet<string>): unknown {
  if (path.length === 0) {
    if (Array.isArray(value)) return value.filter((one) => !ids.has(one as string))
    return typeof value === 'string' && ids.has(value) ? undefined : value
  }
  if (Array.isArray(value)) return value.map((one) => withoutReferences(one, path, ids))
  const [name, ...rest] = path as [string, ...string[]]
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return value
  const { [name]: old, ...others } = value as Record<string, unknown>
  const otherReferences = withoutReferences(old, rest, ids)
  return otherReferences === undefined ? others : { ...value, [name]: otherReferences }
}
