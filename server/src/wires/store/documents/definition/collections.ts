import type { Static } from 'typebox'

import { StartError } from '../../../../base/start-error.ts'
import type { PolicyName } from '../../../../kernel/policy/policy.ts'
import { parseValuePath, valuesAt } from '../language/fields/field-path.ts'
import { isScalar, type FilterTree, type Scalar } from '../language/query/filter.ts'
import type { Path } from '../language/query/path.ts'
import { bindTemplate, OWN_VALUES, parseTemplate, type RuleSubject } from '../language/rules/rule.ts'
import { readCollection, type CollectionDefinition, type CollectionContext } from './collection.ts'
import { checkCollectionName } from '../language/collection-name.ts'
import type { CollectionOption, UserValueOptions } from './collection-option.ts'
import { createViewers, type ReadUserValue, type UserValue } from './viewer.ts'

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

type CollectionsOptions = {
  readonly collections: Readonly<Record<string, CollectionOption>>
  readonly user: Static<typeof UserValueOptions>
}

const NAME = /^[a-zA-Z]\w{0,63}$/

/**
 * The collections of the configuration, and those that it does not name.
 *
 * @param readMatching reads documents as the system
 * @throws StartError for what cannot work
 */
export function createCollections(
  { policy, readMatching }: { policy: PolicyName; readMatching: ReadMatching },
  options: CollectionsOptions,
) {
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
  const readValue: ReadUserValue = (name, own) => readUserValue(sources.get(name)!, own.values, readMatching)
  return {
    declared,
    /** A collection; one that the configuration does not name is the policy's. */
    get: (name: string): CollectionDefinition => declared.get(name) ?? { ...undeclared, name },
    /** The caller who reads and writes documents in one request. */
    viewer: createViewers(readValue),
    /** The documents that values of `store.user` are read from for a user, and where in them. */
    sourcesOf: (names: readonly string[], subject: RuleSubject) =>
      names.flatMap((name) => {
        const { collection, template, path } = sources.get(name)!
        const filter = bindTemplate(template, subject.values)
        return filter ? [{ collection, filter, path }] : []
      }),
    /** Whether a user's lists of the collection are those of the user's own documents. */
    isByOwner(name: string): boolean {
      const { audiences, filters } = (declared.get(name) ?? undeclared).read
      return audiences.size === 1 && audiences.has('owner') && filters.length === 0
    },
  }
}

export type Collections = ReturnType<typeof createCollections>

/** @throws StartError */
function readSources({ collections, user }: CollectionsOptions): Map<string, UserValueSource> {
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
