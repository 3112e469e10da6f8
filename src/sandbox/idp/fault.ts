import { setTimeout as delay } from 'node:timers/promises'

import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'

import type { Faults } from '../faults.ts'

/** Answers with what it returns. */
export type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

/** Makes a handler of calls between servers, which does what is set to go wrong at its provider. */
export const faulty =
  (faults: Faults, provider: string, handle: Handler): RouteHandlerMethod =>
  async (request, reply) => {
    const { delayMs, error, loseAnswer } = await faults.next(provider)
    if (delayMs) await delay(delayMs)
    if (error)
      return reply.code(error).send({
        error: error < 500 ? 'invalid_request' : 'temporarily_unavailable',
        error_description: 'A fault is set for this provider at /sandbox.',
      })
    const answer = await handle(request, reply)
    if (!loseAnswer) return answer
    reply.hijack()
    request.raw.socket.destroy()
  }
