import type { Static } from 'typebox'

import { ApiError, type Issue } from '../../../../../base/errors.ts'
import { Type } from '../../../../../base/schema.ts'
import { StartError } from '../../../../../base/start-error.ts'
import { CollectionName } from '../../language/collection-name.ts'
import { parsePath, type Path } from '../../language/query/path.ts'
import { namesOf, type EntryRules, type IndexField } from './entries.ts'

/** An index has at most so many fields. */
export const FIELDS_MAX = 16
/** A collection has at most so many of a kind. */
export const INDEXES_MAX = 64

const Fields = Type.String({
  pattern: '.',
  description: 'Fields joined by commas, as in a sort: year,-title.',
  examples: ['year,-title'],
})

/** The indexes of collections in the configuration. */
export const IndexOptions = Type.Record(
  CollectionName,
  Type.Array(
    Type.Union([
      Fields,
      Type.Object(
        {
          fields: Fields,
          unique: Type.Optional(
            Type.Boolean({
              description:
                'Whether no two documents may have the same values; a missing field counts as null. Default: false.',
            }),
          ),
        },
        { additionalProperties: false },
      ),
    ]),
    { maxItems: INDEXES_MAX },
  ),
  { default: {}, additionalProperties: false },
)

/** When the server makes indexes by itself. */
export const AutomaticIndexOptions = Type.Union(
  [
    Type.Literal(false),
    Type.Object(
      {
        slowMs: Type.Integer({
          minimum: 0,
          default: 100,
          description:
            'The third list of the same shape within an hour that takes so many milliseconds adds an index.',
        }),
        max: Type.Integer({
          minimum: 1,
          maximum: INDEXES_MAX,
          default: 4,
          description: 'How many automatic indexes a collection may have.',
        }),
      },
      { additionalProperties: false },
    ),
  ],
  {
    default: { slowMs: 100, max: 4 },
    description: 'False: no automatic indexes; those that exist are dropped.',
  },
)

/** An index of a collection as it is wanted. */
export type Definition = EntryRules & {
  readonly collection: string
  readonly isUnique: boolean
  /** Whether lists of the collection are those of one owner. */
  readonly byOwner: boolean
  /** Whether it has the words of its fields, and no entries: see search-rows.ts. */
  readonly isSearch: boolean
  /** The option that needs the index complete before the server is ready; undefined: it may be built afterwards. */
  readonly requiredBy?: string | undefined
}

export type IndexState = 'building' | 'ready' | 'failed' | 'dropped'
export type IndexSource = 'declared' | 'automatic'

/** An index of a collection. */
export type Index = Omit<Definition, 'requiredBy'> & {
  readonly id: number
  readonly source: IndexSource
  readonly state: IndexState
  readonly hasArrays: boolean
  readonly hasCutKeys: boolean
}

/** The indexes of a collection that writes keep up, and the number of their changes. */
export type IndexSet = {
  readonly collection: string
  readonly version: number
  /** Whether the ids of all documents are in the order of `createdAt`, as those of `newId` are. Once false it stays so. */
  readonly isIdOrdered: boolean
  readonly indexes: readonly Index[]
  /** Those of words. */
  readonly searches: readonly Index[]
}

/** Whether a write has something to keep up besides documents. */
export const hasIndexes = ({ indexes, searches }: IndexSet): boolean => indexes.length + searches.length > 0

/**
 * Reads the indexes that the configuration declares.
 *
 * @throws StartError with the option that cannot be an index
 */
export function declaredIndexes(
  options: Static<typeof IndexOptions>,
  isByOwner: (collection: string) => boolean,
): Definition[] {
  return Object.entries(options).flatMap(([collection, declared]) => {
    const seen = new Set<string>()
    return declared.map((one, i) => {
      const { fields: text, unique = false } = typeof one === 'string' ? { fields: one } : one
      const at = `store.indexes.${collection}[${i}]`
      const fields = parseFields(text, at)
      if (seen.has(namesOf(fields))) throw new StartError(`${at}: there is an index of ${text} already`)
      seen.add(namesOf(fields))
      const rules = { fields, isSparse: false, ignoreCase: false }
      return { collection, ...rules, isUnique: unique, byOwner: isByOwner(collection), isSearch: false }
    })
  })
}

function parseFields(text: string, at: string): IndexField[] {
  const fields = text.split(',').map((field): IndexField => {
    const descending = field.startsWith('-')
    const name = descending ? field.slice(1) : field
    if (name === '') throw new StartError(`${at}: a field of ${JSON.stringify(text)} is empty`)
    return { path: indexedPath(name, at), descending }
  })
  checkFields(fields, at)
  // Read backward it is the same index, and ids follow the order of the first field.
  return fields[0]!.descending ? fields.map((one) => ({ ...one, descending: !one.descending })) : fields
}

/** @throws StartError if a field is there twice, or if there are too many */
export function checkFields(fields: readonly IndexField[], at: string): void {
  const names = fields.map(({ path }) => path.join('.'))
  const again = names.find((name, i) => names.indexOf(name) < i)
  if (again !== undefined) throw new StartError(`${at}: ${again} is in it twice`)
  if (fields.length > FIELDS_MAX) throw new StartError(`${at}: an index has at most ${FIELDS_MAX} fields`)
}

/** @throws StartError if no index can have the field */
export function indexedPath(name: string, at: string): Path {
  const path = pathOf(name, at)
  if (path.some((part) => /^\d+$/.test(part)))
    throw new StartError(
      `${at}: ${name} has a numeric part: an index has all elements of an array, so leave it out`,
    )
  return path
}

function pathOf(name: string, at: string): Path {
  try {
    return parsePath(name, at)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const [issue] = error.details!['issues'] as [Issue]
    throw new StartError(`${at}: ${issue.message}`)
  }
}

/** The index by which lists in the order of `createdAt` are read, where ids are not in that order. */
export const timeIndex = (collection: string, byOwner: boolean): Definition => ({
  collection,
  fields: [{ path: ['createdAt'], descending: false }],
  isUnique: false,
  byOwner,
  isSearch: false,
  isSparse: false,
  ignoreCase: false,
})

/** Whether two indexes, as they are wanted or as they are, have the same entries: one of them is enough. */
export const haveSameEntries = (
  one: Omit<Definition, 'requiredBy'>,
  other: Omit<Definition, 'requiredBy'>,
): boolean =>
  one.collection === other.collection &&
  JSON.stringify(one.fields) === JSON.stringify(other.fields) &&
  one.isSearch === other.isSearch &&
  one.isSparse === other.isSparse &&
  one.ignoreCase === other.ignoreCase

/** Whether indexes have all that others have. */
export const hasAll = (indexes: readonly Definition[], others: readonly Definition[]): boolean =>
  others.every((other) =>
    indexes.some(
      (one) =>
        one.isUnique === other.isUnique && one.byOwner === other.byOwner && haveSameEntries(one, other),
    ),
  )

/** One definition of those that have the same entries, which does what each of them is for. */
export function mergeDefinitions(definitions: readonly Definition[]): Definition[] {
  const merged: Definition[] = []
  for (const one of definitions) {
    const at = merged.findIndex((other) => haveSameEntries(one, other))
    const other = merged[at]
    if (!other) merged.push(one)
    else
      merged[at] = {
        ...other,
        isUnique: one.isUnique || other.isUnique,
        byOwner: one.byOwner || other.byOwner,
        requiredBy: other.requiredBy ?? one.requiredBy,
      }
  }
  return merged
}
