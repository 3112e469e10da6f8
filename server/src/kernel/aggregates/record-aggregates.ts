import type { TSchema } from 'typebox'

import { Type } from '../../base/schema.ts'
import type { Database, ScanOptions } from '../../db/database.ts'
import { sql, type Sql } from '../../db/sql.ts'
import {
  columnOf,
  columnsFor,
  type AccumulatorOf,
  type AggregateColumn,
  type RecordGroup,
} from './aggregate-columns.ts'
import { aggregatesOf } from './aggregate-groups.ts'
import {
  ACCUMULATORS,
  parseAggregate,
  type Accumulator,
  type AggregateParameters,
} from './aggregate-request.ts'
import { aggregateQuery, aggregateReply, fieldsParameter } from './aggregate-schema.ts'
import { aggregateSql } from './aggregate-sql.ts'
import { columnEngine, columnReader } from './column-engine.ts'

const NOTHING = sql.literal('')

/** What the reference says of the parameters. */
const PARAMETERS: Readonly<Record<Accumulator, string>> = {
  sum: 'Adds up.',
  average: 'The average; of amounts it is rounded to the smallest unit, halves up.',
  min: 'The smallest value.',
  max: 'The largest value.',
  distinct: 'The number of different values.',
}

type RecordGroups<C extends AggregateColumn> = { data: RecordGroup<C>[]; more: boolean }

/** Which records are aggregated. */
type RecordRows = {
  readonly conditions: readonly Sql[]
  /** Columns of which a condition allows one value, such as one currency. */
  readonly fixed?: readonly string[]
  /** For whom they are read, and when to stop. */
  readonly options: ScanOptions
}

/**
 * Groups the records of a table by columns, counts each group, and computes with its values, exactly and as `aggregate` of a
 * collection does. All records that meet the conditions are read, so only operators may ask for it.
 *
 * @example
 * const aggregates = createRecordAggregates({ db }, {
 *   records: 'messages',
 *   title: 'MessageGroup',
 *   table: sql.literal('messaging_messages'),
 *   columns: [{ name: 'status', kind: 'text', value: sql.literal('status') }],
 *   example: { by: { status: 'sent' }, count: 12 },
 * })
 */
export function createRecordAggregates<const C extends AggregateColumn>(
  { db }: { db: Database },
  options: {
    /** What the records are called in the reference, and a group of them. */
    records: string
    title: string
    table: Sql
    columns: readonly C[]
    /** A group of an answer. */
    example: { by: object; count: number; [computed: string]: unknown }
  },
) {
  const { records, title, table, columns, example } = options
  return {
    /** The parameters of a route, beside its filters. */
    query: queryOf<C>(columns, records, example),
    /** The schema of its answer. */
    reply: Type.Unsafe<RecordGroups<C>>(
      aggregateReply(
        { title, records },
        { by: byOf(columns), computed: computedOf(columns), examples: [example] },
      ),
    ),

    /** @throws VALIDATION_ERROR at `/query/…`; UNAVAILABLE if it takes too long, or too many wait */
    async read(
      parameters: AggregateParameters,
      { conditions, fixed = [], options: scan }: RecordRows,
    ): Promise<RecordGroups<C>> {
      const groupings = parameters.by?.split(',').map((part) => part.trim()) ?? []
      const isOneUnit = (name: string): boolean => fixed.includes(name) || groupings.includes(name)
      const request = parseAggregate(parameters, columnOf(columns, isOneUnit))
      const where = sql.stoppable(conditions.length === 0 ? sql`true` : sql.join(conditions, ' and '))
      const query = aggregateSql(columnEngine(db.dialect), db.dialect, request, {
        ctes: NOTHING,
        from: table,
        where: sql`${where}`,
      })
      return aggregatesOf(columnReader, request, await db.scan(query, scan)) as unknown as RecordGroups<C>
    },
  }
}

const namesOf = (columns: readonly AggregateColumn[]): string => columns.map(({ name }) => name).join(', ')

function queryOf<C extends AggregateColumn>(columns: readonly C[], records: string, example: { by: object }) {
  const groupings = columnsFor(columns, 'by')
  const accumulators = ACCUMULATORS.flatMap((one) => {
    const offered = columnsFor(columns, one)
    if (offered.length === 0) return []
    const description = `${PARAMETERS[one]} Fields joined by commas, of ${namesOf(offered)}.`
    return [[one, fieldsParameter(description, offered[0]!.name)]]
  })
  const isTime = (name: string): boolean => columns.some((one) => one.name === name && one.kind === 'time')
  const by = Object.keys(example.by).map((name) => (isTime(name) ? `${name}:month` : name))
  return {
    ...aggregateQuery({ records, fields: `of ${namesOf(groupings)}`, by: by.join() }),
    ...(Object.fromEntries(accumulators) as { [A in AccumulatorOf<C>]: ReturnType<typeof fieldsParameter> }),
  }
}

const nullable = (schema: TSchema) => Type.Union([schema, Type.Null()])
const DecimalText = Type.String({ description: 'A decimal in major units.', examples: ['12.30'] })

/** A value in an answer, without null. */
function valueSchema(column: AggregateColumn): TSchema {
  switch (column.kind) {
    case 'text':
      return column.values ? Type.Enum(column.values) : Type.String()
    case 'flag':
      return Type.Boolean()
    case 'time':
      return Type.String({ format: 'date-time' })
    case 'number':
      return Type.Number()
    case 'amount':
      return DecimalText
  }
}

const byField = (columns: readonly AggregateColumn[], schemaOf: (column: AggregateColumn) => TSchema) =>
  Type.Object(Object.fromEntries(columns.map((one) => [one.name, Type.Optional(schemaOf(one))])))

const byOf = (columns: readonly AggregateColumn[]) =>
  byField(columnsFor(columns, 'by'), (column) => {
    const schema = valueSchema(column)
    return column.kind === 'flag' || (column.kind === 'text' && column.values) ? schema : nullable(schema)
  })

/** The schemas of what is computed, of those accumulators that a column is good for. */
function computedOf(columns: readonly AggregateColumn[]): { readonly [A in Accumulator]?: TSchema } {
  const schemas: Readonly<Record<Accumulator, (column: AggregateColumn) => TSchema>> = {
    sum: (column) => (column.kind === 'amount' ? DecimalText : Type.Integer()),
    average: (column) => nullable(valueSchema(column)),
    min: (column) => nullable(valueSchema(column)),
    max: (column) => nullable(valueSchema(column)),
    distinct: () => Type.Integer(),
  }
  return Object.fromEntries(
    ACCUMULATORS.flatMap((one) => {
      const offered = columnsFor(columns, one)
      return offered.length === 0 ? [] : [[one, Type.Optional(byField(offered, schemas[one]))]]
    }),
  )
}
