import { isoTime } from '../../base/clock.ts'
import { emailKey } from '../../base/email-address.ts'
import { errors } from '../../base/errors.ts'
import { leastIdOf } from '../../base/ids.ts'
import type { Database } from '../../db/database.ts'
import { sql, type Sql } from '../../db/sql.ts'
import type { RowFilter } from '../../http/access.ts'
import type { Page } from '../../http/page.ts'
import { createCountedList } from '../../kernel/counted-list.ts'
import { numberOf } from './amounts.ts'
import { exportCsv } from './export.ts'
import { isOpen, type LedgerTransaction, type Ledger } from './ledger.ts'
import type { ProviderName } from './provider.ts'
import type { PaymentStatus } from './state.ts'
import { transactionOf, type PaymentTransaction } from './transaction-record.ts'
import { selectHistorySql, TRANSACTION_COLUMNS, type TransactionRow } from './transaction-rows.ts'

export type TransactionRefund = {
  refundId: string
  amount: number
  status: 'pending' | 'completed' | 'failed'
  /** Absent if the refund was made at the provider, or without one. */
  reason?: string
  createdAt: string
}

export type TransactionDispute = {
  status: 'inquiry' | 'open' | 'won' | 'lost'
  amount: number
  reason?: string
  createdAt: string
}

export type TransactionDetails = PaymentTransaction & {
  refunds: TransactionRefund[]
  dispute?: TransactionDispute
  history: { status: PaymentStatus; at: string; cause: string }[]
}

/** The filters of the list; times are milliseconds since 1970, `from` inclusive, `to` exclusive. */
export type TransactionQuery = {
  provider?: ProviderName
  status?: PaymentStatus
  reference?: string
  merchantReference?: string
  email?: string
  userId?: string
  from?: number
  to?: number
}

export type TransactionPage = { transactions: PaymentTransaction[]; total: number; nextCursor?: string }

export type Transactions = {
  /** Reads one page, newest first. */
  list(rowFilter: RowFilter, query: TransactionQuery, page: Page): Promise<TransactionPage>
  /** All that meet the filters as lines of CSV, newest first. */
  csv(rowFilter: RowFilter, query: TransactionQuery): AsyncIterable<string>
  /** @throws NOT_FOUND */
  get(id: string, rowFilter: RowFilter): Promise<TransactionDetails>
}

export function createTransactions(db: Database, ledger: Ledger): Transactions {
  const list = createCountedList<TransactionRow, 'provider' | 'status'>(db, {
    name: 'pay.transactions',
    table: sql.literal('pay_transactions'),
    columns: TRANSACTION_COLUMNS,
    facets: ['provider', 'status'],
  })
  return {
    async list(rowFilter, { provider, status, ...query }, page) {
      const conditions = conditionsOf(query)
      const { rows, ...rest } = await list(rowFilter, conditions, page, { provider, status })
      return { transactions: rows.map(transactionOf), ...rest }
    },

    csv: ({ owner }, query) =>
      exportCsv(db, [
        ...(owner === undefined ? [] : [sql`owner = ${owner}`]),
        ...(query.provider === undefined ? [] : [sql`provider = ${query.provider}`]),
        ...(query.status === undefined ? [] : [sql`status = ${query.status}`]),
        ...conditionsOf(query),
      ]),

    async get(id, { owner }) {
      const [transaction, history] = await Promise.all([ledger.read(id), db.all(selectHistorySql(id))])
      if (!transaction || (owner !== undefined && transaction.row.owner !== owner))
        throw errors.not_found({ message: `There is no transaction ${JSON.stringify(id)}.` })
      const dispute = disputeOf(transaction)
      return {
        ...transactionOf(transaction.row),
        refunds: refundsOf(transaction),
        ...(dispute && { dispute }),
        history: history.map(({ status, at, cause }) => ({ status, at: isoTime(at), cause })),
      }
    },
  }
}

function conditionsOf({ reference, merchantReference, email, userId, from, to }: TransactionQuery): Sql[] {
  return [
    ...(reference === undefined ? [] : [sql`reference = ${reference}`]),
    ...(merchantReference === undefined ? [] : [sql`merchant_reference = ${merchantReference}`]),
    ...(email === undefined ? [] : [sql`email_key = ${emailKey(email)}`]),
    ...(userId === undefined ? [] : [sql`owner = ${userId}`]),
    // An id begins with the time of its creation.
    ...(from === undefined ? [] : [sql`id >= ${leastIdOf(from)}`]),
    ...(to === undefined ? [] : [sql`id < ${leastIdOf(to)}`]),
  ]
}

/** Refunds that the provider has, and those that may have been made, oldest first. */
function refundsOf({ row, calls, summary }: LedgerTransaction): TransactionRefund[] {
  const seen = new Set(summary.refunds.map(({ callId }) => callId))
  const refunds = summary.refunds.map((one) => ({
    // A refund made at the provider is known by the provider's id.
    refundId: one.callId ?? one.objectId,
    amount: numberOf(one.amount, row),
    status: one.status,
    at: calls.find(({ id }) => id === one.callId)?.created_at ?? one.createdAt!,
  }))
  const pending = calls
    .filter((call) => call.kind === 'refund' && isOpen(call) && !seen.has(call.id))
    .map((call) => ({
      refundId: call.id,
      amount: numberOf(BigInt(call.amount!), row),
      status: 'pending' as const,
      at: call.created_at,
    }))
  const reasons = new Map(calls.map((call) => [call.id, call.refund_reason]))
  return [...refunds, ...pending]
    .toSorted((one, other) => one.at - other.at)
    .map(({ at, ...refund }) => {
      const reason = reasons.get(refund.refundId) ?? undefined
      return { ...refund, ...(reason !== undefined && { reason }), createdAt: isoTime(at) }
    })
}

/** The dispute that counts: an open one, else the latest. */
function disputeOf({ row, summary }: LedgerTransaction): TransactionDispute | undefined {
  const latest = summary.disputes.toSorted((one, other) => (one.createdAt ?? 0) - (other.createdAt ?? 0))
  const dispute = latest.find(({ status }) => status === 'open') ?? latest.at(-1)
  if (!dispute) return undefined
  return {
    status: dispute.status,
    amount: numberOf(dispute.amount, row),
    ...(dispute.reason !== undefined && { reason: dispute.reason }),
    createdAt: isoTime(dispute.createdAt ?? row.updated_at),
  }
}
