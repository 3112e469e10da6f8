import type { Sql } from '../../../../db/sql.ts'
import type { Test } from './filter.ts'
import type { Path } from './path.ts'

/** What one engine writes in its own way. Everything about one field of the document in row `d`. */
export type Expressions = {
  /** True or false, never null, so that it can be negated. */
  matches(path: Path, test: Test): Sql
}
