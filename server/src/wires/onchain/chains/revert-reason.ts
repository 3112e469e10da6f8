import type { Abi, AbiParameter } from 'viem'

import type { Hex } from '../../../base/hex.ts'
import { once } from '../../../base/once.ts'
import { decodeErrorResult, parseAbi, size, slice } from '../../../base/viem.ts'
import type { ApiError } from '../../../base/errors.ts'
import { oneLine } from '../../../base/one-line.ts'
import type { RpcFault } from './rpc.ts'
import { onchainErrors } from '../errors.ts'

/** The interface of a contract in JSON, as compilers write it. */
export type ContractInterface = readonly { readonly type: string }[]

/** Characters of a reason, and of each of its arguments: a contract decides what they say. */
const REASON_MAX = 300
/** Bytes of an error that are decoded. */
const DATA_MAX = 16_384

// https://eips.ethereum.org/EIPS/eip-6093 and OpenZeppelin's Ownable, which most contracts with an owner have.
const standardErrors = once(() =>
  parseAbi([
    'error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)',
    'error ERC20InvalidSender(address sender)',
    'error ERC20InvalidReceiver(address receiver)',
    'error ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed)',
    'error ERC20InvalidApprover(address approver)',
    'error ERC20InvalidSpender(address spender)',
    'error ERC721InvalidOwner(address owner)',
    'error ERC721NonexistentToken(uint256 tokenId)',
    'error ERC721IncorrectOwner(address sender, uint256 tokenId, address owner)',
    'error ERC721InvalidSender(address sender)',
    'error ERC721InvalidReceiver(address receiver)',
    'error ERC721InsufficientApproval(address operator, uint256 tokenId)',
    'error ERC721InvalidApprover(address approver)',
    'error ERC721InvalidOperator(address operator)',
    'error ERC1155InsufficientBalance(address sender, uint256 balance, uint256 needed, uint256 tokenId)',
    'error ERC1155InvalidSender(address sender)',
    'error ERC1155InvalidReceiver(address receiver)',
    'error ERC1155MissingApprovalForAll(address operator, address owner)',
    'error ERC1155InvalidApprover(address approver)',
    'error ERC1155InvalidOperator(address operator)',
    'error ERC1155InvalidArrayLength(uint256 idsLength, uint256 valuesLength)',
    'error OwnableUnauthorizedAccount(address account)',
    'error OwnableInvalidOwner(address owner)',
  ]),
)

// https://docs.soliditylang.org/en/latest/control-structures.html#panic-via-assert-and-error-via-require
const PANICS: Readonly<Record<string, string>> = {
  '0x0': 'a panic inserted by the compiler',
  '0x1': 'an assertion failed',
  '0x11': 'an arithmetic operation overflowed',
  '0x12': 'division or modulo by zero',
  '0x21': 'a value that is none of the enum',
  '0x22': 'a byte array in storage is encoded wrongly',
  '0x31': 'pop() on an empty array',
  '0x32': 'an index is out of the bounds of the array',
  '0x41': 'too much memory was allocated',
  '0x51': 'a call of a function variable that was not set',
}

/** Code of an error with what the contract returned; Parity and Nethermind use the second. */
const REVERT_CODES = [3, -32_015]
const REVERT = /revert|vm execution error|vm exception/i
/** Ends of an execution without a revert, which no other sender would get around either. */
const HALT =
  /invalid (opcode|jump)|invalidfeopcode|opcodenotfound|invalidjump|stack ?(underflow|overflow)|stack limit|out ?of ?gas|oog\b|out of memory|gas uint64 overflow|gas required exceeds|exceeds block gas limit|gas limit is too high/i

type Decoded = {
  /** One line. */
  reason: string
  /** The name of the contract's own error. */
  error?: string
  args?: unknown
  /** The first four bytes of an error that is not known. */
  selector?: Hex
}

/**
 * Reads why a contract refuses a call, from the error that a node answers to `eth_estimateGas` or `eth_call`.
 *
 * @param abi of the contract, for the names of its own errors
 * @returns CONTRACT_REVERTED with `details: {reason, error?, args?, selector?}`; undefined if the error is about something else
 */
export function revertOf(fault: RpcFault, abi: ContractInterface = []): ApiError | undefined {
  const { code, message, data } = fault
  const isRevert = REVERT_CODES.includes(code) || REVERT.test(message)
  if (!isRevert && !HALT.test(message)) return undefined
  const reason =
    isRevert && data !== undefined && size(data) >= 4
      ? decode(data, abi)
      : { reason: isRevert ? reasonIn(message) : oneLine(message, REASON_MAX) }
  return onchainErrors.contract_reverted({
    message: `The contract refuses this call: ${reason.reason}`,
    details: reason,
  })
}

function decode(data: Hex, abi: ContractInterface): Decoded {
  const selector = slice(data, 0, 4).toLowerCase() as Hex
  const unknown: Decoded = { reason: `an error that its ABI does not have (${selector})`, selector }
  if (size(data) > DATA_MAX) return unknown
  try {
    // An error without parameters has no `args`.
    const abiError: { errorName: string; args?: readonly unknown[]; abiItem: object } = decodeErrorResult({
      abi: [...(abi as Abi), ...standardErrors()],
      data,
    })
    const { errorName, args = [], abiItem } = abiError
    if (errorName === 'Error' && typeof args[0] === 'string')
      return { reason: oneLine(args[0], REASON_MAX) || 'no reason given' }
    if (errorName === 'Panic' && typeof args[0] === 'bigint') return { reason: panicOf(args[0]) }
    const values = args.map(jsonOf)
    const { inputs = [] } = abiItem as { inputs?: readonly AbiParameter[] }
    return {
      reason: oneLine(`${errorName}(${values.map(textOf).join(', ')})`, REASON_MAX),
      error: errorName,
      args: namedValues(values, inputs),
    }
  } catch {
    // No error of the ABI has this selector, or the contract encoded it wrongly.
    return unknown
  }
}

function panicOf(code: bigint): string {
  const hex = `0x${code.toString(16)}`
  return `${PANICS[hex] ?? 'a panic'} (${oneLine(`panic ${hex}`, 40)})`
}

/** Some nodes say the reason in their sentence only. */
function reasonIn(message: string): string {
  const reason = /revert(?:ed)?(?: with reason string)?:? +'?(.+?)'?$/i.exec(message)?.[1]
  return oneLine(reason ?? '', REASON_MAX) || 'no reason given'
}

const namedValues = (values: readonly unknown[], inputs: readonly AbiParameter[]): unknown =>
  inputs.length > 0 && inputs.every(({ name }) => name)
    ? Object.fromEntries(values.map((value, at) => [inputs[at]!.name!, value]))
    : values

/** A value of an ABI as JSON: integers as decimal strings. */
function jsonOf(value: unknown): unknown {
  if (typeof value === 'bigint' || typeof value === 'number') return String(value)
  if (typeof value === 'string') return oneLine(value, REASON_MAX)
  if (Array.isArray(value)) return value.map(jsonOf)
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, jsonOf(inner)]))
  return value
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
