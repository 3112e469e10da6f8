import type { Step } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { Events } from '../../../kernel/events/events.ts'
import { COLUMN_NAMES, type OnchainTransactionRow } from './transaction-rows.ts'
import { storedOf, type SentTransaction } from './transactions.ts'

/** What is published of the transactions that this server sends: each as the list shows it. */
export type OnchainTransactionEvents = {
  /** Behind the steps that do it. */
  publishSql(verb: 'created' | 'replaced' | 'mined', id: string): readonly Step[]
  /** Behind the step that does it, which may find no row. */
  failedSql(id: string): readonly Step[]
  /**
   * Before the steps that settle what is deep enough, of which those that are pending are published.
   *
   * @param where pending transactions that are deep enough
   */
  settledSql(where: Sql): readonly Step[]
  /** Before the step that takes transactions out of their blocks. */
  unminedSql(where: Sql): readonly Step[]
}

export function createTransactionEvents(events: Events): OnchainTransactionEvents {
  const changes = events.define('onchain.transaction', {
    verbs: ['created', 'replaced', 'mined', 'confirmed', 'failed', 'unmined'],
    table: sql.literal('onchain_transactions'),
    columns: COLUMN_NAMES,
    texts: ['value', 'gas_used', 'fee', 'cost'],
    data: (row: OnchainTransactionRow, verb) => dataOf(row, verb),
  })
  return {
    publishSql: (verb, id) => changes.publishSql(verb, sql`id = ${id}`),
    failedSql: (id) =>
      changes.publishSql('failed', sql`id = ${id} and status = 'failed' and block_number is null`, {
        once: sql`'failed:' || id`,
      }),
    settledSql: (where) => [
      ...changes.publishSql('confirmed', sql`${where} and succeeded = 1`),
      ...changes.publishSql('failed', sql`${where} and succeeded = 0`),
    ],
    unminedSql: (where) => changes.publishSql('unmined', where),
  }
}

/** A transaction as it is once the batch is written: some rows are read before their change. */
function dataOf(row: OnchainTransactionRow, verb: string): SentTransaction {
  const stored = storedOf(row)
  if (verb === 'confirmed' || verb === 'failed') return { ...stored, status: verb }
  if (verb !== 'unmined') return stored
  const { blockNumber: _number, gasUsed: _gas, fee: _fee, tokenId: _token, reason: _reason, ...rest } = stored
  return { ...rest, status: 'pending' }
}
