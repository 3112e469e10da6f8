import type { Sql } from '../../../../db/sql.ts'
import type { KeyValue } from './key.ts'
import type { Test } from './filter.ts'
import type { Path } from './path.ts'

/** What one engine writes in its own way. Everything about one field of the document in row `d`. */
export type Expressions = {
  /** True or false, never null, so that it can be negated. */
  matches(path: Path, test: Test): Sql
  /** A piece of `order by`, in MongoDB's order of types. */
  order(path: Path, descending: boolean): Sql
  /** Whether the field sorts after `value`. */
  after(path: Path, descending: boolean, value: KeyValue): Sql
  /** Whether the field sorts together with `value`. */
  same(path: Path, value: KeyValue): Sql
}
