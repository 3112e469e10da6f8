/* The options of a definition that name fields, changed without touching what is beside them. */
import {
  isObject,
  isSame,
  listAt,
  objectAt,
  type DefinitionValue,
  type JsonFields,
  type TableField,
} from './field-types.ts'

/** Sets an option of an object, or removes it if it has become empty; one that was empty stays as it is. */
export function withOption(of: JsonFields, name: string, value: unknown, isEmpty: boolean): JsonFields {
  if (!isEmpty) return { ...of, [name]: value }
  const { [name]: _, ...rest } = of
  return rest
}

export function withEntry(of: JsonFields, option: string, name: string, value: unknown): JsonFields {
  const entries = Object.entries(objectAt(of, option))
  const at = entries.findIndex(([key]) => key === name)
  if (value === undefined && at === -1) return of
  const next =
    value === undefined
      ? entries.toSpliced(at, 1)
      : at === -1
        ? [...entries, [name, value] as const]
        : entries.with(at, [name, value])
  return withOption(of, option, Object.fromEntries(next), next.length === 0)
}

export function withMember(of: JsonFields, option: string, name: string, isIn: boolean): JsonFields {
  const list = listAt(of, option)
  if (list.includes(name) === isIn) return of
  const next = isIn ? [...list, name] : list.filter((one) => one !== name)
  return withOption(of, option, next, next.length === 0)
}

export function withSchema(of: JsonFields, change: (schema: JsonFields) => JsonFields): JsonFields {
  const old = isObject(of['schema']) ? of['schema'] : { type: 'object' }
  const schema = change(old)
  return schema === old ? of : { ...of, schema }
}

type Entries = readonly (readonly [string, unknown])[]
type Change = {
  keys: (entries: Entries) => Entries
  list: (list: readonly unknown[]) => readonly unknown[]
}

function withKeys(of: JsonFields, name: string, { keys }: Change): JsonFields {
  const entries = Object.entries(objectAt(of, name))
  const next = keys(entries)
  return isSame(entries, next) ? of : withOption(of, name, Object.fromEntries(next), next.length === 0)
}
function withList(of: JsonFields, name: string, { list }: Change): JsonFields {
  const next = list(listAt(of, name))
  return isSame(listAt(of, name), next) ? of : withOption(of, name, next, next.length === 0)
}

/** The definition with other paths in all options that have paths of fields. What becomes empty goes. */
export function mapped(definition: DefinitionValue, by: Change): DefinitionValue {
  const next = ['relations', 'files', 'showTo'].reduce((of, name) => withKeys(of, name, by), definition)
  return ['unique', 'search', 'hidden', 'readOnly'].reduce((of, name) => withList(of, name, by), next)
}

type InSchema = (
  definition: DefinitionValue,
  at: readonly string[],
  change: (schema: JsonFields) => JsonFields,
) => DefinitionValue

/** With new names for the fields of a level, also in rules. */
export function renamed(
  definition: DefinitionValue,
  { fields, at, inSchema }: { fields: readonly TableField[]; at: readonly string[]; inSchema: InSchema },
): DefinitionValue {
  const names = new Map(
    fields.flatMap(({ origin, name }) => (origin === undefined || origin === name ? [] : [[origin, name]])),
  )
  if (names.size === 0) return definition
  const newName = (name: string): string => names.get(name) ?? name
  const path = (text: string): string => {
    const parts = text.split('.')
    const isInside = parts.length > at.length && at.every((name, i) => parts[i] === name)
    return isInside ? parts.with(at.length, newName(parts[at.length]!)).join('.') : text
  }
  const group = (one: unknown): unknown =>
    typeof one === 'string'
      ? path(one)
      : Array.isArray(one)
        ? one.map(group)
        : isObject(one)
          ? { ...one, fields: listAt(one, 'fields').map(group) }
          : one
  const outside = mapped(definition, {
    keys: (entries) => entries.map(([key, value]) => [path(key), value]),
    list: (list) => list.map(group),
  })
  const byName: Change = {
    keys: (entries) => entries.map(([key, value]) => [newName(key), value]),
    list: (list) => list.map((one) => (typeof one === 'string' ? newName(one) : one)),
  }
  const next = inSchema(outside, at, (schema) =>
    withList(withKeys(schema, 'properties', byName), 'required', byName),
  )
  return Object.fromEntries(
    Object.entries(next).map(([name, value]) => [name, RULES.includes(name) ? inOption(value, path) : value]),
  )
}

const RULES = ['read', 'create', 'update', 'delete']
const isOfUpdate = (rule: JsonFields): boolean =>
  Object.keys(rule).every((key) => key === 'before' || key === 'after')

/** A rule, or the two of an update, with other paths. */
function inOption(value: unknown, path: (text: string) => string): unknown {
  if (!isObject(value) || !isOfUpdate(value)) return inRule(value, path)
  return Object.fromEntries(Object.entries(value).map(([key, rule]) => [key, inRule(rule, path)]))
}

const isLogic = (key: string): boolean => ['$and', '$or', '$nor', '$not'].includes(key)

/** A rule with other paths. */
function inRule(value: unknown, path: (text: string) => string): unknown {
  if (Array.isArray(value)) return value.map((one) => inRule(one, path))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      if (key.startsWith('$')) return [key, isLogic(key) ? inRule(inner, path) : inner]
      return [path(key), inner]
    }),
  )
}
