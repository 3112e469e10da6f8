import type { Sql } from '../../db/sql.ts'
import type { Accumulator, FieldUse, NamedField } from './aggregate-request.ts'
import { quote, refusedParameter } from './aggregate-request.ts'

/** What a wire offers to group its records by, and to compute with. */
export type AggregateColumn = NamedField & {
  /** Reads it from a record. */
  readonly value: Sql
} & (
    | { readonly kind: 'text'; /** All that there are. */ readonly values?: readonly string[] }
    /** 1 or 0. */
    | { readonly kind: 'flag' }
    /** Milliseconds since 1970. */
    | { readonly kind: 'time' }
    /** A whole number that 64 bits hold, as well as the sum of all. */
    | { readonly kind: 'number' }
    /** Decimal text of smallest units, not negative, as money and tokens are stored. */
    | {
        readonly kind: 'amount'
        /** The decimal places of the unit. */
        readonly exponent: Sql
        /** The name of the column without which amounts are of different units. */
        readonly unit: string
      }
  )

type Kind = AggregateColumn['kind']

/** What each kind is good for. */
const USES = {
  by: ['text', 'flag', 'time'],
  sum: ['number', 'amount'],
  average: ['number', 'amount'],
  min: ['number', 'amount', 'time'],
  max: ['number', 'amount', 'time'],
  distinct: ['text'],
} as const satisfies Readonly<Record<Accumulator | 'by', readonly Kind[]>>

type Use = keyof typeof USES

/** The names of those columns that are good for a use. */
export type OfferedFor<C extends AggregateColumn, U extends Use> = C extends {
  kind: (typeof USES)[U][number]
}
  ? C['name']
  : never

/** The accumulators that some column is good for. */
export type AccumulatorOf<C extends AggregateColumn> = {
  [A in Accumulator]: [OfferedFor<C, A>] extends [never] ? never : A
}[Accumulator]

type ValueOf<C> = C extends { kind: 'number' }
  ? number
  : C extends { kind: 'flag' }
    ? boolean
    : C extends { kind: 'text'; values: readonly (infer V)[] }
      ? V
      : string

type NullableBy<C> = C extends { kind: 'flag' } | { kind: 'text'; values: readonly unknown[] }
  ? ValueOf<C>
  : ValueOf<C> | null
type Named<C, N> = Extract<C, { name: N }>
type ComputedOf<A extends Accumulator, C> = A extends 'distinct'
  ? number
  : A extends 'sum'
    ? ValueOf<C>
    : ValueOf<C> | null
type Flat<T> = { [K in keyof T]: T[K] }

/** A group of records, by the columns that are offered. */
export type RecordGroup<C extends AggregateColumn> = Flat<
  { by: { [N in OfferedFor<C, 'by'>]?: NullableBy<Named<C, N>> }; count: number } & {
    [A in AccumulatorOf<C>]?: { [N in OfferedFor<C, A>]?: ComputedOf<A, Named<C, N>> }
  }
>

/** Those columns that are good for a use. */
export const columnsFor = (columns: readonly AggregateColumn[], use: Use): AggregateColumn[] =>
  columns.filter(({ kind }) => (USES[use] as readonly Kind[]).includes(kind))

/**
 * Reads the names of columns.
 *
 * @param isOneUnit whether all records have the same value of a column, such as one currency
 */
export function columnOf(
  columns: readonly AggregateColumn[],
  isOneUnit: (name: string) => boolean,
): (name: string, use: FieldUse) => AggregateColumn {
  return (name, { parameter, slot }) => {
    const offered = columnsFor(columns, parameter)
    const column = offered.find((one) => one.name === name)
    if (!column)
      throw refusedParameter(
        parameter,
        `${quote(name)} is no field of ${parameter}: give ${offered.map((one) => one.name).join(', ')}.`,
      )
    if (slot !== undefined && column.kind !== 'time')
      throw refusedParameter(parameter, `${quote(name)} is no time: leave out the slot.`)
    if (parameter === 'by' && slot === undefined && column.kind === 'time')
      throw refusedParameter(parameter, `${quote(name)} is a time: give a slot, such as ${name}:day.`)
    if (column.kind === 'amount' && !isOneUnit(column.unit))
      throw refusedParameter(
        parameter,
        `${quote(name)} may be of several units: group by ${column.unit}, or filter by one.`,
      )
    return column
  }
}
