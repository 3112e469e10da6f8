import { deflateRawSync, inflateRawSync } from 'node:zlib'

import type { Clock } from '../../../base/clock.ts'
import { deriveKey } from '../../../base/crypto.ts'
import { answer, type Answer } from '../../../http/route.ts'
import type { StoredText } from './template-texts.ts'

/** The path of the page that shows the HTML of a mail in a frame. */
export const PREVIEW_PATH = '/messaging/preview'

/** What a page shows: a template with values, or a message whose content is still stored. */
export type PreviewSubject =
  | {
      template: string
      data: Record<string, unknown>
      language?: string | undefined
      draft?: StoredText | undefined
    }
  | { messageId: string }

/** Which colours a mail is shown in that is made for both. */
export const SCHEMES = ['light', 'dark'] as const

/** Addresses of pages that a frame can load, which sends no bearer token. */
export type Previews = {
  /** An address for 15 minutes; undefined if the values are too long for one. */
  addressOf(subject: PreviewSubject): string | undefined
  /** What an address shows; undefined if it is forged, or its time is over. */
  open(token: string): PreviewSubject | undefined
}

const LIFETIME_MS = 900_000
/** Proxies and servers take lines of 8 KiB. */
const TOKEN_MAX = 6_000
const CONTEXT = 'preview'

/** @param secret `SIXWIRE_SECRET`: what is shown is sealed in the address, so that logs on the way do not have it */
export function createPreviews(
  { clock }: { clock: Pick<Clock, 'now'> },
  { secret }: { secret: string },
): Previews {
  const key = deriveKey(secret, 'messaging-preview')
  return {
    addressOf(subject) {
      const text = JSON.stringify({ ...subject, until: clock.now() + LIFETIME_MS })
      const token = key.sealBytes(deflateRawSync(text), CONTEXT)
      return token.length > TOKEN_MAX ? undefined : `${PREVIEW_PATH}?token=${token}`
    },
    open(token) {
      try {
        const text = inflateRawSync(key.openBytes(token, CONTEXT)).toString('utf8')
        const { until, ...subject } = JSON.parse(text) as PreviewSubject & { until: number }
        return until > clock.now() ? subject : undefined
      } catch {
        return undefined
      }
    },
  }
}

// A mail may be of anybody: nothing in it runs, sends, leads anywhere or loads from elsewhere. `sandbox` holds for the page
// alone too, if its address is opened outside of a frame.
const POLICY = [
  'sandbox',
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'self'",
].join('; ')

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': POLICY,
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
  'x-dns-prefetch-control': 'off',
  'x-robots-tag': 'noindex',
}

/** The HTML of a mail as a page. @param scheme default: what the reader prefers */
export const previewPage = (html: string, scheme?: (typeof SCHEMES)[number]): Answer<Blob> =>
  answer<Blob>(inScheme(withoutConnections(html), scheme), { headers: HEADERS })

/**
 * Browsers connect to the servers of these before the policy of the page stops them, which would tell a sender that the mail
 * is read: Chromium does for `<link rel="preconnect">` and for `<iframe>`.
 */
const CONNECTING = /<(?=(?:link|iframe|frame|fencedframe|object|embed|portal)[\s/>])/gi

const withoutConnections = (html: string): string => html.replaceAll(CONNECTING, '<x-')

/** What a mail says for one scheme holds always, and for the other one never: a frame cannot prefer one by itself. */
function inScheme(html: string, scheme: (typeof SCHEMES)[number] | undefined): string {
  if (scheme === undefined || !/color-scheme/i.test(html)) return html
  const page = html.replaceAll(/\(\s*prefers-color-scheme\s*:\s*(light|dark)\s*\)/gi, (_all, name: string) =>
    name.toLowerCase() === scheme ? '(min-width: 0)' : '(max-width: 0)',
  )
  return `${page}<style>:root { color-scheme: ${scheme} !important }</style>`
}
