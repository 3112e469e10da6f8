import { sql, type Sql } from '../../../../../db/sql.ts'
import { endOfCut, type Bound } from '../../query/bound.ts'
import type { Path } from '../../query/path.ts'
import { isLong, type Sort, type SortKey } from '../../query/sort.ts'
import type { OrderExpressions } from '../order.ts'
import { jsonPath } from './json.ts'
import { nativeOf } from './native-key.ts'

const typeAt = (path: Path): Sql => sql`json_type(d.doc, ${jsonPath(path)})`

// What null sorts as: see `nativeOf`.
const NULL_SQL = sql`-9e999`

/**
 * The field's value as it sorts. Text, numbers and null, which most fields are, and arrays of them need no function.
 *
 * @param isRequired whether a document without a key fails
 */
function keySql(sort: Sort, i: number, isRequired: boolean): Sql {
  const { keys } = sort
  const { path } = keys[i]!
  const value = sql`json_extract(d.doc, ${jsonPath(path)})`
  const computed = sql`store_document_key(${fieldsSql(keys)}, store_sort(${JSON.stringify(keys)}), ${i}, ${Number(isRequired)})`
  if (isLong(sort)) return computed
  const arrays = path.slice(1).map((_, n) => sql`${typeAt(path.slice(0, n + 1))} = 'array'`)
  const missing =
    arrays.length === 0
      ? NULL_SQL
      : sql`case when ${sql.join(arrays, ' or ')} then ${computed} else ${NULL_SQL} end`
  return sql`case ${typeAt(path)} when 'text' then ${value} when 'integer' then ${value} when 'real' then ${value}
    when 'null' then ${NULL_SQL} when 'false' then x'6000' when 'true' then x'6001' when 'object' then ${computed}
    when 'array' then ${alone(keys, i, arraySql(keys[i]!, computed), computed)} else ${missing} end`
}

/** If another field runs through an array, too, both have their values of the same element. */
function alone(keys: readonly SortKey[], i: number, single: Sql, computed: Sql): Sql {
  const others = keys.filter((_, other) => other !== i)
  const arrays = others.flatMap(({ path }) =>
    path.map((_, n) => sql`${typeAt(path.slice(0, n + 1))} = 'array'`),
  )
  return arrays.length === 0
    ? single
    : sql`case when ${sql.join(arrays, ' or ')} then ${computed} else ${single} end`
}

// Of no elements, `min` and `max` are null.
const arraySql = ({ path, descending }: SortKey, computed: Sql): Sql =>
  sql`(select case when max(type in ('object', 'array')) then ${computed} else ${sql.literal(descending ? 'max' : 'min')}(
    case type when 'null' then ${NULL_SQL} when 'false' then x'6000' when 'true' then x'6001' else atom end) end
    from json_each(d.doc, ${jsonPath(path)}))`

// Node keeps the arguments of all rows until the statement ends, so they are few.
function fieldsSql(keys: readonly SortKey[]): Sql {
  const names = [...new Set(keys.map(({ path }) => path[0]!))]
  return sql`json_object(${sql.join(names.map((name) => sql`${name}, d.doc -> ${jsonPath([name])}`))})`
}

/** The bound as a value to compare with, or undefined for SQLite's null. */
function boundSql({ bytes, isCut }: Bound, descending: boolean): Sql | undefined {
  const value = nativeOf(bytes)
  if (value === null) return undefined
  const isEnd = isCut && descending
  if (value instanceof Uint8Array) return unhex(isEnd ? endOfCut(bytes) : bytes)
  // Not always UTF-8, but SQLite compares bytes.
  return isEnd ? sql`cast(${unhex(endOfCut(Buffer.from(String(value))))} as text)` : sql`${value}`
}

const unhex = (bytes: Buffer): Sql => sql`unhex(${bytes.toString('hex')})`

export const sqliteOrder: OrderExpressions = {
  key: (sort, i) => keySql(sort, i, true),
  after(sort, i, bound) {
    const { descending } = sort.keys[i]!
    const key = keySql(sort, i, false)
    const value = boundSql(bound, descending)
    if (value === undefined) return descending ? sql`false` : sql`${key} is not null`
    // Null is neither before nor after anything to SQL, yet it comes last in a descending order.
    if (descending) return sql`(${key} >= ${value}) is not true`
    return sql`${key} ${sql.literal(bound.isCut ? '>=' : '>')} ${value}`
  },
  same: (sort, i, bound) => sql`${keySql(sort, i, false)} is ${boundSql(bound, false) ?? sql`null`}`,
}
