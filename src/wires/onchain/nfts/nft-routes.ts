import type { WireContext } from '../../../kernel/wire.ts'
import type { Chains } from '../chains/chains.ts'
import type { Submit } from '../transactions/intent.ts'
import type { Transactions } from '../transactions/transactions.ts'
import type { Wallets } from '../wallets/wallets.ts'

export const nftRoutes = (
  _context: WireContext,
  _options: {
    chains: Chains
    wallets: Wallets
    submit: Submit
    transactions: Transactions
    ipfsGateway: string
  },
) => [] as const
