import {
  queryText,
  type SampleValue,
  type SampleFields,
  type SampleAnswer,
  type SampleCall,
  type SampleFile,
} from './call.ts'
import { exampleValue, type ExampleSchema } from './example.ts'

type Media = { readonly schema?: ExampleSchema }
type Parameter = {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly example?: SampleValue
  readonly schema?: ExampleSchema
}

/** An operation of OpenAPI 3.1, as far as a call needs it. */
export type RouteOperation = {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags: readonly string[]
  readonly security: readonly object[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> }
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, unknown>> }>>
}

/** What `/openapi.json` has of the routes. */
export type RouteDescription = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, RouteOperation>>>>
}

/** A route of the server. */
export type DescribedRoute = {
  readonly id: string
  readonly method: string
  /** As the routes write it: `/store/:collection/:id`. */
  readonly path: string
  readonly summary: string
  readonly description: string
  readonly wire: string
  /** The call with the examples of the description; undefined if its body is of a protocol of its own. */
  readonly call: SampleCall | undefined
}

const JSON_TYPE = 'application/json'
const MULTIPART = 'multipart/form-data'
const COLLECTION = '/store/{collection}'

/** The routes of a server in the order of their description, each with an example of a call. */
export const describedRoutes = (description: RouteDescription, baseUrl: string): DescribedRoute[] =>
  Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      id: operation.operationId,
      method: method.toUpperCase(),
      path: withColons(path),
      summary: operation.summary,
      description: operation.description ?? '',
      wire: operation.tags[0] ?? '',
      call: callOf(description, baseUrl, path, method, operation),
    })),
  )

const withColons = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1')

function callOf(
  description: RouteDescription,
  baseUrl: string,
  path: string,
  method: string,
  operation: RouteOperation,
): SampleCall | undefined {
  const { parameters = [], requestBody, security, summary } = operation
  const content = requestBody?.content
  const media = content?.[JSON_TYPE]
  const form = media ? undefined : content?.[MULTIPART]
  const needsHeader = parameters.some((one) => one.in === 'header' && one.required)
  if ((content && !media && !form) || needsHeader) return undefined
  const root = description as unknown as ExampleSchema
  const examples = (place: string): SampleFields =>
    Object.fromEntries(
      parameters.flatMap((one) => {
        if (one.in !== place || (one.example === undefined && !one.required)) return []
        return [[one.name, one.example ?? exampleValue(one.schema ?? {}, {}, root) ?? 'text']]
      }),
    )
  const own = ownCollection(description, path, method, summary)
  return {
    baseUrl,
    method: method.toUpperCase(),
    path: withColons(own ? path.replace(`/store/${own}`, COLLECTION) : path),
    params: {
      ...(own && { collection: own }),
      ...Object.fromEntries(
        Object.entries(examples('path')).map(([name, value]) => [name, queryText(value)]),
      ),
    },
    query: examples('query'),
    ...(media && { body: exampleValue(media.schema ?? {}, {}, root) ?? {} }),
    ...(form && { file: fileOf(form.schema ?? {}, root) }),
    hasToken: security.some((one) => 'bearer' in one),
    answer: answerOf(operation),
  }
}

/** The collection of a route that is described once more for it: `/store/books`. */
function ownCollection(
  { paths }: RouteDescription,
  path: string,
  method: string,
  summary: string,
): string | undefined {
  const [, name, rest = ''] = /^\/store\/([^/{}]+)(\/\{id\})?$/.exec(path) ?? []
  const isOwn = name !== undefined && summary.startsWith(`${name}: `) && paths[COLLECTION + rest]?.[method]
  return isOwn ? name : undefined
}

/** The part of a form that has the file, and the other parts that it needs. */
function fileOf(schema: ExampleSchema, root: ExampleSchema): SampleFile {
  const { $ref } = schema as { $ref?: string }
  const own = $ref === undefined ? schema : schemaAt(root, $ref)
  const { properties = {}, required = [] } = own as {
    properties?: Record<string, ExampleSchema>
    required?: string[]
  }
  const isFile = ({ format, items }: ExampleSchema): boolean =>
    format === 'binary' || (items as ExampleSchema | undefined)?.['format'] === 'binary'
  const [field = 'file'] = Object.entries(properties).find(([, one]) => isFile(one)) ?? []
  const fields = required
    .filter((name) => name !== field)
    .map((name): [string, SampleValue] => [name, exampleValue(properties[name] ?? {}, {}, root) ?? 'text'])
  return { field, name: 'notes.txt', type: 'text/plain', fields: Object.fromEntries(fields) }
}

const schemaAt = (root: ExampleSchema, reference: string): ExampleSchema => {
  let found: unknown = root
  for (const name of reference.slice('#/'.length).split('/'))
    found = (found as ExampleSchema | undefined)?.[name]
  return (found ?? {}) as ExampleSchema
}

function answerOf({ responses }: RouteOperation): SampleAnswer {
  const status = Object.keys(responses).find((one) => /^[23]/.test(one)) ?? '204'
  if (status.startsWith('3')) return 'page'
  const types = Object.keys(responses[status]?.content ?? {})
  if (types.includes('text/event-stream')) return 'events'
  if (types.includes(JSON_TYPE)) return 'json'
  if (types.includes('*/*')) return 'bytes'
  if (types.length > 0) return 'text'
  return 'nothing'
}
