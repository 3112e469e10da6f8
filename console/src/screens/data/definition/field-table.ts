/*
 * The fields of a definition as the rows of a table, and back. What a row cannot show stays as it is: reading and writing keeps
 * every definition, and a change of one row changes only what the definition says of this field.
 */
import { mapped, renamed, withEntry, withMember, withOption, withSchema } from './definition-options.ts'
import {
  isFieldName,
  isObject,
  isSame,
  listAt,
  newField,
  objectAt,
  objectIn,
  withObject,
  type DefinitionValue,
  type FieldRelation,
  type JsonFields,
  type TableField,
} from './field-types.ts'
import { namesOf } from './unique-groups.ts'

const isAlone = (group: unknown, path: string): boolean => isSame(namesOf(group), [path])

/** The schema of the object whose fields are at a path; that of the documents at the empty one. */
const schemaAt = (definition: DefinitionValue, at: readonly string[]): JsonFields =>
  at.reduce<JsonFields>(
    (schema, name) => objectIn(objectAt(schema, 'properties')[name]) ?? {},
    objectAt(definition, 'schema'),
  )

/** The names that paths of options have at a level. */
function namesAt(definition: DefinitionValue, at: readonly string[]): string[] {
  const paths = [
    ...['relations', 'files'].flatMap((name) => Object.keys(objectAt(definition, name))),
    ...listAt(definition, 'unique').flatMap((group) => (namesOf(group).length === 1 ? namesOf(group) : [])),
    ...['search', 'hidden', 'readOnly'].flatMap((name) => listAt(definition, name)),
    ...Object.keys(objectAt(definition, 'showTo')),
  ].filter((path) => typeof path === 'string')
  const begin = at.map((name) => `${name}.`).join('')
  return paths.filter((path) => path.startsWith(begin)).map((path) => path.slice(begin.length))
}

/** The fields of a level, in the order of the schema; then those that only other options name. */
export function fieldsOf(definition: DefinitionValue, at: readonly string[] = []): TableField[] {
  const schema = schemaAt(definition, at)
  const properties = objectAt(schema, 'properties')
  const [relations, files] = [objectAt(definition, 'relations'), objectAt(definition, 'files')]
  const showTo = objectAt(definition, 'showTo')
  const unique = listAt(definition, 'unique')
  const required = listAt(schema, 'required')
  const all = [...Object.keys(properties), ...required, ...namesAt(definition, at)]
  const names = new Set(all.filter((one) => typeof one === 'string').filter(isFieldName))
  return [...names].map((name) => {
    const path = [...at, name].join('.')
    const group = unique.find((one) => isAlone(one, path))
    const isIn = (option: string): boolean => listAt(definition, option).includes(path)
    const [relation, limits] = [relations, files].map((of) =>
      Object.hasOwn(of, path) && isObject(of[path]) ? of[path] : undefined,
    )
    const own = Object.hasOwn(properties, name) ? properties[name] : undefined
    const hasRows = !relation && !limits && objectIn(own) !== undefined
    return {
      origin: name,
      name,
      schema: hasRows ? withoutFields(own as JsonFields) : own,
      isRequired: required.includes(name),
      isUnique: group !== undefined,
      ignoresCase: isObject(group) && group['ignoreCase'] === true,
      isSearchable: isIn('search'),
      isHidden: isIn('hidden'),
      isReadOnly: isIn('readOnly'),
      ...(Object.hasOwn(showTo, path) && { showTo: showTo[path] }),
      ...(hasRows && { fields: fieldsOf(definition, [...at, name]) }),
      ...(relation && { relation: relation as FieldRelation }),
      ...(limits && { files: limits }),
    }
  })
}

/** The schema of an object without what its rows have. */
function withoutFields(schema: JsonFields): JsonFields {
  const { properties: _, required: __, ...rest } = objectIn(schema)!
  return withObject(schema, rest)
}

/** The paths of all rows. */
export const pathsOf = (fields: readonly TableField[], begin = ''): string[] =>
  fields.flatMap(({ name, fields: inner = [] }) => [begin + name, ...pathsOf(inner, `${begin}${name}.`)])

