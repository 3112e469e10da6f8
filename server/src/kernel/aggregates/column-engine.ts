import { isoTime } from '../../base/clock.ts'
import { EPOCH } from '../../base/zone-offsets.ts'
import { sql, type Dialect, type Sql, type SqlScalar } from '../../db/sql.ts'
import type { AggregateColumn } from './aggregate-columns.ts'
import type { AggregateEngine, AggregateReader } from './aggregate-engine.ts'
import {
  amountKey,
  amountOfKey,
  amountStages,
  amountSumOf,
  amountSumSql,
  decimalText,
} from './decimal-sql.ts'

/** A value of an answer. */
export type ColumnValue = string | number | boolean | null

const numberColumn = (n: number): Sql => sql.literal(`v${n}`)

/** How columns of records are read and computed with. Keys are answered as text. */
export const columnEngine = (dialect: Dialect): AggregateEngine<AggregateColumn> => ({
  key(column) {
    if (column.kind === 'amount') return amountKey(column.value, column.exponent)
    if (column.kind !== 'text' || dialect === 'sqlite') return column.value
    return sql`(${column.value}) collate "C"`
  },
  shownKey: (key) => sql`cast(${key} as text)`,
  numberStages: (column, n) =>
    column.kind === 'amount'
      ? amountStages(dialect, column.value, column.exponent, n)
      : [[[`v${n}`, column.value]]],
  numbers: (n) => sql`count(${numberColumn(n)})`,
  sum: (n, { kind }) =>
    kind === 'amount' ? amountSumSql(dialect, n) : sql`cast(coalesce(sum(${numberColumn(n)}), 0) as text)`,
  // The fraction of a second is cut.
  momentStages: ({ value }, n) => [[[`x${n}`, sql`${EPOCH} + ${value} / 1000`]]],
})

/** How their answers are read: amounts are decimals in whole units, with the decimal places of the smallest one. */
export const columnReader: AggregateReader<AggregateColumn, ColumnValue> = {
  valueOf: (key, { kind }) => (typeof key === 'string' ? VALUES[kind](key) : null),
  sumOf(sum, { kind }) {
    if (kind !== 'amount') return Number(sum)
    const decimal = amountSumOf(sum)
    return decimal ? decimalText(decimal.digits, decimal.places) : '0'
  },
  averageOf(sum, numbers, { kind }) {
    if (numbers === 0) return null
    return kind === 'amount' ? averageAmount(sum, numbers) : Number(sum) / numbers
  },
}

const VALUES: Readonly<Record<AggregateColumn['kind'], (key: string) => ColumnValue>> = {
  text: (key) => key,
  flag: (key) => key === '1',
  time: (key) => isoTime(Number(key)),
  number: Number,
  amount: amountOfKey,
}

/** To the smallest unit, halves up. */
function averageAmount(sum: SqlScalar | undefined, numbers: number): string | null {
  const decimal = amountSumOf(sum)
  if (!decimal) return null
  const count = BigInt(numbers)
  return decimalText((decimal.digits * 2n + count) / (count * 2n), decimal.places)
}
