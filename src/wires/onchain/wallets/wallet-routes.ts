import type { Policy } from '../../../kernel/policy.ts'
import type { Wallets } from './wallets.ts'

export const walletRoutes = (_options: { wallets: Wallets; policy: Policy }) => [] as const
