import { isoTime } from '../../../base/clock.ts'
import { emailKey } from '../../../base/email-address.ts'
import { errors } from '../../../base/errors.ts'
import { leastIdOf } from '../../../base/ids.ts'
import { includesOwner, type RowFilter } from '../../../base/row-filter.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { Page } from '../../../http/page.ts'
import { createCountedList } from '../../../kernel/requests/counted-list.ts'
import { byBytes, type SortColumns } from '../../../kernel/requests/list-order.ts'
import { AMOUNT_KEY, amountKeyOf, displayOf, numberOf } from './amounts.ts'
import { exportCsv } from './export.ts'
import { isOpen, type LedgerTransaction, type Ledger } from './ledger.ts'
import type { ProviderName } from '../providers/provider.ts'
import type { PaymentStatus } from './state.ts'
import { transactionOf, type PaymentTransaction } from './transaction-record.ts'
import { purchaseOf, selectPurchaseSql, type Purchase } from './purchases.ts'
import { leftOf, selectHistorySql, TRANSACTION_COLUMNS, type TransactionRow } from './transaction-rows.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'

/** The most decimal places of a token. */
const DECIMALS_MAX = 77

/** What transactions are sorted by. */
const SORTS: SortColumns<TransactionRow> = {
  status: { key: sql.literal('status'), valueOf: ({ status }) => status },
  provider: { key: sql.literal('provider'), valueOf: ({ provider }) => provider },
  email: { key: byBytes(`coalesce(email_key, '')`), valueOf: (row) => row.email_key ?? '' },
  amount: { key: byBytes(AMOUNT_KEY), valueOf: amountKeyOf },
}

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

export type TransactionDetails = PaymentTransaction &
  Purchase & {
    /** The provider's id of the payment, once there is one. */
    paymentId?: string
    /** Decimal places of the currency at this provider. */
    exponent: number
    /** What can still be refunded: the exact decimal in major units. */
    displayRefundable: string
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
  currency?: string
  /** Decimals in major units of each payment's own currency, inclusive. */
  minAmount?: string
  maxAmount?: string
  from?: number
  to?: number
}

export type TransactionPage = {
  transactions: PaymentTransaction[]
  total: number | undefined
  nextCursor?: string
}

export type Transactions = {
  /** Reads one page. */
  list(rowFilter: RowFilter, query: TransactionQuery, page: Page): Promise<TransactionPage>
  /** All that meet the filters as lines of CSV, newest first. */
  csv(rowFilter: RowFilter, query: TransactionQuery): AsyncIterable<string>
  /** @param isOperator whether the buyer is shown. @throws NOT_FOUND */
  get(id: string, rowFilter: RowFilter, isOperator: boolean): Promise<TransactionDetails>
}

export function createTransactions(
  { db }: Pick<WireContext, 'db'>,
  { ledger }: { ledger: Ledger },
): Transactions {
  const list = createCountedList<TransactionRow, 'provider' | 'status'>(
    { db },
    {
      name: 'pay.transactions',
      table: sql.literal('pay_transactions'),
      columns: TRANSACTION_COLUMNS,
      facets: ['provider', 'status'],
      sorts: SORTS,
    },
  )
  return {
    async list(rowFilter, { provider, status, ...query }, page) {
      const conditions = [...indexedConditions(query), ...otherConditions(query)]
      const { rows, ...rest } = await list(rowFilter, conditions, page, { provider, status })
      return { transactions: rows.map(transactionOf), ...rest }
    },

    csv: (rowFilter, query) =>
      exportCsv(db, [
        ...(rowFilter.rows === 'all' ? [] : [sql`owner = ${rowFilter.owner}`]),
        ...conditionsOf(query),
      ]),

    async get(id, rowFilter, isOperator) {
      const [transaction, history, purchase] = await Promise.all([
        ledger.read(id),
        db.all(selectHistorySql(id)),
        db.get(selectPurchaseSql(id)),
      ])
      if (!transaction || !purchase || !includesOwner(rowFilter, transaction.row.owner))
        throw errors.not_found({ message: `There is no transaction ${JSON.stringify(id)}.` })
      const dispute = disputeOf(transaction)
      return {
        ...transactionOf(transaction.row),
        ...(transaction.row.payment_id !== null && { paymentId: transaction.row.payment_id }),
        ...purchaseOf(purchase, transaction.row, isOperator),
        exponent: transaction.row.exponent,
        displayRefundable: displayOf(refundableOf(transaction.row), transaction.row),
        refunds: refundsOf(transaction),
        ...(dispute && { dispute }),
        history: history.map(({ status, at, cause }) => ({ status, at: isoTime(at), cause })),
      }
    },
  }
}

