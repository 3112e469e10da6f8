import { Type } from '../../../../base/schema.ts'
import { StartError } from '../../../../base/start-error.ts'
import { isInside, parseFieldPath } from '../language/fields/field-path.ts'
import { FIELDS_MAX, type Definition } from '../storage/entries/index-definition.ts'
import type { Path } from '../language/query/path.ts'

/** The fields that `?search=` looks into. */
export const SearchOption = Type.Unsafe<readonly string[]>({
  type: 'array',
  items: { type: 'string' },
  minItems: 1,
  maxItems: FIELDS_MAX,
  description:
    'Fields with texts, or arrays of texts, that ?search= looks into: the ones that count for most first.',
  examples: [['title', 'text']],
})

/**
 * Reads the fields that searches look into.
 *
 * @param concealed fields that not everybody sees: a hit, or a score, would tell of them
 * @throws StartError
 */
export function parseSearchFields(
  names: readonly string[] = [],
  concealed: readonly Path[],
  at: string,
): readonly Path[] {
  const paths = names.map((name, i) => parseFieldPath(name, `${at}[${i}]`))
  for (const [i, path] of paths.entries()) {
    const name = names[i]!
    if (names.indexOf(name) < i) throw new StartError(`${at}[${i}]: ${name} is in the list already`)
    const hidden = concealed.find((one) => isInside(path, one) || isInside(one, path))
    if (hidden)
      throw new StartError(
        `${at}[${i}]: ${hidden.join('.')} is in hidden or showTo: who does not see it would find documents by it`,
      )
  }
  return paths
}

/** The index of words of a collection; none without the option. */
export const searchIndexes = ({
  name,
  search,
}: {
  readonly name: string
  readonly search: readonly Path[]
}): Definition[] =>
  search.length === 0
    ? []
    : [
        {
          collection: name,
          fields: search.map((path) => ({ path, descending: false })),
          isSparse: false,
          ignoreCase: false,
          isUnique: false,
          byOwner: false,
          isSearch: true,
        },
      ]
