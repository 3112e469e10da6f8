import { sql } from '../../../db/sql.ts'
import type { Step } from '../../../db/database.ts'
import type { Events } from '../../../kernel/events/events.ts'
import { STATUSES, type PaymentStatus } from './state.ts'
import { transactionOf } from './transaction-record.ts'
import { COLUMN_NAMES, type TransactionRow } from './transaction-rows.ts'

/** What is published of transactions: each as the list shows it. */
export type TransactionEvents = {
  createdSql(id: string): readonly Step[]
  /** The steps behind those that change a transaction: for each status that it reaches, or one for another change. */
  changedSql(id: string, history: readonly PaymentStatus[]): readonly Step[]
}

export function createTransactionEvents(events: Events): TransactionEvents {
  const changes = events.define('pay.transaction', {
    verbs: ['created', 'updated', ...STATUSES.filter((status) => status !== 'pending')],
    table: sql.literal('pay_transactions'),
    columns: COLUMN_NAMES,
    texts: ['amount', 'captured', 'refunded', 'reserved', 'disputed', 'lost', 'fee', 'net'],
    data: (row: TransactionRow) => transactionOf(row),
  })
  return {
    createdSql: (id) => changes.publishSql('created', sql`id = ${id}`, { once: sql`'created:' || id` }),
    changedSql(id, history) {
      const verbs = history.map((status) => (status === 'pending' ? 'updated' : status))
      return (verbs.length > 0 ? verbs : (['updated'] as const)).flatMap((verb) =>
        changes.publishSql(verb, sql`id = ${id}`),
      )
    },
  }
}
