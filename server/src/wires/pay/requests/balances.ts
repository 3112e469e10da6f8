import type { Hex } from '../../../base/hex.ts'
import { concat, isHex } from '../../../base/viem.ts'
import type { Chain, Head, RpcAnswer, RpcCall } from '../../onchain/index.ts'

/** Addresses that one call reads: their balances must fit into the 24,576 bytes that a new contract may have (EIP-170). */
const CHUNK = 1_000
/** 16 bytes. */
const BALANCE_DIGITS = 32

/**
 * Code that creates a contract whose "code" is the balances of the addresses behind it, 16 bytes each: in `eth_call` nothing
 * is created, and one call reads a thousand balances at the same block.
 *
 *     PUSH1 45  PUSH1 32                                  // p: the next address in this code, m: where its balance goes
 *     loop: JUMPDEST CODESIZE DUP3 LT PUSH1 body JUMPI    // while (p < codesize)
 *     PUSH1 32 DUP1 DUP3 SUB SWAP1 RETURN                 // return memory[32, m]
 *     body: JUMPDEST PUSH1 20 DUP3 PUSH1 12 CODECOPY      // memory[12, 32] = code[p, p + 20]
 *     PUSH1 0 MLOAD BALANCE PUSH1 128 SHL DUP2 MSTORE     // memory[m, m + 16] = balance
 *     PUSH1 16 ADD SWAP1 PUSH1 20 ADD SWAP1 PUSH1 4 JUMP  // m += 16, p += 20
 */
const READ_BALANCES: Hex =
  '0x602d60205b388210601257602080820390f35b601482600c396000513160801b81526010019060140190600456'

/** `balanceOf(address)`. https://eips.ethereum.org/EIPS/eip-20#balanceof */
const BALANCE_OF = '0x70a08231'

/** Balances of the native coin by address in lower case, those that are zero left out. */
export type Balances = ReadonlyMap<string, bigint>

/**
 * Reads the native coin of many addresses, in one request.
 *
 * @param addresses in lower case
 * @param blocks those at whose end the balances are read, by their hashes: of another block of the same number, after a
 *   reorganisation or from a node that is behind, nothing is answered
 * @returns the balances at each block; undefined if the node does not have the block, or not its state any more
 * @throws PROVIDER_ERROR
 */
export async function readBalances(
  { rpc }: Pick<Chain, 'rpc'>,
  addresses: readonly string[],
  blocks: readonly (Pick<Head, 'hash'> | 'latest')[],
): Promise<(Balances | undefined)[]> {
  const chunks = Array.from({ length: Math.ceil(addresses.length / CHUNK) }, (_one, at) =>
    addresses.slice(at * CHUNK, (at + 1) * CHUNK),
  )
  const calls = blocks.flatMap((block) =>
    chunks.map((chunk): RpcCall => {
      const data = concat([READ_BALANCES, ...(chunk as Hex[])])
      // https://eips.ethereum.org/EIPS/eip-1898
      return {
        method: 'eth_call',
        params: [{ data }, block === 'latest' ? block : { blockHash: block.hash }],
      }
    }),
  )
  const answers = calls.length === 0 ? [] : await rpc.batch(calls)
  return blocks.map((_block, at) => {
    const balances = new Map<string, bigint>()
    for (const [index, chunk] of chunks.entries()) {
      const { result } = answers[at * chunks.length + index]!
      if (!isHex(result) || result.length !== 2 + chunk.length * BALANCE_DIGITS) return undefined
      for (const [place, address] of chunk.entries()) {
        const from = 2 + place * BALANCE_DIGITS
        const balance = BigInt(`0x${result.slice(from, from + BALANCE_DIGITS)}`)
        if (balance > 0n) balances.set(address, balance)
      }
    }
    return balances
  })
}

/**
 * Reads what addresses have of tokens at the end of a block, in one request.
 *
 * @returns the balances in the order of the places
 * @throws PROVIDER_ERROR, and an error if the node does not know them
 */
export async function readTokenBalances(
  { rpc }: Pick<Chain, 'rpc'>,
  places: readonly { contract: string; address: string }[],
  { number, hash }: Pick<Head, 'number' | 'hash'>,
): Promise<bigint[]> {
  if (places.length === 0) return []
  const answers = await rpc.batch(places.map((one) => balanceCall(one, { blockHash: hash })))
  return answers.map((answer) => {
    const balance = balanceIn(answer)
    if (balance === undefined) throw new Error(`the node has no balances of block ${number}`)
    return balance
  })
}

/** The call that reads what an address has of a token. */
export const balanceCall = (
  { contract, address }: { contract: string; address: string },
  // https://eips.ethereum.org/EIPS/eip-1898
  block: { blockHash: Hex } | 'latest',
): RpcCall => ({
  method: 'eth_call',
  params: [{ to: contract, data: `${BALANCE_OF}${address.slice(2).padStart(64, '0')}` }, block],
})

/** The balance in the answer to it; undefined if the node does not know it. */
export function balanceIn({ result, error }: RpcAnswer): bigint | undefined {
  // No contract was there yet, or it refuses to tell: nothing that anybody could spend.
  if (result === '0x' || (error && /revert/i.test(error.message))) return 0n
  return isHex(result) ? BigInt(result.slice(0, 66)) : undefined
}
