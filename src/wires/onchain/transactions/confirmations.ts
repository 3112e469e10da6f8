import type { WireContext } from '../../../kernel/wire.ts'
import type { Chains } from '../chains/chains.ts'
import { createFollower, type Follower } from '../chains/follower.ts'

/** Finds out which transactions were mined, and takes that back if a chain is reorganised. */
export type Confirmations = Follower

export const createConfirmations = (context: WireContext, options: { chains: Chains }): Confirmations =>
  createFollower(context, options.chains, {
    name: 'transactions',
    isNeeded: async () => false,
    apply: async () => [],
    rewind: async () => [],
  })
