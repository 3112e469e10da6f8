import { STATUS_CODES } from '../base/node-http.ts'
import { JSON_PART, type RouteBody } from './bodies.ts'
import { FORM_TYPE, JSON_MEDIA_TYPE, MULTIPART_TYPE } from './body-parsers.ts'
import { errorsOf, failureOf } from './openapi-errors.ts'
import { EVENTS_MEDIA_TYPE } from './event-stream.ts'
import type { Components } from './openapi-components.ts'
import { exampleOf, pascalCase, type Schema } from './openapi-schemas.ts'
import type { Access } from './access.ts'
import { Bytes, NoBody, type Route } from './route.ts'

/** Bytes as most client generators know them. */
const BYTES: Schema = { type: 'string', format: 'binary' }

/** A stream has no end, so client generators can read it as text only. */
const TEXT: Schema = { type: 'string' }

/** The name that a schema of an operation has if it has no title. */
const placeOf = (operationId: string, part: string): string =>
  operationId.charAt(0).toUpperCase() + operationId.slice(1) + part

/** The responses of a route by status: its own reply, its errors, or either. */
function responsesOf(route: Route, operationId: string, components: Components): Record<string, unknown> {
  const { reply: replies, errorDetails, stream = false } = route.spec
  const kindsOf = Map.groupBy(
    errorsOf(route).toSorted((a, b) => (a.code < b.code ? -1 : 1)),
    (kind) => kind.status,
  )
  const success = Math.min(...Object.keys(replies).map(Number))
  const statuses = [...new Set([...Object.keys(replies).map(Number), ...kindsOf.keys()])]
  return Object.fromEntries(
    statuses.map((status) => {
      const reply = replies[status] as Schema | undefined
      const kinds = kindsOf.get(status) ?? []
      const description = [
        ...(reply ? [STATUS_CODES[status] ?? 'Answered'] : []),
        ...kinds.map((kind) => `\`${kind.code}\`: ${kind.message}`),
      ].join('\n\n')
      const events = stream && status === success ? { [EVENTS_MEDIA_TYPE]: { schema: TEXT } } : undefined
      if (replies[status] === NoBody) return [status, { description, ...(events && { content: events }) }]
      const failure = kinds.length > 0 ? failureOf(kinds, errorDetails, components) : undefined
      if (!reply) {
        const content = { [JSON_MEDIA_TYPE]: { schema: failure!.schema } }
        return [status, components.responseOf(failure!.name, { description, content })]
      }
      if (replies[status] === Bytes) return [status, { description, content: { '*/*': { schema: BYTES } } }]
      const place = placeOf(operationId, `Reply${status === success ? '' : status}`)
      const own = components.schemaOf(reply, place, 'answer')
      const either = `${(reply['title'] as string | undefined) ?? place}Or${failure?.name}`
      const schema = failure ? components.describeAs(either, { anyOf: [own, failure.schema] }) : own
      // A handler that answers a string sends it as it is.
      const isText = reply['type'] === 'string'
      const ofText = (reply['contentMediaType'] as string | undefined) ?? 'text/plain'
      const types = isText ? ofText.split(', ') : [JSON_MEDIA_TYPE]
      const content = types.map((type): [string, object] => [
        type,
        { schema: types.length > 1 ? { ...schema, contentMediaType: type } : schema },
      ])
      return [status, { description, content: { ...Object.fromEntries(content), ...events } }]
    }),
  )
}

type Requirement = { [scheme: string]: string[] }
const SIGNED_IN: Requirement[] = [{ bearer: [] }]
const MAYBE_SIGNED_IN: Requirement[] = [{}, ...SIGNED_IN]
const SECURITY: Record<Access, Requirement[]> = {
  public: [],
  optional: MAYBE_SIGNED_IN,
  session: SIGNED_IN,
  user: SIGNED_IN,
  admin: SIGNED_IN,
  operator: SIGNED_IN,
}

const AUTHORIZATION = 'authorization'
// `security` describes the first one; clients set the others themselves.
const NOT_PARAMETERS = new Set([AUTHORIZATION, 'accept', 'content-type', 'cookie', 'host'])

const IDEMPOTENCY_KEY = {
  'idempotency-key': {
    type: 'string',
    description:
      'A repetition with the same key and body within 24 hours gets the first answer, and does nothing again.',
  },
}

type Properties = Record<string, Schema>
const propertiesOf = (schema: unknown): Properties =>
  (schema as { properties?: Properties } | undefined)?.properties ?? {}

