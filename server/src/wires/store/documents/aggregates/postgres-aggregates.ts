import { sql, type Sql } from '../../../../db/sql.ts'
import type { Path } from '../language/query/path.ts'
import { numberBytes, valueAt } from '../storage/sql/postgres/order.ts'
import type { AggregateEngine } from './aggregate-engine.ts'
import type { ZoneOffsets } from './zone-offsets.ts'

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

const TIME_FORM = String.raw`^(?!0000)\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])([Tt]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d))?$`

function offsetSql(moment: Sql, { first, changes }: ZoneOffsets): Sql {
  if (changes.length === 0) return sql`${first}::bigint`
  const offsets = `{${[first, ...changes.map(({ offset }) => offset)].join()}}`
  const moments = `{${changes.map(({ from }) => from).join()}}`
  return sql`(${offsets}::bigint[])[1 + width_bucket(${moment}, ${moments}::bigint[])]`
}

export const postgresAggregates: AggregateEngine = {
  key: keySql,
  shownKey: (key) => key,
  fence: sql.literal('offset 0'),
  numberStages(path, n) {
    const value = valueAt(DOC, path)
    return [[[`v${n}`, sql`case jsonb_typeof(${value}) when 'number' then ${value}::numeric end`]]]
  },
  numbers: (n) => sql`count(${sql.literal(`v${n}`)})`,
  sum: (n) => sql`cast(coalesce(sum(${sql.literal(`v${n}`)}), 0) as text)`,
  sumOf: Number,
  text: (path) =>
    sql`case when jsonb_typeof(${valueAt(DOC, path)}) = 'string' then ${valueAt(DOC, path, sql` ->> `)} end`,
  isTime: (text) => sql`${text} ~ ${TIME_FORM}`,
  offset: offsetSql,
  month: (day) =>
    sql`cast(to_char(date '1970-01-01' + cast(${day} - 719468 as integer), 'YYYYMM') as integer)`,
}
