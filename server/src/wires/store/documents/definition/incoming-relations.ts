import { didYouMean } from '../../../../base/did-you-mean.ts'
import { StartError } from '../../../../base/start-error.ts'
import type { CollectionDefinition } from './collection.ts'
import type { Definition, Index, IndexSet } from '../storage/entries/index-definition.ts'
import type { Relation } from './relation.ts'
import type { Path } from '../language/query/path.ts'

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
          `store.collections.${from.name}.relations.${path.join('.')}.to: no collection ${to} is defined${didYouMean(to, collections.keys())}`,
        )
      incoming.set(to, [...(incoming.get(to) ?? []), { ...relation, from }])
    }
  return incoming
}

/** The index of the field of a relation, or of files, among those of its collection; undefined if it was dropped. */
export function referenceIndexIn({ indexes }: IndexSet, path: Path): Index | undefined {
  const fields = JSON.stringify([{ path, descending: false }])
  return indexes.find((one) => one.isSparse && !one.ignoreCase && JSON.stringify(one.fields) === fields)
}

/** The indexes by which the documents are found that refer to others, or to files; without them nothing may be deleted. */
export const relationIndexes = ({ name, relations, fileFields }: CollectionDefinition): Definition[] => [
  ...relations.map(({ path }) => referenceIndex(name, path, 'relations')),
  ...fileFields.map(({ path }) => referenceIndex(name, path, 'files')),
]

function referenceIndex(collection: string, path: Path, option: 'relations' | 'files'): Definition {
  return {
    collection,
    fields: [{ path, descending: false }],
    isUnique: false,
    isSparse: true,
    ignoreCase: false,
    byOwner: false,
    isSearch: false,
    requiredBy: `store.collections.${collection}.${option}.${path.join('.')}`,
  }
}
