import type { Hex } from 'viem'

import { sql } from '../../../db/sql.ts'
import type { WireContext } from '../../../kernel/wire.ts'
import type { Chain, Chains } from '../../onchain/index.ts'
import { readBalances } from './balances.ts'
import { knownCoin } from './contract-coin.ts'
import { COIN, insertReceiptSql, receiptOf, type RequestRow } from './request-rows.ts'

/** How often the chains are asked. */
export const ELSEWHERE_MS = 600_000
/** Requests of one statement, and so of five calls of a node. */
const ROUND = 5_000

type Request = Pick<RequestRow, 'id' | 'address'>

/**
 * Looks for coin that was sent to the addresses of requests on chains that nobody follows, because no request asks for them:
 * by the balances at a block that is deep, so that no reorganisation takes it back. A thousand addresses cost one call.
 */
export function createElsewhere(
  { db, clock, log }: Pick<WireContext, 'db' | 'clock' | 'log'>,
  chains: Chains,
): () => Promise<void> {
  const isFollowed = async (name: string): Promise<boolean> =>
    (await db.get(sql`
      select 1 as one from pay_requests where chain = ${name} and watched_until > ${clock.now()} limit 1`)) !==
    undefined

  async function lookAt(chain: Chain): Promise<void> {
    const { depth, rpc } = chain
    const number = Math.max(0, (await chain.head()).number - depth + 1)
    const block = await rpc.call<{ hash: Hex; timestamp: Hex } | null>('eth_getBlockByNumber', [
      `0x${number.toString(16)}`,
      false,
    ])
    if (!block) return
    const at = { number, hash: block.hash, timestamp: Number(block.timestamp) }
    for (let after = ''; ;) {
      const requests = await db.scan<Request>(sql`
        select id, address from pay_requests
        where id > ${after} and watched_until > ${clock.now()} and is_swept = 0 order by id limit ${ROUND}`)
      if (requests.length === 0) return
      await lookFor(chain, at, requests)
      after = requests.at(-1)!.id
    }
  }

  async function lookFor(
    chain: Chain,
    at: { number: number; hash: Hex; timestamp: number },
    requests: readonly Request[],
  ): Promise<void> {
    const [balances] = await readBalances(
      chain,
      requests.map(({ address }) => address),
      [at],
    )
    if (!balances) throw new Error(`the node has no balances of block ${at.number}`)
    const known = await knownCoin(db, chain.name, [...balances.keys()])
    const receipts = requests.flatMap((request) => {
      const own = known.filter(({ address }) => address === request.address)
      const amount = own.reduce((left, one) => left - BigInt(one.amount), balances.get(request.address) ?? 0n)
      if (amount <= 0n) return []
      return [receiptOf(chain.name, request, { contract: '', amount, hash: '', logIndex: COIN, block: at })]
    })
    if (receipts.length > 0) await db.batch(receipts.map(insertReceiptSql))
  }

  return async () => {
    for (const chain of chains.all) {
      if (!chain.isConfigured || (await isFollowed(chain.name))) continue
      try {
        await lookAt(chain)
      } catch (error) {
        log.warn(
          { err: error, chain: chain.name },
          'coin on a chain that no request asks for could not be looked for',
        )
      }
    }
  }
}
