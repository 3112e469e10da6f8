import type { Database } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { ProviderName } from '../providers/provider.ts'
import type { PaymentStatus } from '../ledger/state.ts'

/** How many of the newest payments of a time are summed: more are not looked at. */
export const SUMMED_MAX = 100_000
const DAY_MS = 24 * 3_600_000

/** Sums of payments in one currency. All amounts are integers of its smallest unit, as decimal text. */
export type PaymentSums = {
  provider: ProviderName
  currency: string
  /** Decimal places of the currency at this provider. */
  exponent: number
  /** With `by=status`. */
  status?: PaymentStatus
  /** With `by=day`: that of the creation, in UTC. */
  day?: string
  payments: number
  /** What was asked for. */
  amount: string
  captured: string
  refunded: string
  disputed: string
  lost: string
}

export type FeeSums = { currency: string; exponent: number; payments: number; fee: string; net: string }

export type PaymentSummary = {
  sums: PaymentSums[]
  /** What the providers took, by the currency of the payout. */
  fees: FeeSums[]
  /** Whether all payments of the time were looked at, and not only the newest ones. */
  isComplete: boolean
}

// An amount is text of up to 78 digits, which no engine adds exactly as numbers. It is cut into limbs of 12 digits, whose
// sums fit 64 bits up to nine million rows; the limbs are put together here.
const LIMB = 12
const LIMBS = 7
const ZEROS = '0'.repeat(LIMB * LIMBS)
const LIMB_BASE = 10n ** BigInt(LIMB)

const AMOUNTS = ['amount', 'captured', 'refunded', 'disputed', 'lost'] as const
type AmountColumn = (typeof AMOUNTS)[number]

/** The sum of one limb of a column, of which most rows need no cutting: money has up to 12 digits. */
function limbSql(column: AmountColumn, limb: number): Sql {
  const digits = `cast(substr('${ZEROS}' || ${column}, length(${column}) + ${1 + LIMB * (LIMBS - 1 - limb)}, ${LIMB}) as bigint)`
  const value =
    limb === 0
      ? `case when length(${column}) <= ${LIMB} then cast(${column} as bigint) else ${digits} end`
      : `case when length(${column}) > ${LIMB * limb} then ${digits} else 0 end`
  return sql.literal(`cast(sum(${value}) as text) as ${column}_${limb}`)
}

const LIMB_SUMS = sql.join(
  AMOUNTS.flatMap((column) => Array.from({ length: LIMBS }, (_, limb) => limbSql(column, limb))),
)

type SumRow = {
  provider: ProviderName
  currency: string
  exponent: number
  part: string | number
  payments: number
} & Record<`${AmountColumn}_${number}`, string>

/**
 * Sums payments by currency, and by status or day. The newest 100,000 of those that meet `conditions` are looked at; the
 * conditions `filters` choose among them, so that no query costs more.
 */
export async function summaryOfPayments(
  db: Database,
  {
    conditions,
    filters,
    by,
    caller,
  }: { conditions: readonly Sql[]; filters: readonly Sql[]; by: 'status' | 'day'; caller: string },
): Promise<PaymentSummary> {
  const newest = sql`
    (select * from pay_transactions ${whereSql(conditions)} order by id desc limit ${SUMMED_MAX}) as newest`
  const part = sql.literal(by === 'status' ? 'status' : `created_at / ${DAY_MS}`)
  const sums = db.scan<SumRow>(
    sql`
      select provider, currency, exponent, ${part} as part, count(*) as payments, ${LIMB_SUMS}
      from ${newest} ${whereSql(filters)}
      group by provider, currency, exponent, ${part} order by provider, currency, exponent, part`,
    { caller },
  )
  const fees = db.scan<{ currency: string; exponent: number; payments: number; fee: string; net: string }>(
    sql`
      select fee_currency as currency, fee_exponent as exponent, count(*) as payments,
        cast(sum(cast(fee as bigint)) as text) as fee, cast(sum(cast(net as bigint)) as text) as net
      from ${newest} ${whereSql([sql`length(fee) <= 13 and length(net) <= 13`, ...filters])}
      group by fee_currency, fee_exponent order by currency, exponent`,
    { caller },
  )
  const counted = db.scan<{ one: number }>(
    sql`select 1 as one from pay_transactions ${whereSql(conditions)} order by id desc limit 1 offset ${SUMMED_MAX}`,
    { caller },
  )
  const [sumRows, feeRows, beyond] = await Promise.all([sums, fees, counted])
  return {
    sums: sumRows.map((row) => sumsFrom(row, by)),
    fees: feeRows,
    isComplete: beyond.length === 0,
  }
}

function sumsFrom(row: SumRow, by: 'status' | 'day'): PaymentSums {
  const { provider, currency, exponent, part, payments } = row
  const sumOf = (column: AmountColumn): string => {
    let sum = 0n
    for (let limb = LIMBS - 1; limb >= 0; limb--) sum = sum * LIMB_BASE + BigInt(row[`${column}_${limb}`]!)
    return sum.toString()
  }
  return {
    provider,
    currency,
    exponent,
    ...(by === 'status'
      ? { status: part as PaymentStatus }
      : { day: new Date(Number(part) * DAY_MS).toISOString().slice(0, 10) }),
    payments,
    amount: sumOf('amount'),
    captured: sumOf('captured'),
    refunded: sumOf('refunded'),
    disputed: sumOf('disputed'),
    lost: sumOf('lost'),
  }
}

const whereSql = (conditions: readonly Sql[]): Sql =>
  conditions.length === 0 ? sql`` : sql`where ${sql.join(conditions, ' and ')}`
