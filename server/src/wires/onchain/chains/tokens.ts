import type { Address, Hex } from '../../../base/hex.ts'
import { hexToString, isHex, size } from '../../../base/viem.ts'
import { BoundedMap } from '../../../base/bounded-map.ts'
import type { Clock } from '../../../base/clock.ts'
import { oneLine } from '../../../base/one-line.ts'
import { revertOf } from './revert-reason.ts'
import type { Chain } from './chain.ts'
import { providerError, type RpcAnswer } from './rpc.ts'

// https://eips.ethereum.org/EIPS/eip-20#methods
const DECIMALS = '0x313ce567'
const SYMBOL = '0x95d89b41'
const SYMBOL_MAX = 32
/** Characters of a symbol's answer that are read: anybody can deploy a token that answers a megabyte. */
const ANSWER_MAX = 2_048
const DECIMALS_MAX = 77
const KNOWN_MAX = 1_000
/** A proxy can get another contract, which may have another symbol. */
const KNOWN_MS = 3_600_000

/** An ERC-20 token as its contract describes it. */
export type Token = {
  address: Address
  /** Empty if the contract has none. */
  symbol: string
  decimals: number
}

export type TokenReader = {
  /**
   * Reads what a token is; it is remembered for an hour.
   *
   * @returns undefined if there is no contract at the address, or one that is no ERC-20 token with decimals
   * @throws PROVIDER_ERROR
   */
  read(chain: Chain, address: Address): Promise<Token | undefined>
}

export function createTokens(clock: Clock): TokenReader {
  const cache = new BoundedMap<string, { token: Token; until: number }>(KNOWN_MAX)
  return {
    async read(chain, address) {
      const { chainId, genesisHash } = await chain.identity()
      const key = `${chainId} ${genesisHash} ${address}`
      const stored = cache.get(key)
      if (stored && clock.elapsed() < stored.until) return stored.token
      const [decimals, symbol] = await chain.rpc.batch(
        [DECIMALS, SYMBOL].map((data) => ({ method: 'eth_call', params: [{ to: address, data }, 'latest'] })),
      )
      const places = uintIn(answerOf(chain, decimals!))
      if (places === undefined || places > DECIMALS_MAX) return undefined
      const token = { address, symbol: textIn(answerOf(chain, symbol!)), decimals: Number(places) }
      cache.set(key, { token, until: clock.elapsed() + KNOWN_MS })
      return token
    },
  }
}

/** What the contract answers; undefined if it refuses. @throws PROVIDER_ERROR */
function answerOf(chain: Chain, { result, error }: RpcAnswer): unknown {
  if (error && !revertOf(error)) throw providerError(chain.name, `eth_call: ${error.message}`)
  return result
}

const uintIn = (result: unknown): bigint | undefined =>
  isHex(result) && size(result) === 32 ? BigInt(result) : undefined

/** The word at a position in words of 32 bytes. */
const wordAt = (data: Hex, at: number): Hex => `0x${data.slice(2 + 64 * at, 66 + 64 * at)}`

/** The text of a `string`, or of 32 bytes, which some old tokens answer. Empty if it is neither. */
function textIn(result: unknown): string {
  if (!isHex(result)) return ''
  const data = result.slice(0, ANSWER_MAX) as Hex
  if (size(result) === 32) return oneLine(hexToString(data).replace(/\0+$/, ''), SYMBOL_MAX)
  if (size(data) < 64 || BigInt(wordAt(data, 0)) !== 32n) return ''
  const length = BigInt(wordAt(data, 1))
  const end = length > ANSWER_MAX ? ANSWER_MAX : 130 + 2 * Number(length)
  return oneLine(hexToString(`0x${data.slice(130, end)}`), SYMBOL_MAX)
}
