import type { Database } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { Block, Chain } from '../../onchain/index.ts'
import { balanceCall, balanceIn } from './balances.ts'
import { OLD } from './contract-coin.ts'
import type { ReceiptRow } from './request-rows.ts'

/** What the logs of a block show of one token at one address. */
type Logged = {
  contract: string
  address: string
  block: Block
  receipts: readonly ReceiptRow[]
  /** What left the address, which only a sweep does; undefined: it was not swept. */
  sent: bigint | undefined
}

/**
 * What really arrived of a token: no more than the balance of the address has grown by. A token can keep a part of what it
 * logs, or log a transfer twice.
 *
 * @returns the receipts, with the amounts that arrived; those of which nothing did are left out
 * @throws PROVIDER_ERROR
 */
export async function movedTokens(
  db: Pick<Database, 'all'>,
  chain: Chain,
  logged: readonly Logged[],
): Promise<ReceiptRow[]> {
  if (logged.length === 0) return []
  const answers = await chain.rpc.batch(
    logged.flatMap((one) => [
      balanceCall(one, { blockHash: one.block.parentHash }),
      balanceCall(one, { blockHash: one.block.hash }),
    ]),
  )
  const receipts: ReceiptRow[] = []
  for (const [at, one] of logged.entries()) {
    const [before, after] = [balanceIn(answers[at * 2]!), balanceIn(answers[at * 2 + 1]!)]
    const isKnown = before !== undefined && after !== undefined
    const arrived = isKnown ? after - before + (one.sent ?? 0n) : await unaccounted(db, chain, one, receipts)
    receipts.push(...upTo(arrived, one.receipts))
  }
  return receipts
}

/** What an address has now beyond what is known: for a block that is so old that the node has no state of it. */
async function unaccounted(
  db: Pick<Database, 'all'>,
  chain: Chain,
  one: Logged,
  moved: readonly ReceiptRow[],
): Promise<bigint> {
  const { contract, address, block, receipts } = one
  if ((await chain.head()).number - block.number < OLD)
    throw new Error(`the node has no balances of block ${block.number}`)
  // It was paid before it was swept, and nothing tells any more what came since.
  if (one.sent !== undefined) return sumOf(receipts)
  const [answer] = await chain.rpc.batch([balanceCall(one, 'latest')])
  const balance = balanceIn(answer!)
  if (balance === undefined) throw new Error(`the node does not answer the balance of ${address}`)
  const recordedReceipts = await db.all<Pick<ReceiptRow, 'amount'>>(sql`
    select amount from pay_receipts
    where request_id = ${receipts[0]!.request_id} and chain = ${chain.name} and contract = ${contract}`)
  const own = moved.filter((other) => other.address === address && other.contract === contract)
  return balance - sumOf(recordedReceipts) - sumOf(own)
}

const sumOf = (receipts: readonly Pick<ReceiptRow, 'amount'>[]): bigint =>
  receipts.reduce((sum, { amount }) => sum + BigInt(amount), 0n)

/** The receipts in their order, until they have the amount. */
export function upTo(amount: bigint, receipts: readonly ReceiptRow[]): ReceiptRow[] {
  let remaining = amount
  return receipts.flatMap((one) => {
    const logged = BigInt(one.amount)
    const part = logged < remaining ? logged : remaining
    if (part <= 0n) return []
    remaining -= part
    return [{ ...one, amount: part.toString() }]
  })
}
