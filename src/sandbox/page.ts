import type { FastifyPluginAsync } from 'fastify'

import { asset } from '../base/asset.ts'
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

/**
 * The page at `/sandbox` that shows and drives the stand-ins, by `/sandbox/api` alone.
 *
 * @param base the address of the sandbox
 * @param appUrl the address of the application's own pages
 * @param unused the names of the stand-ins that the application does not use
 */
export const createPage = (base: string, appUrl: string, unused: readonly string[]): FastifyPluginAsync =>
  createFiles(asset('sandbox/page/'), {
    at: '/page',
    pages: ['/'],
    words: { root: new URL(base).pathname, app: appUrl, unused: unused.join(' ') },
    policy: POLICY,
  })
