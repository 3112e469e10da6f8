import { didYouMean } from '../../../../base/did-you-mean.ts'
import { StartError } from '../../../../base/start-error.ts'
import type { CollectionDefinition } from './collection.ts'
import type { Definition } from '../storage/entries/index-definition.ts'
import type { Relation } from './relation.ts'

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
          `store.collections.${from.name}.relations.${path.join('.')}.to: there is no collection ${to} in store.collections${didYouMean(to, collections.keys())}`,
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
    isSearch: false,
    requiredBy: `store.collections.${name}.relations.${path.join('.')}`,
  }))
