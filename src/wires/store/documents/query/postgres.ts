import { sql, type Sql } from '../../../../db/sql.ts'
import type { Expressions } from './expressions.ts'
import { KEY_CHARACTERS, rankOf } from './key.ts'
import type { Scalar, Test } from './filter.ts'
import type { Path } from './path.ts'

/** Where a value is: as jsonb, which compares within and across types without ever failing, and as text. */
type Place = { value: Sql; text: Sql }

function place(root: Sql, path: Path): Place {
  const steps = path.map((part) => sql`${part}::text`)
  const last = steps.pop()!
  const parent = sql.join([root, ...steps], ' -> ')
  return { value: sql`(${parent} -> ${last})::jsonb`, text: sql`(${parent} ->> ${last})` }
}

const json = (value: unknown): Sql => sql`${JSON.stringify(value)}::jsonb`

function oneOf({ value }: Place, values: readonly Scalar[]): Sql {
  if (values.length === 0) return sql`false`
  const known = values.includes(null) ? sql`coalesce(${value}, 'null')` : value
  return values.length === 1
    ? sql`(${known} = ${json(values[0])}) is true`
    : sql`(${known} in (select jsonb_array_elements(${json(values)}))) is true`
}

function matches(at: Place, test: Test): Sql {
  switch (test.kind) {
    case 'in':
      return oneOf(at, test.values as Scalar[])
    case 'range': {
      const operator = sql.literal(test.operator)
      return typeof test.bound === 'number'
        ? sql`(${at.value} ${operator} ${json(test.bound)} and jsonb_typeof(${at.value}) = 'number') is true`
        : sql`(${at.text} collate "C" ${operator} ${test.bound as string} and jsonb_typeof(${at.value}) = 'string') is true`
    }
    case 'exists':
      return sql`${at.value} is not null`
    case 'size':
    case 'type':
    case 'pattern':
    case 'mod':
    case 'element':
    case 'elementMatches':
      throw new Error(`a test of kind ${test.kind} is not written yet`)
  }
}

/** The three columns that a field sorts by: its type's rank, and then the one of its number and its text that is there. */
function sortKey({ value, text }: Place): { rank: Sql; number: Sql; text: Sql } {
  return {
    rank: sql`case jsonb_typeof(${value}) when 'number' then 1 when 'string' then 2 when 'object' then 3
      when 'array' then 4 when 'boolean' then case when ${value} = 'true' then 6 else 5 end else 0 end`,
    number: sql`case jsonb_typeof(${value}) when 'number' then ${text}::float8 end`,
    text: sql`case jsonb_typeof(${value}) when 'string' then left(${text}, ${KEY_CHARACTERS}) end collate "C"`,
  }
}

/** @param root the document: an expression of type json or jsonb */
export const postgres = (root: Sql): Expressions => ({
  matches: (path, test) => matches(place(root, path), test),
  order(path, descending) {
    const direction = sql.literal(descending ? 'desc' : 'asc')
    const { rank, number, text } = sortKey(place(root, path))
    return sql`${rank} ${direction}, ${number} ${direction}, ${text} ${direction}`
  },
  after(path, descending, value) {
    const { rank, number, text } = sortKey(place(root, path))
    const beyond = sql.literal(descending ? '<' : '>')
    const otherType = sql`${rank} ${beyond} ${rankOf(value)}`
    if (typeof value === 'number') return sql`(${otherType} or ${number} ${beyond} ${String(value)}::float8)`
    if (typeof value === 'string') return sql`(${otherType} or ${text} ${beyond} ${value})`
    return otherType
  },
  same(path, value) {
    const { rank, number, text } = sortKey(place(root, path))
    if (typeof value === 'number') return sql`${number} = ${String(value)}::float8`
    if (typeof value === 'string') return sql`${text} = ${value}`
    return sql`${rank} = ${rankOf(value)}`
  },
})
