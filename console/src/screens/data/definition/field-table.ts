/*
 * The fields of a definition as the rows of a table, and back. What a row cannot show stays as it is: reading and writing keeps
 * every definition, and a change of one row changes only what the definition says of this field.
 */
import {
  isFieldName,
  isObject,
  isSame,
  listAt,
  newField,
  objectAt,
  type DefinitionValue,
  type TableField,
  type JsonFields,
  type FieldRelation,
} from './field-types.ts'

/** The names of a unique group: a text, a list, or an object with `fields`. */
function namesOf(group: unknown): readonly unknown[] {
  if (typeof group === 'string') return [group]
  return Array.isArray(group) ? group : isObject(group) ? listAt(group, 'fields') : []
}
const isAlone = (group: unknown, name: string): boolean => isSame(namesOf(group), [name])

/** The fields of the first level, in the order of the schema; then those that only other options name. */
export function fieldsOf(definition: DefinitionValue): TableField[] {
  const schema = objectAt(definition, 'schema')
  const properties = objectAt(schema, 'properties')
  const [relations, files] = [objectAt(definition, 'relations'), objectAt(definition, 'files')]
  const lists = ['search', 'hidden', 'readOnly'].flatMap((name) => listAt(definition, name))
  const unique = listAt(definition, 'unique')
  const alone = unique.flatMap((group) => (namesOf(group).length === 1 ? namesOf(group) : []))
  const required = listAt(schema, 'required')
  const names = [properties, relations, files].flatMap((one) => Object.keys(one))
  const all = [...names, ...required, ...alone, ...lists].filter((one) => typeof one === 'string')
  return [...new Set(all)].filter(isFieldName).map((name) => {
    const group = unique.find((one) => isAlone(one, name))
    return {
      origin: name,
      name,
      schema: Object.hasOwn(properties, name) ? properties[name] : undefined,
      isRequired: required.includes(name),
      isUnique: group !== undefined,
      ignoresCase: isObject(group) && group['ignoreCase'] === true,
      isSearchable: listAt(definition, 'search').includes(name),
      isHidden: listAt(definition, 'hidden').includes(name),
      isReadOnly: listAt(definition, 'readOnly').includes(name),
      ...(isObject(relations[name]) &&
        Object.hasOwn(relations, name) && { relation: relations[name] as FieldRelation }),
      ...(isObject(files[name]) && Object.hasOwn(files, name) && { files: files[name] }),
    }
  })
}

/** What the table does not show: paths into fields, and fields that are unique together. */
export function othersOf(definition: DefinitionValue): string[] {
  const schema = objectAt(definition, 'schema')
  const paths = [
    ...['relations', 'files', 'showTo'].flatMap((name) => Object.keys(objectAt(definition, name))),
    ...Object.keys(objectAt(schema, 'properties')),
    ...['search', 'hidden', 'readOnly'].flatMap((name) => listAt(definition, name)),
  ].filter((path) => typeof path === 'string' && path.includes('.')) as string[]
  const groups = listAt(definition, 'unique').filter((one) => namesOf(one).length > 1)
  return [...new Set([...paths, ...groups.map((one) => `${namesOf(one).join(' and ')} (unique together)`)])]
}

/** The definition with the fields of the table in place of those that it has. */
export function withFields(definition: DefinitionValue, fields: readonly TableField[]): DefinitionValue {
  const before = fieldsOf(definition)
  const stayed = new Set(fields.map(({ origin }) => origin))
  let next = definition
  for (const { name } of before) if (!stayed.has(name)) next = withoutField(next, name)
  next = renamed(next, fields)
  for (const field of fields) {
    const old = before.find(({ name }) => name === field.origin)
    next = withField(next, { ...(old ?? EMPTY), name: field.name }, field)
  }
  return ordered(next, fields)
}

const EMPTY: TableField = { ...newField(''), schema: undefined }

/** Sets an option of an object, or removes it if it has become empty; one that was empty stays as it is. */
function withOption(of: JsonFields, name: string, value: unknown, isEmpty: boolean): JsonFields {
  if (!isEmpty) return { ...of, [name]: value }
  const { [name]: _, ...rest } = of
  return rest
}

