import type { FilterTree, Json, Test } from '../query/filter.ts'
import type { Path } from '../query/path.ts'
import type { Sort } from '../query/sort.ts'
import { FIELDS_MAX } from './definition.ts'
import type { IndexField } from './entries.ts'

// Each value of an `$in` is a search of its own.
const VALUES_MAX = 200

/** The fields of the index that a list needs. */
export type NeededFields = {
  /** The paths that the filter compares with values: their order in the index makes no difference to the list. */
  readonly equal: readonly string[]
  /** Those of the sort, of which the first is ascending, or one that the filter has a range of. */
  readonly ordered: readonly IndexField[]
  /** Whether an index of these fields has the order of the list. */
  readonly sorts: boolean
}

/** What an index can be searched for. */
type Condition = { readonly path: string; readonly kind: 'value' | 'values' | 'range' }

/** The fields of the index that answers a list without looking into all documents; undefined if there is none. */
export function neededFields(filter: FilterTree, { keys }: Sort): NeededFields | undefined {
  const conditions = conditionsOf(filter)
  const pathsOf = (kind: Condition['kind']): string[] =>
    conditions.filter((one) => one.kind === kind).map(({ path }) => path)
  const single = new Set(pathsOf('value'))
  const several = new Set(pathsOf('values')).difference(single)
  const equal = [...single.union(several)].toSorted()
  const range = pathsOf('range')
    .filter((path) => !equal.includes(path))
    .toSorted()[0]
  const isFiltered = filter.kind !== 'and' || filter.of.length > 0
  // The primary key leads to a document by its `_id`.
  if (equal.includes('_id') || (isFiltered && equal.length === 0 && range === undefined)) return undefined

  const sorted = keys.filter(({ path }) => !equal.includes(nameOf(path)))
  const sorts =
    sorted.length > 0 &&
    sorted.every(({ path }) => isIndexable(path)) &&
    // The entries of each value are in order, those of several values together are not.
    several.size === 0 &&
    (range === undefined || nameOf(sorted[0]!.path) === range) &&
    equal.length + sorted.length <= FIELDS_MAX
  // Backwards, an index has the opposite order.
  const isBackwards = sorts && sorted[0]!.descending
  const ordered = sorts
    ? sorted.map(({ path, descending }) => ({ path, descending: descending !== isBackwards }))
    : range === undefined
      ? []
      : [{ path: range.split('.'), descending: false }]
  if (equal.length + ordered.length === 0) return undefined
  return { equal: equal.slice(0, FIELDS_MAX - ordered.length), ordered, sorts }
}

/** The fields as those of an index. */
export const fieldsOf = ({ equal, ordered }: NeededFields): IndexField[] => [
  ...equal.map((path) => ({ path: path.split('.'), descending: false })),
  ...ordered,
]

/** Whether an index of these fields does for a list what one of the needed fields would do. */
export function serves(fields: readonly IndexField[], { equal, ordered }: NeededFields): boolean {
  const first = new Set(fields.slice(0, equal.length).map(({ path }) => nameOf(path)))
  const rest = fields.slice(equal.length)
  const isBackwards = rest[0]?.descending !== ordered[0]?.descending
  return (
    first.isSupersetOf(new Set(equal)) &&
    ordered.every(({ path, descending }, i) => {
      const field = rest[i]
      return field && nameOf(field.path) === nameOf(path) && field.descending === (descending !== isBackwards)
    })
  )
}

/** Of the conditions that every document of a list meets, those that an index can be searched for. */
function conditionsOf(filter: FilterTree): Condition[] {
  if (filter.kind === 'and') return filter.of.flatMap(conditionsOf)
  if (filter.kind !== 'field' || !isIndexable(filter.path)) return []
  const kind = kindOf(filter.test)
  return kind === undefined ? [] : [{ path: nameOf(filter.path), kind }]
}

function kindOf(test: Test): Condition['kind'] | undefined {
  if (test.kind === 'in') {
    const { length } = test.values
    if (length === 0 || length > VALUES_MAX || !test.values.every(isScalar)) return undefined
    return length === 1 ? 'value' : 'values'
  }
  const isRange =
    (test.kind === 'range' && isScalar(test.bound)) || (test.kind === 'pattern' && test.pattern.prefix)
  return isRange ? 'range' : undefined
}

const isScalar = (value: Json): boolean => value === null || typeof value !== 'object'

/** A number in a path may be an index in an array, which entries do not have. */
const isIndexable = (path: Path): boolean => !path.some((part) => /^\d+$/.test(part))

const nameOf = (path: Path): string => path.join('.')
