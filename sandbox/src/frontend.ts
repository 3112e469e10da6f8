import type { FastifyPluginAsync } from 'fastify'

import { sandboxAsset } from './asset.ts'
import type { Settings } from '../../server/src/kernel/config/config.ts'
import { createFiles } from './files.ts'

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // The QR code of an authenticator app.
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** The path of the frontend's stand-in, the default of `APP_URL`. */
const FRONTEND = '/app'

const PAGES = [
  '',
  ...['verify', 'reset', 'magic-link', 'callback', 'change-email', 'undo-email-change'].map(
    (page) => `/auth/${page}`,
  ),
]

/**
 * Stands in for the application's own frontend: the pages that links in mails and identity providers lead to, and forms
 * to sign up and in. It uses the API as any frontend would, and is short enough to be read as an example of one.
 */
export const createFrontend = ({ name, publicUrl, sandboxUrl }: Settings): FastifyPluginAsync =>
  createFiles({
    folder: sandboxAsset('frontend/'),
    at: `${FRONTEND}/files`,
    pages: PAGES.map((page) => FRONTEND + page),
    words: {
      root: new URL(sandboxUrl).pathname,
      api: new URL(sandboxUrl).pathname.replace(/\/sandbox$/, ''),
      origin: new URL(sandboxUrl).origin,
      // A sign-in has to start here: providers redirect to this name, and the cookie is for it alone.
      public: publicUrl,
      name,
    },
    policy: POLICY,
  })
