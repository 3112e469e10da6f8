import type { FastifyReply, FastifyRequest } from 'fastify'

import { type ApiError, invalid } from '../base/errors.ts'
import { isMultipart } from './body-parsers.ts'
import { specOf } from './spec-of.ts'

// The default of routes.
const RECEIVE_MS = 60_000

// How long the rest of a request is read after its answer: if the connection closed at once, the client could lose it.
const LINGER_MS = 10_000

/**
 * Limits the time in which the body of a request arrives; called when its headers have. Node's own limit is one for the
 * whole server, and would end a long upload.
 *
 * @param refuse answers the request, whose body has not arrived
 */
export function limitReceiving(
  request: FastifyRequest,
  reply: FastifyReply,
  refuse: (late: ApiError) => void,
): void {
  const { raw } = request
  if (raw.headers['transfer-encoding'] === undefined && (raw.headers['content-length'] ?? '0') === '0') return
  const body = specOf(request)?.body
  const own = body?.kind === 'json' && isMultipart(raw.headers) ? body.files : body
  const limitMs = own?.receiveMs ?? RECEIVE_MS
  let timer = setTimeout(() => {
    if (raw.complete) return
    if (reply.sent) return void raw.socket.destroy()
    reply.header('connection', 'close')
    refuse(invalid({ path: '/body', message: `did not arrive within ${limitMs / 1000} s` }))
  }, limitMs)
  raw.once('close', () => clearTimeout(timer))
  reply.raw.once('close', () => {
    if (raw.readableEnded || raw.destroyed) return
    // Otherwise the next request on this connection would wait behind an unread body.
    raw.unpipe().resume()
    clearTimeout(timer)
    if (!raw.complete) timer = setTimeout(() => raw.socket.destroy(), LINGER_MS)
  })
}
