import type { Address, Hex } from '../../../base/hex.ts'
import { getAddress } from '../../../base/viem.ts'
import { headOf, isQuantity, type Chain, type Head } from './chain.ts'
import { providerError, type RpcAnswer, type RpcCall } from './rpc.ts'

/** The sender of what is minted, and the recipient of what is burnt. */
export const ZERO_ADDRESS: Address = '0x0000000000000000000000000000000000000000'

/** A transaction as its block shows it. Whether it succeeded is in its receipt only. */
export type BlockTransaction = {
  hash: Hex
  from: Address
  /** Null if it creates a contract. */
  to: Address | null
  value: bigint
}

/** An event of a contract. */
export type EventLog = {
  address: Address
  topics: readonly Hex[]
  data: Hex
  transactionHash: Hex
  blockNumber: number
  /** Within the block. */
  logIndex: number
}

/** A block with its transactions, and with the logs that were asked for. */
export type Block = Head & { transactions: readonly BlockTransaction[]; logs: readonly EventLog[] }

/**
 * Reads blocks, in two requests however many they are.
 *
 * @param topics the first topic of the logs to read; none: no logs are read
 * @returns the blocks up to the first that the node does not have yet
 * @throws PROVIDER_ERROR
 */
export async function readBlocks(
  { name, rpc }: Chain,
  { from, to, topics }: { from: number; to: number; topics: readonly Hex[] },
): Promise<Block[]> {
  const numbers = Array.from({ length: to - from + 1 }, (_one, at) => from + at)
  const answers = await rpc.batch(
    numbers.map((number) => ({ method: 'eth_getBlockByNumber', params: [quantity(number), true] })),
  )
  const missing = answers.findIndex(({ result }) => !headOf(result))
  const blockAnswers = missing === -1 ? answers : answers.slice(0, missing)
  const blocks = blockAnswers.map(({ result }) => ({
    ...headOf(result)!,
    transactions: transactionsOf(result),
    logs: [],
  }))
  if (topics.length === 0 || blocks.length === 0) return blocks
  // By the hash of the block: a reorganisation in between gives an error, and never logs of another block.
  const calls: RpcCall[] = blocks.map(({ hash }) => ({
    method: 'eth_getLogs',
    params: [{ blockHash: hash, topics: [topics] }],
  }))
  const logs = await rpc.batch(calls)
  return blocks.map((block, at) => ({ ...block, logs: logsOf(name, logs[at]!) }))
}

/** A number as JSON-RPC writes it. */
export const quantity = (value: number | bigint): Hex => `0x${value.toString(16)}`

/**
 * Reads the logs in an answer.
 *
 * @throws PROVIDER_ERROR if it is an error
 */
export function logsOf(chain: string, { result, error }: RpcAnswer): EventLog[] {
  if (error || !Array.isArray(result))
    throw providerError(chain, `eth_getLogs: ${error?.message ?? 'no list'}`)
  return (result as Record<string, unknown>[])
    .filter((log) => log['removed'] !== true)
    .map((log) => ({
      address: getAddress(log['address'] as Hex),
      topics: (log['topics'] as Hex[]).map((topic) => topic.toLowerCase() as Hex),
      data: log['data'] as Hex,
      transactionHash: (log['transactionHash'] as Hex).toLowerCase() as Hex,
      blockNumber: Number(log['blockNumber']),
      logIndex: Number(log['logIndex']),
    }))
}

function transactionsOf(block: unknown): BlockTransaction[] {
  const { transactions } = block as { transactions?: unknown }
  if (!Array.isArray(transactions)) return []
  return (transactions as Record<string, unknown>[]).map((one) => ({
    hash: (one['hash'] as Hex).toLowerCase() as Hex,
    from: getAddress(one['from'] as Hex),
    to: typeof one['to'] === 'string' ? getAddress(one['to']) : null,
    value: isQuantity(one['value']) ? BigInt(one['value']) : 0n,
  }))
}
