import type { Policy } from '../../../kernel/policy.ts'
import type { Chains } from '../chains/chains.ts'
import type { Wallets } from '../wallets/wallets.ts'
import type { Submit } from './intent.ts'
import type { Transactions } from './transactions.ts'

export const transactionRoutes = (_options: {
  chains: Chains
  wallets: Wallets
  submit: Submit
  transactions: Transactions
  policy: Policy
}) => [] as const
