import { createHash } from 'node:crypto'

import type { FastifyInstance, FastifyRequest } from 'fastify'

import { createDocsPage } from './docs-page.ts'
import { JSON_TYPE } from './failures.ts'
import { operationOf } from './openapi-operation.ts'
import { createComponents } from './openapi-components.ts'
import { titledSchemas } from './openapi-titles.ts'
import type { Route, RouteGroup } from './route.ts'

const ABOUT = `Requests and answers are JSON. Every call has an example that can be sent as it is. For calls that need a user, sign up
with \`POST /auth/register\`, copy the \`token\` of the answer, press **Authorize** and paste it.`

const byName = <T>(named: Record<string, T>): Record<string, T> =>
  Object.fromEntries(Object.entries(named).toSorted(([a], [b]) => (a < b ? -1 : 1)))

const capitalized = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)

/**
 * Names an operation: the method, then the words of the path, in which a parameter is `By` and its name. A POST to a
 * path without parameters is an action: it goes by its path alone.
 *
 * @example POST /auth/login → authLogin, DELETE /auth/sessions/:id → deleteAuthSessionsById
 */
function operationIdOf({ method, path }: Route): string {
  const words = path
    .replaceAll(':', 'by-')
    .split(/[^a-zA-Z0-9]+/)
    .filter(Boolean)
  const isAction = method === 'POST' && !path.includes(':') && /^[a-z]/i.test(words[0] ?? '')
  const name = [...(isAction ? [] : [method.toLowerCase()]), ...words].map(capitalized).join('')
  return name.charAt(0).toLowerCase() + name.slice(1)
}

/** Title and version of the description, and the address under which the server is reached, if it is configured. */
export type About = { title: string; version: string; url: string | undefined }

/** The groups with their variants. */
function withVariants(groups: readonly RouteGroup[]): RouteGroup[] {
  const titles = new Set(titledSchemas(groups).map(({ title }) => title))
  return groups.map((group) => {
    const variants = group.variants?.((title) => titles.has(title)) ?? []
    for (const { title } of titledSchemas([{ ...group, routes: variants }])) titles.add(title)
    return { ...group, routes: [...group.routes, ...variants] }
  })
}

/** Describes every route as OpenAPI 3.1. */
function describe(about: About, served: readonly RouteGroup[]): object {
  const groups = withVariants(served)
  const components = createComponents(groups)
  const paths: Record<string, Record<string, object>> = {}
  const ids = new Set<string>()
  for (const { wire, routes } of groups)
    for (const one of routes) {
      const name = operationIdOf(one)
      let id = name
      for (let count = 2; ids.has(id); count++) id = `${name}${count}`
      ids.add(id)
      const path = (paths[one.path.replaceAll(/:(\w+)/g, '{$1}')] ??= {})
      path[one.method.toLowerCase()] = operationOf(wire, one, id, components)
    }
  return {
    openapi: '3.1.0',
    info: { title: about.title, version: about.version, description: ABOUT },
    ...(about.url !== undefined && { servers: [{ url: about.url }] }),
    tags: groups.map(({ wire, description }) => ({ name: wire, ...(description && { description }) })),
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
      schemas: byName(components.schemas),
      responses: byName(components.responses),
    },
    paths,
  }
}

/** The addresses of the description. */
export const DESCRIPTION = [
  { method: 'GET', path: '/openapi.json' },
  { method: 'GET', path: '/docs' },
] as const

/**
 * Serves the description of every route at `/openapi.json`, and a page to try them at `/docs`. It is built at
 * the first request and cached until a wire describes others, so that it does not slow the start.
 *
 * @param admit throws if a request for either may not be answered
 */
export async function registerDescription(
  engine: FastifyInstance,
  about: About,
  groups: readonly RouteGroup[],
  admit: (request: FastifyRequest) => Promise<void>,
): Promise<void> {
  let cached: { description: object; text: string; etag: string; of: unknown[] } | undefined
  function description() {
    const of = groups.map(({ variantsOf }) => variantsOf?.())
    if (!cached || of.some((one, i) => one !== cached?.of[i])) {
      const described = describe(about, groups)
      const text = JSON.stringify(described)
      const etag = `"${createHash('sha256').update(text).digest('base64url')}"`
      cached = { description: described, text, etag, of }
    }
    return cached
  }
  // Its calls go to the server that the page comes from.
  const servers = about.url === undefined ? undefined : [{ url: new URL(about.url).pathname }]
  const page = createDocsPage({
    title: about.title,
    describe: () => ({
      ...description().description,
      ...(servers && { servers }),
    }),
  })
  engine.addHook('onClose', page.close)

  await engine.register(async (pages) => {
    pages.addHook('onRequest', admit)
    for (const path of ['/docs', '/docs/*']) pages.get(path, page.answer)
    pages.get('/openapi.json', async (request, reply) => {
      const { text, etag } = description()
      const ifNoneMatch = request.headers['if-none-match'] ?? ''
      reply.headers({ etag, 'cache-control': 'no-cache' })
      if (ifNoneMatch === '*' || ifNoneMatch.includes(etag)) return reply.code(304).send()
      return reply.type(JSON_TYPE).send(text)
    })
  })
}
