import type { CheckoutResult } from './checkouts.ts'
import type { PayResult } from './pay.ts'
import { fine, reached, table, whole } from './report-table.ts'
import type { TransactionsResult } from './transactions.ts'
import type { WebhookResult } from './webhooks.ts'

// The figures to reach.
const CHECKOUT_RATIO = 0.7
const INTAKE_RATIO = 0.4
const HEALTH_FACTOR = 3
const PAGE_MS = 5

const rangeOf = (ratios: readonly number[]): string =>
  `${fine(Math.min(...ratios))}-${fine(Math.max(...ratios))}`

const checkoutTable = (
  { callers, bare, subject: other, ratio, ratios }: CheckoutResult,
  subject: string,
): string =>
  table([
    [`checkouts for ${callers} callers`, 'a second', 'ratio', 'of rounds', 'to reach'],
    ['the stripe package used bare', whole(bare), '1', '', ''],
    [
      subject,
      whole(other),
      fine(ratio),
      rangeOf(ratios),
      reached(ratio >= CHECKOUT_RATIO, `≥ ${CHECKOUT_RATIO}`),
    ],
  ])

const intakeTable = ({ connections, rows }: WebhookResult, subject: string): string =>
  table([
    [
      `webhooks over ${connections} connections`,
      'floor inserts a second',
      `${subject} a second`,
      'ratio',
      'of rounds',
      'to reach',
    ],
    ...rows.map(({ name, floor, subject: other, ratio, ratios }) => [
      name,
      whole(floor),
      whole(other),
      fine(ratio),
      rangeOf(ratios),
      reached(ratio >= INTAKE_RATIO, `≥ ${INTAKE_RATIO}`),
    ]),
  ])

function healthTable({ health: { perSecond, quiet, during, factor } }: WebhookResult): string {
  const factors = [factor.p50, factor.p99].map((value) =>
    reached(value <= HEALTH_FACTOR, `${fine(value)}: ≤ ${HEALTH_FACTOR}`),
  )
  return table([
    ['/health', 'samples', 'p50 ms', 'p99 ms'],
    ['quiet', whole(quiet.samples), fine(quiet.p50), fine(quiet.p99)],
    [
      `during ${whole(perSecond)} deliveries a second`,
      whole(during.samples),
      fine(during.p50),
      fine(during.p99),
    ],
    ['factor', '', ...factors],
  ])
}

const pageTable = ({ transactions, rows }: TransactionsResult): string =>
  table([
    [`/pay/transactions, ${whole(transactions)} transactions`, 'p50 ms', 'p99 ms', 'to reach'],
    ...rows.map(({ name, p50, p99 }) => [
      name,
      fine(p50),
      fine(p99),
      reached(p50 <= PAGE_MS, `≤ ${PAGE_MS}`),
    ]),
  ])

export const payTables = (pay: PayResult, subject: string): string[] => [
  checkoutTable(pay.checkouts, subject),
  intakeTable(pay.webhooks, subject),
  healthTable(pay.webhooks),
  pageTable(pay.transactions),
]
