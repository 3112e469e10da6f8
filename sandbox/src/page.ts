import type { FastifyPluginAsync } from 'fastify'

import { sandboxAsset } from './asset.ts'
import { escapeHtml } from '../../server/src/base/html.ts'
import { loadPageFiles, sendAsset } from '../../server/src/http/page-files.ts'
import { createFiles } from './files.ts'

// The page writes text only, never HTML, and runs its own files only. A mail is shown in a frame without scripts and
// without an origin. A srcdoc frame inherits this policy beside its own stricter one, and mails contain styles and, if
// the reader asks for them, pictures from other servers.
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

const HEADERS = { 'content-security-policy': POLICY, 'cache-control': 'no-cache' }

/**
 * The page at `/sandbox` that shows and drives the stand-ins, by `/sandbox/api` alone, and the sheets of the providers' pages.
 *
 * @param base the address of the sandbox
 * @param appUrl the address of the application's own pages
 * @param unused the names of the stand-ins that the application does not use
 */
export const createPage =
  ({
    base,
    appUrl,
    unused,
  }: {
    base: string
    appUrl: string
    unused: readonly string[]
  }): FastifyPluginAsync =>
  async (engine) => {
    const words = new Map([
      ['root', new URL(base).pathname],
      ['app', appUrl],
      ['unused', unused.join(' ')],
    ])
    engine.get('/', async (_request, reply) => {
      const { bytes, type } = (await loadPageFiles()).get('sandbox.html')!
      const page = bytes
        .toString()
        .replaceAll(/\{\{(\w+)\}\}/g, (_, word: string) => escapeHtml(words.get(word) ?? ''))
      return reply.headers(HEADERS).type(type).send(page)
    })
    engine.get<{ Params: { name: string } }>('/page/:name', (request, reply) =>
      sendAsset(request.params.name, request, reply),
    )
    await engine.register(
      createFiles({ folder: sandboxAsset('page/'), at: '/page', pages: [], words: {}, policy: POLICY }),
    )
  }
