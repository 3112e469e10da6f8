import type { TimeRange } from '../../base/time-slots.ts'
import { sql, type Sql } from '../../db/sql.ts'

/** How long what is counted by the hour is kept: 90 days, and the 90 days before them. */
export const SERIES_DAYS = 181

/** A value of a part of a series, such as a currency or a status. */
export type SeriesValue = {
  readonly part: string
  /** A whole number; money in the smallest unit of its currency, as decimal text. */
  readonly value: number | string
  /** Of money: the decimal places of the currency. */
  readonly exponent?: number
}

/** A value in a time, which is given by its place in the list. */
export type SlotValue = SeriesValue & { readonly slot: number }

/** What the first page of the console draws of the wire over time, and `GET /core/series` answers. */
export type Series = {
  /** In small letters, with hyphens between words: `sign-ups`. */
  readonly name: string
  readonly title: string
  /** What the numbers are. `money` has currencies as parts. */
  readonly unit: 'count' | 'bytes' | 'money' | 'blocks'
  /** The parts that are always shown, in this order; others come behind them. */
  readonly parts?: readonly string[]
  /** The screen of the console with the records: `users`, or `jobs?state=failed`. */
  readonly opens?: string
} & (
  | {
      /** What happens: its total is the sum. */
      readonly kind: 'sum'
      /** Whether something that happens in two times counts once in both together, such as a user. */
      readonly isDistinct?: boolean
      /** Reads what happened in each of up to 181 times, by an index or from counts; what is 0 may be left out. */
      readonly read: (slots: readonly TimeRange[]) => Promise<readonly SlotValue[]>
    }
  | {
      /** What there is at a time: it is sampled every ten minutes, and its total is the last value. */
      readonly kind: 'level'
      readonly sample: () => Promise<readonly SeriesValue[]>
    }
)

/**
 * The rows `slots (slot, begins, ends)` of times, for the `with` of a query that counts in each of them.
 *
 * @param bound writes a time as a literal. Default: milliseconds
 */
export const slotsSql = (
  slots: readonly TimeRange[],
  bound: (ms: number, end: 'begin' | 'end') => string = String,
): Sql =>
  sql.literal(
    `slots (slot, begins, ends) as (values ${slots
      .map(({ begins, ends }, at) => `(${at}, ${bound(begins, 'begin')}, ${bound(ends, 'end')})`)
      .join(', ')})`,
  )

/** Writes times as whole units since 1970 for `slotsSql`: a part of a unit counts in the time in which it begins. */
export const unitsOf =
  (unitMs: number) =>
  (ms: number): string =>
    String(Math.ceil(ms / unitMs))
