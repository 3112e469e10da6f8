/*
 * The rows of a table of fields as a definition. What a row cannot show stays as it is: reading and writing keeps every definition,
 * and a change of one row changes only what the definition says of this field.
 */
import { mapped, renamed, withEntry, withMember, withOption, withSchema } from './definition-options.ts'
import { fieldsOf, isAlone } from './field-table.ts'
import {
  isSame,
  listAt,
  newField,
  objectAt,
  objectIn,
  withObject,
  type DefinitionValue,
  type JsonFields,
  type TableField,
} from './field-types.ts'
import { namesOf } from './unique-groups.ts'

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
