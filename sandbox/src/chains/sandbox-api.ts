import type { FastifyPluginAsync } from 'fastify'
import { formatUnits, getAddress } from 'viem/utils'

import type { Address, Hex } from '../../../server/src/base/hex.ts'
import { isoTime } from '../../../server/src/base/clock.ts'
import { errors, invalid } from '../../../server/src/base/errors.ts'
import { Type } from '../../../server/src/base/schema.ts'
import { readerOf } from '../reader.ts'
import type { ShownPaymentRequest } from '../../../server/src/kernel/wire/sandbox-lists.ts'
import type { ChainAccounts } from './accounts.ts'
import type { LocalChain } from './chain.ts'
import { TOKEN, TRANSFER } from './contracts.ts'
import { NodeError } from './node.ts'
import { NATIVE, type Payments } from './payments.ts'

const BLOCKS_MAX = 100
const MINE_MAX = 1_000
/** Older blocks have no state any more. */
const REORG_MAX = 100

type RpcBlock = {
  number: Hex
  hash: Hex
  timestamp: Hex
  transactions: { hash: Hex; from: Address; to: Address | null; value: Hex }[]
}

type RpcLog = { transactionHash: Hex; topics: Hex[]; data: Hex }

const decimalsOf = ({ token }: ShownPaymentRequest): number =>
  (token === TOKEN.symbol ? TOKEN : NATIVE).decimals

export type ChainsApi = {
  accounts: ChainAccounts
  payments: Payments
  rpcUrl: (chain: LocalChain) => string
  /** The chains that the application uses. */
  used: () => readonly LocalChain[]
  /** Payment requests that did not expire. */
  requests: () => Promise<readonly ShownPaymentRequest[]>
}

/** `/sandbox/api/chains`: shows and drives the chains. The list starts no node; every other route starts that of its chain. */
export const createSandboxApi =
  ({ accounts, payments, rpcUrl, used, requests }: ChainsApi): FastifyPluginAsync =>
  async (engine) => {
    type Params = { Params: { chain: string } }
    const readPayment = readerOf(
      'body',
      Type.Object({
        to: Type.String(),
        amount: Type.String(),
        token: Type.Optional(Type.String()),
        viaContract: Type.Optional(Type.Boolean()),
      }),
    )
    const readMine = readerOf(
      'body',
      Type.Object({ blocks: Type.Integer({ minimum: 1, maximum: MINE_MAX, default: 1 }) }),
    )
    const readReorg = readerOf(
      'body',
      Type.Object({ depth: Type.Integer({ minimum: 1, maximum: REORG_MAX }) }),
    )
    const readLimit = readerOf(
      'query',
      Type.Object({ limit: Type.Integer({ minimum: 1, maximum: BLOCKS_MAX, default: 20 }) }),
    )

    function chainOf(name: string): LocalChain {
      const chain = used().find((one) => one.name === name)
      if (chain) return chain
      const names = used().map((one) => one.name)
      throw errors.not_found({
        message: `The sandbox has no chain ${name}: there is ${names.join(', ') || 'none, because all are configured'}.`,
      })
    }

    async function head(chain: LocalChain): Promise<{ number: number; hash: string }> {
      const block = (await chain.call('eth_getBlockByNumber', ['latest', false])) as RpcBlock
      return { number: Number(block.number), hash: block.hash }
    }

    /** The transfers of the chain's token in its latest blocks, by transaction. */
    async function transfersFrom(chain: LocalChain, block: number) {
      const logs = (await chain.call('eth_getLogs', [
        {
          fromBlock: `0x${block.toString(16)}`,
          address: accounts.contracts(chain.name).erc20,
          topics: [TRANSFER],
        },
      ])) as RpcLog[]
      const holder = (topic: Hex | undefined): Address => getAddress(`0x${topic!.slice(-40)}`)
      return Map.groupBy(
        logs.map(({ transactionHash, topics, data }) => ({
          transactionHash,
          token: TOKEN.symbol,
          from: holder(topics[1]),
          to: holder(topics[2]),
          amount: formatUnits(BigInt(data), TOKEN.decimals),
        })),
        (one) => one.transactionHash,
      )
    }

    engine.get('/api/chains', async () =>
      Object.fromEntries(
        used().map((chain) => {
          const { erc20, erc721, erc1155 } = accounts.contracts(chain.name)
          return [
            chain.name,
            {
              rpcUrl: rpcUrl(chain),
              chainId: chain.chainId,
              accounts: accounts.funded.map(({ address }, at) => ({
                address,
                privateKey: accounts.privateKeys[at],
              })),
              contracts: { erc20, erc721, erc1155 },
            },
          ]
        }),
      ),
    )

    engine.get<Params>('/api/chains/:chain/blocks', async ({ params, query }) => {
      const chain = chainOf(params.chain)
      const { limit } = readLimit(query)
      const { number } = await head(chain)
      const blocks = (await chain.batch(
        Array.from({ length: Math.min(limit, number + 1) }, (_, at) => [
          'eth_getBlockByNumber',
          [`0x${(number - at).toString(16)}`, true],
        ]),
      )) as (RpcBlock | null)[]
      const transfers = await transfersFrom(chain, Math.max(0, number - limit + 1))
      return {
        blocks: blocks
          .filter((block) => block !== null)
          .map((block) => ({
            number: Number(block.number),
            hash: block.hash,
            timestamp: isoTime(Number(block.timestamp) * 1000),
            transactions: block.transactions.map(({ hash, from, to, value }) => ({
              hash,
              from: getAddress(from),
              to: to && getAddress(to),
              value: formatUnits(BigInt(value), NATIVE.decimals),
              transfers: (transfers.get(hash) ?? []).map(({ transactionHash: _, ...transfer }) => transfer),
            })),
          })),
      }
    })

    engine.get<Params>('/api/chains/:chain/balances', async ({ params }) => ({
      accounts: await payments.balances(chainOf(params.chain)),
    }))

    engine.post<Params>('/api/chains/:chain/mine', async ({ params, body }) => {
      const chain = chainOf(params.chain)
      const { blocks } = readMine(body ?? {})
      await chain.call('anvil_mine', [`0x${blocks.toString(16)}`])
      return head(chain)
    })

    engine.post<Params>('/api/chains/:chain/reorg', async ({ params, body }) => {
      const chain = chainOf(params.chain)
      const { depth } = readReorg(body)
      try {
        await chain.call('anvil_reorg', [depth, []])
      } catch (error) {
        if (!(error instanceof NodeError)) throw error
        throw invalid({
          path: '/body/depth',
          message: 'must not reach beyond the first block, or what the node keeps',
        })
      }
      return head(chain)
    })

    engine.post<Params>('/api/chains/:chain/pay', async ({ params, body }) => ({
      hash: await payments.pay(chainOf(params.chain), readPayment(body)),
    }))

    engine.get('/api/chains/requests', async () => ({
      requests: (await requests())
        .filter(({ chain }) => used().some(({ name }) => name === chain))
        .map((request) => ({
          ...request,
          received: formatUnits(BigInt(request.receivedAmount), decimalsOf(request)),
        })),
    }))

    engine.post<{ Params: { id: string } }>('/api/chains/requests/:id/pay', async ({ params: { id } }) => {
      const request = (await requests()).find((one) => one._id === id)
      if (!request) throw errors.not_found({ message: 'No payment request that can be paid has this id.' })
      const { chain, token, displayAmount: amount, receiverAddress: to } = request
      return { hash: await payments.pay(chainOf(chain), { to, amount, token }) }
    })
  }
