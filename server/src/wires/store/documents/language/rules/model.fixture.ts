import type { Json } from '../query/filter.ts'
import { matches } from '../query/reference.fixture.ts'

// What the rules of a collection say, once more and as plainly as JavaScript can; the server is compared with it. It shares no
// code with what it judges.

export type Fields = { [name: string]: Json }
export type RuleOption = string | Fields | readonly (string | Fields)[]
export type CollectionOption = {
  read: RuleOption
  create: RuleOption
  update: { before: RuleOption; after: RuleOption }
  delete: RuleOption
  hidden?: readonly string[]
  showTo?: { [path: string]: RuleOption }
  readOnly?: readonly string[]
}
export type Person = {
  kind: 'stranger' | 'user' | 'admin' | 'key'
  _id: string
  token: string | undefined
  /** What `$$user.…` stands for; what is not there is unresolved. */
  values: { [name: string]: Json }
}
export type Row = { document: Fields; owner: string; version: number }
export type Action = 'read' | 'create' | 'update' | 'delete'

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isIndex = (name: string): boolean => /^\d+$/.test(name)
const alternatives = (rule: RuleOption): readonly (string | Fields)[] =>
  (Array.isArray(rule) ? rule : [rule]) as (string | Fields)[]
export const isPrivileged = ({ kind }: Person): boolean => kind === 'admin' || kind === 'key'
const names = (filter: Fields): string[] =>
  [...JSON.stringify(filter).matchAll(/\$\$user\.(\w+)/g)].map(([, name]) => name!)

/** Operators of one value, as those of several. */
const OF_SEVERAL: { readonly [operator: string]: string } = {
  $eq: '$in',
  $ne: '$nin',
  $in: '$in',
  $nin: '$nin',
}

/** A filter with the values of somebody in it. */
function bound(filter: Json, values: Person['values']): Json {
  const isName = (value: Json): value is string => typeof value === 'string' && value.startsWith('$$user.')
  const named = (name: string): Json[] => [values[name.slice('$$user.'.length)]!].flat()
  if (Array.isArray(filter))
    return filter.flatMap((one: Json) => (isName(one) ? named(one) : [bound(one, values)]))
  if (!isObject(filter)) return filter
  return Object.fromEntries(
    Object.entries(filter).map(([key, operand]) => {
      if (!isName(operand)) return [key, bound(operand, values)]
      const several = OF_SEVERAL[key]
      return several ? [several, named(operand)] : [key, { $in: named(operand) }]
    }),
  )
}

/** Whether a rule holds for a document of an owner. */
export function holds(
  rule: RuleOption,
  person: Person,
  { document, owner }: Pick<Row, 'document' | 'owner'>,
): boolean {
  if (isPrivileged(person)) return true
  const isUser = person.kind === 'user'
  return alternatives(rule).some((one) => {
    if (one === 'public') return true
    if (one === 'user') return isUser
    if (one === 'owner') return isUser && owner === person._id
    if (typeof one === 'string') return false
    if (names(one).some((name) => person.values[name] === undefined)) return false
    return matches(document, bound(one, person.values) as Fields)
  })
}

/** The status of somebody for whom a rule holds with no document at all. */
export function refusedAudience(rule: RuleOption, person: Person, isWrite: boolean): 401 | 403 | undefined {
  const of = alternatives(rule)
  if (isPrivileged(person) || of.includes('public')) return undefined
  if (person.kind === 'user') return of.every((one) => one === 'admin') ? 403 : undefined
  const isForAll = of.some((one) => typeof one !== 'string' && names(one).length === 0)
  return isForAll && !isWrite ? undefined : 401
}

/** Rules of words alone, and no fields that are not shown: an action needs no right to read. */
export const isPlain = ({
  hidden,
  showTo,
  readOnly,
  read,
  create,
  update,
  delete: remove,
}: CollectionOption): boolean =>
  !hidden &&
  !showTo &&
  !readOnly &&
  [read, create, update.before, update.after, remove]
    .flatMap(alternatives)
    .every((one) => typeof one === 'string')

/** The paths that a document does not show to somebody. */
export const concealed = (
  { hidden = [], showTo = {} }: CollectionOption,
  person: Person,
  row: Pick<Row, 'document' | 'owner'>,
) =>
  isPrivileged(person)
    ? []
    : [...hidden, ...Object.keys(showTo).filter((path) => !holds(showTo[path]!, person, row))]

