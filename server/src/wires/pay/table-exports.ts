import type { Row } from '../../db/database.ts'
import { leftOut, type RowExport, type WireExport } from '../../kernel/wire/table-export.ts'
import { displayOf } from './ledger/amounts.ts'
import { transactionOf } from './ledger/transaction-record.ts'
import type { TransactionRow } from './ledger/transaction-rows.ts'

/** The unit of what belongs to a transaction. */
type Amounts = Pick<TransactionRow, 'provider' | 'exponent' | 'currency'> & {
  amount: string | null
  payment_currency: string
}

const ofTransaction = (column: string): string =>
  `select p.${column} from pay_transactions p where p.id = transaction_id`

/** A record with an amount: also as a decimal, unless it is of another currency than the payment. */
const WITH_DECIMAL: Pick<RowExport, 'also' | 'without' | 'lineOf'> = {
  also: {
    provider: { kind: 'text', sql: ofTransaction('provider') },
    exponent: { kind: 'integer', sql: ofTransaction('exponent') },
    payment_currency: { kind: 'text', sql: ofTransaction('currency') },
  },
  without: ['process', 'provider', 'exponent', 'payment_currency'],
  lineOf: ({ payment_currency: currency, ...row }: Amounts, plain: Row) => ({
    ...plain,
    ...(row.amount !== null &&
      (row.currency ?? currency) === currency && {
        displayAmount: displayOf(BigInt(row.amount), { ...row, currency }),
      }),
  }),
}

/** What is written of the payments. */
export const PAY_EXPORT: WireExport = {
  tables: [
    {
      table: 'pay_transactions',
      about: 'Payments, as the API has them; `captured` and `reserved` are in the smallest unit',
      without: [
        'owner',
        'email_key',
        'refunded',
        'disputed',
        'lost',
        'fee_exponent',
        'is_settled',
        'version',
      ],
      json: ['metadata', 'items', 'buyer'],
      lineOf: (row: TransactionRow, plain: Row) => ({ ...plain, ...transactionOf(row) }),
    },
    {
      table: 'pay_ledger',
      about: 'The ledger: charges, refunds, disputes and reversals, as they were seen at the provider',
      ...WITH_DECIMAL,
    },
    {
      table: 'pay_calls',
      about: 'Operations at providers: checkouts, captures and refunds',
      ...WITH_DECIMAL,
    },
    { table: 'pay_history', about: 'Each change of the status of a payment' },
    {
      table: 'pay_events',
      about: 'Events of providers, masked',
      json: ['payload', 'subject'],
      without: ['process'],
    },
    {
      table: 'pay_requests',
      about: 'Payment requests on chains',
      without: ['look_at', 'looked_block', 'changes', 'settled_changes'],
    },
    { table: 'pay_receipts', about: 'What has arrived at the addresses of payment requests' },
    { table: 'pay_sweeps', about: 'What was collected from these addresses' },
    { table: 'pay_sweep_funding', about: 'Who paid for the gas of that' },
    { table: 'pay_receivers', about: 'The next address of each mnemonic' },
    { table: 'pay_sums', about: 'What was paid and refunded, by quarters of an hour' },
    ...leftOut('Up to where providers and chains were read', ['pay_event_cursors', 'pay_heads']),
  ],
}
