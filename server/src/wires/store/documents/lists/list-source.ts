import type { Key } from '../../../../base/crypto.ts'
import { invalid } from '../../../../base/errors.ts'
import { idPattern } from '../../../../base/ids.ts'
import { parseJson } from '../../../../base/json.ts'
import type { Database, ScanOptions } from '../../../../db/database.ts'
import { sql, type Sql } from '../../../../db/sql.ts'
import type { MakeRoom } from '../../../../http/route.ts'
import type { Documents } from '../storage/documents.ts'
import type { Indexes } from '../storage/indexes/indexes.ts'
import type { AutomaticIndexes } from './automatic-indexes.ts'
import type { Middles } from './middles.ts'
import {
  parsedListOf,
  whereAfterSql,
  type ListAccess,
  type ListParameters,
  type ParsedList,
  type ParsedLists,
} from './parsed-list.ts'
import {
  decodeCursor,
  exactPosition,
  inTimeOrder,
  isCursorOf,
  type Cursor,
} from '../language/query/cursor.ts'
import type { Path } from '../language/query/path.ts'
import type { Json } from '../language/query/filter.ts'
import { documentsSql } from '../storage/sql/document-rows.ts'
import { isIdOrderedSql } from '../storage/sql/index-rows.ts'
import type { IndexSet } from '../storage/entries/index-definition.ts'

const OWN_ID = new RegExp(idPattern)

const LARGEST_LIMIT = 1000
/** Of pages that hold no documents, but their ids. */
const MOST_VERSIONS = 10_000
/** A page of up to so many documents is read without measuring them, unless one of them is too large for that. */
export const SHORT_LIMIT = 32
/** Rows that a short page may skip over on the way; else it is read where it stalls nobody, like a long one. */
const SHORT_OFFSET = 1000

const OWNER_COLUMN = sql`, d.owner`
const NO_COLUMN = sql.literal('')

/**
 * What is read of each document of a page: all of it, a preview in which values of more characters are cut, or only its `_id`
 * and version.
 */
export type PageReads = 'bodies' | 'versions' | { readonly characters: number }

/** What a list is asked for. */
export type ListRequest = {
  readonly collection: string
  readonly access: ListAccess
  readonly parameters: ListParameters & {
    readonly limit: number
    readonly offset: number
    readonly cursor?: string
    /** Whether the documents that the filter finds are counted. Default: they are. */
    readonly total?: 'count' | 'none'
  }
  /** Default: bodies. */
  readonly reads?: PageReads | undefined
  /** For whom the page is read, and when to stop. */
  readonly options?: ScanOptions
  /** Called before a large page is read. */
  readonly makeRoom?: MakeRoom
  /** Whether all documents are read that match, and no page of them. */
  readonly readsAll?: boolean
}

/** What lists are read with. */
export type ListContext = {
  readonly db: Database
  readonly documents: Pick<Documents, 'count'>
  readonly indexes: Pick<Indexes, 'known' | 'recent' | 'reload'>
  readonly automaticIndexes: Pick<AutomaticIndexes, 'observe' | 'used'>
  /** How long a query may take. */
  readonly limitMs: number
  /** Authenticates cursors. */
  readonly key: Key
  readonly parsed: ParsedLists
  readonly middles: Middles
  /** The fields of a collection that searches look into. */
  readonly searchFieldsOf: (collection: string) => readonly Path[]
}

/** A list that is to be read: what it asks for, and of which documents. */
export type ListSource = {
  readonly db: Database
  readonly documents: Pick<Documents, 'count'>
  readonly middles: Middles
  readonly list: ParsedList
  /** Tells the list from others that the same filter and sort may be asked of. */
  readonly name: string
  /** What the page begins behind. */
  readonly cursor: Cursor | undefined
  readonly collection: string
  /** The fields that a search looks into. */
  readonly searchFields: readonly Path[]
  /** The owner of all documents of the list, if it is one. */
  readonly owner: string | undefined
  /** Whether the row filter admits no document. */
  readonly isEmpty: boolean
  /** `, d.owner` if the owners of the documents are read as well. */
  readonly ownerColumn: Sql
  /**
   * The condition of row `d` that it is of the collection, and of the owner; and that ids are in the order of `createdAt`, if
   * the list was made for that: else nothing is found.
   */
  readonly scope: Sql
  readonly limit: number
  readonly offset: number
  /** Whether the page is so short that it is read on the way, if the rows before it are few. */
  readonly isShort: boolean
  readonly reads: PageReads
  /** Whether all documents are read that match, and no page of them. */
  readonly readsAll: boolean
  /** `limit … offset …`, with one document more than the page shows. */
  readonly limited: Sql
  /** The total or an expression for it; undefined if it has to be counted, infinite if nobody asks for it. */
  readonly knownTotal: Sql | number | undefined
  readonly options: ScanOptions
  readonly makeRoom: MakeRoom
  /** Counts the documents in scope, without looking. */
  readonly countAll: () => Promise<number>
}

