import type { FastifyRequest, onSendHookHandler } from 'fastify'

import type { AdmittedRequest } from './admitted-request.ts'

/** The headers of an answer: its own, and in front of them those of every answer to its request. What both vary by is joined. */
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
  for (const [name, value] of Object.entries(flight?.headers ?? {})) {
    const own = reply.getHeader(name)
    if (own === undefined) reply.header(name, value)
    else if (name === 'vary') reply.header(name, `${value}, ${String(own)}`)
  }
  done(null, payload)
}
