import { isoTime } from '../../../base/clock.ts'
import { invalid } from '../../../base/errors.ts'
import { Type } from '../../../base/schema.ts'
import { sql } from '../../../db/sql.ts'
import { endpoint } from '../../../http/route.ts'
import { PROVIDERS } from '../providers/provider.ts'
import { STATUSES } from '../ledger/state.ts'
import { filtersOf, TransactionFilters } from './transaction-filters.ts'
import { indexedConditions, otherConditions } from '../ledger/transactions.ts'
import { SUMMED_MAX, summaryOfPayments } from '../administration/summary.ts'
import type { Policy } from '../../../kernel/policy/policy.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'

const DAY_MS = 24 * 3_600_000
const DEFAULT_DAYS = 30
const DAYS_MAX = 366

const Units = (description: string) =>
  Type.String({
    pattern: '^-?\\d+$',
    description: `${description} In the smallest unit.`,
    examples: ['1230'],
  })

const PaymentSummary = Type.Object(
  {
    from: Type.String({ format: 'date-time' }),
    to: Type.String({ format: 'date-time' }),
    sums: Type.Array(
      Type.Object(
        {
          provider: Type.Enum(PROVIDERS),
          currency: Type.String(),
          exponent: Type.Integer({ description: 'Decimal places of the currency at this provider.' }),
          status: Type.Optional(Type.Enum(STATUSES, { description: 'With by=status.' })),
          day: Type.Optional(
            Type.String({ description: 'With by=day: of the creation, in UTC.', examples: ['2026-01-31'] }),
          ),
          payments: Type.Integer(),
          amount: Units('What was asked for.'),
          captured: Units('What was paid.'),
          refunded: Units('What completed refunds gave back.'),
          disputed: Units('What open disputes concern.'),
          lost: Units('What disputes and reversals took.'),
        },
        { title: 'PaymentSums' },
      ),
    ),
    fees: Type.Array(
      Type.Object(
        {
          currency: Type.String(),
          exponent: Type.Integer(),
          payments: Type.Integer({ description: 'Those of which the provider has told the fee.' }),
          fee: Units('What the provider took.'),
          net: Units('What it left, before refunds.'),
        },
        { title: 'PaymentFeeSums' },
      ),
      { description: 'By the currency of the payout, which may be another one than that of the payment.' },
    ),
    isComplete: Type.Boolean({
      description: `false: there are more than ${SUMMED_MAX} payments, and the newest of them are summed.`,
    }),
  },
  { title: 'PaymentSummary' },
)

/** The endpoint that sums payments. */
export const summaryEndpoint = ({
  context: { db, clock },
  policy,
}: {
  context: Pick<WireContext, 'db' | 'clock'>
  policy: Policy
}) =>
  endpoint(
    {
      summary: 'Sum payments by currency',
      description: `The payments created in a time, by default of the last ${DEFAULT_DAYS} days, that meet the filters of the list; exact integers as text. Nothing is converted between currencies. The newest ${SUMMED_MAX} are looked at.`,
      access: 'operator',
      limit: '120/min',
      query: Type.Object(
        {
          ...TransactionFilters.properties,
          by: Type.Enum(['status', 'day'], { default: 'status', description: 'What the sums are split by.' }),
        },
        { additionalProperties: false },
      ),
      reply: { 200: PaymentSummary },
    },
    async ({ query, caller }) => {
      const { provider, status, ...rest } = await filtersOf(query, { policy, caller })
      const to = rest.to ?? clock.now() + 1
      const from = rest.from ?? to - DEFAULT_DAYS * DAY_MS
      if (from >= to) throw invalid({ path: '/query/from', message: 'must be before to' })
      if (to - from > DAYS_MAX * DAY_MS)
        throw invalid({ path: '/query/from', message: `must be at most ${DAYS_MAX} days before to` })
      const summary = await summaryOfPayments(db, {
        conditions: indexedConditions({ ...rest, from, to }),
        filters: [
          ...(provider === undefined ? [] : [sql`provider = ${provider}`]),
          ...(status === undefined ? [] : [sql`status = ${status}`]),
          ...otherConditions(rest),
        ],
        by: query.by,
        caller: caller.id,
      })
      return { from: isoTime(from), to: isoTime(to), ...summary }
    },
  )
