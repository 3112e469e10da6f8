import { ANY_NAME } from '../base/schema.ts'

/** A JSON schema. */
export type Schema = Readonly<Record<string, unknown>>

// Keywords whose value is a map of schemas, and keywords whose value is data.
const SCHEMA_MAPS = new Set(['properties', 'patternProperties'])
const DATA = new Set(['const', 'default', 'enum', 'examples'])

const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const mapValues = (object: Schema, change: (value: unknown, name: string) => unknown): Schema =>
  Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value, name)]))

/** `store:collection` and `last_backup` as parts of a name: `StoreCollection`, `LastBackup`. */
export const pascalCase = (text: string): string =>
  text
    .split(/[^a-zA-Z0-9]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')

/** What the name of a subschema adds to that of its schema. */
const PLACES: Record<string, string> = { items: 'Item', additionalProperties: 'Value', anyOf: 'Option' }

/**
 * Replaces each direct subschema of a schema.
 *
 * @param change also gets the place of the subschema as a part of a name: that of a property, or `Item` of a list
 */
export function mapSchemas(schema: Schema, change: (inner: Schema, place: string) => unknown): Schema {
  const changeEach = (value: unknown, place: string): unknown =>
    Array.isArray(value)
      ? value.map((one, at) => changeEach(one, `${place}${at + 1}`))
      : isObject(value)
        ? change(value, place)
        : value
  return mapValues(schema, (value, keyword) =>
    DATA.has(keyword)
      ? value
      : SCHEMA_MAPS.has(keyword) && isObject(value)
        ? mapValues(value, (inner, name) =>
            changeEach(inner, keyword === 'properties' ? pascalCase(name) : 'Value'),
          )
        : changeEach(value, PLACES[keyword] ?? pascalCase(keyword)),
  )
}

/** Visits each direct subschema of a schema: those that `mapSchemas` replaces, without a copy of the others. */
export function eachSchema(schema: Schema, visit: (inner: Schema) => void): void {
  const visitEach = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(visitEach)
    else if (isObject(value)) visit(value)
  }
  for (const [keyword, value] of Object.entries(schema))
    if (SCHEMA_MAPS.has(keyword) && isObject(value)) Object.values(value).forEach(visitEach)
    else if (!DATA.has(keyword)) visitEach(value)
}

/** Ours, and that of TypeBox. */
const ANY_NAMES: ReadonlySet<string> = new Set([ANY_NAME, '^.*$'])

/** Writes a schema with the keywords that most client generators know. */
export function simplify({ const: literal, patternProperties, ...rest }: Schema): Schema {
  // Of an enumeration of booleans the Java generator of OpenAPI Generator makes code that does not compile.
  if (typeof literal === 'boolean') return rest
  if (literal !== undefined) return { ...rest, enum: [literal] }
  const { enum: values, type } = rest
  if (Array.isArray(values) && type === undefined && values.every((one) => typeof one === 'string'))
    return { type: 'string', ...rest }
  if (isObject(patternProperties)) {
    const pattern = Object.keys(patternProperties).join()
    const values = patternProperties[pattern] as Schema
    return ANY_NAMES.has(pattern)
      ? { ...rest, additionalProperties: Object.keys(values).length > 0 ? values : true }
      : { ...rest, patternProperties }
  }
  return Array.isArray(rest['anyOf']) ? simplifyUnion(rest, rest['anyOf'] as Schema[]) : rest
}

/**
 * A union of values is an enumeration, and one of a type and null has two types. Other unions stay: client generators do
 * not know schemas of several types.
 */
function simplifyUnion({ anyOf: _, ...others }: Schema, alternatives: readonly Schema[]): Schema {
  const [first] = alternatives
  if (first && alternatives.every((one) => one['enum'] && one['type'] === first['type']))
    return { type: first['type'], enum: alternatives.flatMap((one) => one['enum']), ...others }
  const [inner, ...more] = alternatives.filter(({ type }) => type !== 'null')
  const isNullable =
    inner &&
    more.length === 0 &&
    alternatives.length === 2 &&
    typeof inner['type'] === 'string' &&
    !inner['enum']
  return isNullable
    ? { ...inner, type: [inner['type'], 'null'], ...others }
    : { anyOf: alternatives, ...others }
}

type Fields = { properties?: Record<string, Schema>; required?: string[] }

/** Whether a schema is of what a client sends, or of what the server answers. */
export type Side = 'request' | 'answer'

/** Writes which fields are required: a request may leave out what has a default, and an answer always has it. */
export function requireBySide(schema: Schema, side: Side): Schema {
  const { properties, required = [], ...others } = schema as Fields & Schema
  if (!properties) return schema
  const names = Object.keys(properties).filter((name) =>
    Object.hasOwn(properties[name]!, 'default') ? side === 'answer' : required.includes(name),
  )
  return { ...others, ...(names.length > 0 && { required: names }), properties }
}

/** Whether a schema differs between requests and answers. */
export function hasDefaults(schema: Schema): boolean {
  const { properties = {} } = schema as Fields
  let found = Object.values(properties).some((property) => Object.hasOwn(property, 'default'))
  eachSchema(schema, (inner) => (found ||= hasDefaults(inner)))
  return found
}

/** Whether client generators make a type of a schema, which then needs a name: an object with fields, or a union. */
export const isModel = (schema: Schema): boolean =>
  Object.keys((schema as Fields).properties ?? {}).length > 0 || Array.isArray(schema['anyOf'])

/**
 * A value that fits a schema: its first example, its default, or an object of its required properties and those that
 * have examples. Undefined if a required property has none.
 */
export function exampleOf(schema: Schema): unknown {
  const { examples, properties, required } = schema as Fields & { examples?: unknown[] }
  const own = examples?.[0] ?? schema['default'] ?? schema['const']
  if (own !== undefined || !properties) return own
  const fields = Object.entries(properties)
    .filter(([name, property]) => required?.includes(name) || property['examples'])
    .map(([name, property]) => [name, exampleOf(property)] as const)
  const isWhole = fields.length > 0 && fields.every(([, value]) => value !== undefined)
  return isWhole ? Object.fromEntries(fields) : undefined
}
