import { ANY_NAME, Type } from '../base/schema.ts'
import { schemaOfBody } from './bodies.ts'
import type { Route, RouteGroup } from './route.ts'

/** A JSON schema. */
export type Schema = Readonly<Record<string, unknown>>

// Keywords whose value is a map of schemas, and keywords whose value is data.
const SCHEMA_MAPS = new Set(['properties', 'patternProperties'])
const DATA = new Set(['const', 'default', 'enum', 'examples'])

const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const mapValues = (object: Schema, change: (value: unknown, name: string) => unknown): Schema =>
  Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value, name)]))

/** Replaces each direct subschema of a schema. */
function mapSchemas(schema: Schema, change: (inner: Schema) => unknown): Schema {
  const changeEach = (value: unknown): unknown =>
    Array.isArray(value) ? value.map(changeEach) : isObject(value) ? change(value) : value
  return mapValues(schema, (value, keyword) =>
    DATA.has(keyword)
      ? value
      : SCHEMA_MAPS.has(keyword) && isObject(value)
        ? mapValues(value, changeEach)
        : changeEach(value),
  )
}

/** Ours, and that of TypeBox. */
const ANY_NAMES: ReadonlySet<string> = new Set([ANY_NAME, '^.*$'])

/** Writes a schema with the keywords that most client generators know. */
function simplify({ const: literal, patternProperties, ...rest }: Schema): Schema {
  if (literal !== undefined) return { ...rest, enum: [literal] }
  const { enum: values, type } = rest
  if (Array.isArray(values) && type === undefined && values.every((one) => typeof one === 'string'))
    return { type: 'string', ...rest }
  if (isObject(patternProperties)) {
    const pattern = Object.keys(patternProperties).join()
    return ANY_NAMES.has(pattern)
      ? { ...rest, additionalProperties: patternProperties[pattern] }
      : { ...rest, patternProperties }
  }
  const { anyOf, ...others } = rest
  const literals = Array.isArray(anyOf) ? (anyOf as Schema[]) : []
  const isEnum =
    literals.length > 0 && literals.every((one) => one['enum'] && one['type'] === literals[0]!['type'])
  return isEnum
    ? { type: literals[0]!['type'], enum: literals.flatMap((one) => one['enum']), ...others }
    : rest
}

/** Schemas and responses that are described once, and referred to by their names. */
export function createComponents() {
  const schemas: Record<string, Schema> = {}
  const responses: Record<string, object> = {}

  /** A schema for the description: one with a title, also a nested one, becomes a reference to its component. */
  function schemaOf(schema: Schema): Schema {
    const { title, ...own } = simplify(mapSchemas(schema, schemaOf))
    if (typeof title !== 'string') return own
    schemas[title] = own
    return { $ref: `#/components/schemas/${title}` }
  }

  /** A reference to a response; the response itself if another response has the name already. */
  function responseOf(name: string, response: object): object {
    responses[name] ??= response
    return JSON.stringify(responses[name]) === JSON.stringify(response)
      ? { $ref: `#/components/responses/${name}` }
      : response
  }

  return { schemas, responses, schemaOf, responseOf }
}

export type Components = ReturnType<typeof createComponents>

type Annotations = { examples?: unknown[]; properties?: Record<string, Schema>; required?: string[] }

/**
 * A value that fits a schema: its first example, its default, or an object of its required properties and those that
 * have examples. Undefined if a required property has none.
 */
export function exampleOf(schema: Schema): unknown {
  const { examples, properties, required } = schema as Annotations
  const own = examples?.[0] ?? schema['default'] ?? schema['const']
  if (own !== undefined || !properties) return own
  const fields = Object.entries(properties)
    .filter(([name, property]) => required?.includes(name) || property['examples'])
    .map(([name, property]) => [name, exampleOf(property)] as const)
  const isWhole = fields.length > 0 && fields.every(([, value]) => value !== undefined)
  return isWhole ? Object.fromEntries(fields) : undefined
}

/** The body of every failure. */
export const ErrorSchema = Type.Object(
  {
    error: Type.Object({
      code: Type.String({ description: 'For programs: one of the codes of the response.' }),
      message: Type.String({ description: 'For people: what is wrong, and what to do.' }),
      details: Type.Optional(
        Type.Object(
          {},
          {
            additionalProperties: true,
            description:
              'Depends on the code. That of VALIDATION_ERROR has `issues`: each fault as `{path, message}`, the path being a JSON pointer.',
          },
        ),
      ),
    }),
  },
  { title: 'Error' },
)

const COMPONENT_NAME = /^[a-zA-Z0-9._-]+$/

const schemasIn = ({ spec }: Route): unknown[] => [
  spec.params,
  spec.query,
  spec.headers,
  schemaOfBody(spec.body),
  ...Object.values(spec.reply),
]

/** Why the titles of schemas can't name components, in one line: one is invalid, or two different schemas share it. */
export function titleFault(groups: readonly RouteGroup[]): string | undefined {
  const owners = new Map([['Error', { schema: ErrorSchema as unknown as Schema, owner: 'Sixwire' }]])
  const faults: string[] = []

  function visit(schema: Schema, owner: string): void {
    const { title } = schema
    if (typeof title === 'string') {
      const first = owners.get(title) ?? { schema, owner }
      owners.set(title, first)
      if (!COMPONENT_NAME.test(title))
        faults.push(
          `${owner} has a schema titled "${title}": a title is the name of the schema in /openapi.json and takes letters, digits, ., - and _ only`,
        )
      else if (first.schema !== schema && JSON.stringify(first.schema) !== JSON.stringify(schema))
        faults.push(
          `the schemas titled "${title}" of ${first.owner} and of ${owner} differ: give one of them another title`,
        )
    }
    mapSchemas(schema, (inner) => visit(inner, owner))
  }

  for (const { routes } of groups)
    for (const one of routes)
      for (const schema of schemasIn(one)) if (schema !== undefined) visit(schema as Schema, one.key)
  return faults[0]
}
