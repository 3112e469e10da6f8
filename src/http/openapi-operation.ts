import { errors, type ErrorKind } from '../base/errors.ts'
import { STATUS_CODES } from '../base/node-http.ts'
import type { RouteBody } from './bodies.ts'
import { FORM_TYPE, JSON_MEDIA_TYPE, MULTIPART_TYPE } from './body-parsers.ts'
import { limitOf } from './limits.ts'
import { ErrorSchema, exampleOf, type Components, type Schema } from './openapi-schemas.ts'
import type { Access } from './access.ts'
import { Bytes, NoBody, type ErrorDetails, type Route } from './route.ts'

/** The errors that a route may answer, from its specification. */
export function errorsOf({ spec, method, path }: Route): ErrorKind[] {
  const kinds = new Set<ErrorKind>([
    errors.too_many_concurrent,
    errors.internal_error,
    errors.unavailable,
    ...(spec.errors ?? []),
  ])
  if (spec.body || spec.query || spec.params || spec.headers || spec.idempotent)
    kinds.add(errors.validation_error)
  if (method !== 'GET') {
    kinds.add(errors.validation_error)
    kinds.add(errors.payload_too_large)
    kinds.add(errors.unsupported_media_type)
  }
  if (spec.access !== 'public') {
    kinds.add(errors.unauthorized)
    kinds.add(errors.forbidden)
    kinds.add(errors.email_not_verified)
  }
  if (limitOf(spec)) kinds.add(errors.rate_limited)
  if (spec.idempotent) kinds.add(errors.idempotency_conflict)
  if (/:(id|\w+Id)\b/.test(path)) kinds.add(errors.not_found)
  return [...kinds]
}

/** The schema of an error, with the codes of one status and the details of every error of the route. */
function failureSchema(kinds: readonly ErrorKind[], routeDetails: ErrorDetails | undefined): Schema {
  const details = routeDetails && {
    type: 'object',
    required: Object.keys(routeDetails),
    properties: Object.fromEntries(
      Object.keys(routeDetails).map((name) => [name, { type: ['string', 'null'] }]),
    ),
  }
  const code = { type: 'string', enum: kinds.map((kind) => kind.code) }
  const error = {
    type: 'object',
    ...(details && { required: ['details'] }),
    properties: { code, ...(details && { details }) },
  }
  return { allOf: [ErrorSchema, { type: 'object', properties: { error } }] }
}

/** The responses of a route by status: its own reply, its errors, or either. */
function responsesOf(route: Route, { schemaOf, responseOf }: Components): Record<string, unknown> {
  const { reply: replies, errorDetails } = route.spec
  const failures = Map.groupBy(errorsOf(route), (kind) => kind.status)
  const statuses = [...new Set([...Object.keys(replies).map(Number), ...failures.keys()])]
  return Object.fromEntries(
    statuses.map((status) => {
      const reply = replies[status] as Schema | undefined
      const kinds = failures.get(status) ?? []
      const schemas = [
        ...(reply ? [reply] : []),
        ...(kinds.length > 0 ? [failureSchema(kinds, errorDetails)] : []),
      ]
      const description = [
        ...(reply ? [STATUS_CODES[status] ?? 'Answered'] : []),
        ...kinds.map((kind) => `\`${kind.code}\`: ${kind.message}`),
      ].join('\n\n')
      if (replies[status] === NoBody) return [status, { description }]
      const schema = schemaOf(schemas.length === 1 ? schemas[0]! : { anyOf: schemas })
      // A handler that answers a string sends it as it is.
      const isText = reply?.['type'] === 'string'
      const ofText = (reply?.['contentMediaType'] as string | undefined) ?? 'text/plain'
      const type = replies[status] === Bytes ? '*/*' : isText ? ofText : 'application/json'
      const response = { description, content: { [type]: { schema } } }
      // Many routes share a response of errors, so its name is made of its content.
      const name = [...kinds.map((kind) => kind.code), ...Object.keys(errorDetails ?? {})].join('.')
      return [status, reply ? response : responseOf(name, response)]
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

function parametersOf({ spec, path }: Route, { schemaOf }: Components): object[] {
  const parameter = (place: string, name: string, required: boolean, annotated: Schema) => {
    const { description, examples: _, ...schema } = annotated
    const example = required || annotated['examples'] ? exampleOf(annotated) : undefined
    return {
      name,
      in: place,
      required,
      ...(description !== undefined && { description }),
      // A component has its description and examples wherever it is used.
      schema: schemaOf(annotated['title'] === undefined ? schema : annotated),
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

/** Bytes, as OpenAPI 3.1 describes them: https://spec.openapis.org/oas/v3.1.0.html#considerations-for-file-uploads */
const bytesOf = (contentMediaType: string): Schema => ({ contentMediaType })

/** The schema of what a client sends under each media type. */
function contentOf(body: RouteBody): [type: string, schema: Schema][] {
  switch (body.kind) {
    case 'json':
      return [JSON_MEDIA_TYPE, ...(body.contentTypes ?? [])].map((type) => [type, body.schema as Schema])
    case 'form':
      return [[FORM_TYPE, body.schema as Schema]]
    case 'raw':
      return body.contentTypes?.map((type) => [type, bytesOf(type)]) ?? [['*/*', {}]]
    case 'multipart': {
      const { file } = body
      const { title: _, ...fields } = body.fields as Schema & { required?: string[] }
      const properties = { ...propertiesOf(fields), [file.field]: bytesOf('application/octet-stream') }
      const required = [...(fields.required ?? []), ...(file.required ? [file.field] : [])]
      return [[MULTIPART_TYPE, { ...fields, properties, ...(required.length > 0 && { required }) }]]
    }
  }
}

function requestBodyOf({ spec: { body } }: Route, { schemaOf }: Components): object | undefined {
  if (!body) return undefined
  const content = contentOf(body).map(([type, schema]): [string, object] => {
    // An example can't hold a file.
    const example = body.kind === 'multipart' ? undefined : exampleOf(schema)
    return [type, { schema: schemaOf(schema), ...(example !== undefined && { example }) }]
  })
  return { required: true, content: Object.fromEntries(content) }
}

/** Describes a route as an operation of OpenAPI 3.1. */
export function operationOf(wire: string, route: Route, operationId: string, components: Components): object {
  const { spec } = route
  const parameters = parametersOf(route, components)
  const requestBody = requestBodyOf(route, components)
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
    responses: responsesOf(route, components),
  }
}
