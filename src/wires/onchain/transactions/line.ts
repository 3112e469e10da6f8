import type { Step } from '../../../db/database.ts'
import type { WireContext } from '../../../kernel/wire.ts'
import type { Chains } from '../chains/chains.ts'
import type { Signers } from '../wallets/signers.ts'

/** Sends what is signed: one line of nonces for each address on a chain. */
export type Lines = {
  /** The steps that have the line of an address send what is stored, for the batch that stores it. */
  wakeSql(chain: string, address: string): Step[]
  /** Wakes every line that has transactions which are not mined. */
  start(): Promise<void>
}

/** @param _options.stuckMs how long a transaction waits before it is replaced */
export const createLines = (
  _context: WireContext,
  _options: { chains: Chains; signers: Signers; stuckMs: number },
): Lines => ({ wakeSql: () => [], start: async () => undefined })
