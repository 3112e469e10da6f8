import { schemaOfBody } from './bodies.ts'
import type { Schema } from './openapi-schemas.ts'
import type { Route, RouteSpec } from './route.ts'

/** Whether a schema describes what is sent, where a field with a default may be left out, or what is answered. */
type Direction = 'input' | 'reply'

const INTRODUCTION = `// The routes of the server, for createClient<Api>(url) of sixwire/client.
// Written by \`sixwire types\`: run it again when the routes change.`

const NAME = /^[A-Za-z_$][\w$]*$/
const nameOf = (name: string): string => (NAME.test(name) ? name : quoted(name))
const quoted = (text: string): string =>
  `'${JSON.stringify(text)
    .slice(1, -1)
    .replaceAll(String.raw`\"`, '"')
    .replaceAll("'", String.raw`\'`)}'`
const indented = (text: string): string => text.replaceAll('\n', '\n  ')

/** A comment above a field; nothing if there is nothing to say. */
const commentOf = (text: unknown): string =>
  typeof text === 'string' && text !== ''
    ? `/** ${text.replaceAll('*/', '* /').replaceAll(/\s+/g, ' ')} */\n`
    : ''

const SCALARS: Record<string, string> = {
  string: 'string',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
  null: 'null',
}

const unionOf = (types: readonly string[]): string => [...new Set(types)].join(' | ') || 'never'
const literalOf = (value: unknown): string =>
  typeof value === 'string' ? quoted(value) : JSON.stringify(value)
function isUnion(type: string): boolean {
  let outside = type.replaceAll(/\/\*\*[^]*?\*\/|'[^']*'/g, '')
  for (let inside = ''; inside !== outside;) {
    inside = outside
    outside = inside.replaceAll(/\{[^{}]*\}/g, '')
  }
  return / [|&] /.test(outside)
}

/** The types of schemas with a title: by their names, each with the title that it was made of. */
type Components = Map<string, { title: string; type: string; description: unknown }>

// What the text itself names.
const TAKEN = new Set(['Api', 'ArrayBuffer', 'Blob', 'FormData', 'Record', 'URLSearchParams', 'Uint8Array'])

/** A name that is no keyword and no type of the language, and of no other title. */
function componentName(title: string, components: Components): string {
  const name = title.replaceAll(/\W/g, '_')
  let free = /^[A-Z]/.test(name) && !TAKEN.has(name) ? name : `_${name}`
  while ((components.get(free)?.title ?? title) !== title) free = `_${free}`
  return free
}

/** The type of a schema; one of a reply that has a title is a type of that name. */
function typeOf(schema: Schema, direction: Direction, components: Components): string {
  const { title, description } = schema
  if (direction === 'input' || typeof title !== 'string') return bareTypeOf(schema, direction, components)
  const name = componentName(title, components)
  if (!components.has(name)) {
    const component = { title, type: '', description }
    // Before the types of its fields, so that it stands above them.
    components.set(name, component)
    component.type = bareTypeOf(schema, direction, components)
  }
  return name
}

function bareTypeOf(schema: Schema, direction: Direction, components: Components): string {
  const inner = (one: unknown): string => typeOf(one as Schema, direction, components)
  const { type, enum: values, allOf, items } = schema
  const anyOf = schema['anyOf'] ?? schema['oneOf']
  if ('const' in schema) return literalOf(schema['const'])
  if (Array.isArray(values)) return unionOf(values.map(literalOf))
  // What the types promise of an Unsafe schema: bytes, or of alternatives the first, which an ordinary call has.
  const isUnsafe = '~unsafe' in schema
  if (isUnsafe && 'contentMediaType' in schema) return 'Blob'
  if (Array.isArray(anyOf)) return isUnsafe ? inner(anyOf[0]) : unionOf(anyOf.map(inner))
  if (Array.isArray(allOf)) return allOf.map((one) => parenthesized(inner(one))).join(' & ')
  if (Array.isArray(type))
    return unionOf(type.map((one) => bareTypeOf({ ...schema, type: one as string }, direction, components)))
  const tuple = schema['prefixItems'] ?? items
  if (Array.isArray(tuple)) return `[${tuple.map(inner).join(', ')}]`
  if (type === 'array') return items === undefined ? 'unknown[]' : `${parenthesized(inner(items))}[]`
  if (type === 'object' || 'properties' in schema) return objectOf(schema, direction, components)
  return SCALARS[type as string] ?? 'unknown'
}

const parenthesized = (type: string): string => (isUnion(type) ? `(${type})` : type)

