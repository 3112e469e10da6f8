import { conjunctsOf, isScalar, type FilterTree } from '../language/query/filter.ts'
import type { Path } from '../language/query/path.ts'
import type { Sort } from '../language/query/sort.ts'
import { FIELDS_MAX, type Index } from '../storage/entries/index-definition.ts'
import { namesOf, type EntryRules, type IndexField } from '../storage/entries/entries.ts'

// Each value of an `$in` is a search of its own.
const VALUES_MAX = 200

/** The index that a list needs. */
export type NeededIndex = {
  /**
   * First those that the filter compares with values: their order makes no difference to the list. Then those of the sort, of
   * which the first is ascending, or one that the filter has a range of.
   */
  readonly fields: readonly IndexField[]
  /** How many the filter compares with values. */
  readonly equal: number
  readonly names: string
  /** Whether it has the order of the list. */
  readonly sorts: boolean
  /** Whether the filter asks for a value of each field that is not null: then a sparse index does, too. */
  readonly isOfValues: boolean
}

/** The index that answers a list without looking into all documents; undefined if there is none. */
export function neededIndex(filter: FilterTree, { keys }: Sort): NeededIndex | undefined {
  const [single, several, ranges] = [new Set<string>(), new Set<string>(), new Set<string>()]
  const values = new Set<string>()
  const conjuncts = conjunctsOf(filter)
  for (const one of conjuncts) {
    if (one.kind !== 'field' || !isIndexable(one.path)) continue
    const { path, test } = one
    if (test.kind === 'in') {
      const { length } = test.values
      if (length > 0 && length <= VALUES_MAX && test.values.every(isScalar)) {
        ;(length === 1 ? single : several).add(path.join('.'))
        if (!test.values.includes(null)) values.add(path.join('.'))
      }
    } else if (test.kind === 'range' ? isScalar(test.bound) : test.kind === 'pattern' && test.pattern.prefix)
      ranges.add(path.join('.'))
  }
  const equal = [...single.union(several)].toSorted()
  const [range] = [...ranges].filter((name) => !equal.includes(name)).toSorted()
  // The primary key leads to a document by its `_id`.
  if (equal.includes('_id') || (conjuncts.length > 0 && equal.length === 0 && range === undefined))
    return undefined

  const sorted = keys.filter(({ path }) => !equal.includes(path.join('.')))
  const sorts =
    sorted.length > 0 &&
    sorted.every(({ path }) => isIndexable(path)) &&
    // The entries of each value are in order, those of several values together are not.
    several.isSubsetOf(single) &&
    (range === undefined || sorted[0]!.path.join('.') === range) &&
    equal.length + sorted.length <= FIELDS_MAX
  // Backwards, an index has the opposite order.
  const isBackwards = sorts && sorted[0]!.descending
  const ranged = range === undefined ? [] : [{ path: range.split('.'), descending: false }]
  const ordered = sorts
    ? sorted.map(({ path, descending }) => ({ path, descending: descending !== isBackwards }))
    : ranged
  const first = equal.slice(0, FIELDS_MAX - ordered.length)
  const fields = [...first.map((name) => ({ path: name.split('.'), descending: false })), ...ordered]
  if (fields.length === 0) return undefined
  const isOfValues = fields.every(({ path }) => values.union(ranges).has(path.join('.')))
  return { fields, equal: first.length, names: namesOf(fields), sorts, isOfValues }
}

/** Whether an index does for a list what the needed one would do. */
export function serves(
  {
    fields,
    isSearch,
    isSparse,
    ignoreCase,
    hasArrays,
  }: Pick<Index, keyof EntryRules | 'hasArrays' | 'isSearch'>,
  needed: NeededIndex,
): boolean {
  // One key must have a value of each field, which those of an array's elements may not have together.
  const hasValues = needed.isOfValues && fields.length === needed.fields.length
  if (isSearch || ignoreCase || (isSparse && !(hasValues && (fields.length === 1 || !hasArrays))))
    return false
  const ordered = needed.fields.slice(needed.equal)
  const rest = fields.slice(needed.equal)
  const first = new Set(fields.slice(0, needed.equal).map(({ path }) => path.join('.')))
  const isBackwards = rest[0]?.descending !== ordered[0]?.descending
  return (
    needed.fields.slice(0, needed.equal).every(({ path }) => first.has(path.join('.'))) &&
    ordered.every(({ path, descending }, i) => {
      const field = rest[i]
      return field?.path.join('.') === path.join('.') && field.descending === (descending !== isBackwards)
    })
  )
}

/** A number in a path may be an index in an array, which entries do not have. */
const isIndexable = (path: Path): boolean => !path.some((part) => /^\d+$/.test(part))
