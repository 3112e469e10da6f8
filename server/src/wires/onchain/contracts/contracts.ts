import type { Address, Hex } from '../../../base/hex.ts'
import { isHex, size } from '../../../base/viem.ts'
import { invalid, type ApiError } from '../../../base/errors.ts'
import type { Chain } from '../chains/chain.ts'
import { providerError, type Believe } from '../chains/rpc.ts'
import { revertOf } from '../chains/revert-reason.ts'
import type { ContractAbi, ContractFunction } from './abi.ts'
import { ANSWER_MAX, readResult } from './result.ts'

/** A call of a contract. */
export type ContractCall = {
  chain: Chain
  address: Address
  abi: ContractAbi
  method: ContractFunction
  /** The arguments as the contract gets them. */
  encoded: Hex
}

/** What is sent to the contract. */
export const calldataOf = ({ method, encoded }: ContractCall): Hex =>
  `${method.selector}${encoded.slice(2)}` as Hex

/**
 * Reads from a contract, in one request to the node unless the contract answers nothing.
 *
 * @returns the text of `readResult`
 * @throws VALIDATION_ERROR if there is no contract, or its answer is not what the ABI says; CONTRACT_REVERTED; PROVIDER_ERROR
 */
export async function readContract(call: ContractCall): Promise<string> {
  const { chain, address, abi, method } = call
  const [answer] = await chain.rpc.batch(
    [{ method: 'eth_call', params: [{ to: address, data: calldataOf(call) }, 'latest'] }],
    { believe: believeBytes },
  )
  const { error, result } = answer!
  if (error) throw revertOf(error, abi.errors) ?? providerError(chain.name, `eth_call: ${error.message}`)
  const data = result as Hex
  if (size(data) > ANSWER_MAX) throw misfit(call, `which is more than ${ANSWER_MAX} bytes`)
  if (data === '0x') {
    await requireCode(chain, address)
    // Some tokens, such as USDT, answer nothing where ERC-20 says bool.
    if (!method.isView) return ''
  }
  const text = readResult(method.outputs, data)
  if (text === undefined)
    throw misfit(call, data === '0x' ? 'which is nothing at all' : `which are ${size(data)} bytes`)
  return text
}

/** @throws VALIDATION_ERROR if there is no contract at the address; PROVIDER_ERROR */
export async function requireCode(chain: Chain, address: Address): Promise<void> {
  const [answer] = await chain.rpc.batch([{ method: 'eth_getCode', params: [address, 'latest'] }], {
    believe: believeBytes,
  })
  if (answer!.error) throw providerError(chain.name, `eth_getCode: ${answer!.error.message}`)
  if (answer!.result === '0x')
    throw invalid({ path: '/body/address', message: `is not the address of a contract on ${chain.name}` })
}

const misfit = ({ abi, method }: ContractCall, answer: string): ApiError =>
  invalid({
    path: '/body/abi',
    message: `does not fit the contract: ${abi.name} says otherwise of ${method.signature} than what it answers, ${answer}`,
  })

const believeBytes: Believe = ([answer]) =>
  answer?.error || (isHex(answer?.result) && answer.result.length % 2 === 0) ? undefined : 'answers no bytes'