function objectOf(schema: Schema, direction: Direction, components: Components): string {
  const {
    properties = {},
    required = [],
    patternProperties,
    additionalProperties,
  } = schema as {
    properties?: Record<string, Schema>
    required?: readonly string[]
    patternProperties?: Record<string, Schema>
    additionalProperties?: boolean | Schema
  }
  const fields = Object.entries(properties).map(([name, field]) => {
    const isInput = direction === 'input'
    const isOptional = !required.includes(name) || (isInput && 'default' in field)
    const type = typeOf(field, direction, components)
    // A project may tell fields that are left out from those that are undefined.
    return `${commentOf(field['description'])}${nameOf(name)}${isOptional ? '?' : ''}: ${type}${isOptional && isInput && type !== 'unknown' ? ' | undefined' : ''}`
  })
  const others = [
    ...Object.values(patternProperties ?? {}),
    ...(typeof additionalProperties === 'object' ? [additionalProperties] : []),
  ]
  const record =
    others.length > 0
      ? [`Record<string, ${unionOf(others.map((one) => typeOf(one, direction, components)))}>`]
      : []
  const open = additionalProperties === true ? ['Record<string, unknown>'] : []
  const own = fields.length > 0 ? [blockOf(fields)] : []
  return [...own, ...record, ...open].join(' & ') || 'object'
}

const blockOf = (lines: readonly string[]): string =>
  `{${lines.map((line) => `\n  ${indented(line)}`).join('')}\n}`

function bodyOf({ body }: RouteSpec, components: Components): string | undefined {
  switch (body?.kind) {
    case undefined:
      return undefined
    case 'json':
      return unionOf([
        typeOf(schemaOfBody(body) as Schema, 'input', components),
        ...(body.files ? ['FormData'] : []),
      ])
    case 'form':
      return 'URLSearchParams'
    case 'raw':
    case 'stream':
      return 'Blob | Uint8Array<ArrayBuffer>'
    case 'multipart':
      return 'FormData'
  }
}

const NO_CONTENT = 204

function replyOf({ reply }: RouteSpec, components: Components): string {
  const successes = Object.keys(reply)
    .map(Number)
    .filter((status) => status >= 200 && status < 300)
  return unionOf(
    successes.map((status) =>
      status === NO_CONTENT ? 'undefined' : typeOf(reply[status] as Schema, 'reply', components),
    ),
  )
}

function routeOf({ key, spec }: Route, components: Components): string {
  const body = bodyOf(spec, components)
  const lines = [
    ...(spec.query ? [`query: ${typeOf(spec.query as Schema, 'input', components)}`] : []),
    ...(body === undefined ? [] : [`body: ${body}`]),
    `reply: ${replyOf(spec, components)}`,
    `errors: ${unionOf((spec.errors ?? []).map((kind) => quoted(kind.code)))}`,
    ...(spec.idempotent ? ['idempotent: true'] : []),
  ]
  return `${commentOf(spec.summary)}${quoted(key)}: ${blockOf(lines)}`
}

/** The types of the documents of collections, as a field of the `Api`. */
function collectionsOf(schemas: ReadonlyMap<string, Schema>, components: Components): string {
  const fields = [...schemas].map(([name, schema]) => {
    const type = typeOf(schema, 'reply', components)
    return `${commentOf(schema['description'])}${nameOf(name)}: ${type === 'unknown' ? 'Record<string, unknown>' : type}`
  })
  return `/** The documents of the collections that have a schema. */\ncollections: ${blockOf(fields)}`
}

/** The names of the fields of files of collections, as a field of the `Api`. */
function fileFieldsOf(fields: ReadonlyMap<string, readonly string[]>): string {
  const lines = [...fields].map(([name, paths]) => `${nameOf(name)}: ${unionOf(paths.map(quoted))}`)
  return `/** The fields of collections that take files. */\nfileFields: ${blockOf(lines)}`
}

/**
 * Writes the types of routes as TypeScript: an interface `Api` for `createClient<Api>` of `sixwire/client`, which needs
 * nothing of the server.
 *
 * @param collections.schemas of documents by their collections, without references and titles
 * @param collections.fileFields by their collections
 * @example
 * await writeFile('api.ts', apiTypes(app.routes.flatMap(({ routes }) => routes)))
 */
export function apiTypes(
  routes: readonly Route[],
  {
    schemas = new Map(),
    fileFields = new Map(),
  }: {
    schemas?: ReadonlyMap<string, Schema>
    fileFields?: ReadonlyMap<string, readonly string[]>
  } = {},
): string {
  const components: Components = new Map()
  const all = [
    ...routes.map((route) => routeOf(route, components)),
    ...(schemas.size > 0 ? [collectionsOf(schemas, components)] : []),
    ...(fileFields.size > 0 ? [fileFieldsOf(fileFields)] : []),
  ]
  const types = [...components].map(
    ([name, { type, description }]) => `${commentOf(description)}type ${name} = ${type}`,
  )
  return `${[INTRODUCTION, ...types, `export interface Api ${blockOf(all)}`].join('\n\n')}\n`
}
