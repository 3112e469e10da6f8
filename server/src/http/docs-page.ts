import { fileURLToPath } from 'node:url'

import type { FastifySwaggerUiOptions } from '@fastify/swagger-ui'
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'

import { packageAsset } from '../base/asset.ts'
import { escapeHtml } from '../base/html.ts'

// The page loads nothing from other origins; its library sets styles of elements by script.
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

// Hides the bar with the library's name and a field for other descriptions. The background is dark from the start if the
// reader prefers a dark one.
const STYLE = `
.swagger-ui .topbar { display: none }
.swagger-ui .info { margin: 32px 0 16px }
.swagger-ui .scheme-container { padding: 16px 0; box-shadow: none; background: none }
html.dark-mode body { background: #1c2022 }
@media (prefers-color-scheme: dark) { html, body { background: #1c2022 } }
`

// The mark, as console/src/style/icon.svg has it: three wires in the form of an S, with six ends.
const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#3b4cf0"/>
<path d="M23 4.8h-7a6.7 6.7 0 0 0 0 13.4a2.3 2.3 0 0 1 0 4.6h-7M23 7h-7a4.5 4.5 0 0 0 0 9a4.5 4.5 0 0 1 0 9h-7M23 9.2h-7a2.3 2.3 0 0 0 0 4.6a6.7 6.7 0 0 1 0 13.4h-7" fill="none" stroke="#fff" stroke-width="1.5" stroke-linecap="round"/></svg>`

const optionsOf = (title: string): FastifySwaggerUiOptions => ({
  routePrefix: '/docs',
  baseDir: fileURLToPath(packageAsset('@fastify/swagger-ui/static/')),
  logo: { type: 'image/svg+xml', content: ICON },
  staticCSP: POLICY,
  uiConfig: {
    validatorUrl: null,
    tryItOutEnabled: true,
    docExpansion: 'list',
    deepLinking: true,
    persistAuthorization: true,
    displayRequestDuration: true,
  },
  theme: {
    title: `${escapeHtml(title)}: API`,
    css: [{ filename: 'page.css', content: STYLE }],
    favicon: [{ filename: 'icon.svg', rel: 'icon', type: 'image/svg+xml', sizes: 'any', content: ICON }],
  },
})

// The rest of a request is not the page's business, and the rest of its answer is that of a connection.
const ASKED = ['if-none-match', 'if-modified-since', 'range', 'if-range']
const NOT_TAKEN = new Set(['connection', 'date', 'keep-alive', 'transfer-encoding'])

/**
 * The page at `/docs`, which shows the description and can try calls. An engine of its own, made at the first request:
 * its library takes a tenth of the start.
 */
export function createDocsPage({ title, describe }: { title: string; describe: () => object }) {
  let created: Promise<FastifyInstance> | undefined

  async function create(): Promise<FastifyInstance> {
    const [{ default: swagger }, { default: swaggerUi }] = await Promise.all([
      import('@fastify/swagger'),
      import('@fastify/swagger-ui'),
    ])
    const engine = fastify()
    // The page takes the description from this plugin. What the plugin itself derives from the engine's routes is
    // not used: it has neither names of schemas nor examples.
    await engine.register(swagger, { hideUntagged: true, transformObject: describe })
    await engine.register(swaggerUi, optionsOf(title))
    return engine
  }

  return {
    answer: async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
      const engine = await (created ??= create())
      const headers = Object.fromEntries(
        ASKED.flatMap((name) => (request.headers[name] ? [[name, request.headers[name]]] : [])),
      )
      const answered = await engine.inject({ method: 'GET', url: request.url, headers })
      if (answered.statusCode === 404) return reply.callNotFound()
      for (const [name, value] of Object.entries(answered.headers))
        if (value !== undefined && !NOT_TAKEN.has(name)) reply.header(name, value)
      const { rawPayload } = answered
      return reply.code(answered.statusCode).send(rawPayload.length > 0 ? rawPayload : undefined)
    },
    close: async (): Promise<void> => (await created)?.close(),
  }
}
