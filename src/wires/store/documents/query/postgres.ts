import { sql, type Sql } from '../../../../db/sql.ts'
import type { Expressions } from './expressions.ts'
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

/** @param root the document: an expression of type json or jsonb */
export const postgres = (root: Sql): Expressions => ({
  matches: (path, test) => matches(place(root, path), test),
})
