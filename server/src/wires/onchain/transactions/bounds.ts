// What nodes take of a transaction. One that they refuse after it is signed holds up its nonce, and all that follow.

import type { Hex } from '../../../base/hex.ts'
import { formatEther, formatGwei } from '../../../base/viem.ts'
import type { ApiError } from '../../../base/errors.ts'
import type { Chain, Head } from '../chains/chain.ts'
import { onchainErrors } from '../errors.ts'
import type { Fees } from './fees.ts'

/**
 * Bytes of a signed transaction (`txMaxSize` of go-ethereum; the others have the same limit).
 *
 * @see https://github.com/ethereum/go-ethereum/blob/master/core/txpool/legacypool/legacypool.go
 */
export const RAW_MAX = 131_072
/** Bytes of all but the data, each field as long as it can be. */
const ENVELOPE_MAX = 192
/** Gas of a transfer to an account without code: always exactly this. */
export const TRANSFER_GAS = 21_000n
// https://eips.ethereum.org/EIPS/eip-7623: a byte of data that is not zero counts as four tokens.
const TOKENS = 4n
const TOKEN_GAS = 4n
const TOKEN_FLOOR_GAS = 10n

/** LIMIT_EXCEEDED if no node takes so much data; undefined if it fits. */
export function sizeRefusal(data: Hex): ApiError | undefined {
  const bytes = bytesOf(data) + ENVELOPE_MAX
  return bytes <= RAW_MAX
    ? undefined
    : onchainErrors.limit_exceeded({
        message: `The signed transaction would have up to ${bytes} bytes, and nodes take ${RAW_MAX}: send less data.`,
        details: { limit: 'size', bytes, allowed: RAW_MAX },
      })
}

/**
 * The gas that a transaction costs before it runs: what no estimate is below, and what nodes refuse less than (EIP-7623).
 * Chains without that EIP do not charge the difference.
 */
export function intrinsicGas(data: Hex): { least: bigint; floor: bigint } {
  const bytes = Buffer.from(data.slice(2), 'hex')
  let zeros = 0
  for (const byte of bytes) if (byte === 0) zeros++
  const tokens = BigInt(zeros) + TOKENS * BigInt(bytes.length - zeros)
  return { least: TRANSFER_GAS + TOKEN_GAS * tokens, floor: TRANSFER_GAS + TOKEN_FLOOR_GAS * tokens }
}

/** The most that a unit of so much gas may cost, in wei: nodes refuse what may cost more than their cap in all. */
export const maxFeeFor = ({ maxFee, maxTransactionFee }: Chain, gas: bigint): bigint => {
  const most = maxTransactionFee / gas
  return most < maxFee ? most : maxFee
}

/**
 * The fees within what a transaction may cost in all, with less room for a rise of the base fee if they need it.
 *
 * @returns LIMIT_EXCEEDED if it could not be mined after one full block
 */
export function feesWithin(
  chain: Chain,
  { baseFeePerGas = 0n }: Head,
  fees: Fees,
  gas: bigint,
): Fees | ApiError {
  const most = maxFeeFor(chain, gas)
  if (fees.maxFee <= most) return fees
  const least = (baseFeePerGas * 9n) / 8n + fees.priorityFee
  if (least <= most) return { ...fees, maxFee: most }
  const [cost, allowed] = [formatEther(gas * least), formatEther(chain.maxTransactionFee)]
  return onchainErrors.limit_exceeded({
    message: `The transaction needs ${gas} gas at ${formatGwei(least)} gwei, which is ${cost} ${chain.symbol}, and one may cost ${allowed} (maxTransactionFee of ${chain.name}): wait until the fees are lower, or send less.`,
    details: { limit: 'maxTransactionFee', fee: cost, allowed },
  })
}

const bytesOf = (data: Hex): number => (data.length - 2) / 2
