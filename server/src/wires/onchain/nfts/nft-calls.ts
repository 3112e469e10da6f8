import type {
  Abi as AnyAbi,
  ContractFunctionArgs,
  ContractFunctionName,
  ContractFunctionReturnType,
} from 'viem'

import type { Address, Hex } from '../../../base/hex.ts'
import { once } from '../../../base/once.ts'
import { decodeFunctionResult, encodeFunctionData, parseAbi, size } from '../../../base/viem.ts'
import { revertOf } from '../chains/revert-reason.ts'
import { providerError, type RpcAnswer, type RpcCall, type RpcFault } from '../chains/rpc.ts'

/** The functions of ERC-165, ERC-721 with its extensions, and ERC-1155 that reading takes. */
const nftAbi = once(() =>
  parseAbi([
    'function supportsInterface(bytes4) view returns (bool)',
    'function ownerOf(uint256) view returns (address)',
    'function tokenURI(uint256) view returns (string)',
    'function uri(uint256) view returns (string)',
    'function exists(uint256) view returns (bool)',
    'function balanceOf(address) view returns (uint256)',
    'function tokenOfOwnerByIndex(address, uint256) view returns (uint256)',
  ]),
)

/** With a type for any function. */
const anyAbi: () => AnyAbi = nftAbi

/** The largest answer that is decoded, in bytes: a contract may answer anything. */
const ANSWER_MAX = 1_048_576

type Abi = ReturnType<typeof nftAbi>
type Name = ContractFunctionName<Abi, 'view'>

/** A call of a contract that changes nothing. @param block a number as JSON-RPC writes it, or a tag */
export const ethCall = (
  to: Address,
  data: Hex,
  { from, block = 'latest' }: { from?: Address; block?: string } = {},
): RpcCall => ({
  method: 'eth_call',
  params: [{ ...(from && { from }), to, data }, block],
})

/** A call of one of the functions that reading takes. */
export const nftCall = <const N extends Name>(
  to: Address,
  functionName: N,
  args: ContractFunctionArgs<Abi, 'view', N>,
  block?: string,
): RpcCall =>
  ethCall(
    to,
    encodeFunctionData({ abi: nftAbi(), functionName, args } as never),
    block === undefined ? {} : { block },
  )

/**
 * Reads what a function answers; undefined if it reverts, or answers something else.
 *
 * @throws PROVIDER_ERROR if the node did not make the call
 */
export function nftAnswer<const N extends Name>(
  chain: string,
  functionName: N,
  { result, error }: RpcAnswer,
): ContractFunctionReturnType<Abi, 'view', N> | undefined {
  if (error) {
    if (isRevert(error)) return undefined
    throw providerError(chain, `eth_call: ${error.message}`)
  }
  if (typeof result !== 'string' || size(result as Hex) > ANSWER_MAX) return undefined
  const name: string = functionName
  try {
    return decodeFunctionResult({ abi: anyAbi(), functionName: name, data: result as Hex }) as never
  } catch {
    return undefined
  }
}

/** Whether the contract refused the call, and not the node. */
export const isRevert = (fault: RpcFault): boolean =>
  fault.data !== undefined || revertOf(fault) !== undefined
