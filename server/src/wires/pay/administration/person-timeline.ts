import type { Database } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import { newestIdsSql, type TimelinePart } from '../../../kernel/wire/timeline.ts'
import { moneyText } from '../ledger/amounts.ts'
import { selectTransactionsSql, type TransactionRow } from '../ledger/transaction-rows.ts'

const MOVEMENTS = sql.literal("kind in ('refund', 'dispute', 'reversal')")
const WORDS: Readonly<Record<string, string>> = { refund: 'Refund', dispute: 'Dispute', reversal: 'Reversal' }

type MovementRow = Pick<TransactionRow, 'provider' | 'exponent'> & {
  id: string
  transaction_id: string
  kind: string
  status: string
  amount: string
  currency: string
  payment_currency: string
  reason: string | null
  seen_at: number
}

/** The payments of a person, and what was given back of them. */
export const paymentTimeline = ({ db }: { db: Database }): TimelinePart[] => [
  {
    name: 'payments',
    async read({ id, emails }, page) {
      const conditions = [sql`owner = ${id}`, ...emails.map((email) => sql`email_key = ${email}`)]
      const rows = await db.scan<TransactionRow>(sql`
        ${selectTransactionsSql(sql`id in (${newestIdsSql('pay_transactions', conditions, page)})`)}
        order by id desc limit ${page.limit}`)
      return rows.map((row) => ({
        key: row.id,
        at: row.created_at,
        text: `Payment of ${moneyText(BigInt(row.amount), row)}`,
        ...(row.merchant_reference !== null && { detail: row.merchant_reference }),
        state: row.status,
        opens: `payments/${row.id}`,
      }))
    },
  },
  {
    name: 'refunds',
    async read({ id }, page) {
      const ids = newestIdsSql('pay_ledger', [sql`owner = ${id} and ${MOVEMENTS}`], page)
      const rows = await db.scan<MovementRow>(sql`
        select l.id, l.transaction_id, l.kind, l.status, l.amount, l.currency, l.reason, l.seen_at,
          t.provider, t.exponent, t.currency as payment_currency
        from pay_ledger l join pay_transactions t on t.id = l.transaction_id where l.id in (${ids})
        order by l.id desc limit ${page.limit}`)
      return rows.map((row) => ({
        key: row.id,
        at: row.seen_at,
        text: `${WORDS[row.kind]} of ${amountOf(row)}`,
        ...(row.reason !== null && { detail: row.reason }),
        state: row.status,
        opens: `payments/${row.transaction_id}`,
      }))
    },
  },
]

/** The decimal places of another currency than the payment's are not known here. */
const amountOf = (row: MovementRow): string =>
  row.currency === row.payment_currency
    ? moneyText(BigInt(row.amount), row)
    : `${row.amount} minor units of ${row.currency}`
