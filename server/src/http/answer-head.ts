import type { FastifyRequest, onSendHookHandler } from 'fastify'

import type { AdmittedRequest } from './admitted-request.ts'

/**
 * The headers of an answer: those that every answer to its request has, replaced by its own where it has the same ones. The two
 * values of `Vary` are joined.
 */
export function joinHeaders(
  every: Readonly<Record<string, string>>,
  own: Readonly<Record<string, string>>,
): Record<string, string> {
  const joined = { ...every }
  // A second spread copies slower.
  for (const name of Object.keys(own)) joined[name] = own[name]!
  if (own['vary'] !== undefined && every['vary'] !== undefined)
    joined['vary'] = `${every['vary']}, ${own['vary']}`
  return joined
}

/** Completes the head of an answer that the engine sends: an error, a page, bytes. */
export const completeHead: onSendHookHandler = (request: FastifyRequest, reply, payload, done) => {
  const { flight } = request as Partial<AdmittedRequest>
  if (flight) {
    const joined = joinHeaders(flight.headers, reply.getHeaders() as Record<string, string>)
    // No others: the engine would add a cookie that is there once more.
    for (const name of Object.keys(flight.headers)) reply.header(name, joined[name]!)
  }
  done(null, payload)
}
