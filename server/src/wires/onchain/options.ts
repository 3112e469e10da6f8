import { Type } from '../../base/schema.ts'
import type { KeyStore } from './wallets/signer.ts'

const AMOUNT = { pattern: '^(0|[1-9]\\d*)(\\.\\d{1,18})?$', maxLength: 78 }
const Amount = (description: string) =>
  Type.Optional(Type.String({ ...AMOUNT, description, examples: ['2.5'] }))

const ADDRESS = '^0x[0-9a-fA-F]{40}$'

/** What an operator allows wallets to send on a chain. Amounts are decimals of the native coin. */
export const SendingLimits = Type.Object(
  {
    walletPerDay: Amount('How much of the native coin one wallet may send within a day (UTC).'),
    destinationPerDay: Amount(
      'How much of the native coin all wallets may send to one address within a day (UTC).',
    ),
    contracts: Type.Optional(
      Type.Array(Type.String({ pattern: ADDRESS }), {
        description: 'The only contracts that wallets may call. Transfers to accounts are not affected.',
      }),
    ),
    destinations: Type.Optional(
      Type.Array(Type.String({ pattern: ADDRESS }), {
        description: 'The only addresses that wallets may send the native coin to.',
      }),
    ),
  },
  { default: {} },
)

/** The options of a chain of which the configuration says nothing. */
export const CHAIN_DEFAULTS = {
  tokens: {},
  maxTransactionFee: '1',
  symbol: 'ETH',
  pollMs: 1_000,
  limits: {},
}

/** One chain. It is configured if it has an address of a node. */
export const ChainOptions = Type.Object({
  rpcUrls: Type.Optional(
    Type.Array(Type.String({ pattern: '^https?://' }), {
      minItems: 1,
      description: 'Addresses of nodes (JSON-RPC over http or https), tried in order.',
    }),
  ),
  id: Type.Optional(
    Type.Integer({
      minimum: 1,
      description:
        'The chain id that the nodes must have. Default: in production the well-known one, elsewhere that of the first contact.',
    }),
  ),
  confirmations: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000,
      description: 'How many blocks make a transaction or a payment final; its own block is the first.',
    }),
  ),
  tokens: Type.Record(
    Type.String({ pattern: '^[A-Za-z0-9._$-]{1,32}$' }),
    Type.String({ pattern: ADDRESS }),
    {
      default: {},
      description: 'ERC-20 tokens that payments take: their contracts by symbol.',
    },
  ),
  maxFeeGwei: Type.Optional(
    Type.Number({
      exclusiveMinimum: 0,
      maximum: 1_000_000,
      description:
        'The most that a transaction pays per unit of gas, in gwei. Default: 500; of arbitrum and base 10.',
    }),
  ),
  maxTransactionFee: Type.String({
    ...AMOUNT,
    default: CHAIN_DEFAULTS.maxTransactionFee,
    description:
      'The most that the gas of one transaction may cost, in the native coin. Nodes have a limit of their own (--rpc.txfeecap of go-ethereum: 1).',
  }),
  symbol: Type.String({
    pattern: '^[A-Za-z0-9]{1,16}$',
    default: CHAIN_DEFAULTS.symbol,
    description: 'The native coin.',
  }),
  pollMs: Type.Integer({
    minimum: 50,
    maximum: 600_000,
    default: CHAIN_DEFAULTS.pollMs,
    description: 'How often the nodes are asked for a new block while something is awaited, in milliseconds.',
  }),
  limits: SendingLimits,
})

/** The options of the onchain wire. */
export const OnchainOptions = Type.Object({
  defaultChain: Type.String({
    minLength: 1,
    default: 'ethereum',
    description: 'The chain of requests that name none.',
  }),
  stuckSeconds: Type.Integer({
    minimum: 1,
    maximum: 86_400,
    default: 60,
    description: 'How long a transaction waits to be mined before it is replaced by one with a higher fee.',
  }),
  ipfsGateway: Type.String({
    pattern: '^https?://',
    default: 'https://ipfs.io/ipfs/',
    description: 'Where metadata of NFTs with an ipfs:// address is fetched.',
  }),
  arweaveGateway: Type.String({
    pattern: '^https?://',
    default: 'https://arweave.net/',
    description: 'Where metadata of NFTs with an ar:// address is fetched.',
  }),
  chains: Type.Record(Type.String({ pattern: '^[a-z][a-zA-Z0-9-]{0,31}$' }), ChainOptions, { default: {} }),
  keys: Type.Optional(Type.Unsafe<KeyStore>({ type: 'object' })),
})

/** The environment variables of the wire itself. */
export const ONCHAIN_ENV = { DEFAULT_CHAIN: 'defaultChain', TX_STUCK_SECONDS: 'stuckSeconds' } as const

/** The environment variables of each chain. */
export const ONCHAIN_PROVIDERS = {
  'chains.*': {
    instances: ['ethereum', 'arbitrum', 'base'],
    env: {
      '*_RPC_URL': 'rpcUrls',
      '*_ID': 'id',
      '*_CONFIRMATIONS': 'confirmations',
      '*_TOKENS': 'tokens',
      '*_MAX_FEE_GWEI': 'maxFeeGwei',
      '*_MAX_TRANSACTION_FEE': 'maxTransactionFee',
    },
    sharedWithSandbox: ['confirmations', 'maxFeeGwei', 'maxTransactionFee'],
  },
} as const

/** What administrators may set while the server runs. */
export const ONCHAIN_SETTABLE = [
  'defaultChain',
  'stuckSeconds',
  'ipfsGateway',
  'arweaveGateway',
  'chains.ethereum.rpcUrls',
  'chains.arbitrum.rpcUrls',
  'chains.base.rpcUrls',
] as const
