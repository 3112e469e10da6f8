import type { RowFilter } from '../../../http/access.ts'
import type { Page } from '../../../http/page.ts'
import type { WireContext } from '../../../kernel/wire.ts'
import type { Chain } from '../chains/chain.ts'
import type { TransactionRow } from './transaction-rows.ts'

/** A transaction as the API shows it. */
export type SentTransaction = {
  hash: string
  status: 'pending' | 'confirmed' | 'failed' | 'replaced'
  chain: string
  from: string
  to: string | null
  /** Decimal, in the native coin. */
  value: string
  nonce: number
}

export type Transactions = {
  /** Reads one page of what this server sent, newest first. */
  list(
    rowFilter: RowFilter,
    query: { walletId?: string },
    page: Page,
  ): Promise<{ transactions: SentTransaction[]; total: number; nextCursor?: string }>
  /** @throws NOT_FOUND if no node has it and this server did not send it */
  get(chain: Chain, hash: string, rowFilter: RowFilter): Promise<SentTransaction>
  /** The row of a transaction of this server once it is mined, or as it is when the time is over. */
  mined(id: string, limitMs: number): Promise<TransactionRow>
}

export function createTransactions(_context: WireContext): Transactions {
  const missing = () => Promise.reject(new Error('not built yet'))
  return { list: missing, get: missing, mined: missing }
}

/** A transaction of this server as the routes that send one answer it. */
export const sentOf = (_row: TransactionRow): SentTransaction => {
  throw new Error('not built yet')
}