function withEntry(of: JsonFields, option: string, name: string, value: unknown): JsonFields {
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

function withMember(of: JsonFields, option: string, name: string, isIn: boolean): JsonFields {
  const list = listAt(of, option)
  if (list.includes(name) === isIn) return of
  const next = isIn ? [...list, name] : list.filter((one) => one !== name)
  return withOption(of, option, next, next.length === 0)
}

function withUnique(of: JsonFields, { name, isUnique, ignoresCase }: TableField): JsonFields {
  const list = listAt(of, 'unique')
  const group = ignoresCase ? { fields: [name], ignoreCase: true } : name
  const at = list.findIndex((one) => isAlone(one, name))
  const next = !isUnique
    ? list.filter((one) => !isAlone(one, name))
    : at === -1
      ? [...list, group]
      : list.with(at, group)
  return withOption(of, 'unique', next, next.length === 0)
}

const withSchema = (of: JsonFields, change: (schema: JsonFields) => JsonFields): JsonFields => {
  const old = isObject(of['schema']) ? of['schema'] : { type: 'object' }
  const schema = change(old)
  return schema === old ? of : { ...of, schema }
}

/** The definition with what has changed between two states of a field of the same name. */
function withField(definition: DefinitionValue, old: TableField, field: TableField): DefinitionValue {
  const { name } = field
  let next = definition
  if (!isSame(old.schema, field.schema))
    next = withSchema(next, (schema) => withEntry(schema, 'properties', name, field.schema))
  if (old.isRequired !== field.isRequired)
    next = withSchema(next, (schema) => withMember(schema, 'required', name, field.isRequired))
  if (!isSame(old.relation, field.relation)) next = withEntry(next, 'relations', name, field.relation)
  if (!isSame(old.files, field.files)) next = withEntry(next, 'files', name, field.files)
  if (old.isUnique !== field.isUnique || old.ignoresCase !== field.ignoresCase) next = withUnique(next, field)
  if (old.isSearchable !== field.isSearchable) next = withMember(next, 'search', name, field.isSearchable)
  if (old.isHidden !== field.isHidden) next = withMember(next, 'hidden', name, field.isHidden)
  if (old.isReadOnly !== field.isReadOnly) next = withMember(next, 'readOnly', name, field.isReadOnly)
  return next
}

/** Without a field, and without what is said of its parts. A rule that asks for it stays: who may do what is decided by people. */
function withoutField(definition: DefinitionValue, name: string): DefinitionValue {
  const isOfIt = (path: unknown) => typeof path === 'string' && (path === name || path.startsWith(`${name}.`))
  return mapped(definition, {
    keys: (entries) => entries.filter(([key]) => !isOfIt(key)),
    list: (list) => list.filter((one) => !namesOf(one).some(isOfIt)),
  })
}

/** With new names for fields, also in rules. */
function renamed(definition: DefinitionValue, fields: readonly TableField[]): DefinitionValue {
  const names = new Map(
    fields.flatMap(({ origin, name }) => (origin === undefined || origin === name ? [] : [[origin, name]])),
  )
  if (names.size === 0) return definition
  const path = (text: string): string => {
    const [first = '', ...rest] = text.split('.')
    return [names.get(first) ?? first, ...rest].join('.')
  }
  const group = (one: unknown): unknown =>
    typeof one === 'string'
      ? path(one)
      : Array.isArray(one)
        ? one.map(group)
        : isObject(one)
          ? { ...one, fields: listAt(one, 'fields').map(group) }
          : one
  const rule = (value: unknown): unknown =>
    Array.isArray(value)
      ? value.map(rule)
      : isObject(value)
        ? Object.fromEntries(
            Object.entries(value).map(([key, inner]) =>
              key.startsWith('$') || key === 'before' || key === 'after'
                ? [
                    names.get(key) ?? key,
                    key === 'before' || key === 'after' || isLogic(key) ? rule(inner) : inner,
                  ]
                : [path(key), inner],
            ),
          )
        : value
  const next = mapped(definition, {
    keys: (entries) => entries.map(([key, value]) => [path(key), value]),
    list: (list) => list.map(group),
  })
  return Object.fromEntries(
    Object.entries(next).map(([name, value]) => [name, RULES.includes(name) ? rule(value) : value]),
  )
}

const RULES = ['read', 'create', 'update', 'delete']
const isLogic = (key: string): boolean => ['$and', '$or', '$nor', '$not'].includes(key)

type Entries = readonly (readonly [string, unknown])[]

/** The definition with other names in all options that name fields. What becomes empty goes. */
function mapped(
  definition: DefinitionValue,
  by: { keys: (entries: Entries) => Entries; list: (list: readonly unknown[]) => readonly unknown[] },
): DefinitionValue {
  const inObject = (
    of: JsonFields,
    names: readonly string[],
    change: (of: JsonFields, name: string) => JsonFields,
  ) => names.reduce((result, name) => (Object.hasOwn(result, name) ? change(result, name) : result), of)
  const keys = (of: JsonFields, name: string): JsonFields => {
    const entries = Object.entries(objectAt(of, name))
    const next = by.keys(entries)
    return isSame(entries, next) ? of : withOption(of, name, Object.fromEntries(next), next.length === 0)
  }
  const list = (of: JsonFields, name: string): JsonFields => {
    const next = by.list(listAt(of, name))
    return isSame(listAt(of, name), next) ? of : withOption(of, name, next, next.length === 0)
  }
  const outside = inObject(inObject(definition, ['relations', 'files', 'showTo'], keys), LISTS, list)
  if (!isObject(outside['schema'])) return outside
  const schema = inObject(inObject(outside['schema'], ['properties'], keys), ['required'], list)
  return schema === outside['schema'] ? outside : { ...outside, schema }
}

const LISTS = ['unique', 'search', 'hidden', 'readOnly']

/** The properties in the order of the rows; those that are no rows keep their places. */
function ordered(definition: DefinitionValue, fields: readonly TableField[]): DefinitionValue {
  const properties = objectAt(objectAt(definition, 'schema'), 'properties')
  const rows = fields.map(({ name }) => name).filter((name) => Object.hasOwn(properties, name))
  const places = Object.keys(properties)
  let at = 0
  const order = places.map((name) => (rows.includes(name) ? rows[at++]! : name))
  if (isSame(order, places)) return definition
  const next = Object.fromEntries(order.map((name) => [name, properties[name]]))
  return { ...definition, schema: { ...objectAt(definition, 'schema'), properties: next } }
}

/** The rows with one of them a place earlier or later. Their order is that of the schema, so it has to name both. */
export function moved(fields: readonly TableField[], at: number, step: -1 | 1): TableField[] {
  const [one, other] = [fields[at], fields[at + step]]
  if (!one || !other) return [...fields]
  const named = (field: TableField): TableField => ({ ...field, schema: field.schema ?? {} })
  return fields.with(at, named(other)).with(at + step, named(one))
}

/** What a field still needs; undefined if nothing. */
export function missingOf(field: TableField): string | undefined {
  const { name, schema, relation } = field
  if (relation && relation.to === '') return `Choose the collection that ${name} leads to.`
  if (isObject(schema) && Array.isArray(schema['enum']) && schema['enum'].length === 0)
    return `Give the choices of ${name}.`
  return undefined
}

/** What is wrong with the names of the rows, by their places. */
export function nameFaults(fields: readonly TableField[]): ReadonlyMap<number, string> {
  const faults = new Map<number, string>()
  for (const [at, { name }] of fields.entries())
    if (name === '') faults.set(at, 'Give it a name.')
    else if (!isFieldName(name)) faults.set(at, 'A name has no dot, and does not begin with $.')
    else if (['_id', 'createdAt', 'updatedAt'].includes(name)) faults.set(at, 'The server sets this field.')
    else if (fields.findIndex((other) => other.name === name) < at)
      faults.set(at, 'This name is there twice.')
  return faults
}