/** What the table does not show: paths into fields whose schema it cannot show. */
export function othersOf(definition: DefinitionValue): string[] {
  const shown = new Set(pathsOf(fieldsOf(definition)))
  const properties = Object.keys(objectAt(objectAt(definition, 'schema'), 'properties'))
  const paths = [...namesAt(definition, []), ...properties]
  return [...new Set(paths)].filter((path) => path.includes('.') && !shown.has(path))
}

/** The definition with the fields of the table in place of those that it has. */
export function withFields(
  definition: DefinitionValue,
  fields: readonly TableField[],
  at: readonly string[] = [],
): DefinitionValue {
  const before = fieldsOf(definition, at)
  const oldOf = (field: TableField) => before.find(({ name }) => name === field.origin)
  const stayed = new Set(fields.map(({ origin }) => origin))
  let next = definition
  for (const { name } of before) if (!stayed.has(name)) next = withoutField(next, at, name)
  // The fields of objects under the names that the objects had.
  for (const field of fields)
    if (oldOf(field)?.fields) next = withFields(next, field.fields ?? [], [...at, field.origin!])
  next = renamed(next, { fields, at, inSchema })
  for (const field of fields) {
    const old = oldOf(field)
    next = withField(next, at, { ...(old ?? EMPTY), name: field.name }, field)
    if (field.fields && !old?.fields) next = withFields(next, field.fields.map(asNew), [...at, field.name])
  }
  return ordered(next, fields, at)
}

const EMPTY: TableField = { ...newField(''), schema: undefined }
const asNew = (field: TableField): TableField => ({
  ...field,
  origin: undefined,
  ...(field.fields && { fields: field.fields.map(asNew) }),
})

function withUnique(of: JsonFields, path: string, { isUnique, ignoresCase }: TableField): JsonFields {
  const list = listAt(of, 'unique')
  const group = ignoresCase ? { fields: [path], ignoreCase: true } : path
  const index = list.findIndex((one) => isAlone(one, path))
  const next = !isUnique
    ? list.filter((one) => !isAlone(one, path))
    : index === -1
      ? [...list, group]
      : list.with(index, group)
  return withOption(of, 'unique', next, next.length === 0)
}

/** A change of the schema of the object at a path; of none if there is no such object. */
function inSchema(
  definition: DefinitionValue,
  at: readonly string[],
  change: (schema: JsonFields) => JsonFields,
): DefinitionValue {
  const inObject = (schema: JsonFields, [name, ...rest]: readonly string[]): JsonFields => {
    if (name === undefined) return change(schema)
    const properties = objectAt(schema, 'properties')
    const own = properties[name]
    const old = objectIn(own)
    const next = old && inObject(old, rest)
    return next === old
      ? schema
      : { ...schema, properties: { ...properties, [name]: withObject(own as JsonFields, next!) } }
  }
  return withSchema(definition, (schema) => inObject(schema, at))
}

/** The definition with what has changed between two states of a field of the same name. */
function withField(
  definition: DefinitionValue,
  at: readonly string[],
  old: TableField,
  field: TableField,
): DefinitionValue {
  const { name } = field
  const path = [...at, name].join('.')
  let next = definition
  if (!isSame(old.schema, field.schema))
    next = inSchema(next, at, (schema) => withEntry(schema, 'properties', name, schemaOfField(schema, field)))
  if (old.isRequired !== field.isRequired)
    next = inSchema(next, at, (schema) => withMember(schema, 'required', name, field.isRequired))
  if (!isSame(old.relation, field.relation)) next = withEntry(next, 'relations', path, field.relation)
  if (!isSame(old.files, field.files)) next = withEntry(next, 'files', path, field.files)
  if (!isSame(old.showTo, field.showTo)) next = withEntry(next, 'showTo', path, field.showTo)
  if (old.isUnique !== field.isUnique || old.ignoresCase !== field.ignoresCase)
    next = withUnique(next, path, field)
  if (old.isSearchable !== field.isSearchable) next = withMember(next, 'search', path, field.isSearchable)
  if (old.isHidden !== field.isHidden) next = withMember(next, 'hidden', path, field.isHidden)
  if (old.isReadOnly !== field.isReadOnly) next = withMember(next, 'readOnly', path, field.isReadOnly)
  return next
}

