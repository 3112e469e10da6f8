/* A field of a collection as a row of a table has it, and the types that a row offers. */

export type JsonFields = { readonly [name: string]: unknown }
/** The definition of a collection, as `PUT /store/collections/:name` takes it. */
export type DefinitionValue = JsonFields

export type FieldRelation = { readonly to: string; readonly onDelete?: string }
export type FileLimits = {
  readonly types?: readonly string[]
  readonly maxBytes?: number | string
  readonly max?: number
  readonly access?: string
}

/** A field of the first level, or of an object. */
export type TableField = {
  /** The name that it has in the definition; undefined for a new one. */
  readonly origin: string | undefined
  readonly name: string
  /** Its JSON Schema, without what `fields` has of it; undefined if the schema does not name it. */
  readonly schema: unknown
  readonly isRequired: boolean
  readonly isUnique: boolean
  /** Whether texts that differ in case only are the same; of a unique field. */
  readonly ignoresCase: boolean
  readonly isSearchable: boolean
  readonly isHidden: boolean
  readonly isReadOnly: boolean
  /** The rule of those who see it; undefined: all who read the document. */
  readonly showTo?: unknown
  /** The fields of an object, or of each object of a list; undefined for other types. */
  readonly fields?: readonly TableField[] | undefined
  readonly relation?: FieldRelation | undefined
  readonly files?: FileLimits | undefined
}

/** The types that a row offers, with what they are called. */
export const TYPES = {
  text: 'Text',
  long: 'Long text',
  number: 'Number',
  integer: 'Whole number',
  boolean: 'Yes or no',
  date: 'Date',
  moment: 'Date and time',
  time: 'Time of day',
  choice: 'Choice',
  email: 'Email',
  url: 'URL',
  list: 'List of texts',
  object: 'Object',
  objects: 'List of objects',
  relation: 'Relation',
  files: 'Files',
  json: 'JSON',
} as const
export type FieldType = keyof typeof TYPES

export const isObject = (value: unknown): value is JsonFields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
export const objectAt = (value: JsonFields, name: string): JsonFields =>
  Object.hasOwn(value, name) && isObject(value[name]) ? value[name] : {}
export const listAt = (value: JsonFields, name: string): readonly unknown[] =>
  Object.hasOwn(value, name) && Array.isArray(value[name]) ? (value[name] as unknown[]) : []

/** Whether a table can have a field of this name: a dotted one is the path of another field's part. */
export const isFieldName = (name: string): boolean =>
  name !== '' && !name.includes('.') && !name.startsWith('$') && name !== '__proto__'

/** The schemas of a type, and the keywords beside which it is still shown as this type. */
const SHAPES: Readonly<
  Record<
    Exclude<FieldType, 'relation' | 'files' | 'object' | 'objects' | 'json'>,
    { fixed: JsonFields; details: readonly string[] }
  >
> = {
  long: { fixed: { type: 'string', 'x-long': true }, details: ['minLength', 'maxLength'] },
  date: { fixed: { type: 'string', format: 'date' }, details: [] },
  moment: { fixed: { type: 'string', format: 'date-time' }, details: [] },
  time: { fixed: { type: 'string', format: 'time' }, details: [] },
  email: { fixed: { type: 'string', format: 'email' }, details: ['maxLength'] },
  url: { fixed: { type: 'string', format: 'uri' }, details: ['maxLength'] },
  choice: { fixed: { type: 'string' }, details: ['enum'] },
  text: { fixed: { type: 'string' }, details: ['minLength', 'maxLength', 'pattern'] },
  number: { fixed: { type: 'number' }, details: ['minimum', 'maximum'] },
  integer: { fixed: { type: 'integer' }, details: ['minimum', 'maximum'] },
  boolean: { fixed: { type: 'boolean' }, details: [] },
  list: { fixed: { type: 'array' }, details: ['items', 'minItems', 'maxItems', 'uniqueItems'] },
}
const NOTES = ['title', 'description', 'default', 'examples', '$comment']
const TEXT: JsonFields = { type: 'string' }
const TEXTS: JsonFields = { type: 'array', items: TEXT }
const OBJECT: JsonFields = { type: 'object' }
const OBJECTS: JsonFields = { type: 'array', items: OBJECT }
const ITEMS = ['minItems', 'maxItems']

export const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

function hasShape(schema: JsonFields, type: keyof typeof SHAPES): boolean {
  const { fixed, details } = SHAPES[type]
  const allowed = [...Object.keys(fixed), ...details, ...NOTES]
  if (!Object.entries(fixed).every(([name, value]) => Object.hasOwn(schema, name) && schema[name] === value))
    return false
  if (!Object.keys(schema).every((name) => allowed.includes(name))) return false
  if (type === 'choice')
    return listAt(schema, 'enum').every((one) => typeof one === 'string') && 'enum' in schema
  return type !== 'list' || isSame(schema['items'], TEXT)
}

