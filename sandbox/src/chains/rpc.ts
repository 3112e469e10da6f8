import type { FastifyPluginAsync, FastifyReply } from 'fastify'

import { ApiError } from '../../../server/src/base/errors.ts'
import { faulty, type Faults } from '../faults.ts'
import type { LocalChain } from './chain.ts'

const BODY_MAX = 4 * 1_048_576

/** An error that belongs to no call, as providers of nodes answer it. */
function refuse(reply: FastifyReply, status: number, code: number, message: string): object {
  reply.code(status)
  return { jsonrpc: '2.0', id: null, error: { code, message } }
}

/**
 * The JSON-RPC addresses of the chains: what comes is passed on to a chain's node, which is started by the first request.
 *
 * @see https://ethereum.org/developers/docs/apis/json-rpc/
 * @param used the chains that are not configured
 * @param options.standIn the name by which faults are set
 */
export const createRpcRoutes =
  ({
    chains,
    used,
    faults,
    standIn,
  }: {
    chains: readonly LocalChain[]
    used: () => readonly LocalChain[]
    faults: Faults
    standIn: string
  }): FastifyPluginAsync =>
  async (engine) => {
    // As JSON alone: pages of other origins can't send that unasked.
    engine.removeAllContentTypeParsers()
    engine.addContentTypeParser(
      'application/json',
      { parseAs: 'string', bodyLimit: BODY_MAX },
      async (_request: unknown, body: string) => body,
    )
    for (const chain of chains)
      engine.post(
        `/${chain.name}`,
        { bodyLimit: BODY_MAX },
        faulty(
          faults,
          standIn,
          (status, reply) =>
            refuse(reply, status, status === 429 ? -32_005 : -32_000, 'a fault is set for it'),
          async ({ body }, reply) => {
            if (!used().includes(chain))
              return refuse(reply, 404, -32_601, `the chain ${chain.name} has a node of its own`)
            try {
              const answer = await chain.forward(String(body))
              if (answer.kind !== 'answered') return refuse(reply, 502, -32_603, answer.reason)
              const { status, headers, body: content } = answer
              reply.code(status).header('content-type', headers['content-type'] ?? 'application/json')
              return content
            } catch (error) {
              if (!(error instanceof ApiError)) throw error
              return refuse(reply, error.status, -32_603, error.message)
            }
          },
        ),
      )
  }
