import type { Static } from 'typebox'

import { StartError } from '../../../../base/start-error.ts'
import type { Caller } from '../../../../http/access.ts'
import type { PolicyName } from '../../../../kernel/policy/policy.ts'
import { parseValuePath, valuesAt } from '../language/fields/field-path.ts'
import { isScalar, type FilterTree, type Scalar } from '../language/query/filter.ts'
import { compileMatcher } from '../language/query/matcher.ts'
import type { Path } from '../language/query/path.ts'
import { bindTemplate, OWN_VALUES, parseTemplate, type RuleSubject } from '../language/rules/rule.ts'
import { readCollection, type CollectionDefinition, type CollectionContext } from './collection.ts'
import { checkCollectionName } from '../language/collection-name.ts'
import type { CollectionOption, UserValueOptions } from './collection-option.ts'
import { declaredIndexes, type Definition, type IndexOptions } from '../storage/entries/index-definition.ts'
import { uniqueIndexes } from '../storage/indexes/unique-indexes.ts'
import type { FileField } from './file-field.ts'
import { incomingRelations, relationIndexes, type IncomingRelations } from './incoming-relations.ts'
import { searchIndexes } from './search-option.ts'
import { createViewers, type ReadUserValue, type UserValue, type Viewer } from './viewer.ts'

/** A value of `store.user`, which is read from documents. */
type UserValueSource = {
  readonly collection: string
  readonly template: ReturnType<typeof parseTemplate>
  readonly path: Path
}

/** The most values that `store.user` takes for one caller. */
export const USER_VALUES_MAX = 1000

/** The documents that a filter matches, or undefined if there are more than `USER_VALUES_MAX`, or than a page can hold. */
export type ReadMatching = (collection: string, filter: FilterTree) => Promise<readonly unknown[] | undefined>

/** The documents that match in place of the stored ones that do. */
export type UnstoredDocuments = (
  collection: string,
  stored: readonly { readonly _id: string }[],
  matches: (document: unknown) => boolean,
) => readonly unknown[]

/** What of the options of the store its collections are read from. */
export type CollectionsOptions = {
  readonly collections: Readonly<Record<string, CollectionOption>>
  readonly user: Static<typeof UserValueOptions>
  readonly indexes: Static<typeof IndexOptions>
}

const NAME = /^[a-zA-Z]\w{0,63}$/

/** All collections as they are declared at one moment, and what follows from them together. */
export type CollectionSet = {
  readonly options: CollectionsOptions['collections']
  readonly declared: ReadonlyMap<string, CollectionDefinition>
  /** What the policy alone says. */
  readonly undeclared: CollectionDefinition
  readonly sources: ReadonlyMap<string, UserValueSource>
  readonly incoming: IncomingRelations
  readonly fileFields: readonly FileField[]
  /** The indexes that keep its rules, and those that its options ask for. */
  readonly indexes: readonly Definition[]
}

/**
 * Reads the collections that are declared.
 *
 * @throws StartError for what cannot work
 */
export function readCollections(policy: PolicyName, options: CollectionsOptions): CollectionSet {
  for (const name of Object.keys(options.collections)) checkCollectionName(name, `store.collections.${name}`)
  const sources = readSources(options)
  const context: CollectionContext = { policy, userValues: [...sources.keys()] }
  const declared = new Map(
    Object.entries(options.collections).map(([name, option]) => [
      name,
      readCollection(name, option, context),
    ]),
  )
  const undeclared = readCollection('', undefined, context)
  for (const [name, { collection }] of sources)
    if (!declared.get(collection)!.hasChanges)
      throw new StartError(
        `store.collections.${collection}.changes: must not be false: store.user.${name} is read from this collection, and open streams follow it by its changes`,
      )
  return {
    options: options.collections,
    declared,
    undeclared,
    sources,
    incoming: incomingRelations(declared),
    fileFields: [...declared.values()].flatMap(({ fileFields }) => fileFields),
    indexes: indexesOf({ declared, undeclared }, options),
  }
}

/** @throws StartError */
function indexesOf(
  set: Pick<CollectionSet, 'declared' | 'undeclared'>,
  { collections, indexes }: CollectionsOptions,
): Definition[] {
  const byOption = declaredIndexes(indexes, (name) => isByOwner(set, name))
  return [
    ...byOption,
    ...Object.entries(collections).flatMap(([name, collection]) =>
      typeof collection === 'object' ? uniqueIndexes(name, collection.unique ?? [], byOption) : [],
    ),
    ...[...set.declared.values()].flatMap((one) => [...relationIndexes(one), ...searchIndexes(one)]),
  ]
}

