import type { Hex } from '../../../base/hex.ts'
import { errors } from '../../../base/errors.ts'
import { requireRow, type Database, type Step } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { Chain, Head } from '../../onchain/index.ts'
import { readBalances } from './balances.ts'
import { knownCoin } from './contract-coin.ts'
import { COIN, receiptOf, type ReceiptRow, type RequestRow } from './request-rows.ts'
import { isFollowed } from './watch.ts'

/** A deep block at which balances are compared with what is known. */
export type BlockReading = {
  readonly block: Pick<Head, 'number' | 'hash' | 'timestamp'>
  /** The first step of the batch that stores what is found: it fails if receipts until this block were added meanwhile. */
  readonly unchangedSql: Step
}

/**
 * Begins to compare balances with receipts, which are to be read after this: at a block that is deep, so that no reorganisation
 * takes it back.
 *
 * @returns undefined while the chain is followed and that block is not applied
 * @throws PROVIDER_ERROR
 */
export async function beginReading(
  db: Pick<Database, 'get'>,
  chain: Chain,
  now: number,
): Promise<BlockReading | undefined> {
  const { name, depth, rpc } = chain
  const row = await db.get(sql<{ number: number }>`select number from pay_heads where chain = ${name}`)
  const applied = row?.number ?? -1
  const head = await chain.head()
  const number = Math.max(0, head.number - depth + 1)
  if (applied < number && (await isFollowed(db, chain, now))) return undefined
  const blockHeader = await rpc.call<{ hash: Hex; timestamp: Hex } | null>('eth_getBlockByNumber', [
    `0x${number.toString(16)}`,
    false,
  ])
  if (!blockHeader) return undefined
  const unchanged =
    applied < number
      ? sql`
        insert into pay_heads (chain, number, time, looked_number) values (${name}, -1, 0, ${head.number})
        on conflict (chain) do update set looked_number = excluded.looked_number
        where pay_heads.number = ${applied}
        returning chain`
      : sql`update pay_heads set number = number where chain = ${name} and number >= ${number} returning chain`
  return {
    block: { number, hash: blockHeader.hash, timestamp: Number(blockHeader.timestamp) },
    unchangedSql: requireRow(unchanged, () => changedMeanwhile),
  }
}

/**
 * The coin of addresses beyond what is known until a block. In which block it came, and by which transactions, a balance does
 * not tell.
 *
 * @throws PROVIDER_ERROR
 */
export async function coinBeyond(
  db: Pick<Database, 'all'>,
  chain: Chain,
  block: BlockReading['block'],
  requests: readonly Pick<RequestRow, 'id' | 'address'>[],
): Promise<ReceiptRow[]> {
  const [balances] = await readBalances(
    chain,
    requests.map(({ address }) => address),
    [block],
  )
  if (!balances) throw new Error(`the node has no balances of block ${block.number}`)
  const coinByAddress = Map.groupBy(
    await knownCoin(db, chain.name, [...balances.keys()]),
    ({ address }) => address,
  )
  return requests.flatMap((request) => {
    const amount =
      (balances.get(request.address) ?? 0n) -
      knownUntil(block.number, coinByAddress.get(request.address) ?? [])
    if (amount <= 0n) return []
    return [receiptOf(chain.name, request, { contract: '', amount, hash: '', logIndex: COIN, block })]
  })
}

/** What receipts count until a block. One without a transaction counts what came before it, in blocks that it does not tell. */
export const knownUntil = (
  block: number,
  receipts: readonly Pick<ReceiptRow, 'amount' | 'block_number' | 'transaction_hash'>[],
): bigint =>
  receipts
    .filter((one) => one.block_number <= block || one.transaction_hash === '')
    .reduce((sum, { amount }) => sum + BigInt(amount), 0n)

const changedMeanwhile = errors.unavailable({
  message: 'The chain changes what is known of it.',
  retryAfter: 1,
})
