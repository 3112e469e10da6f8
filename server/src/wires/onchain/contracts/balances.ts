import { ApiError, invalid } from '../../../base/errors.ts'
import type { Clock } from '../../../base/clock.ts'
import { within } from '../../../base/within.ts'
import type { Address } from '../../../base/hex.ts'
import { isHex, size } from '../../../base/viem.ts'
import { formatUnits } from '../../../base/money.ts'
import { COIN_DECIMALS, isQuantity, type Chain } from '../chains/chain.ts'
import type { Chains } from '../chains/chains.ts'
import { providerError } from '../chains/rpc.ts'
import type { TokenReader } from '../chains/tokens.ts'
import { revertOf } from '../chains/revert-reason.ts'

// balanceOf(address): https://eips.ethereum.org/EIPS/eip-20#balanceof
const BALANCE_OF = '0x70a08231'

/** What an address has on a chain. */
export type Balance = {
  address: string
  /** Decimal, in the coin or token. */
  balance: string
  symbol: string
  chain: string
}

/** Reads what an address has of the native coin. @throws PROVIDER_ERROR */
export async function nativeBalance(chain: Chain, address: Address): Promise<Balance> {
  const [answer] = await chain.rpc.batch([{ method: 'eth_getBalance', params: [address, 'latest'] }], {
    believe: ([one]) => (one?.error || isQuantity(one?.result) ? undefined : 'answers no balance'),
  })
  const { error, result } = answer!
  if (error) throw providerError(chain.name, `eth_getBalance: ${error.message}`)
  const balance = formatUnits(BigInt(result as string), COIN_DECIMALS)
  return { address, balance, symbol: chain.symbol, chain: chain.name }
}

/**
 * Reads what an address has of an ERC-20 token.
 *
 * @throws VALIDATION_ERROR if it is no token; PROVIDER_ERROR
 */
export async function tokenBalance(
  chain: Chain,
  tokens: TokenReader,
  { address, token: contract }: { address: Address; token: Address },
): Promise<Balance> {
  const data = `${BALANCE_OF}${address.slice(2).toLowerCase().padStart(64, '0')}`
  const [token, [answer]] = await Promise.all([
    tokens.read(chain, contract),
    chain.rpc.batch([{ method: 'eth_call', params: [{ to: contract, data }, 'latest'] }]),
  ])
  const { error, result } = answer!
  if (error && !revertOf(error)) throw providerError(chain.name, `eth_call: ${error.message}`)
  if (!token || !isHex(result) || size(result) !== 32)
    throw invalid({ path: '/query/token', message: `is not the address of an ERC-20 token on ${chain.name}` })
  const balance = formatUnits(BigInt(result), token.decimals)
  return { address, balance, symbol: token.symbol, chain: chain.name }
}

const BALANCE_MS = 5_000
const NO_ANSWER = 'the chain gives no answer'

/** A balance of an address, or why there is none. */
export type FoundBalance = { chain: string; symbol: string; token?: string; balance?: string; error?: string }

/**
 * Reads what an address has on each chain that has a node: the native coin, and the tokens of the configuration. All chains
 * are asked at once, and one that is away does not keep the others waiting for more than 5 seconds.
 */
export async function addressBalances(
  { chains, tokens, clock }: { chains: Chains; tokens: TokenReader; clock: Clock },
  address: Address,
): Promise<FoundBalance[]> {
  const readAll = chains.all
    .filter(({ isConfigured }) => isConfigured)
    .flatMap((chain) => [
      readOrError({ chain: chain.name, symbol: chain.symbol }, clock, () => nativeBalance(chain, address)),
      ...Object.entries(chain.tokens).map(([symbol, token]) =>
        readOrError({ chain: chain.name, symbol, token }, clock, () =>
          tokenBalance(chain, tokens, { address, token: token as Address }),
        ),
      ),
    ])
  return Promise.all(readAll)
}

async function readOrError(
  what: Pick<FoundBalance, 'chain' | 'symbol' | 'token'>,
  clock: Clock,
  read: () => Promise<Balance>,
): Promise<FoundBalance> {
  try {
    const { balance } = await within(BALANCE_MS, read, clock)
    return { ...what, balance }
  } catch (error) {
    return { ...what, error: error instanceof ApiError ? error.message : NO_ANSWER }
  }
}
