import { sql, type Dialect, type Row, type Sql } from '../../../../db/sql.ts'
import type { AggregateEngine, Stages } from './aggregate-engine.ts'
import type { AggregateRequest, AggregateSort, Grouping, NamedPath } from './aggregate-request.ts'
import { postgresAggregates } from './postgres-aggregates.ts'
import { sqliteAggregates } from './sqlite-aggregates.ts'
import { DAY, HOUR } from '../../../../base/time-slots.ts'
import type { ZoneOffsets } from '../../../../base/zone-offsets.ts'

export const aggregateEngines: Readonly<Record<Dialect, AggregateEngine>> = {
  sqlite: sqliteAggregates,
  postgres: postgresAggregates,
}

/** The documents that are aggregated: rows `d` of `from`. */
export type AggregateRows = {
  /** `with …`, or nothing. */
  readonly ctes: Sql
  readonly from: Sql
  readonly where: Sql
}

/** A row of the answer: with the columns `by0` and so on, and for field number `n` `sum0`, `numbers0`, `min0`, `max0` and `distinct0`. */
export type GroupRow = Row & {
  readonly documents: number
  /** How many groups there would be if their values had no limit of bytes. */
  readonly fetched?: number
}

/** What the values of all groups of an answer have at most, unless one group alone has more. */
export const ANSWER_BYTES = 4_194_304

/** The groups, and one more than are answered if there is one. */
export function aggregateSql(
  dialect: Dialect,
  request: AggregateRequest,
  rows: AggregateRows,
): Sql<GroupRow> {
  const engine = aggregateEngines[dialect]
  const { by, limit, sort } = request
  const groups = by.map((_, i) => sql.literal(`g${i}`))
  const shown = by.map(({ slot }, i) => asColumn(`by${i}`, slot ? groups[i]! : engine.shownKey(groups[i]!)))
  const columns = [...shown, sql`count(*) as documents`, ...computedColumns(engine, request)]
  const staged = sql`select ${sql.join(columns)} from (${stagedSql(engine, stagesOf(engine, request), rows)}) as staged`
  if (by.length === 0) return sql.once(sql<GroupRow>`${rows.ctes} ${staged}`)
  const grouped = sql`${staged} group by ${sql.join(groups)} order by ${orderSql(sort, groups)} limit ${limit + 1}`
  return sql.once(sql<GroupRow>`${rows.ctes} ${measuredSql(grouped, request)}`)
}

/** As many of the groups as fit into an answer, and one at least. */
function measuredSql(grouped: Sql, { by, fields }: AggregateRequest): Sql {
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
  return sql.join([sql`documents ${sql.literal(sort === 'count' ? 'asc' : 'desc')}`, ...keys])
}

function computedColumns(engine: AggregateEngine, { fields }: AggregateRequest): Sql[] {
  const key = (n: number): Sql => sql.literal(`k${n}`)
  return [
    ...numberFields(fields).flatMap((_, n) => [
      asColumn(`sum${n}`, engine.sum(n)),
      asColumn(`numbers${n}`, engine.numbers(n)),
    ]),
    ...keyFields(fields).flatMap(({ name }, n) => [
      ...(includes(fields.min, name) ? [asColumn(`min${n}`, engine.shownKey(sql`min(${key(n)})`))] : []),
      ...(includes(fields.max, name) ? [asColumn(`max${n}`, engine.shownKey(sql`max(${key(n)})`))] : []),
      ...(includes(fields.distinct, name) ? [asColumn(`distinct${n}`, sql`count(distinct ${key(n)})`)] : []),
    ]),
  ]
}

const includes = (fields: readonly NamedPath[], name: string): boolean =>
  fields.some((one) => one.name === name)

/** The fields whose numbers are added up, each once. */
export const numberFields = ({ sum, average }: AggregateRequest['fields']): readonly NamedPath[] =>
  withoutRepeats([...sum, ...average])

/** The fields whose values of all types are compared, each once. */
export const keyFields = ({ min, max, distinct }: AggregateRequest['fields']): readonly NamedPath[] =>
  withoutRepeats([...min, ...max, ...distinct])

const withoutRepeats = (fields: readonly NamedPath[]): readonly NamedPath[] => [
  ...new Map(fields.map((one) => [one.name, one])).values(),
]

/** All that is computed of each document, before documents are grouped. */
function stagesOf(engine: AggregateEngine, { by, fields, zone }: AggregateRequest): Stages {
  const all: readonly Stages[] = [
    ...by.map((one, i) => groupStages(engine, one, i, zone)),
    ...numberFields(fields).map(({ path }, n) => engine.numberStages(path, n)),
    ...keyFields(fields).map(({ path }, n): Stages => [[[`k${n}`, engine.key(path)]]]),
  ]
  const count = Math.max(1, ...all.map((stages) => stages.length))
  return Array.from({ length: count }, (_, i) => all.flatMap((stages) => stages[i] ?? []))
}

function groupStages(
  engine: AggregateEngine,
  { path, slot }: Grouping,
  i: number,
  zone: ZoneOffsets,
): Stages {
  if (slot === undefined) return [[[`g${i}`, engine.key(path)]]]
  const text = sql.literal(`t${i}`)
  const moment = sql.literal(`x${i}`)
  const local = sql.literal(`l${i}`)
  const day = sql`(${local} / ${sql.literal(String(DAY))})`
  const numbers = {
    hour: sql`${moment} - ${local} % ${sql.literal(String(HOUR))}`,
    day,
    // The day from which days are counted was a Wednesday.
    week: sql`(${day} + 2) / 7 * 7 - 2`,
    month: engine.month(day),
  }
  return [
    [[`t${i}`, engine.text(path)]],
    [[`x${i}`, engine.moment(text)]],
    [[`l${i}`, sql`${moment} + ${engine.offset(moment, zone)}`]],
    [[`g${i}`, numbers[slot]]],
  ]
}

function stagedSql(
  { fence }: AggregateEngine,
  [first, ...others]: Stages,
  { from, where }: AggregateRows,
): Sql {
  const columns = first!.map(([name, value]) => asColumn(name, value))
  let staged = sql`select ${sql.join([sql`1 as one`, ...columns])} from ${from} where ${where} ${fence}`
  for (const stage of others) {
    const more = stage.map(([name, value]) => asColumn(name, value))
    staged = sql`select ${sql.join([sql`staged.*`, ...more])} from (${staged}) as staged ${fence}`
  }
  return staged
}
