import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'

import { errors, type ErrorKind } from '../base/errors.ts'
import type { Access } from './policy.ts'
import type { Route } from './route.ts'
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

/** The `responses` of a route's failures: one for each status, naming its codes. */
function failures(route: Route): Record<string, unknown> {
  const byStatus = Map.groupBy(errorsOf(route), (kind) => kind.status)
  return Object.fromEntries(
    [...byStatus].map(([status, kinds]) => [
      status,
      {
        description: kinds.map((kind) => `\`${kind.code}\`: ${kind.message}`).join('\n\n'),
        type: 'object',
        required: ['error'],
        properties: {
          error: {
            type: 'object',
            required: ['code', 'message'],
            properties: {
              code: { type: 'string', enum: kinds.map((kind) => kind.code) },
              message: { type: 'string' },
              details: { type: 'object' },
            },
          },
        },
      },
    ]),
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

const idempotencyHeader = {
  type: 'object',
  properties: {
    'idempotency-key': {
      type: 'string',
      description:
        'The same key and body within 24 hours answer the first answer again, and do nothing twice.',
    },
  },
}

// The page loads nothing from anywhere else; its library sets styles of elements from script.
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Serves the description of every route as OpenAPI 3.1 at `/openapi.json`, and a page to try them at `/docs`. */
export async function registerDescription(
  engine: FastifyInstance,
  about: { title: string; version: string; url: string },
  groups: readonly RouteGroup[],
): Promise<void> {
  const routes = new Map<string, { wire: string; route: Route }>()
  for (const { wire, routes: own } of groups) for (const route of own) routes.set(route.key, { wire, route })

  await engine.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: about.title, version: about.version },
      servers: [{ url: about.url }],
      tags: groups.map(({ wire }) => ({ name: wire })),
      components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
    },
    // Runs when the description is asked for, so that a start does not pay for it.
    transform({ schema, url, route: { method } }) {
      const known = routes.get(`${String(method)} ${url}`)
      if (!known) return { schema: { ...schema, hide: true }, url }
      const { spec } = known.route
      return {
        url,
        schema: {
          ...schema,
          summary: spec.summary,
          ...(spec.description && { description: spec.description }),
          tags: [known.wire],
          security: SECURITY[spec.access],
          ...(spec.idempotent && { headers: idempotencyHeader }),
          response: {
            ...Object.fromEntries(
              Object.entries(spec.reply).map(([status, body]) => [status, { description: 'Done', ...body }]),
            ),
            ...failures(known.route),
          },
        },
      }
    },
  })
  await engine.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: PAGE_POLICY,
    uiConfig: {
      validatorUrl: null,
      persistAuthorization: true,
      tryItOutEnabled: true,
      docExpansion: 'list',
      deepLinking: true,
    },
    theme: { title: `${about.title}: API` },
  })
  engine.get('/openapi.json', { schema: { hide: true } }, async () => engine.swagger())
}
