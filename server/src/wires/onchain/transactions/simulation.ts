import { isHex } from '../../../base/viem.ts'
import type { ApiError } from '../../../base/errors.ts'
import { quantity } from '../chains/blocks.ts'
import { isQuantity } from '../chains/chain.ts'
import { providerError, type RpcAnswer, type RpcCall, type RpcFault } from '../chains/rpc.ts'
import { onchainErrors } from '../errors.ts'
import { intrinsicGas, TRANSFER_GAS } from './bounds.ts'
import type { Intent } from './intent.ts'
import { revertOf } from '../chains/revert-reason.ts'

// https://eips.ethereum.org/EIPS/eip-7825: the most that one transaction may have on chains that adopted it.
const TRANSACTION_GAS_MAX = 16_777_216n

/** Runs what is to be sent on the latest block, and estimates its gas. */
export const simulationCall = ({ signer, to, value, data = '0x' }: Intent): RpcCall => ({
  method: 'eth_estimateGas',
  params: [{ from: signer.address, to, value: quantity(value), data }, 'latest'],
})

/** What is wrong with an answer to a simulation; undefined: nothing. */
export function estimateDoubt({ data = '0x' }: Intent, { result, error }: RpcAnswer): string | undefined {
  if (error) return undefined
  if (!isQuantity(result)) return 'gives an estimate that is no quantity'
  return BigInt(result) < intrinsicGas(data).least
    ? 'gives an estimate below what every transaction costs'
    : undefined
}

/** Whether a node says that the sender has too little. */
const isLackOfFunds = ({ message }: RpcFault): boolean =>
  /insufficient (funds|balance)|out ?of ?funds/i.test(message)

/**
 * The gas that a transaction gets: the estimate, for calls of contracts with a quarter more, because what they do may change
 * until they are mined; and never less than nodes take.
 *
 * @param blockGas the gas of a block
 * @returns CONTRACT_REVERTED, or PROVIDER_ERROR if the node could not run it; `'no funds'` if the node says so
 */
export function gasOf(
  { chain, abi, data = '0x' }: Pick<Intent, 'chain' | 'abi' | 'data'>,
  { result, error }: RpcAnswer,
  blockGas: bigint,
): bigint | ApiError | 'no funds' {
  if (error) {
    const reverted = revertOf(error, abi)
    if (reverted) return reverted
    if (isLackOfFunds(error)) return 'no funds'
    return providerError(chain.name, `eth_estimateGas: ${error.message}`)
  }
  const estimate = BigInt(result as string)
  if (estimate === TRANSFER_GAS && data === '0x') return estimate
  if (estimate > blockGas)
    return onchainErrors.contract_reverted({
      message: `The contract refuses this call: it needs ${estimate} gas, and a block has ${blockGas}.`,
      details: { reason: `it needs ${estimate} gas, and a block has ${blockGas}` },
    })
  const most =
    estimate <= TRANSACTION_GAS_MAX && TRANSACTION_GAS_MAX < blockGas ? TRANSACTION_GAS_MAX : blockGas
  const [proposal, { floor }] = [(estimate * 5n + 3n) / 4n, intrinsicGas(data)]
  const least = proposal > floor ? proposal : floor
  return least < most ? least : most
}

/** Whether an answer to `eth_getCode` is of a contract, and not of an account that only delegates to one (EIP-7702). */
export const isContractCode = ({ result }: RpcAnswer): boolean =>
  isHex(result) && result !== '0x' && !/^0xef0100/i.test(result)