/** The names of the collections whose changes are not logged. */
export const unloggedIn = ({ declared }: CollectionSet): string[] =>
  [...declared.values()].flatMap(({ name, hasChanges }) => (hasChanges ? [] : [name]))

/** Whether a user's lists of the collection are those of the user's own documents. */
function isByOwner(
  { declared, undeclared }: Pick<CollectionSet, 'declared' | 'undeclared'>,
  name: string,
): boolean {
  const { audiences, filters } = (declared.get(name) ?? undeclared).read
  return audiences.size === 1 && audiences.has('owner') && filters.length === 0
}

/**
 * The collections that are declared, and those that are not. A request that has got a collection goes on with it when another
 * set takes the place of this one.
 *
 * @param readMatching reads documents as the system
 * @throws StartError for what cannot work
 */
export function createCollections(
  { policy, readMatching }: { policy: PolicyName; readMatching: ReadMatching },
  options: CollectionsOptions,
) {
  let set = readCollections(policy, options)
  const readValueBy =
    (read: ReadMatching): ReadUserValue =>
    (name, own) => {
      const source = set.sources.get(name)
      return source ? readUserValue(source, own.values, read) : Promise.resolve(undefined)
    }
  return {
    /** Those of now. */
    get set(): CollectionSet {
      return set
    },
    replace(next: CollectionSet): void {
      set = next
    },
    /** A collection; one that is not declared is the policy's. */
    get: (name: string): CollectionDefinition => set.declared.get(name) ?? { ...set.undeclared, name },
    /** The caller who reads and writes documents in one request. */
    viewer: createViewers(readValueBy(readMatching)),
    /** Likewise, with documents that are not stored yet. */
    viewerWith: (caller: Caller | undefined, unstored: UnstoredDocuments): Viewer =>
      createViewers(
        readValueBy(async (collection, filter) => {
          const stored = await readMatching(collection, filter)
          const documents =
            stored && unstored(collection, stored as { _id: string }[], compileMatcher(filter))
          return documents && documents.length <= USER_VALUES_MAX ? documents : undefined
        }),
      )(caller),
    /** Whether values of `store.user` are read from a collection. */
    isSource: (name: string): boolean => set.sources.values().some(({ collection }) => collection === name),
    /** The documents that values of `store.user` are read from for a user, and where in them. */
    sourcesOf: (names: readonly string[], subject: RuleSubject) =>
      names.flatMap((name) => {
        const { collection, template, path } = set.sources.get(name)!
        const filter = bindTemplate(template, subject.values)
        return filter ? [{ collection, filter, path }] : []
      }),
    /** Whether a user's lists of the collection are those of the user's own documents. */
    isByOwner: (name: string): boolean => isByOwner(set, name),
  }
}

export type Collections = ReturnType<typeof createCollections>

/** @throws StartError */
function readSources({
  collections,
  user,
}: Pick<CollectionsOptions, 'collections' | 'user'>): Map<string, UserValueSource> {
  return new Map(
    Object.entries(user).map(([name, { collection, filter, value }]) => {
      const at = `store.user.${name}`
      if (!NAME.test(name))
        throw new StartError(`${at}: a name is a letter, then up to 63 letters, digits and _`)
      if (OWN_VALUES.includes(name)) throw new StartError(`${at}: every account has $$user.${name} already`)
      if (!Object.hasOwn(collections, collection))
        throw new StartError(
          `${at}: declare ${collection} in store.collections: without rules every user could create what it is read from`,
        )
      return [
        name,
        {
          collection,
          template: parseTemplate(filter, `${at}.filter`, OWN_VALUES),
          path: parseValuePath(value, `${at}.value`),
        },
      ]
    }),
  )
}

/** Texts, numbers and booleans only: null would equal what is missing. */
async function readUserValue(
  { collection, template, path }: UserValueSource,
  own: Parameters<typeof bindTemplate>[1],
  readMatching: ReadMatching,
): Promise<UserValue> {
  const filter = bindTemplate(template, own)
  const documents = filter && (await readMatching(collection, filter))
  if (!documents) return undefined
  const values = new Set<Scalar>()
  for (const document of documents)
    for (const { value } of valuesAt(document, path))
      for (const one of [value].flat() as unknown[])
        if (isScalar(one as Scalar) && one !== null) values.add(one as Scalar)
  return values.size <= USER_VALUES_MAX ? [...values] : undefined
}
