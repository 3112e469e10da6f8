import type { FastifyReply, FastifyRequest } from 'fastify'

import { type ApiError, invalid } from '../base/errors.ts'

/** The time for a body to arrive where its route says nothing else. */
export const RECEIVE_MS = 60_000

// For what the client is still sending when it has been answered: a connection that is closed at once can lose the answer.
const LINGER_MS = 10_000

const hasBody = ({ headers }: FastifyRequest['raw']): boolean =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'

/**
 * Limits the time in which the body of a request arrives; called when its headers have. Node's own limit is one for the
 * whole server.
 *
 * @param refuse answers the request, whose body has not arrived
 */
export function limitReceiving(
  { raw }: FastifyRequest,
  reply: FastifyReply,
  limitMs: number,
  refuse: (late: ApiError) => void,
): void {
  if (!hasBody(raw)) return
  let timer = setTimeout(() => {
    if (raw.complete) return
    if (reply.sent) return void raw.socket.destroy()
    reply.header('connection', 'close')
    refuse(invalid({ path: '/body', message: `did not arrive within ${limitMs / 1000} s` }))
  }, limitMs)
  raw.once('close', () => clearTimeout(timer))
  reply.raw.once('close', () => {
    if (raw.complete || raw.destroyed) return
    clearTimeout(timer)
    timer = setTimeout(() => raw.socket.destroy(), LINGER_MS)
    raw.unpipe().resume()
  })
}
