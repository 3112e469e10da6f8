import type { Database } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { Block, Chain } from '../../onchain/index.ts'
import { readBalances } from './balances.ts'
import { chunksOf, COIN, receiptOf, type ReceiptRow, type RequestRow } from './request-rows.ts'

/** Any node has the states of fewer blocks below the head than these. */
export const OLD = 8

type OpenRequest = Pick<RequestRow, 'id' | 'address'>
type Coin = Pick<ReceiptRow, 'address' | 'amount' | 'block_number' | 'transaction_hash'>

/**
 * Coin that a contract sent to addresses of open requests, which no transaction and no log shows: what the addresses have
 * beyond what is known.
 *
 * @param found receipts of the same blocks
 * @returns undefined if the blocks are so old that the node has no balances of them
 * @throws PROVIDER_ERROR
 */
export async function contractCoin(
  db: Pick<Database, 'all'>,
  chain: Chain,
  blocks: readonly Block[],
  found: readonly ReceiptRow[],
): Promise<ReceiptRow[] | undefined> {
  const last = blocks.at(-1)!
  const requests = await db.all<OpenRequest>(sql`
    select id, address from pay_requests where chain = ${chain.name} and is_open = 1 and is_swept = 0`)
  const [balances] = await readBalances(
    chain,
    requests.map(({ address }) => address),
    [last],
  )
  if (!balances) {
    // After a pause the node may have no state that old: what came then is found in the first block that it has one of.
    if ((await chain.head()).number - last.number >= OLD) return undefined
    throw new Error(`the node has no balances of block ${last.number}`)
  }
  const coins = [
    ...(await knownCoin(db, chain.name, [...balances.keys()])),
    ...found.filter(({ contract }) => contract === ''),
  ]
  const sums = new Map<string, bigint>()
  for (const { address, amount } of coins) sums.set(address, (sums.get(address) ?? 0n) + BigInt(amount))
  const paidRequests = requests.filter(
    ({ address }) => (balances.get(address) ?? 0n) > (sums.get(address) ?? 0n),
  )
  if (paidRequests.length === 0) return []
  // In which of several blocks it came. A node that keeps no state of old blocks shows it in the last one only.
  const perBlock =
    blocks.length === 1
      ? [balances]
      : await readBalances(
          chain,
          paidRequests.map(({ address }) => address),
          blocks,
        )
  return paidRequests.flatMap((request) => {
    let ownCoins = coins.filter(({ address }) => address === request.address)
    return blocks.flatMap((block, at) => {
      const balance = (block === last ? balances : perBlock[at])?.get(request.address) ?? 0n
      const amount = balance - sumUntil(ownCoins, block.number)
      if (amount <= 0n) return []
      const receipt = receiptOf(chain.name, request, {
        contract: '',
        amount,
        hash: '',
        logIndex: COIN,
        block,
      })
      ownCoins = [...ownCoins, receipt]
      return [receipt]
    })
  })
}

const sumUntil = (coins: readonly Coin[], block: number): bigint =>
  coins.reduce((sum, one) => (one.block_number <= block ? sum + BigInt(one.amount) : sum), 0n)

/** The coin of addresses that is known already. */
export async function knownCoin(
  db: Pick<Database, 'all'>,
  chain: string,
  addresses: readonly string[],
): Promise<Coin[]> {
  const readings = await Promise.all(
    chunksOf(addresses).map((chunk) =>
      db.all<Coin>(sql`
        select p.address, p.amount, p.block_number, p.transaction_hash from pay_requests r join pay_receipts p on p.request_id = r.id
        where r.address in (${sql.join(chunk)}) and p.chain = ${chain} and p.contract = ''`),
    ),
  )
  return readings.flat()
}
