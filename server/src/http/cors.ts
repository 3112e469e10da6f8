import type { FastifyReply, FastifyRequest } from 'fastify'

import { LOOPBACK_ORIGIN } from '../base/loopback.ts'
import { METHODS } from './route.ts'

/** The headers of answers that pages of other origins may read. */
const EXPOSED_HEADERS = {
  'access-control-expose-headers':
    'accept-ranges, content-disposition, content-range, etag, idempotency-replayed, retry-after, x-request-id',
}

const PREFLIGHT_HEADERS = {
  // A route may have others for its answers.
  ...EXPOSED_HEADERS,
  'access-control-allow-methods': METHODS.join(', '),
  'access-control-max-age': '600',
  'content-length': '0',
}

/**
 * Makes the function that adds to headers what lets a page of an origin read an answer:
 * https://fetch.spec.whatwg.org/#http-cors-protocol
 *
 * @param options.headers those of every answer
 * @param options.origins that may, `*` for any; outside production loopback origins may as well
 */
export function createCors({
  headers,
  origins,
  production,
}: {
  headers: Readonly<Record<string, string>>
  origins: readonly string[]
  production: boolean
}): (origin: string | undefined) => Readonly<Record<string, string>> {
  const shared = { ...headers, ...EXPOSED_HEADERS }
  if (origins.includes('*')) {
    const open = { ...shared, 'access-control-allow-origin': '*' }
    return () => open
  }
  const isAllowed = (origin: string): boolean =>
    origins.includes(origin) || (!production && LOOPBACK_ORIGIN.test(origin))
  const refused = { ...headers, vary: 'Origin' }
  return (origin) =>
    origin !== undefined && isAllowed(origin)
      ? { ...shared, vary: 'Origin', 'access-control-allow-origin': origin }
      : refused
}

/** Answers OPTIONS, also of clients that are not browsers. The headers for the origin are set. */
export function answerPreflight({ headers }: FastifyRequest, reply: FastifyReply): void {
  const asked = headers['access-control-request-headers']
  void reply
    .headers(PREFLIGHT_HEADERS)
    .header('vary', 'Access-Control-Request-Headers')
    .headers(asked === undefined ? {} : { 'access-control-allow-headers': asked })
    .code(204)
    .send()
}
