import type { Address } from '../../../base/hex.ts'
import type { Database } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import { quantity } from '../chains/blocks.ts'
import { isQuantity, type Chain, type Head } from '../chains/chain.ts'
import type { RpcAnswer, RpcCall } from '../chains/rpc.ts'

/** An address on a chain as a node shows it at one block. */
export type AccountState = {
  /** Wei. */
  balance: bigint
  /** How many of its transactions are mined: the first nonce that is not. */
  count: number
  /** The gas of a block. */
  blockGas: bigint
}

/** The calls that read an account at a block. */
export const accountCalls = (address: Address, head: Head): RpcCall[] => [
  { method: 'eth_chainId' },
  { method: 'eth_getBalance', params: [address, quantity(head.number)] },
  { method: 'eth_getTransactionCount', params: [address, quantity(head.number)] },
  { method: 'eth_getBlockByNumber', params: [quantity(head.number), false] },
]
export const ACCOUNT_CALLS = 4

/**
 * What is wrong with the answers to `accountCalls`: undefined if they are to be believed.
 *
 * @param expected.minimum how many transactions of the address are final: a node that knows fewer lags behind
 */
export function accountDoubt(
  [id, balance, count, block]: readonly RpcAnswer[],
  expected: { chainId: number; head: Head; minimum: number },
): string | undefined {
  const fault = [id, balance, count, block].find((answer) => answer?.error)?.error
  if (fault) return `does not show the account: ${fault.message}`
  const { chainId, head, minimum } = expected
  if (Number(id?.result) !== chainId) return `is of another chain id than ${chainId}`
  const { hash, gasLimit } = (block?.result ?? {}) as { hash?: unknown; gasLimit?: unknown }
  if (String(hash).toLowerCase() !== head.hash || !isQuantity(gasLimit))
    return `shows another block ${head.number}`
  if (!isQuantity(balance?.result)) return 'shows no balance'
  if (!isQuantity(count?.result)) return 'shows no count of transactions'
  const transactions = Number(count.result)
  if (!Number.isSafeInteger(transactions)) return 'shows an impossible count of transactions'
  return transactions < minimum
    ? `is behind: it shows ${transactions} transactions of an address that has ${minimum}`
    : undefined
}

/** Reads the answers to `accountCalls` of which `accountDoubt` has none. */
export const accountOf = ([, balance, count, block]: readonly RpcAnswer[]): AccountState => ({
  balance: BigInt(balance!.result as string),
  count: Number(count!.result),
  blockGas: BigInt((block!.result as { gasLimit: string }).gasLimit),
})

/** How many transactions of an address are final by our own rows, at least. */
export async function minimumCount(db: Database, chain: Chain, address: Address): Promise<number> {
  const row = await db.get(sql<{ nonce: number }>`
    select nonce from onchain_transactions
    where chain = ${chain.name} and sender = ${address} and is_final = 1 and block_number is not null
    order by nonce desc limit 1`)
  return row ? row.nonce + 1 : 0
}