/** A value without what is at a path, through all arrays, and objects with the names of indexes unless these count as others. */
export function without(value: Json, path: string, passesIndexes = true): Json {
  if (Array.isArray(value)) return value.map((one: Json) => without(one, path, passesIndexes))
  if (!isObject(value)) return value
  const [name, rest] = split(path)
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => {
      if (key === name) return rest === '' ? [] : [[key, without(inner, rest, passesIndexes)]]
      return [[key, passesIndexes && isIndex(key) ? without(inner, path) : inner]]
    }),
  )
}

const split = (path: string): [string, string] => {
  const [name, ...rest] = path.split('.')
  return [name!, rest.join('.')]
}

/** The values at a path, each with the place that it is in. */
export function valuesAt(value: Json, path: string, place = ''): string[] {
  if (path === '') return [`${place} ${JSON.stringify(value)}`]
  if (Array.isArray(value)) return value.flatMap((one: Json, i) => valuesAt(one, path, `${place}/${i}`))
  const [name, rest] = split(path)
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    if (key === name) return valuesAt(inner, rest, `${place}/${key}`)
    return isIndex(key) ? valuesAt(inner, path, `${place}/${key}`) : []
  })
}

/** A document as somebody who may read it sees it. */
export const shown = (
  option: CollectionOption,
  person: Person,
  row: Pick<Row, 'document' | 'owner'>,
): Fields =>
  concealed(option, person, row).reduce<Json>(
    (document, path) => without(document, path),
    row.document,
  ) as Fields

/** The fields after a PUT: the given ones are set; where an object is replaced, what its sender cannot write stays. */
export const put = (before: Fields, sent: Fields, fixed: readonly string[]): Fields =>
  fixed.reduce((after, path) => kept(before, after, path), { ...before, ...sent })

function kept(before: Fields, after: Fields, path: string): Fields {
  const [name, rest] = split(path)
  const [old, value] = [before[name], after[name]]
  if (old === undefined) return after
  if (rest === '') return { ...after, [name]: value === undefined ? old : value }
  return isObject(old) && isObject(value) ? { ...after, [name]: kept(old, value, rest) } : after
}

/** RFC 7396, as it is written there. */
export function merged(target: Json, patch: Json): Json {
  if (!isObject(patch)) return patch
  const result: Fields = isObject(target) ? structuredClone(target) : {}
  for (const [name, value] of Object.entries(patch))
    if (value === null) delete result[name]
    else result[name] = merged(result[name] ?? null, value)
  return result
}

/** Whether a filter tells anything of the paths: of what is at one or inside of it, or by comparing what holds one. */
export function asksOf(filter: Json, paths: readonly string[], outer: readonly string[] = []): boolean {
  if (Array.isArray(filter)) return filter.some((one: Json) => asksOf(one, paths, outer))
  if (!isObject(filter)) return false
  const isWithin = (inner: string, holder: string) => `${inner}.`.startsWith(`${holder}.`)
  return Object.entries(filter).some(([key, operand]) => {
    const parts = key.startsWith('$') ? [] : key.split('.').filter((part) => !isIndex(part))
    const path = [...outer, ...parts].join('.')
    if (paths.some((one) => isWithin(path, one))) return true
    const isHolder = path !== '' && paths.some((one) => isWithin(one, path))
    if (isHolder && comparesWhole(key, operand)) return true
    return asksOf(operand, paths, [...outer, ...parts])
  })
}

function comparesWhole(key: string, operand: Json): boolean {
  if (['$in', '$nin', '$all'].includes(key))
    return (operand as Json[]).some(
      (one) => typeof one === 'object' && one !== null && !(isObject(one) && '$elemMatch' in one),
    )
  if (['$eq', '$ne', '$gt', '$gte', '$lt', '$lte'].includes(key) || !key.startsWith('$'))
    return Array.isArray(operand) || (isObject(operand) && !Object.keys(operand)[0]?.startsWith('$'))
  return false
}

/** Whether a sort tells anything of the paths. */
export const sortsBy = (keys: readonly string[], paths: readonly string[]): boolean =>
  keys.some((key) => {
    const path = key
      .replace(/^-/, '')
      .split('.')
      .filter((part) => !isIndex(part))
      .join('.')
    return paths.some((one) => `${path}.`.startsWith(`${one}.`) || `${one}.`.startsWith(`${path}.`))
  })
