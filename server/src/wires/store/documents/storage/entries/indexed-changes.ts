import type { Json } from '../../language/query/filter.ts'
import type { IndexSet } from './index-definition.ts'

/** A document before and after a write; undefined where there is none. */
export type Change = {
  readonly id: string
  readonly owner: string
  readonly before?: Json | undefined
  readonly after?: Json | undefined
  /** Where the document is in the request, if it is not the body. */
  readonly path?: string
}

/** What a write changes in a collection, and the indexes that it has. */
export type IndexedChanges = { readonly set: IndexSet; readonly changes: readonly Change[] }
