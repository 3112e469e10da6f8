import type { Static } from 'typebox'

import { Type } from '../../../../base/schema.ts'
import { StartError } from '../../../../base/start-error.ts'
import type { CollectionDefinition } from '../collections/collection.ts'
import { CollectionName } from '../collections/name.ts'
import { valuesAt } from '../fields/field-path.ts'
import type { Definition } from '../indexes/definition.ts'
import type { Path } from '../query/path.ts'

/** What the configuration says of a field that holds the `_id` of another document. */
export const RelationOption = Type.Object(
  {
    to: CollectionName,
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

/** A relation from the side of the documents that it leads to. */
export type IncomingRelation = Relation & { readonly from: CollectionDefinition }

/** The relations that lead to each collection. */
export type IncomingRelations = ReadonlyMap<string, readonly IncomingRelation[]>

/** @throws StartError if a relation leads to a collection that is not declared */
export function incomingRelations(collections: ReadonlyMap<string, CollectionDefinition>): IncomingRelations {
  const incoming = new Map<string, IncomingRelation[]>()
  for (const from of collections.values())
    for (const relation of from.relations) {
      const { path, to } = relation
      if (!collections.has(to))
        throw new StartError(
          `store.collections.${from.name}.relations.${path.join('.')}: there is no collection ${to} in store.collections`,
        )
      incoming.set(to, [...(incoming.get(to) ?? []), { ...relation, from }])
    }
  return incoming
}

/** The indexes by which the documents are found that refer to others; without them nothing may be deleted. */
export const relationIndexes = ({ name, relations }: CollectionDefinition): Definition[] =>
  relations.map(({ path }) => ({
    collection: name,
    fields: [{ path, descending: false }],
    isUnique: false,
    isSparse: true,
    ignoreCase: false,
    byOwner: false,
    requiredBy: `store.collections.${name}.relations.${path.join('.')}`,
  }))

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
  const left = withoutReferences(old, rest, ids)
  return left === undefined ? others : { ...value, [name]: left }
}
