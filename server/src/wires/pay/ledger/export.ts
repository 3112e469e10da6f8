import { isoTime } from '../../../base/clock.ts'
import { csvHeadings, csvLine } from '../../../base/csv.ts'
import type { Database } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import { displayOf } from './amounts.ts'
import { feesOf } from './fees.ts'
import { TRANSACTION_COLUMNS, type TransactionRow } from './transaction-rows.ts'

const PAGE = 500

type Cell = Parameters<typeof csvLine>[0][number]

/** The columns, in their order. */
const COLUMNS: Readonly<Record<string, (row: TransactionRow) => Cell>> = {
  id: ({ id }) => id,
  createdAt: (row) => isoTime(row.created_at),
  updatedAt: (row) => isoTime(row.updated_at),
  provider: ({ provider }) => provider,
  status: ({ status }) => status,
  currency: ({ currency }) => currency,
  amount: (row) => ({ decimal: displayOf(BigInt(row.amount), row) }),
  refundedAmount: (row) => ({ decimal: displayOf(BigInt(row.refunded), row) }),
  fee: (row) => decimalOf(feesOf(row)?.fee),
  net: (row) => decimalOf(feesOf(row)?.net),
  feeCurrency: (row) => row.fee_currency,
  reference: ({ reference }) => reference,
  paymentId: (row) => row.payment_id,
  merchantReference: (row) => row.merchant_reference,
  email: ({ email }) => email,
  userId: ({ owner }) => owner,
  metadata: ({ metadata }) => metadata,
}

const decimalOf = (decimal: string | undefined): Cell => (decimal === undefined ? null : { decimal })

/** Transactions as CSV, newest first, read as they are taken: what is created meanwhile is not among them. */
export async function* exportCsv(db: Database, conditions: readonly Sql[]): AsyncGenerator<string> {
  yield csvHeadings(Object.keys(COLUMNS))
  let before: string | undefined
  for (;;) {
    const all = [...conditions, ...(before === undefined ? [] : [sql`id < ${before}`])]
    const where = all.length === 0 ? sql`` : sql`where ${sql.join(all, ' and ')}`
    const rows = await db.scan(
      sql<TransactionRow>`select ${TRANSACTION_COLUMNS} from pay_transactions ${where} order by id desc limit ${PAGE}`,
    )
    if (rows.length > 0)
      yield rows.map((row) => csvLine(Object.values(COLUMNS).map((cell) => cell(row)))).join('')
    if (rows.length < PAGE) return
    before = rows.at(-1)!.id
  }
}