function parametersOf({ spec, path }: Route, operationId: string, { schemaOf }: Components): object[] {
  const parameter = (place: string, name: string, required: boolean, annotated: Schema) => {
    const { description, examples: _, ...schema } = annotated
    const example = required || annotated['examples'] ? exampleOf(annotated) : undefined
    return {
      name,
      in: place,
      required,
      ...(description !== undefined && { description }),
      // A component has its description and examples wherever it is used.
      schema: schemaOf(
        annotated['title'] === undefined ? schema : annotated,
        placeOf(operationId, pascalCase(name)),
        'request',
      ),
      ...(example !== undefined && { example }),
    }
  }
  const inPath = propertiesOf(spec.params)
  const parametersIn = (place: string, container: unknown, properties: Properties) => {
    const { required = [] } = (container ?? {}) as { required?: string[] }
    return Object.entries(properties).map(([name, schema]) =>
      // A parameter with a default is optional, although its schema, made for the handler, requires it.
      parameter(place, name, required.includes(name) && !Object.hasOwn(schema, 'default'), schema),
    )
  }
  const headers = Object.entries({ ...propertiesOf(spec.headers), ...(spec.idempotent && IDEMPOTENCY_KEY) })
  return [
    ...[...path.matchAll(/:(\w+)/g)].map(([, name = '']) =>
      parameter('path', name, true, inPath[name] ?? { type: 'string' }),
    ),
    ...parametersIn('query', spec.query, propertiesOf(spec.query)),
    ...parametersIn(
      'header',
      spec.headers,
      Object.fromEntries(headers.filter(([name]) => !NOT_PARAMETERS.has(name))),
    ),
  ]
}

/** The schema of a body that the route reads itself: any JSON, or bytes. */
const rawOf = (contentType: string): Schema => (contentType === JSON_MEDIA_TYPE ? {} : BYTES)

/** The schema of a body of JSON with files, which may be any other parts. */
const withFiles = (schema: Schema): Schema => ({
  type: 'object',
  properties: { [JSON_PART]: schema },
  required: [JSON_PART],
  additionalProperties: { ...BYTES, description: 'A file, in a part named by its field.' },
})

/** The schema of what a client sends under each media type. */
function contentOf(body: RouteBody): [type: string, schema: Schema][] {
  switch (body.kind) {
    case 'json':
      return [
        ...[JSON_MEDIA_TYPE, ...(body.contentTypes ?? [])].map((type): [string, Schema] => [
          type,
          body.schema as Schema,
        ]),
        ...(body.files ? [[MULTIPART_TYPE, withFiles(body.schema as Schema)] as [string, Schema]] : []),
      ]
    case 'form':
      return [[FORM_TYPE, body.schema as Schema]]
    case 'raw':
      return (body.contentTypes ?? ['*/*']).map((type) => [type, rawOf(type)])
    case 'stream':
      return body.contentTypes.map((type) => [type, BYTES])
    case 'multipart': {
      const { file } = body
      const { title: _, ...fields } = body.fields as Schema & { required?: string[] }
      const properties = {
        ...propertiesOf(fields),
        [file.field]: file.max === 1 ? BYTES : { type: 'array', items: BYTES, maxItems: file.max },
      }
      const required = [...(fields.required ?? []), ...(file.required ? [file.field] : [])]
      return [[MULTIPART_TYPE, { ...fields, properties, ...(required.length > 0 && { required }) }]]
    }
  }
}

function requestBodyOf(
  { spec: { body } }: Route,
  operationId: string,
  { schemaOf }: Components,
): object | undefined {
  if (!body) return undefined
  const content = contentOf(body).map(([type, schema]): [string, object] => [
    type,
    { schema: schemaOf(schema, placeOf(operationId, 'Request'), 'request') },
  ])
  return { required: body.kind !== 'stream', content: Object.fromEntries(content) }
}

/** Describes a route as an operation of OpenAPI 3.1. */
export function operationOf(wire: string, route: Route, operationId: string, components: Components): object {
  const { spec } = route
  const parameters = parametersOf(route, operationId, components)
  const requestBody = requestBodyOf(route, operationId, components)
  const readsToken = Object.hasOwn(propertiesOf(spec.headers), AUTHORIZATION)
  const scopeNote =
    spec.scope && `A service key needs one of the scopes \`*\`, \`${wire}\` and \`${spec.scope}\`.`
  const description = [spec.description, scopeNote].filter(Boolean).join('\n\n')
  return {
    operationId,
    summary: spec.summary,
    ...(description && { description }),
    tags: [wire],
    security: spec.access === 'public' && readsToken ? MAYBE_SIGNED_IN : SECURITY[spec.access],
    ...(parameters.length > 0 && { parameters }),
    ...(requestBody && { requestBody }),
    responses: responsesOf(route, operationId, components),
  }
}
