import type { Clock } from '../../../base/clock.ts'
import { timeOfId } from '../../../base/ids.ts'
import type { Database, Step } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import { SERIES_DAYS, slotsSql, unitsOf, type Series, type SlotValue } from '../../../kernel/wire/series.ts'
import type { TransactionRow } from './transaction-rows.ts'

const QUARTER_MS = 900_000
const DAY_MS = 86_400_000
/** Rows of one statement, so that no payment waits for long. */
const BATCH = 1_000
/** Rows of a sum, so that payments at the same time do not wait for one. */
const WRITERS = 16
/** Digits of a limb: sums of nine million of them fit 64 bits. */
const LIMB_BASE = 10n ** 12n

type Kind = 'revenue' | 'refunds'
const COLUMNS = { revenue: 'captured', refunds: 'refunded' } as const
const KINDS: readonly Kind[] = ['revenue', 'refunds']

/** The steps that add what a change of a transaction captured and refunded, in one order everywhere. */
export const sumsSql = (before: TransactionRow, after: TransactionRow, now: number): Step[] =>
  KINDS.flatMap((kind) => {
    const difference = BigInt(after[COLUMNS[kind]]) - BigInt(before[COLUMNS[kind]])
    return limbsOf(difference).flatMap((amount, limb) =>
      amount === 0n
        ? []
        : [
            sql`
              insert into pay_sums as known (kind, quarter, currency, exponent, limb, writer, amount)
              values (${kind}, ${Math.floor(now / QUARTER_MS)}, ${after.currency}, ${after.exponent}, ${limb},
                ${timeOfId(after.id) % WRITERS}, ${amount})
              on conflict (kind, quarter, currency, exponent, limb, writer)
              do update set amount = known.amount + excluded.amount`,
          ],
    )
  })

/** The digits of a number, twelve at a time from the last ones on, each with its sign. */
function limbsOf(amount: bigint): bigint[] {
  const limbs: bigint[] = []
  for (let rest = amount; rest !== 0n; rest /= LIMB_BASE) limbs.push(rest % LIMB_BASE)
  return limbs
}

/** What was paid and refunded, by currency. */
export const paymentSeries = ({ db }: { db: Database }): Series[] => [
  {
    name: 'revenue',
    title: 'Revenue',
    unit: 'money',
    kind: 'sum',
    opens: 'payments',
    read: (slots) => readSums(db, 'revenue', slots),
  },
  {
    name: 'refunds',
    title: 'Refunds',
    unit: 'money',
    kind: 'sum',
    opens: 'payments?status=refunded',
    read: (slots) => readSums(db, 'refunds', slots),
  },
]

/** Deletes the sums that no series shows any more, in batches. */
export async function forgetSums({ db, clock }: { db: Database; clock: Clock }): Promise<void> {
  const before = Math.floor((clock.now() - SERIES_DAYS * DAY_MS) / QUARTER_MS)
  for (const kind of KINDS)
    for (let deleted = BATCH; deleted === BATCH;)
      deleted = (
        await db.write(sql`
          delete from pay_sums where (kind, quarter, currency, exponent, limb, writer) in (
            select kind, quarter, currency, exponent, limb, writer from pay_sums
            where kind = ${kind} and quarter < ${before} order by quarter limit ${BATCH})
          returning quarter`)
      ).length
}

type SumRow = { slot: number; currency: string; exponent: number; limb: number; amount: string }

async function readSums(
  db: Database,
  kind: Kind,
  slots: Parameters<typeof slotsSql>[0],
): Promise<SlotValue[]> {
  const rows = await db.scan<SumRow>(
    sql.once(sql`
      with ${slotsSql(slots, unitsOf(QUARTER_MS))}
      select slot, currency, exponent, limb, cast(sum(amount) as text) as amount
      from slots join pay_sums on kind = ${kind} and quarter >= begins and quarter < ends
      group by slot, currency, exponent, limb order by slot, currency, exponent, limb desc`),
  )
  const sums = new Map<string, { slot: number; part: string; exponent: number; sum: bigint }>()
  for (const { slot, currency, exponent, limb, amount } of rows) {
    const key = `${slot} ${currency} ${exponent}`
    const known = sums.get(key) ?? { slot, part: currency, exponent, sum: 0n }
    sums.set(key, { ...known, sum: known.sum + BigInt(amount) * LIMB_BASE ** BigInt(limb) })
  }
  return Array.from(sums.values(), ({ sum, ...one }) => ({ ...one, value: String(sum) }))
}
