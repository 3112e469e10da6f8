import type { IncomingHttpHeaders } from 'node:http'

/**
 * Whether a browser says that a page of this server sends the request: what a cookie may be used for. A client that says
 * nothing is none.
 *
 * @param publicUrl the address of the server for its clients: a proxy may send another name on, and browsers say
 *   `Sec-Fetch-Site` to https only
 * https://www.w3.org/TR/fetch-metadata/#sec-fetch-site-header
 */
export function isSameOrigin(headers: IncomingHttpHeaders, publicUrl: string): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin'
  const { origin, host } = headers
  if (origin === undefined || !URL.canParse(origin)) return false
  return origin === new URL(publicUrl).origin || new URL(origin).host === host
}
