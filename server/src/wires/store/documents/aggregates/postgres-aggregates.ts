import { sql, type Sql } from '../../../../db/sql.ts'
import type { Path } from '../language/query/path.ts'
import { numberBytes, valueAt } from '../storage/sql/postgres/order.ts'
import type { DocumentEngine } from './document-engine.ts'

const DOC = sql`d.doc`
const BODY = sql`d.body`

/** Text that begins with the number of the type; a number is the bits of its double as they compare. */
function keySql(path: Path): Sql {
  const value = valueAt(DOC, path)
  const text = valueAt(DOC, path, sql` ->> `)
  // Their fields are in the order in which they were sent.
  const json = valueAt(BODY, path, sql` ->> `)
  return sql`(case jsonb_typeof(${value})
    when 'string' then '3' || ${text} when 'number' then '2' || encode(${numberBytes(value)}, 'hex')
    when 'boolean' then '6' || ${text} when 'object' then '4' || ${json} when 'array' then '5' || ${json} end) collate "C"`
}

// Groups that capture would take twice the time, and \d takes digits of all scripts.
const TIME_FORM = String.raw`^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])(?:[Tt](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]+)?)?(?:[Zz]|[+-](?:0[0-9]|1[0-4]):[0-5][0-9]))?$`

/** By arithmetic, because a cast fails where a month does not have the day. */
function momentSql(text: Sql): Sql {
  const part = (from: string, length: number): Sql =>
    sql`cast(substr(${text}, ${sql.literal(`${from}, ${length}`)}) as bigint)`
  const [year, month] = [part('1', 4), part('6', 2)]
  const years = sql`(${year} - case when ${month} <= 2 then 1 else 0 end)`
  const days = sql`(365 * ${years} + ${years} / 4 - ${years} / 100 + ${years} / 400
    + ((${month} + 9) % 12 * 306 + 5) / 10 + ${part('9', 2)} - 1)`
  const end = sql`length(${text})`
  const behind = (back: number, length: number): Sql =>
    sql`cast(substr(${text}, ${end} - ${sql.literal(`${back}, ${length}`)}) as bigint)`
  const offset = sql`case substr(${text}, ${end} - 5, 1) when '+' then 1 when '-' then -1 else 0 end`
  const seconds = sql`case when substr(${text}, 17, 1) = ':' then ${part('18', 2)} else 0 end`
  const clock = sql`case when ${end} = 10 then 0 else ${part('12', 2)} * 3600 + ${part('15', 2)} * 60 + ${seconds} end`
  const ahead = sql`case when ${end} = 10 or substr(${text}, ${end}, 1) in ('Z', 'z') then 0
    else ${offset} * (${behind(4, 2)} * 3600 + ${behind(1, 2)} * 60) end`
  return sql`case when ${text} ~ ${TIME_FORM} and left(${text}, 4) > '0001' then ${days} * 86400 + ${clock} - ${ahead} end`
}

export const postgresAggregates: DocumentEngine = {
  key: ({ path }) => keySql(path),
  shownKey: (key) => key,
  numberStages({ path }, n) {
    const value = valueAt(DOC, path)
    return [[[`v${n}`, sql`case jsonb_typeof(${value}) when 'number' then ${value}::numeric end`]]]
  },
  numbers: (n) => sql`count(${sql.literal(`v${n}`)})`,
  sum: (n) => sql`cast(coalesce(sum(${sql.literal(`v${n}`)}), 0) as text)`,
  sumOf: Number,
  momentStages: ({ path }, n) => [
    [
      [
        `t${n}`,
        sql`case when jsonb_typeof(${valueAt(DOC, path)}) = 'string' then ${valueAt(DOC, path, sql` ->> `)} end`,
      ],
    ],
    [[`x${n}`, momentSql(sql.literal(`t${n}`))]],
  ],
}
