import type { Static } from 'typebox'

import { invalid } from '../../../base/errors.ts'
import { StartError } from '../../../base/start-error.ts'
import { prefixOf } from '../../../kernel/wire/provider-options.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { CHAIN_DEFAULTS, type ChainOptions, type OnchainOptions } from '../options.ts'
import { createChain, type Chain } from './chain.ts'
import { isNodeAddress } from './rpc.ts'

/** Defaults of a chain: the depth of its confirmations, and its fees per unit of gas in gwei. */
type Usual = { depth: number; maxFeeGwei: number; usualTipGwei: number }

const USUAL: Usual = { depth: 12, maxFeeGwei: 500, usualTipGwei: 1 }
/** A rollup has a base fee of hundredths of a gwei, and few gwei at its worst. */
const ROLLUP: Usual = { depth: 20, maxFeeGwei: 10, usualTipGwei: 0.01 }
/** The chains whose nodes must have these ids in production. */
const WELL_KNOWN: Readonly<Record<string, Usual & { id: number }>> = {
  ethereum: { id: 1, ...USUAL },
  arbitrum: { id: 42_161, ...ROLLUP },
  base: { id: 8_453, ...ROLLUP },
}

export type Chains = {
  readonly defaultName: string
  /** All that the configuration has, those without a node included. */
  readonly all: readonly Chain[]
  /**
   * Finds a chain by name.
   *
   * @param name undefined: the default one
   * @param path of the name in the request, for the error
   * @throws VALIDATION_ERROR naming the chains that there are
   */
  of(name: string | undefined, path?: string): Chain
  close(): void
}

/** @throws StartError for chains that cannot work */
export function createChains(
  context: Pick<WireContext, 'db' | 'clock' | 'log' | 'settings'>,
  options: Static<typeof OnchainOptions>,
): Chains {
  const { production, sandbox } = context.settings
  const nameOfId = new Map<number, string>()
  const nameOfAddress = new Map<string, string>()
  const names = new Set([...Object.keys(WELL_KNOWN), ...Object.keys(options.chains)])
  const all = Array.from(names, (name) => {
    const preset = WELL_KNOWN[name]
    const usual = preset ?? USUAL
    const own: Static<typeof ChainOptions> = options.chains[name] ?? CHAIN_DEFAULTS
    const variable = `${prefixOf(name)}_RPC_URL`
    const wrong = own.rpcUrls?.findIndex((url) => !isNodeAddress(url)) ?? -1
    if (wrong !== -1)
      throw new StartError(
        `${variable}: address ${wrong + 1} of ${own.rpcUrls!.length} cannot be read: it must be like https://node.example/key`,
      )
    if (Object.hasOwn(own.tokens, own.symbol))
      throw new StartError(
        `onchain.chains.${name}.tokens: ${own.symbol} is the native coin: give the token another symbol`,
      )
    // The sandbox has nodes for the well-known chains, unless what it would decide is configured.
    const isLeftToSandbox =
      sandbox && preset !== undefined && own.id === undefined && Object.keys(own.tokens).length === 0
    if (options.chains[name] && !own.rpcUrls && !isLeftToSandbox)
      throw new StartError(
        `${variable}, or onchain.chains.${name}.rpcUrls: it is not set, but other settings of the chain are: set it, or remove them`,
      )
    const id = own.id ?? (production ? preset?.id : undefined)
    if (production && own.rpcUrls && id === undefined)
      throw new StartError(
        `onchain.chains.${name}.id: set the chain id, so that no transaction is signed for another chain`,
      )
    if (own.rpcUrls && id !== undefined) {
      // Each name has nonces and limits of its own, so one chain must have one.
      const other = nameOfId.get(id)
      if (other !== undefined)
        throw new StartError(
          `onchain.chains.${name}.id: ${id} is the id of ${other} already: give that chain all addresses of nodes`,
        )
      nameOfId.set(id, name)
    }
    for (const [at, url] of own.rpcUrls?.entries() ?? []) {
      const { href } = new URL(url)
      const other = nameOfAddress.get(href) ?? name
      if (other !== name)
        throw new StartError(
          `${variable}: address ${at + 1} of ${own.rpcUrls!.length} is one of ${other} already: two names of one chain would each give its nonces`,
        )
      nameOfAddress.set(href, name)
    }
    return createChain(context, {
      ...own,
      name,
      variable,
      id,
      depth: own.confirmations ?? usual.depth,
      maxFeeGwei: own.maxFeeGwei ?? usual.maxFeeGwei,
      usualTipGwei: usual.usualTipGwei,
    })
  })
  const byName = new Map(all.map((chain) => [chain.name, chain]))
  if (!byName.has(options.defaultChain))
    throw new StartError(
      `DEFAULT_CHAIN: there is no chain "${options.defaultChain}": there are ${[...byName.keys()].join(', ')}`,
    )
  return {
    defaultName: options.defaultChain,
    all,
    of(name = options.defaultChain, path = '/body/chain') {
      const chain = byName.get(name)
      if (chain) return chain
      throw invalid({
        path,
        message: `is none of the chains that there are: ${[...byName.keys()].join(', ')}`,
      })
    },
    close: () => all.forEach((chain) => chain.close()),
  }
}
