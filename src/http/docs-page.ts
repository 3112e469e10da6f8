import type { FastifySwaggerUiOptions } from '@fastify/swagger-ui'

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

// Six wires.
const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#173b57"/>
<path d="M7 6v20M10.6 6v20M14.2 6v20M17.8 6v20M21.4 6v20M25 6v20" stroke="#7fd4c1" stroke-width="1.6" stroke-linecap="round"/></svg>`

/** The page at `/docs`, which shows the description and can try calls. */
export const docsPage = (title: string): FastifySwaggerUiOptions => ({
  routePrefix: '/docs',
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
