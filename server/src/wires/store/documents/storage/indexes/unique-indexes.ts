import type { Static } from 'typebox'

import { Type } from '../../../../../base/schema.ts'
import { StartError } from '../../../../../base/start-error.ts'
import {
  checkFields,
  FIELDS_MAX,
  indexedPath,
  INDEXES_MAX,
  type Definition,
} from '../entries/index-definition.ts'

const Field = Type.String({ pattern: '.', description: 'A dotted path: author.name.', examples: ['slug'] })
const Fields = Type.Array(Field, { minItems: 1, maxItems: FIELDS_MAX })

/** The fields of which no two documents of a collection may have the same values. */
export const UniqueOption = Type.Array(
  Type.Union([
    Field,
    Fields,
    Type.Object(
      {
        fields: Fields,
        ignoreCase: Type.Optional(
          Type.Boolean({
            description: 'Whether texts that differ in case only are the same. Default: false.',
          }),
        ),
      },
      { additionalProperties: false },
    ),
  ]),
  {
    maxItems: INDEXES_MAX,
    description:
      'A field, or fields that are unique together. A document that lacks one of them is not compared.',
  },
)

/**
 * The indexes that keep fields of a collection unique, over the documents of all owners.
 *
 * @param declared the indexes that the configuration declares otherwise
 * @throws StartError with the option that cannot be unique, or is already
 */
export function uniqueIndexes(
  collection: string,
  option: Static<typeof UniqueOption>,
  declared: readonly Definition[],
): Definition[] {
  const requiredBy = `store.collections.${collection}.unique`
  const inIndexes = declared.filter((one) => one.collection === collection && one.isUnique)
  const seen = new Set<string>()
  return option.map((one, i) => {
    const at = `${requiredBy}[${i}]`
    const { fields: names, ignoreCase = false } =
      typeof one === 'object' && 'fields' in one ? one : { fields: [one].flat() }
    const fields = names.map((name) => ({ path: indexedPath(plainName(name, at), at), descending: false }))
    checkFields(fields, at)
    const group = groupOf({ fields })
    if (seen.has(group)) throw new StartError(`${at}: ${names.join(',')} is in the list already`)
    if (inIndexes.some((other) => groupOf(other) === group))
      throw new StartError(
        `${at}: ${names.join(',')} is unique in store.indexes.${collection} already, where a missing field is null: declare it in one of the two`,
      )
    seen.add(group)
    return {
      collection,
      fields,
      isSparse: true,
      ignoreCase,
      isUnique: true,
      byOwner: false,
      isSearch: false,
      requiredBy,
    }
  })
}

/** Fields that are unique together, in whatever order. */
const groupOf = ({ fields }: Pick<Definition, 'fields'>): string =>
  JSON.stringify(fields.map(({ path }) => path.join('.')).toSorted())

/** @throws StartError for what has a meaning in `store.indexes` and none here */
function plainName(name: string, at: string): string {
  if (name.includes(','))
    throw new StartError(
      `${at}: ${name} is one field: write those that are unique together as [${name
        .split(',')
        .map((part) => `'${part}'`)
        .join(', ')}]`,
    )
  if (name.startsWith('-')) throw new StartError(`${at}: a unique field has no order: write ${name.slice(1)}`)
  return name
}
