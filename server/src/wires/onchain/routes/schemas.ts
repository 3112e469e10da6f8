import { unitsFault } from '../../../base/money.ts'
import { Type } from '../../../base/schema.ts'
import { withRule } from '../../../base/with-rule.ts'
import { hasChecksum } from '../chains/address.ts'
import { COIN_DECIMALS } from '../chains/chain.ts'

/** Of each user, over all routes that sign a transaction: each asks nodes several times, and is followed to its end. */
export const SIGNING_LIMIT = { rate: '60/min', name: 'signed transactions' } as const

/**
 * An address of 20 bytes; of mixed case it must have the checksum of EIP-55. Read it by `addressOf`.
 *
 * @param hasExample false: any address would be a wrong one
 */
export const AddressText = (description: string, { hasExample = true } = {}) =>
  withRule(
    Type.String({
      pattern: '^0x[0-9a-fA-F]{40}$',
      description: `${description} 0x and 40 hexadecimal digits; in mixed case with the checksum of EIP-55.`,
      ...(hasExample && { examples: ['0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'] }),
    }),
    (text) =>
      hasChecksum(text) ? undefined : 'has a wrong checksum (EIP-55): a digit or its case was mistyped',
  )

export const ChainName = Type.Optional(
  Type.String({
    maxLength: 40,
    description: 'The name of the chain. Default: DEFAULT_CHAIN.',
    examples: ['ethereum'],
  }),
)

export const HashText = Type.String({
  pattern: '^0x[0-9a-fA-F]{64}$',
  description: 'The hash of a transaction: 0x and 64 hexadecimal digits.',
  examples: [`0x${'5c'.repeat(32)}`],
})

export const Timestamp = Type.String({
  format: 'date-time',
  description: 'ISO 8601, UTC, with milliseconds.',
})

/** The id of a wallet of this server. */
export const WalletId = Type.String({
  minLength: 1,
  maxLength: 64,
  description: 'The id of the wallet that sends.',
  examples: ['01arz3ndektsv4rrffq69g5fav'],
})

/**
 * An amount of a native coin in a request; read it by `parseUnits`.
 *
 * @param hasExample false: any amount would be a wrong one
 */
export const CoinAmount = (description: string, { hasExample = true } = {}) =>
  withRule(
    Type.String({
      description: `${description} Decimal, in the native coin.`,
      ...(hasExample && { examples: ['0.25'] }),
    }),
    (text) => unitsFault(text, COIN_DECIMALS),
  )

/** What is known of a transaction before it is mined. */
export const SentFields = {
  hash: Type.String(),
  chain: Type.String(),
  from: Type.String(),
  to: Type.Union([Type.String(), Type.Null()], { description: 'Null if it creates a contract.' }),
  value: Type.String({ description: 'Decimal, in the native coin.', examples: ['0.25'] }),
  nonce: Type.Integer(),
}

/** A transaction as the routes that send one answer it. */
export const SentTransaction = Type.Object(
  { ...SentFields, status: Type.Enum(['pending']) },
  { title: 'SentTransaction' },
)
