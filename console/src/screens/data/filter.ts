/*
 * The filter of the grid in its three forms: conditions of the builder, MongoDB's JSON, and the text in the address.
 */

export type FilterJson =
  | null
  | boolean
  | number
  | string
  | readonly FilterJson[]
  | { readonly [name: string]: FilterJson }

/** The operators of the builder, with what they are called. */
export const OPERATORS = {
  $eq: 'is',
  $ne: 'is not',
  $gt: '>',
  $gte: '≥',
  $lt: '<',
  $lte: '≤',
  $in: 'is one of',
  $nin: 'is none of',
  $regex: 'matches',
  $exists: 'exists',
} as const
export type FilterOperator = keyof typeof OPERATORS

export type Condition = {
  readonly path: string
  readonly operator: FilterOperator
  readonly value: FilterJson
}

/** What the builder shows: conditions of which all, or any, must hold. */
export type BuiltFilter = { readonly match: 'all' | 'any'; readonly conditions: readonly Condition[] }

const isObject = (value: unknown): value is { readonly [name: string]: FilterJson } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isOperator = (name: string): name is FilterOperator => Object.hasOwn(OPERATORS, name)

function termOf({ path, operator, value }: Condition): FilterJson {
  const isPlain = operator === '$eq' && !isObject(value)
  return { [path]: isPlain ? value : { [operator]: value } }
}

// The keys of an object that are whole numbers come first, and a path that occurs twice would replace itself.
const fitsOneObject = (conditions: readonly Condition[]): boolean =>
  new Set(conditions.map(({ path }) => path)).size === conditions.length &&
  conditions.every(({ path }) => !/^\d+$/.test(path) && !path.startsWith('$') && path !== '__proto__')

/** The filter as MongoDB writes it. */
export function filterOf({ match, conditions }: BuiltFilter): { readonly [name: string]: FilterJson } {
  if (match === 'any') return { $or: conditions.map(termOf) }
  if (!fitsOneObject(conditions)) return { $and: conditions.map(termOf) }
  return Object.assign({}, ...conditions.map(termOf)) as { readonly [name: string]: FilterJson }
}

/** The conditions of a filter; undefined if the builder cannot show it. */
export function builtOf(filter: FilterJson): BuiltFilter | undefined {
  if (!isObject(filter)) return undefined
  const names = Object.keys(filter)
  const [only = ''] = names
  const group = names.length === 1 && ['$and', '$or'].includes(only) ? filter[only] : undefined
  if (group === undefined) {
    const conditions = conditionsOf(filter)
    return conditions && { match: 'all', conditions }
  }
  if (!Array.isArray(group)) return undefined
  const terms = (group as readonly FilterJson[]).map((term) =>
    isObject(term) ? conditionsOf(term) : undefined,
  )
  const conditions = terms.flatMap((term) => (term?.length === 1 ? term : []))
  if (conditions.length !== terms.length) return undefined
  return { match: only === '$or' ? 'any' : 'all', conditions }
}

function conditionsOf(object: { readonly [name: string]: FilterJson }): Condition[] | undefined {
  const conditions: Condition[] = []
  for (const [path, test] of Object.entries(object)) {
    if (path.startsWith('$')) return undefined
    if (!isObject(test)) {
      conditions.push({ path, operator: '$eq', value: test })
      continue
    }
    const [operator = '', ...others] = Object.keys(test)
    if (!isOperator(operator) || others.length > 0) return undefined
    conditions.push({ path, operator, value: test[operator]! })
  }
  return conditions
}

/** The text of a filter in the address; nothing for one without conditions. */
export const textOfFilter = (filter: { readonly [name: string]: FilterJson }): string =>
  Object.keys(filter).length === 0 ? '' : JSON.stringify(filter)

/** The filter of a text; undefined if it is none. */
export function filterOfText(text: string): { readonly [name: string]: FilterJson } | undefined {
  if (text.trim() === '') return {}
  try {
    const value = JSON.parse(text) as FilterJson
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** What the field says: whose documents, and a filter or words: `owner:01m8… {"year":1973}`. */
export function partsOfText(text: string): { owner: string; rest: string } {
  const [, owner = '', rest = ''] = /^\s*(?:owner:(\S*)\s*)?(.*)$/s.exec(text)!
  return { owner, rest }
}

/** The text that says it. */
export const textOfParts = (owner: string, rest: string): string =>
  [owner && `owner:${owner}`, rest].filter(Boolean).join(' ')

/** Whether what the field says beside the owner is a filter, or nothing; any other text is words to look for. */
export const isFilterText = (text: string): boolean => /^\s*(?:\{|$)/.test(text)

const PATHS_MAX = 50

/** The filter that finds a text in any of these fields, whatever the case. */
export const filterOfWords = (text: string, paths: readonly string[]): string =>
  JSON.stringify({
    $or: paths.slice(0, PATHS_MAX).map((path) => ({
      [path]: { $regex: text.trim().replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&'), $options: 'i' },
    })),
  })

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** Reads a typed value: as JSON if it is JSON, otherwise as text. */
export function valueOfText(text: string): FilterJson {
  if (!NUMBER.test(text) && !/^(?:["[{]|true$|false$|null$)/.test(text)) return text
  try {
    return JSON.parse(text) as FilterJson
  } catch {
    return text
  }
}

/** The text that is read as this value. */
export function textOfValue(value: FilterJson): string {
  const isPlain = typeof value === 'string' && valueOfText(value) === value
  return isPlain ? value : JSON.stringify(value)
}
