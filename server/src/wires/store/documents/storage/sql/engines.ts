import type { Dialect, Sql } from '../../../../../db/sql.ts'
import type { FilterTree } from '../../language/query/filter.ts'
import type { OrderExpressions } from './order-sql.ts'
import { postgresMatches } from './postgres/matches.ts'
import { postgresOrder } from './postgres/order.ts'
import { sqliteMatches } from './sqlite/matches.ts'
import { sqliteOrder } from './sqlite/order.ts'

/** How an engine is asked for a list. */
export type ListEngine = {
  /** The filter as a condition of row `d` that is true or false, never null. */
  readonly matches: (filter: FilterTree) => Sql
  readonly order: OrderExpressions
  /**
   * Whether documents that are looked into are read in the order of ids that the list asks for: SQLite sorts them in a third
   * of the time then, PostgreSQL reads in parallel instead.
   */
  readonly readsInOrder: boolean
}

export const listEngines: Readonly<Record<Dialect, ListEngine>> = {
  sqlite: { matches: sqliteMatches, order: sqliteOrder, readsInOrder: true },
  postgres: { matches: postgresMatches, order: postgresOrder, readsInOrder: false },
}
