import { readFile, readdir } from 'node:fs/promises'
import { extname } from 'node:path'

import type { FastifyPluginAsync } from 'fastify'

// The page writes text only, never HTML, and runs its own files only. A mail is shown in a frame without scripts and
// without an origin; a frame made of text has its parent's policy, and mails have styles in them and pictures elsewhere.
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: http: https:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/**
 * The page at `/sandbox` that shows and drives the stand-ins; everything that it does, it does by `/sandbox/api`.
 *
 * @param base where the sandbox answers, from outside
 */
export const createPage =
  (base: string): FastifyPluginAsync =>
  async (engine) => {
    const folder = new URL('./page/', import.meta.url)
    const root = new URL(base).pathname
    for (const name of await readdir(folder)) {
      const type = TYPES[extname(name)]
      if (type === undefined) continue
      const text = await readFile(new URL(name, folder), 'utf8')
      const isPage = name === 'index.html'
      const content = isPage ? text.replaceAll('{{root}}', root) : text
      engine.get(isPage ? '/' : `/page/${name}`, async (_request, reply) =>
        reply
          .headers({ 'content-type': type, 'content-security-policy': POLICY, 'cache-control': 'no-cache' })
          .send(content),
      )
    }
  }