/** The type that a row shows: `json` for a schema that no other type can show. */
export function typeOf({
  schema,
  relation,
  files,
  fields,
}: Pick<TableField, 'schema' | 'relation' | 'files' | 'fields'>): FieldType {
  if (relation) return 'relation'
  if (files) return 'files'
  if (!isObject(schema)) return 'json'
  if (fields) return schema['type'] === 'array' ? 'objects' : 'object'
  const shapes = Object.keys(SHAPES) as (keyof typeof SHAPES)[]
  return shapes.find((type) => hasShape(schema, type)) ?? 'json'
}

/** Whether values of the type are edited as JSON. */
export const isJson = (type: FieldType): boolean => ['json', 'object', 'objects'].includes(type)

/** The details of a type that are keywords of its schema. */
export const detailsOf = (type: FieldType): readonly string[] =>
  type in SHAPES ? SHAPES[type as keyof typeof SHAPES].details : type === 'objects' ? ITEMS : []

/** Whether the field holds several `_id`s. */
export const isSeveral = ({ schema }: Pick<TableField, 'schema'>): boolean =>
  isObject(schema) && schema['type'] === 'array'

/** A row of a new field. */
export const newField = (name: string): TableField => ({
  origin: undefined,
  name,
  schema: TEXT,
  isRequired: false,
  isUnique: false,
  ignoresCase: false,
  isSearchable: false,
  isHidden: false,
  isReadOnly: false,
})

/** The field with another type: notes such as its description stay, details of the old type go. */
export function withType(field: TableField, type: FieldType): TableField {
  const { relation: _, files: __, fields = [], ...rest } = field
  const notes = isObject(field.schema)
    ? Object.fromEntries(
        Object.entries(field.schema).filter(([name]) => NOTES.includes(name) && name !== 'default'),
      )
    : {}
  if (type === 'json') return { ...rest, schema: notes }
  if (type === 'relation') return { ...rest, schema: { ...TEXT, ...notes }, relation: { to: '' } }
  if (type === 'files') return { ...rest, schema: { ...TEXT, ...notes }, files: {} }
  if (type === 'object') return { ...rest, schema: { ...OBJECT, ...notes }, fields }
  if (type === 'objects') return { ...rest, schema: { ...OBJECTS, ...notes }, fields }
  const first = type === 'choice' ? { enum: [] } : type === 'list' ? { items: TEXT } : {}
  return { ...rest, schema: { ...SHAPES[type].fixed, ...first, ...notes } }
}

function isObjectSchema(schema: unknown): schema is JsonFields {
  if (!isObject(schema) || schema['type'] !== 'object') return false
  const allowed = ['type', 'properties', 'required', 'additionalProperties', ...NOTES]
  return (
    Object.keys(schema).every((name) => allowed.includes(name)) &&
    isObject(schema['properties'] ?? {}) &&
    Array.isArray(schema['required'] ?? [])
  )
}

/** The schema of the object whose fields are rows: of the field itself, or of each item; undefined if rows cannot show it. */
export function objectIn(schema: unknown): JsonFields | undefined {
  if (isObjectSchema(schema)) return schema
  if (!isObject(schema) || schema['type'] !== 'array' || !isObjectSchema(schema['items'])) return undefined
  const allowed = ['type', 'items', ...ITEMS, ...NOTES]
  return Object.keys(schema).every((name) => allowed.includes(name)) ? schema['items'] : undefined
}

/** The schema of an object, or of a list of them, with another one in place of that of the object. */
export const withObject = (schema: JsonFields, object: JsonFields): JsonFields =>
  schema['type'] === 'array' ? { ...schema, items: object } : object

/** The schema of a field, without keywords if there is none. */
export const schemaOf = ({ schema }: Pick<TableField, 'schema'>): JsonFields =>
  isObject(schema) ? schema : {}

/** The field with a keyword of its schema; undefined removes it. */
export function withKeyword(field: TableField, name: string, value: unknown): TableField {
  const { [name]: _, ...rest } = schemaOf(field)
  return { ...field, schema: value === undefined ? rest : { ...schemaOf(field), [name]: value } }
}

/** A relation or files with one `_id` as the value, or several in an array. */
export function withSeveral(field: TableField, several: boolean): TableField {
  const { type: _, items: __, ...rest } = schemaOf(field)
  return { ...field, schema: { ...(several ? TEXTS : TEXT), ...rest } }
}
