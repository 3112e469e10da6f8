import type { Address, Hex } from '../../../base/hex.ts'
import { logsOf } from '../chains/blocks.ts'
import { isQuantity } from '../chains/chain.ts'

/** What a chain shows of a transaction that is in a block. */
export type TransactionReceipt = {
  hash: Hex
  blockNumber: number
  blockHash: Hex
  succeeded: boolean
  gasUsed: bigint
  /** Wei. */
  fee: bigint
  /** As the node shows them. */
  logs: unknown
}

/** Reads a receipt as a node shows it; undefined if it is none. */
export function receiptOf(result: unknown): TransactionReceipt | undefined {
  const { transactionHash, blockHash, blockNumber, status, root, gasUsed, effectiveGasPrice, l1Fee, logs } =
    (result ?? {}) as Record<string, unknown>
  if (typeof transactionHash !== 'string' || typeof blockHash !== 'string') return undefined
  if (!isQuantity(blockNumber) || !isQuantity(gasUsed) || !isQuantity(effectiveGasPrice)) return undefined
  // Before Byzantium (EIP-658) a receipt has a root and does not say whether the transaction succeeded.
  if (!isQuantity(status) && typeof root !== 'string') return undefined
  // Chains of the OP stack add what they pay to publish it: https://docs.optimism.io/op-stack/transactions/fees
  const published = isQuantity(l1Fee) ? BigInt(l1Fee) : 0n
  return {
    hash: transactionHash.toLowerCase() as Hex,
    blockNumber: Number(blockNumber),
    blockHash: blockHash.toLowerCase() as Hex,
    succeeded: !isQuantity(status) || BigInt(status) === 1n,
    gasUsed: BigInt(gasUsed),
    fee: BigInt(gasUsed) * BigInt(effectiveGasPrice) + published,
    logs,
  }
}

// https://eips.ethereum.org/EIPS/eip-721 and https://eips.ethereum.org/EIPS/eip-1155
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
const TRANSFER_SINGLE = '0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62'
const WORD = 64

/** The id of the token that a contract minted in a transaction; undefined if it minted none. */
export function mintedTokenId(
  chain: string,
  { logs }: TransactionReceipt,
  contract: Address,
): string | undefined {
  for (const { address, topics, data } of logsOf(chain, { result: logs })) {
    if (address !== contract) continue
    const [event, first, second, third] = topics
    if (event === TRANSFER && third !== undefined && isNobody(first)) return BigInt(third).toString()
    if (event === TRANSFER_SINGLE && isNobody(second) && data.length >= 2 + WORD)
      return BigInt(data.slice(0, 2 + WORD)).toString()
  }
  return undefined
}

const isNobody = (topic: Hex | undefined): boolean => topic !== undefined && BigInt(topic) === 0n
