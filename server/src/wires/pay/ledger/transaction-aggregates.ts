import { sql } from '../../../db/sql.ts'
import type { Database } from '../../../db/database.ts'
import { createRecordAggregates } from '../../../kernel/aggregates/record-aggregates.ts'
import { PROVIDERS } from '../providers/provider.ts'
import { STATUSES } from './state.ts'

const amount = <const N extends string>(name: N, column: string) => ({
  name,
  kind: 'amount' as const,
  value: sql.literal(column),
  exponent: sql.literal('exponent'),
  unit: 'currency',
})

const COLUMNS = [
  { name: 'status', kind: 'text', value: sql.literal('status'), values: STATUSES },
  { name: 'currency', kind: 'text', value: sql.literal('currency') },
  { name: 'provider', kind: 'text', value: sql.literal('provider'), values: PROVIDERS },
  { name: 'userId', kind: 'text', value: sql.literal('owner') },
  { name: 'email', kind: 'text', value: sql.literal('email_key') },
  { name: 'createdAt', kind: 'time', value: sql.literal('created_at') },
  amount('amount', 'amount'),
  amount('capturedAmount', 'captured'),
  amount('refundedAmount', 'refunded'),
  amount('disputedAmount', 'disputed'),
  amount('lostAmount', 'lost'),
] as const

/** Groups of payments, whose amounts are added up only in one currency. */
export const createTransactionAggregates = ({ db }: { db: Database }) =>
  createRecordAggregates(
    { db },
    {
      records: 'transactions',
      title: 'TransactionGroup',
      table: sql.literal('pay_transactions'),
      columns: COLUMNS,
      example: {
        by: { currency: 'EUR', createdAt: '2026-05-01T00:00:00+02:00' },
        count: 12,
        sum: { amount: '120.50' },
        average: { amount: '10.04' },
      },
    },
  )
