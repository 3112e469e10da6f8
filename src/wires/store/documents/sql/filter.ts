import { sql, type Sql } from '../../../../db/sql.ts'
import type { FilterTree } from '../query/filter.ts'
import { postgresMatches } from './postgres/matches.ts'
import { sqliteMatches } from './sqlite/matches.ts'

/** The filter as a condition of row `d` that is true or false, never null. */
export const printFilter = (filter: FilterTree): Sql =>
  sql`${sql.either({ sqlite: () => sqliteMatches(filter), postgres: () => postgresMatches(filter) })}`

/** Whether the primary key answers the filter. */
export const isIdLookup = (filter: FilterTree): boolean =>
  filter.kind === 'field' && filter.test.kind === 'in' && filter.path.length === 1 && filter.path[0] === '_id'
