import { sql, type Sql } from '../../../../../../db/sql.ts'
import { endOfCut } from '../../../language/query/bound.ts'
import type { Path } from '../../../language/query/path.ts'
import { isLong, type Sort } from '../../../language/query/sort.ts'
import type { OrderExpressions } from '../order-sql.ts'
import { jsonPath } from './json.ts'
import { nativeOf } from './native-key.ts'

// What null sorts as: see `nativeOf`.
const NULL_SQL = sql`-9e999`

/** The field's value as it sorts. Text, numbers and null, which most fields are, and arrays of them need no function. */
function keySql(sort: Sort, i: number, isRequired: boolean): Sql {
  const { keys } = sort
  const { path, descending } = keys[i]!
  // Node keeps the arguments of all rows until the statement ends, so they are few.
  const names = [...new Set(keys.map(({ path }) => path[0]!))]
  const fields = sql.join(names.map((name) => sql`${name}, d.doc -> ${jsonPath([name])}`))
  const computed = sql`store_document_key(json_object(${fields}), store_sort(${JSON.stringify(keys)}), ${i}, ${Number(isRequired)})`
  if (isLong(sort)) return computed
  const at = sql`d.doc, ${jsonPath(path)}`
  const value = sql`json_extract(${at})`
  // Of no elements, `min` and `max` are null.
  const ofArray = sql`(select case when max(type in ('object', 'array')) then ${computed} else ${sql.literal(descending ? 'max' : 'min')}(
    case type when 'null' then ${NULL_SQL} when 'false' then x'6000' when 'true' then x'6001' else atom end) end
    from json_each(${at}))`
  // If another field runs through an array, too, both have their values of the same element.
  const others = keys.flatMap(({ path }, other) =>
    other === i ? [] : path.map((_, n) => path.slice(0, n + 1)),
  )
  const before = path.slice(1).map((_, n) => path.slice(0, n + 1))
  return sql`case json_type(${at}) when 'text' then ${value} when 'integer' then ${value} when 'real' then ${value}
    when 'null' then ${NULL_SQL} when 'false' then x'6000' when 'true' then x'6001' when 'object' then ${computed}
    when 'array' then ${orComputed(ofArray, others, computed)} else ${orComputed(NULL_SQL, before, computed)} end`
}

/** What is computed if there is an array at one of the paths. */
function orComputed(otherwise: Sql, paths: readonly Path[], computed: Sql): Sql {
  if (paths.length === 0) return otherwise
  const arrays = paths.map((path) => sql`json_type(d.doc, ${jsonPath(path)}) = 'array'`)
  return sql`case when ${sql.join(arrays, ' or ')} then ${computed} else ${otherwise} end`
}

function boundSql(bytes: Buffer, isEnd: boolean): Sql | undefined {
  const value = nativeOf(bytes)
  if (value === null) return undefined
  if (value instanceof Uint8Array) return unhex(isEnd ? endOfCut(bytes) : bytes)
  // Not always UTF-8, but SQLite compares bytes.
  return isEnd ? sql`cast(${unhex(endOfCut(Buffer.from(String(value))))} as text)` : sql`${value}`
}

const unhex = (bytes: Buffer): Sql => sql`unhex(${bytes.toString('hex')})`

export const sqliteOrder: OrderExpressions = { key: keySql, bound: boundSql }
