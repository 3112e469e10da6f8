import { decodeAbiParameters, hexToString, isHex, size, type Address } from 'viem'

import { BoundedMap } from '../../../base/bounded-map.ts'
import { oneLine } from '../../../base/one-line.ts'
import type { Chain } from './chain.ts'

// https://eips.ethereum.org/EIPS/eip-20#methods
const DECIMALS = '0x313ce567'
const SYMBOL = '0x95d89b41'
const SYMBOL_MAX = 32
const DECIMALS_MAX = 77
const KNOWN_MAX = 1_000

/** An ERC-20 token as its contract describes it. */
export type Token = { address: Address; symbol: string; decimals: number }

export type Tokens = {
  /**
   * Reads what a token is; it is remembered, since it never changes.
   *
   * @returns undefined if there is no contract at the address, or one that is no ERC-20 token
   * @throws PROVIDER_ERROR
   */
  read(chain: Chain, address: Address): Promise<Token | undefined>
}

export function createTokens(): Tokens {
  const known = new BoundedMap<string, Token>(KNOWN_MAX)
  return {
    async read(chain, address) {
      const { chainId } = await chain.identity()
      const key = `${chainId} ${address}`
      const stored = known.get(key)
      if (stored) return stored
      const [decimals, symbol] = await chain.rpc.batch(
        [DECIMALS, SYMBOL].map((data) => ({ method: 'eth_call', params: [{ to: address, data }, 'latest'] })),
      )
      const places = uintIn(decimals!.result)
      if (places === undefined || places > DECIMALS_MAX) return undefined
      const token = { address, symbol: textIn(symbol!.result), decimals: Number(places) }
      known.set(key, token)
      return token
    },
  }
}

function uintIn(result: unknown): bigint | undefined {
  return isHex(result) && size(result) === 32 ? BigInt(result) : undefined
}

/** Some old tokens answer 32 bytes instead of a text. */
function textIn(result: unknown): string {
  if (!isHex(result)) return ''
  try {
    const text =
      size(result) === 32
        ? hexToString(result, { size: 32 })
        : decodeAbiParameters([{ type: 'string' }], result)[0]
    return oneLine(text, SYMBOL_MAX)
  } catch {
    // A symbol is for show only.
    return ''
  }
}
