import { slotText } from '../../base/time-slots.ts'
import type { SqlScalar } from '../../db/sql.ts'
import type { AggregateReader } from './aggregate-engine.ts'
import {
  ACCUMULATORS,
  type Accumulator,
  type AggregateRequest,
  type NamedField,
} from './aggregate-request.ts'
import { keyFields, numberFields, type GroupRow } from './aggregate-sql.ts'

/** What records of a group have in common, and what is computed of them. */
export type AnsweredGroup<V> = {
  by: Record<string, V | string | null>
  count: number
} & { [K in Accumulator]?: Record<string, V | number> }

export type Aggregates<V> = { data: AnsweredGroup<V>[]; more: boolean }

/** The answer to a request: as many groups of those that were read as it asks for. */
export function aggregatesOf<F extends NamedField, V>(
  reader: AggregateReader<F, V>,
  request: AggregateRequest<F>,
  rows: readonly GroupRow[],
): Aggregates<V> {
  const data = rows.slice(0, request.limit).map((row) => groupOf(reader, request, row))
  return { data, more: (rows[0]?.fetched ?? rows.length) > data.length }
}

function groupOf<F extends NamedField, V>(
  reader: AggregateReader<F, V>,
  { by, fields, zone }: AggregateRequest<F>,
  row: GroupRow,
): AnsweredGroup<V> {
  const keys = by.map(({ field, slot }, i): [string, V | string | null] => {
    const value = row[`by${i}`]
    if (slot === undefined) return [field.name, reader.valueOf(value, field)]
    return [field.name, typeof value === 'number' ? slotText(slot, value, zone) : null]
  })
  const numbers = numberFields(fields)
  const values = keyFields(fields)
  const at = (one: string, of: readonly F[], { name }: F): SqlScalar | undefined =>
    row[`${one}${of.findIndex((field) => field.name === name)}`]
  const compute: Readonly<Record<Accumulator, (field: F) => V | number>> = {
    sum: (field) => reader.sumOf(at('sum', numbers, field), field),
    average: (field) =>
      reader.averageOf(at('sum', numbers, field), at('numbers', numbers, field) as number, field),
    min: (field) => reader.valueOf(at('min', values, field), field),
    max: (field) => reader.valueOf(at('max', values, field), field),
    distinct: (field) => at('distinct', values, field) as number,
  }
  const computed = ACCUMULATORS.filter((one) => fields[one].length > 0).map((one) => [
    one,
    Object.fromEntries(fields[one].map((field) => [field.name, compute[one](field)])),
  ])
  return {
    by: Object.fromEntries(keys),
    count: row.records,
    ...Object.fromEntries(computed),
  } as AnsweredGroup<V>
}
