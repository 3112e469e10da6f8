import type { Fields, ServiceFields } from '../language/document-json.ts'

/** A document as hooks and the system get it. */
export type SystemDocument = Fields & ServiceFields

/** What a list of the system is asked for; see `GET /store/:collection`. */
export type SystemListQuery = {
  readonly filter?: Readonly<Record<string, unknown>>
  /** Words, as in the route. */
  readonly search?: string
  /** As in the route: `-year,title`. Default: the newest first; of a search, the best. */
  readonly sort?: string
  /** At most 1000. Default: 20. */
  readonly limit?: number
  readonly offset?: number
  readonly cursor?: string
}

export type SystemList = {
  readonly data: readonly SystemDocument[]
  readonly total: number
  readonly nextCursor: string | undefined
}

/**
 * Documents as the system reads and writes them: rules and views do not concern it; schemas, unique fields, relations and
 * hooks do. Every function throws what the route of the same kind answers.
 */
export type SystemDocuments = {
  /** Undefined if there is none with this `_id`. */
  get(collection: string, id: string): Promise<SystemDocument | undefined>
  list(collection: string, query?: SystemListQuery): Promise<SystemList>
  /**
   * @param options.owner the account that the document belongs to; default: none
   * @param options.id a new one by default; where there is a document with it already, that one is answered
   */
  create(
    collection: string,
    fields: Fields,
    options?: { readonly owner?: string; readonly id?: string },
  ): Promise<SystemDocument>
  /** Sets the given top-level fields. */
  update(collection: string, id: string, fields: Fields): Promise<SystemDocument>
  /** Applies a JSON Merge Patch, or MongoDB's update operators: `{ $inc: { votes: 1 } }`. */
  patch(collection: string, id: string, patch: Fields): Promise<SystemDocument>
  delete(collection: string, id: string): Promise<void>
  /** How many documents a collection has, or an owner in it, without counting them. */
  count(collection: string, owner?: string): Promise<number>
}