/**
 * @param isIdOrdered whether the ids of the collection are in the order of `createdAt`, as far as is known
 * @throws validation_error at `/query/…`
 */
export function listSourceOf(
  context: ListContext,
  request: ListRequest,
  { isIdOrdered }: Pick<IndexSet, 'isIdOrdered'>,
): ListSource {
  const { db, documents, middles, limitMs, key, parsed, searchFieldsOf } = context
  const { collection, access, parameters, reads = 'bodies', readsAll = false, options, makeRoom } = request
  const { rowFilter, view } = access
  const owner = rowFilter.rows === 'own' ? rowFilter.owner : undefined
  const { offset } = parameters
  const searchFields = parameters.search === undefined ? [] : searchFieldsOf(collection)
  if (parameters.search !== undefined && searchFields.length === 0)
    throw invalid({
      path: '/query/search',
      message: `${collection} cannot be searched: store.collections.${collection}.search declares no fields.`,
    })
  if (parameters.cursor !== undefined && offset > 0)
    throw invalid({ path: '/query/cursor', message: 'give either a cursor or an offset' })
  const list = parsedListOf(parsed, parameters, db.dialect, access, isIdOrdered)
  const scopeName = `${collection} ${owner ?? ''}`
  const name = `${scopeName} ${list.text}`
  const { cursor: sent } = parameters
  const cursor = sent === undefined ? undefined : cursorOf(sent, { list, scopeName }, key)
  const all = sql`d.collection = ${collection}`
  const own = owner === undefined ? all : sql`${all} and d.owner = ${owner}`
  const limit = Math.min(parameters.limit, reads === 'versions' ? MOST_VERSIONS : LARGEST_LIMIT)
  return {
    db,
    documents,
    middles,
    list,
    name,
    cursor,
    collection,
    searchFields,
    owner,
    isEmpty: rowFilter.rows === 'none',
    ownerColumn: view && view.showTo.length > 0 ? OWNER_COLUMN : NO_COLUMN,
    scope: isIdOrdered ? sql`${own} and ${isIdOrderedSql(collection)}` : own,
    limit,
    offset,
    isShort: limit <= SHORT_LIMIT && offset <= SHORT_OFFSET,
    reads,
    readsAll,
    limited: sql`limit ${limit + 1} offset ${offset}`,
    knownTotal:
      parameters.total === 'none'
        ? Infinity
        : (cursor?.total ?? (list.isFiltered ? undefined : sql`(${documentsSql(collection, owner)})`)),
    options: { limitMs, ...options },
    makeRoom: makeRoom ?? (async () => undefined),
    countAll: () => documents.count(collection, owner),
  }
}

/** A cursor of the list, also one from before a document came whose id is not of its time. */
function cursorOf(
  text: string,
  { list, scopeName }: { list: ParsedList; scopeName: string },
  key: Key,
): Cursor {
  const earlierName = `${scopeName} ${list.idOrderText}`
  if (list.idOrderText !== undefined && isCursorOf(text, earlierName, key)) {
    const cursor = decodeCursor(text, earlierName, key)
    // A foreign id is that of a list by `_id`.
    if (OWN_ID.test(cursor.position.id)) return inTimeOrder(cursor)
  }
  return decodeCursor(text, `${scopeName} ${list.text}`, key)
}

/** The filter, and only what comes after a cursor, whose key may be too long to be in it. */
export async function afterCursorSql({ db, list, scope }: ListSource, cursor: Cursor): Promise<Sql> {
  if (cursor.print === undefined) return whereAfterSql(list, cursor.position, db.dialect)
  const anchor = await db.get<{ body: string }>(
    sql`select d.body from store_documents d where ${scope} and d.id = ${cursor.position.id}`,
  )
  const position = exactPosition(cursor, list.order, anchor && (parseJson(anchor.body) as Json))
  return whereAfterSql(list, position, db.dialect)
}
