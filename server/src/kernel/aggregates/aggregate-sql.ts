import { sql, type Dialect, type Row, type Sql } from '../../db/sql.ts'
import type { AggregateEngine, Stages } from './aggregate-engine.ts'
import type { AggregateRequest, AggregateSort, NamedField } from './aggregate-request.ts'
import { slotEngines, slotStages, type SlotEngine } from './slot-sql.ts'

/** The records that are aggregated: rows of `from`. */
export type AggregateRows = {
  /** `with …`, or nothing. */
  readonly ctes: Sql
  readonly from: Sql
  readonly where: Sql
}

/** A row of the answer: with the columns `by0` and so on, and for field number `n` `sum0`, `numbers0`, `min0`, `max0` and `distinct0`. */
export type GroupRow = Row & {
  readonly records: number
  /** How many groups there would be if their values had no limit of bytes. */
  readonly fetched?: number
}

/** What the values of all groups of an answer have at most, unless one group alone has more. */
export const ANSWER_BYTES = 4_194_304

/** The groups, and one more than are answered if there is one. */
export function aggregateSql<F extends NamedField>(
  engine: AggregateEngine<F>,
  dialect: Dialect,
  request: AggregateRequest<F>,
  rows: AggregateRows,
): Sql<GroupRow> {
  const slots = slotEngines[dialect]
  const { by, limit, sort } = request
  const groups = by.map((_, i) => sql.literal(`g${i}`))
  const shown = by.map(({ field, slot }, i) =>
    asColumn(`by${i}`, slot ? groups[i]! : engine.shownKey(groups[i]!, field)),
  )
  const columns = [...shown, sql`count(*) as records`, ...computedColumns(engine, request)]
  const staged = sql`select ${sql.join(columns)} from (${stagedSql(slots, stagesOf(engine, slots, request), rows)}) as staged`
  if (by.length === 0) return sql.once(sql<GroupRow>`${rows.ctes} ${staged}`)
  const grouped = sql`${staged} group by ${sql.join(groups)} order by ${orderSql(sort, groups)} limit ${limit + 1}`
  return sql.once(sql<GroupRow>`${rows.ctes} ${measuredSql(grouped, request)}`)
}

/** As many of the groups as fit into an answer, and one at least. */
function measuredSql<F extends NamedField>(grouped: Sql, { by, fields }: AggregateRequest<F>): Sql {
  const names = [
    ...by.flatMap(({ slot }, i) => (slot ? [] : [`by${i}`])),
    ...keyFields(fields).flatMap(({ name }, n) =>
      (['min', 'max'] as const).filter((one) => includes(fields[one], name)).map((one) => `${one}${n}`),
    ),
  ]
  if (names.length === 0) return grouped
  const bytes = names.map((name) => sql`coalesce(octet_length(${sql.literal(name)}), 0)`)
  return sql`
    select * from (
      select numbered.*, count(*) over () as fetched, sum(bytes) over (order by place) as bytes_so_far from (
        select grouped.*, row_number() over () as place, ${sql.join(bytes, ' + ')} as bytes from (${grouped}) as grouped
      ) as numbered
    ) as measured
    where bytes_so_far <= ${ANSWER_BYTES} or place = 1 order by place`
}

const asColumn = (name: string, value: Sql): Sql => sql`${value} as ${sql.literal(name)}`

function orderSql(sort: AggregateSort, groups: readonly Sql[]): Sql {
  const isBackward = sort === '-by'
  const direction = sql.literal(isBackward ? 'desc nulls last' : 'asc nulls first')
  const keys = groups.map((group) => sql`${group} ${direction}`)
  if (sort === 'by' || isBackward) return sql.join(keys)
  return sql.join([sql`records ${sql.literal(sort === 'count' ? 'asc' : 'desc')}`, ...keys])
}

function computedColumns<F extends NamedField>(
  engine: AggregateEngine<F>,
  { fields }: AggregateRequest<F>,
): Sql[] {
  const key = (n: number): Sql => sql.literal(`k${n}`)
  return [
    ...numberFields(fields).flatMap((field, n) => [
      asColumn(`sum${n}`, engine.sum(n, field)),
      asColumn(`numbers${n}`, engine.numbers(n, field)),
    ]),
    ...keyFields(fields).flatMap((field, n) => {
      const { name } = field
      const extreme = (one: 'min' | 'max'): Sql[] =>
        includes(fields[one], name)
          ? [asColumn(`${one}${n}`, engine.shownKey(sql`${sql.literal(one)}(${key(n)})`, field))]
          : []
      return [
        ...extreme('min'),
        ...extreme('max'),
        ...(includes(fields.distinct, name)
          ? [asColumn(`distinct${n}`, sql`count(distinct ${key(n)})`)]
          : []),
      ]
    }),
  ]
}

const includes = (fields: readonly NamedField[], name: string): boolean =>
  fields.some((one) => one.name === name)

/** The fields whose numbers are added up, each once. */
export const numberFields = <F extends NamedField>({
  sum,
  average,
}: AggregateRequest<F>['fields']): readonly F[] => withoutRepeats([...sum, ...average])

/** The fields whose values of all types are compared, each once. */
export const keyFields = <F extends NamedField>({
  min,
  max,
  distinct,
}: AggregateRequest<F>['fields']): readonly F[] => withoutRepeats([...min, ...max, ...distinct])

const withoutRepeats = <F extends NamedField>(fields: readonly F[]): readonly F[] => [
  ...new Map(fields.map((one) => [one.name, one])).values(),
]

/** All that is computed of each record, before records are grouped. */
function stagesOf<F extends NamedField>(
  engine: AggregateEngine<F>,
  slots: SlotEngine,
  { by, fields, zone }: AggregateRequest<F>,
): Stages {
  const all: readonly Stages[] = [
    ...by.map(({ field, slot }, i): Stages =>
      slot === undefined
        ? [[[`g${i}`, engine.key(field)]]]
        : [...engine.momentStages(field, i), ...slotStages(slots, slot, i, zone)],
    ),
    ...numberFields(fields).map((field, n) => engine.numberStages(field, n)),
    ...keyFields(fields).map((field, n): Stages => [[[`k${n}`, engine.key(field)]]]),
  ]
  const count = Math.max(1, ...all.map((stages) => stages.length))
  return Array.from({ length: count }, (_, i) => all.flatMap((stages) => stages[i] ?? []))
}

function stagedSql({ fence }: SlotEngine, [first, ...others]: Stages, { from, where }: AggregateRows): Sql {
  const columns = first!.map(([name, value]) => asColumn(name, value))
  let staged = sql`select ${sql.join([sql`1 as one`, ...columns])} from ${from} where ${where} ${fence}`
  for (const stage of others) {
    const more = stage.map(([name, value]) => asColumn(name, value))
    staged = sql`select ${sql.join([sql`staged.*`, ...more])} from (${staged}) as staged ${fence}`
  }
  return staged
}
