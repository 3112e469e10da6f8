import { sql, type Sql } from '../../../../../../db/sql.ts'
import { endOfCut } from '../../../language/query/bound.ts'
import type { Path } from '../../../language/query/path.ts'
import { isLong, type Sort, type SortKey } from '../../../language/query/sort.ts'
import type { OrderExpressions } from '../order-sql.ts'

/** The value of a document at a path through objects. @param last ` ->> ` for its text */
export function valueAt(root: Sql, path: Path, last = sql` -> `): Sql {
  const steps = path.map((part) => sql`${part}::text`)
  return sql`(${sql.join([root, ...steps.slice(0, -1)], ' -> ')}${last}${steps.at(-1)!})`
}

const DOC = sql`d.doc`
const BODY = sql`d.body`
const NULL_SQL = sql`'\\x10'::bytea`

/** The bytes that the field sorts by. Those of most fields are put together here, which takes a fraction of a function's time. */
function keySql(sort: Sort, i: number, isRequired: boolean): Sql {
  const { keys } = sort
  const { path } = keys[i]!
  const value = valueAt(DOC, path)
  const computed = sql`store_document_key(d.body, ${JSON.stringify(keys)}::jsonb, ${i}, ${sql.literal(String(isRequired))})`
  if (isLong(sort)) return computed
  const around = isArray(path.slice(0, -1))
  const missing = around ? sql`case when ${around} then ${computed} else ${NULL_SQL} end` : NULL_SQL
  const others = keys.flatMap(({ path }, other) => (other === i ? [] : isArray(path)!))
  const array = arraySql(keys[i]!)
  return sql`case jsonb_typeof(${value}) ${scalarCases(value, valueAt(DOC, path, sql` ->> `))}
    when 'object' then store_sort_key(${valueAt(BODY, path)})
    when 'array' then ${
      // If another field runs through an array, too, both have their values of the same element.
      others.length > 0
        ? sql`case when ${sql.join(others, ' or ')} then ${computed} else ${array} end`
        : array
    }
    else ${missing} end`
}

function scalarCases(value: Sql, text: Sql): Sql {
  return sql`
    when 'string' then '\\x30'::bytea || convert_to(replace(${text}, E'\\x01', E'\\x01\\x02'), 'UTF8') || '\\x00'::bytea
    when 'number' then '\\x20'::bytea || ${numberBytes(value)}
    when 'null' then ${NULL_SQL}
    when 'boolean' then case when ${value} = 'true' then '\\x6001'::bytea else '\\x6000'::bytea end`
}

/** The bytes of a double, which compare as numbers do. */
export function numberBytes(value: Sql): Sql {
  const double = sql`float8send(${value}::float8)`
  return sql`case when ${value} >= '0' then set_bit(${double}, 7, 1)
      else int8send(~ ('x' || encode(${double}, 'hex'))::bit(64)::int8) end`
}

/** Whether the value at the path, or one on the way to it, is an array. */
const isArray = (path: Path): Sql | undefined =>
  path.length === 0
    ? undefined
    : sql.join(
        path.map((_, n) => sql`jsonb_typeof(${valueAt(DOC, path.slice(0, n + 1))}) = 'array'`),
        ' or ',
      )

const HAS_NESTED = sql`'strict $[*] ? (@.type() == "object" || @.type() == "array")'`

/** The smallest or largest element of an array. */
function arraySql({ path, descending }: SortKey): Sql {
  const value = valueAt(DOC, path)
  const first = sql.literal(descending ? 'desc' : 'asc')
  const element = sql`elements.value`
  const scalar = sql`case jsonb_typeof(${element}) ${scalarCases(element, sql`(${element} #>> '{}')`)} end`
  return sql`case when ${value} = '[]' then '\\x08'::bytea when ${value} @? ${HAS_NESTED}
    then (select store_sort_key(value) from json_array_elements(${valueAt(BODY, path)}) order by 1 ${first} limit 1)
    else (select ${scalar} from jsonb_array_elements(${value}) as elements order by 1 ${first} limit 1) end`
}

export const postgresOrder: OrderExpressions = {
  key: keySql,
  bound: (bytes, isEnd) => sql`decode(${(isEnd ? endOfCut(bytes) : bytes).toString('hex')}, 'hex')`,
}
