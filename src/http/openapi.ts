import { STATUS_CODES } from 'node:http'

import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'

import { errors, type ErrorKind } from '../base/errors.ts'
import { docsPage } from './docs-page.ts'
import type { Access } from './policy.ts'
import type { ErrorDetails, Route } from './route.ts'
import type { RouteGroup } from './server.ts'

/** Every code that a route may answer beside its success, from what the route is. */
export function errorsOf({ spec, method }: Route): ErrorKind[] {
  const kinds = new Set<ErrorKind>([errors.internal_error, errors.unavailable, ...(spec.errors ?? [])])
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
  if (spec.limit) kinds.add(errors.rate_limited)
  if (spec.idempotent) kinds.add(errors.idempotency_conflict)
  return [...kinds]
}

type Schema = Record<string, unknown>

/** The details of a failure: what they hold always is said, the rest depends on the code. */
const detailsOf = (always: ErrorDetails | undefined): Schema => ({
  type: 'object',
  ...(always && {
    required: Object.keys(always),
    properties: Object.fromEntries(Object.keys(always).map((name) => [name, { type: ['string', 'null'] }])),
  }),
})

/** Of the failures with one status: the envelope with their codes. */
const failure = (kinds: readonly ErrorKind[], always: ErrorDetails | undefined): Schema => ({
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message', ...(always ? ['details'] : [])],
      properties: {
        code: { type: 'string', enum: kinds.map((kind) => kind.code) },
        message: { type: 'string' },
        details: detailsOf(always),
      },
    },
  },
})

/** What a route answers: under each status its own reply, its failures, or either. */
function responsesOf(route: Route): Record<string, unknown> {
  const failures = Map.groupBy(errorsOf(route), (kind) => kind.status)
  const replies = new Map(Object.entries(route.spec.reply).map(([status, body]) => [Number(status), body]))
  const statuses = [...new Set([...replies.keys(), ...failures.keys()])]
  return Object.fromEntries(
    statuses.map((status) => {
      const reply = replies.get(status) as Schema | undefined
      const kinds = failures.get(status) ?? []
      const schemas = [
        ...(reply ? [reply] : []),
        ...(kinds.length > 0 ? [failure(kinds, route.spec.errorDetails)] : []),
      ]
      const description = [
        ...(reply ? [STATUS_CODES[status] ?? 'Answered'] : []),
        ...kinds.map((kind) => `\`${kind.code}\`: ${kind.message}`),
      ].join('\n\n')
      const schema = schemas.length === 1 ? schemas[0] : { anyOf: schemas }
      // A handler that answers a string sends it as it is.
      const type = reply?.['type'] === 'string' ? 'text/plain' : 'application/json'
      return [status, { description, content: { [type]: { schema } } }]
    }),
  )
}

type Requirement = { [scheme: string]: string[] }
const SIGNED_IN: Requirement[] = [{ bearer: [] }]
const SECURITY: Record<Access, Requirement[]> = {
  public: [],
  optional: [{}, { bearer: [] }],
  session: SIGNED_IN,
  user: SIGNED_IN,
  admin: SIGNED_IN,
}

const IDEMPOTENCY_KEY = {
  'idempotency-key': {
    type: 'string',
    description: 'The same key and body within 24 hours answer the first answer again, and do nothing twice.',
  },
}

/** The headers that a route reads, those of the frame among them. */
function headersOf({ spec }: Route): Schema | undefined {
  if (!spec.idempotent) return spec.headers as Schema | undefined
  const own: { properties?: Schema } | undefined = spec.headers
  return { type: 'object', ...own, properties: { ...own?.properties, ...IDEMPOTENCY_KEY } }
}

/** A parameter with a default can be left out, which its schema, made for the handler, does not say. */
function queryOf({ spec }: Route): Schema | undefined {
  if (!spec.query) return undefined
  const query = spec.query as { properties?: Record<string, Schema>; required?: string[] }
  const isNeeded = (name: string) => !Object.hasOwn(query.properties?.[name] ?? {}, 'default')
  return { ...query, required: query.required?.filter(isNeeded) ?? [] }
}

const ABOUT = `JSON in, JSON out. To try calls that need a user: register or log in below, copy the \`token\` of the answer,
press **Authorize** and paste it.`

/** Where the description is answered. */
export const DESCRIPTION = [
  { method: 'GET', path: '/openapi.json' },
  { method: 'GET', path: '/docs' },
] as const

/** Serves the description of every route as OpenAPI 3.1 at `/openapi.json`, and a page to try them at `/docs`. */
export async function registerDescription(
  engine: FastifyInstance,
  about: { title: string; version: string; url: string },
  groups: readonly RouteGroup[],
): Promise<void> {
  const prefix = new URL(about.url).pathname
  const routes = new Map<string, { wire: string; route: Route }>()
  for (const { wire, routes: own } of groups) for (const route of own) routes.set(route.key, { wire, route })

  await engine.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: about.title, version: about.version, description: ABOUT },
      // Calls go to the server that was asked, under whatever name it was reached; only a prefix must be known.
      ...(prefix !== '/' && { servers: [{ url: prefix }] }),
      tags: groups.map(({ wire }) => ({ name: wire })),
      components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
    },
    // Runs when the description is asked for, so that a start does not pay for it.
    transform({ schema, url, route: { method } }) {
      const known = routes.get(`${String(method)} ${url}`)
      if (!known) return { schema: { ...schema, hide: true }, url }
      const { spec } = known.route
      const headers = headersOf(known.route)
      const query = queryOf(known.route)
      return {
        url,
        schema: {
          ...schema,
          summary: spec.summary,
          ...(spec.description && { description: spec.description }),
          tags: [known.wire],
          security: SECURITY[spec.access],
          ...(query && { querystring: query }),
          ...(headers && { headers }),
          response: responsesOf(known.route),
        },
      }
    },
  })
  await engine.register(swaggerUi, docsPage(about.title))
  engine.get('/openapi.json', { schema: { hide: true } }, async () => engine.swagger())
}