/** All that the filters ask of a transaction. */
export const conditionsOf = (query: TransactionQuery): Sql[] => [
  ...(query.provider === undefined ? [] : [sql`provider = ${query.provider}`]),
  ...(query.status === undefined ? [] : [sql`status = ${query.status}`]),
  ...indexedConditions(query),
  ...otherConditions(query),
]

/** The conditions for which there is an index, beside those of provider and status. */
export const indexedConditions = ({
  reference,
  merchantReference,
  email,
  userId,
  from,
  to,
}: TransactionQuery): Sql[] => [
  ...(reference === undefined ? [] : [sql`reference = ${reference}`]),
  ...(merchantReference === undefined ? [] : [sql`merchant_reference = ${merchantReference}`]),
  ...(email === undefined ? [] : [sql`email_key = ${emailKey(email)}`]),
  ...(userId === undefined ? [] : [sql`owner = ${userId}`]),
  // An id begins with the time of its creation.
  ...(from === undefined ? [] : [sql`id >= ${leastIdOf(from)}`]),
  ...(to === undefined ? [] : [sql`id < ${leastIdOf(to)}`]),
]

/** The other conditions, but for those of provider and status. */
export const otherConditions = ({ currency, minAmount, maxAmount }: TransactionQuery): Sql[] => [
  ...(currency === undefined ? [] : [sql`currency = ${currency}`]),
  ...(minAmount === undefined ? [] : [amountSql(minAmount, 'at least')]),
  ...(maxAmount === undefined ? [] : [amountSql(maxAmount, 'at most')]),
]

/**
 * Compares amounts, which are decimal text of smallest units, with a decimal in major units: by the number of digits, and then
 * digit by digit. Places that a currency does not have make the decimal more than what is left of it.
 */
function amountSql(decimal: string, bound: 'at least' | 'at most'): Sql {
  const [whole = '', fraction = ''] = decimal.replace(/(\.\d*?)0+$/, '$1').split('.')
  const padded = fraction.padEnd(DECIMALS_MAX, '0')
  const limit = sql`ltrim(${whole} || substr(${padded}, 1, exponent), '0')`
  const amount = sql`ltrim(amount, '0')`
  const isMore = sql`case when exponent < ${fraction.length} then 1 else 0 end`
  return bound === 'at least'
    ? sql`(length(${amount}), ${amount}, 0) >= (length(${limit}), ${limit}, ${isMore})`
    : sql`(length(${amount}), ${amount}) <= (length(${limit}), ${limit})`
}

/** What POST /pay/…/refund would give back without an amount. */
function refundableOf(row: TransactionRow): bigint {
  const left = leftOf(row)
  return row.provider === 'onchain' || left < 0n ? 0n : left
}

/** Refunds that the provider has, and those that may have been made, oldest first. */
function refundsOf({ row, operations, summary }: LedgerTransaction): TransactionRefund[] {
  const seen = new Set(summary.refunds.map(({ callId }) => callId))
  const refunds = summary.refunds.map((one) => ({
    // A refund made at the provider is known by the provider's id.
    refundId: one.callId ?? one.objectId,
    amount: numberOf(one.amount, row),
    status: one.status,
    at: operations.find(({ id }) => id === one.callId)?.created_at ?? one.createdAt!,
  }))
  const pending = operations
    .filter((operation) => operation.kind === 'refund' && isOpen(operation) && !seen.has(operation.id))
    .map((operation) => ({
      refundId: operation.id,
      amount: numberOf(BigInt(operation.amount!), row),
      status: 'pending' as const,
      at: operation.created_at,
    }))
  const reasons = new Map(operations.map((operation) => [operation.id, operation.refund_reason]))
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
