import type { Abi } from 'viem'
import { encodeDeployData, encodeEventTopics, encodeFunctionData } from 'viem/utils'

import type { Address, Hex } from '../../../server/src/base/hex.ts'
import Forwarder from './contracts/Forwarder.json' with { type: 'json' }
import MultiToken from './contracts/MultiToken.json' with { type: 'json' }
import Nft from './contracts/Nft.json' with { type: 'json' }
import Token from './contracts/Token.json' with { type: 'json' }

// Compiled by scripts/compile-contracts.ts.
type Compiled = { abi: Abi; bytecode: Hex }
const CONTRACTS = { Forwarder, MultiToken, Nft, Token } as unknown as Record<
  'Forwarder' | 'MultiToken' | 'Nft' | 'Token',
  Compiled
>

/** The ERC-20 token of every chain. */
export const TOKEN = { name: 'USD Coin (sandbox)', symbol: 'USDC', decimals: 6 } as const
const TOKENS_EACH = 1_000_000n * 10n ** BigInt(TOKEN.decimals)

const deploy = ({ abi, bytecode }: Compiled, args: readonly unknown[] = []): Hex =>
  encodeDeployData({ abi, bytecode, args })

const call = ({ abi }: Compiled, functionName: string, args: readonly unknown[]): Hex =>
  encodeFunctionData({ abi, functionName, args })

/** The first transactions of a chain, by its deployer, in the order of their nonces. */
export const setUpCalls = (token: Address, holders: readonly Address[]): { to?: Address; data: Hex }[] => [
  { data: deploy(CONTRACTS.Token, [TOKEN.name, TOKEN.symbol, TOKEN.decimals]) },
  { data: deploy(CONTRACTS.Nft, ['NFT (sandbox)', 'NFT']) },
  { data: deploy(CONTRACTS.MultiToken) },
  { data: deploy(CONTRACTS.Forwarder) },
  ...holders.map((holder) => ({ to: token, data: call(CONTRACTS.Token, 'mint', [holder, TOKENS_EACH]) })),
]

export const transferCall = (to: Address, value: bigint): Hex =>
  call(CONTRACTS.Token, 'transfer', [to, value])
export const balanceCall = (owner: Address): Hex => call(CONTRACTS.Token, 'balanceOf', [owner])
/** The topic of the token's transfers; sender and receiver are the next ones. */
export const [TRANSFER] = encodeEventTopics({ abi: CONTRACTS.Token.abi, eventName: 'Transfer' })
export const forwardCall = (to: Address): Hex => call(CONTRACTS.Forwarder, 'forward', [to])
