import type { Policy } from '../../../kernel/policy.ts'
import type { Chains } from '../chains/chains.ts'
import type { Tokens } from '../chains/tokens.ts'
import type { Submit } from '../transactions/intent.ts'
import type { Wallets } from '../wallets/wallets.ts'

/** Balances, and calls of contracts. */
export const contractRoutes = (_options: {
  chains: Chains
  tokens: Tokens
  wallets: Wallets
  submit: Submit
  policy: Policy
}) => [] as const
