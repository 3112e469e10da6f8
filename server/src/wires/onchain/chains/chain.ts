import type { Static } from 'typebox'

import type { Hex } from '../../../base/hex.ts'
import { parseEther } from '../../../base/viem.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { chainNotConfigured } from '../errors.ts'
import type { ChainOptions } from '../options.ts'
import { createIdentities, type Identity } from './identity.ts'
import { createRpc, providerError, type RpcAnswer, type Rpc } from './rpc.ts'

/** The decimal places of every native coin. */
export const COIN_DECIMALS = 18
/** How long an answered head is taken for the current one by those who do not ask for a newer one. */
const HEAD_MS = 500
/** Headers whose hashes are remembered, to tell a node that lags from a reorganisation. */
const SEEN_MAX = 256
/** Nodes behind one address may differ by so many blocks. */
const LAG_MAX = 3
/** How long it is believed that a node is one of the chain. */
const TRUST_MS = 60_000

/** A block's header. */
export type Head = {
  number: number
  hash: Hex
  parentHash: Hex
  /** Seconds since 1970. */
  timestamp: number
  /** Wei; undefined on a chain without EIP-1559. */
  baseFeePerGas: bigint | undefined
}

/** A chain that the configuration has. */
export type Chain = {
  readonly name: string
  /** Whether there is an address of a node. */
  readonly isConfigured: boolean
  /** The native coin, which has 18 decimals. */
  readonly symbol: string
  /** How many confirmations make a transaction final. */
  readonly depth: number
  /** The most that is paid per unit of gas, in wei. */
  readonly maxFee: bigint
  /** The most that the gas of one transaction may cost, in wei. */
  readonly maxTransactionFee: bigint
  /** Wei per unit of gas that blocks usually pay at least to who mines them. */
  readonly usualTip: bigint
  readonly pollMs: number
  /** Contracts of the tokens that payments take, by symbol. */
  readonly tokens: Readonly<Record<string, string>>
  readonly limits: Static<typeof ChainOptions>['limits']
  /** @throws PROVIDER_NOT_CONFIGURED */
  readonly rpc: Rpc
  /**
   * The latest block, at most half a second old.
   *
   * @throws PROVIDER_ERROR if no node answers, or all of them are behind what they showed before
   */
  head(options?: { isFresh?: boolean }): Promise<Head>
  /** The chain id and the first block. @throws PROVIDER_ERROR */
  identity(): Promise<Identity>
  close(): void
}

// A number has all digits of what is allowed: a million gwei are 2^50 wei.
const weiOf = (gwei: number): bigint => BigInt(Math.round(gwei * 1e9))

/** @param options.id the chain id that its nodes must have; undefined: that of the first contact */
export function createChain(
  context: Pick<WireContext, 'db' | 'clock' | 'log' | 'settings'>,
  options: Static<typeof ChainOptions> & {
    name: string
    variable: string
    id: number | undefined
    depth: number
    maxFeeGwei: number
    usualTipGwei: number
  },
): Chain {
  const { clock, log, settings } = context
  const { name, rpcUrls, variable } = options
  const identities = createIdentities(context, {
    chain: name,
    id: options.id,
    mayChange: !settings.production,
  })
  const rpc =
    rpcUrls &&
    createRpc({
      chain: name,
      urls: rpcUrls,
      clock,
      log,
      verify: (node) => identities.verify(node),
      trustMs: TRUST_MS,
    })
  const hashes = new Map<number, Hex>()
  let highest = 0
  let last: { at: number; head: Promise<Head> } | undefined

  function remember(head: Head): Head {
    // A lower block that is believed began a reorganisation.
    highest = head.number
    hashes.delete(head.number)
    hashes.set(head.number, head.hash)
    if (hashes.size > SEEN_MAX) hashes.delete(hashes.keys().next().value!)
    return head
  }

  function doubtOf([answer]: readonly RpcAnswer[]): string | undefined {
    const head = headOf(answer?.result)
    if (!head) return 'shows no latest block'
    // A block below that was not seen may be of a reorganisation, which on a real chain is never so deep.
    const isKnown = hashes.get(head.number) === head.hash || (settings.production && !hashes.has(head.number))
    const isBehind = head.number < highest - LAG_MAX && isKnown
    return isBehind ? `is behind: it shows block ${head.number}, and ${highest} was seen` : undefined
  }

  async function ask(): Promise<Head> {
    const [answer] = await required().batch([{ method: 'eth_getBlockByNumber', params: ['latest', false] }], {
      believe: doubtOf,
    })
    return remember(headOf(answer!.result)!)
  }

  function required(): Rpc {
    if (!rpc) throw chainNotConfigured(name, variable)
    return rpc
  }

  return {
    name,
    isConfigured: rpc !== undefined,
    symbol: options.symbol,
    depth: options.depth,
    maxFee: rpc ? weiOf(options.maxFeeGwei) : 0n,
    get maxTransactionFee() {
      return rpc ? parseEther(options.maxTransactionFee) : 0n
    },
    usualTip: rpc ? weiOf(options.usualTipGwei) : 0n,
    pollMs: options.pollMs,
    tokens: options.tokens,
    limits: options.limits,
    get rpc() {
      return required()
    },
    async head({ isFresh = false } = {}) {
      const now = clock.elapsed()
      if (!last || isFresh || now - last.at > Math.min(HEAD_MS, options.pollMs)) {
        const request = { at: now, head: ask() }
        last = request
        request.head.catch(() => {
          if (last === request) last = undefined
        })
      }
      return last.head
    },
    async identity() {
      const known = await identities.known()
      if (known) return known
      // Any call makes the first contact.
      await required().call('eth_chainId')
      const identity = await identities.known()
      if (!identity) throw providerError(name, 'its nodes do not say which chain they are of')
      return identity
    },
    close: () => rpc?.close(),
  }
}

/** Reads a block's header as a node shows it; undefined if it is none. */
export function headOf(block: unknown): Head | undefined {
  const { number, hash, parentHash, timestamp, baseFeePerGas } = (block ?? {}) as Record<string, unknown>
  if (!isQuantity(number) || !isHash(hash) || !isHash(parentHash) || !isQuantity(timestamp)) return undefined
  return {
    number: Number(number),
    hash: hash.toLowerCase() as Hex,
    parentHash: parentHash.toLowerCase() as Hex,
    timestamp: Number(timestamp),
    baseFeePerGas: isQuantity(baseFeePerGas) ? BigInt(baseFeePerGas) : undefined,
  }
}

const isHash = (value: unknown): value is Hex => typeof value === 'string' && /^0x[0-9a-f]{64}$/i.test(value)
/** @see https://ethereum.org/developers/docs/apis/json-rpc/#quantities-encoding */
export const isQuantity = (value: unknown): value is Hex =>
  typeof value === 'string' && /^0x[0-9a-f]{1,64}$/i.test(value)
