import type { SqlScalar } from '../../../../db/sql.ts'
import type { AggregateEngine } from '../../../../kernel/aggregates/aggregate-engine.ts'
import type { NamedField } from '../../../../kernel/aggregates/aggregate-request.ts'
import type { Path } from '../language/query/path.ts'

/** A field of documents, as a request names it. */
export type DocumentField = NamedField & { readonly path: Path }

/**
 * How an engine reads the values of documents, rows `d` of store_documents, and computes with them. A path leads through objects
 * only. Keys compare as MongoDB has it for values of all types; objects and arrays by their JSON.
 */
export type DocumentEngine = AggregateEngine<DocumentField> & {
  readonly sumOf: (text: SqlScalar | undefined) => number
}
