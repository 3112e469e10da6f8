import type { FastifyPluginAsync } from 'fastify'

import { createFiles } from './files.ts'

// The page writes text only, never HTML, and runs its own files only. A mail is shown in a frame without scripts and
// without an origin; a frame made of text has its parent's policy beside its own stricter one,
// and mails have styles in them and, where somebody asks for them, pictures elsewhere.
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

/**
 * The page at `/sandbox` that shows and drives the stand-ins; everything that it does, it does by `/sandbox/api`.
 *
 * @param base where the sandbox answers, from outside
 * @param appUrl where the application's own pages are
 */
export const createPage = (base: string, appUrl: string): FastifyPluginAsync =>
  createFiles(new URL('./page/', import.meta.url), {
    at: '/page',
    pages: ['/'],
    words: { root: new URL(base).pathname, app: appUrl },
    policy: POLICY,
  })