/** The schema of a row, with the fields that its object has now. */
function schemaOfField(of: JsonFields, { name, schema, fields }: TableField): unknown {
  const now = fields && objectIn(objectAt(of, 'properties')[name])
  if (!now) return schema
  const { properties, required } = now
  return withObject(schema as JsonFields, {
    ...objectIn(schema),
    ...(properties !== undefined && { properties }),
    ...(required !== undefined && { required }),
  })
}

/** Without a field, and without what is said of its parts. A rule that asks for it stays: who may do what is decided by people. */
function withoutField(definition: DefinitionValue, at: readonly string[], name: string): DefinitionValue {
  const gone = [...at, name].join('.')
  const isOfIt = (path: unknown) => typeof path === 'string' && (path === gone || path.startsWith(`${gone}.`))
  const next = mapped(definition, {
    keys: (entries) => entries.filter(([key]) => !isOfIt(key)),
    list: (list) => list.filter((one) => !namesOf(one).some(isOfIt)),
  })
  return inSchema(next, at, (schema) =>
    withMember(withEntry(schema, 'properties', name, undefined), 'required', name, false),
  )
}

/** The properties in the order of the rows; those that are no rows keep their places. */
const ordered = (
  definition: DefinitionValue,
  fields: readonly TableField[],
  at: readonly string[],
): DefinitionValue =>
  inSchema(definition, at, (schema) => {
    const properties = objectAt(schema, 'properties')
    const rows = fields.map(({ name }) => name).filter((name) => Object.hasOwn(properties, name))
    const places = Object.keys(properties)
    let next = 0
    const order = places.map((name) => (rows.includes(name) ? rows[next++]! : name))
    return isSame(order, places)
      ? schema
      : { ...schema, properties: Object.fromEntries(order.map((name) => [name, properties[name]])) }
  })

/** Rows with one of them a place earlier or later. Their order is that of the schema, so it has to name both. */
export function moved<T extends { readonly field: TableField }>(
  rows: readonly T[],
  at: number,
  step: -1 | 1,
): T[] {
  const [one, other] = [rows[at], rows[at + step]]
  if (!one || !other) return [...rows]
  const named = (row: T): T => ({ ...row, field: { ...row.field, schema: row.field.schema ?? {} } })
  return rows.with(at, named(other)).with(at + step, named(one))
}

/** What a field, or one inside of it, still needs; undefined if nothing. */
export function missingOf(field: TableField): string | undefined {
  const { name, schema, relation, fields = [] } = field
  if (relation && relation.to === '') return `Choose the collection that ${name} leads to.`
  if (isObject(schema) && Array.isArray(schema['enum']) && schema['enum'].length === 0)
    return `Give the choices of ${name}.`
  return fields.map(missingOf).find(Boolean)
}

/** What is wrong with the names of the rows of a level, by their places. */
export function nameFaults(fields: readonly TableField[], isInside = false): ReadonlyMap<number, string> {
  const faults = new Map<number, string>()
  for (const [at, { name }] of fields.entries())
    if (name === '') faults.set(at, 'Give it a name.')
    else if (!isFieldName(name)) faults.set(at, 'A name has no dot, and does not begin with $.')
    else if (!isInside && ['_id', 'createdAt', 'updatedAt'].includes(name))
      faults.set(at, 'The server sets this field.')
    else if (fields.findIndex((other) => other.name === name) < at)
      faults.set(at, 'This name is there twice.')
  return faults
}

/** The first thing that is wrong with the names of rows, on all levels. */
export function faultOf(fields: readonly TableField[], isInside = false): string | undefined {
  const [[at, fault] = []] = nameFaults(fields, isInside)
  if (at !== undefined) return `Field ${at + 1}: ${fault}`
  for (const { name, fields: inner = [] } of fields) {
    const inside = faultOf(inner, true)
    if (inside !== undefined) return `${name}: ${inside}`
  }
  return undefined
}
