import { sql, type Sql } from '../../../../db/sql.ts'
import type { Expressions } from './expressions.ts'
import type { Filter, Test } from './filter.ts'
import type { Path } from './path.ts'

export type Engines = { readonly sqlite: Expressions; readonly postgres: Expressions }

/** A piece that each engine writes in its own way. */
const each = (engines: Engines, write: (engine: Expressions) => Sql): Sql =>
  sql`${sql.either({ sqlite: write(engines.sqlite), postgres: write(engines.postgres) })}`

/** The filter as a condition that is true or false, never null. */
export function printFilter(filter: Filter, engines: Engines): Sql {
  switch (filter.kind) {
    case 'field':
      if (isIdLookup(filter)) return printIds(filter.test)
      return each(engines, (engine) => engine.matches(filter.path, filter.test))
    case 'not':
      return sql`not (${printFilter(filter.of, engines)})`
    case 'and':
    case 'or': {
      const parts = filter.of.map((part) => printFilter(part, engines))
      if (parts.length === 0) return sql`true` // only `and` can be empty
      return sql`(${sql.join(parts, ` ${filter.kind} `)})`
    }
  }
}

/** Whether the primary key answers the filter. */
export function isIdLookup(filter: Filter): filter is { kind: 'field'; path: Path; test: OneOf } {
  return (
    filter.kind === 'field' &&
    filter.test.kind === 'in' &&
    filter.path.length === 1 &&
    filter.path[0] === '_id'
  )
}

type OneOf = Extract<Test, { kind: 'in' }>

function printIds({ values }: OneOf): Sql {
  const ids = values.filter((value) => typeof value === 'string')
  if (ids.length === 1) return sql`d.id = ${ids[0]!}`
  const list = JSON.stringify(ids)
  return sql`d.id ${sql.either({
    sqlite: sql`in (select value from json_each(${list}))`,
    postgres: sql`= any(array(select jsonb_array_elements_text(${list}::jsonb)))`,
  })}`
}
