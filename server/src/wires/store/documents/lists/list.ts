import { BoundedMap } from '../../../../base/bounded-map.ts'
import { parseJson } from '../../../../base/json.ts'
import { choosePath, TRIES_MAX, wordsNotReady } from './access-path.ts'
import type { DocumentRow, Fields } from '../language/document-json.ts'
import { explanationOf, type Explanation, type ReadList } from './explain.ts'
import { selectIndexesSql } from '../storage/sql/index-rows.ts'
import { countHitsSql } from '../storage/sql/search-sql.ts'
import { listSourceOf, type ListContext, type ListRequest, type ListSource } from './list-source.ts'
import { createMiddles } from './middles.ts'
import { readPage, type ListPage } from './page.ts'
import { scoreOf } from '../language/search/search-query.ts'
import { wordsOf } from '../language/search/words.ts'
import type { Json } from '../language/query/filter.ts'
import type { IndexSet } from '../storage/entries/index-definition.ts'
import { createParsedLists } from './parsed-list.ts'
import { cursorBehind, encodeCursor } from '../language/query/cursor.ts'

/** A document of a page; its `body` is what was read of it. */
export type ListedDocument = Omit<DocumentRow, 'collection' | 'version'> & {
  readonly version: number | undefined
}

/** A page of documents as they are stored; what is not shown of them is still there. */
export type DocumentList = {
  documents: ListedDocument[]
  /** Infinite if nobody asked for it. */
  total: number
  limit: number
  offset: number
  nextCursor: string | undefined
}

const CURSORS = 500
// Of a list and an id.
const CACHED_LENGTH_MAX = 500

type Lists = ListContext & {
  /** Behind pages by `_id`, by list and last id: applications ask for the first pages of the same few lists again and again. */
  readonly cursors: BoundedMap<string, string>
}

export function createLists(context: Omit<ListContext, 'parsed' | 'middles'>) {
  const lists: Lists = {
    ...context,
    parsed: createParsedLists(),
    middles: createMiddles(),
    cursors: new BoundedMap(CURSORS),
  }
  const { automaticIndexes } = lists
  return {
    /**
     * Reads a page of a collection.
     * A page whose documents are very large holds fewer than asked for; its `limit` and `nextCursor` say so.
     *
     * @throws validation_error at `/query/…`; unavailable if the query takes too long, or too many wait
     */
    list: async (request: ListRequest): Promise<DocumentList> => {
      const { source, path, page, ms } = await read(lists, request)
      if (path.kind === 'scan' && source.list.scans && !source.isEmpty)
        automaticIndexes.observe(source, { ms, total: page.total })
      return answerOf(lists, source, page)
    },

    /**
     * Reads a list as `list` does, and tells how. It is not counted as a reason for an automatic index.
     *
     * @throws as `list`
     */
    explain: async (request: ListRequest): Promise<Explanation> => {
      const answered = await read(lists, request)
      const { source, path } = answered
      const { db, collection, documents, options, countAll } = source
      const [counted] =
        path.kind === 'search'
          ? await db.scan(countHitsSql(path.search, await documents.count(collection)), options)
          : []
      const rows = await db.all(selectIndexesSql(collection))
      return explanationOf(source, answered, { hits: counted?.hits ?? 0, rows, documents: await countAll() })
    },
  }
}

/**
 * Chooses the access path of a list and reads by it. If an index has changed meanwhile, it chooses again.
 *
 * @throws unavailable while the words that it searches for are not complete
 */
async function read(
  lists: ListContext,
  request: ListRequest,
): Promise<ReadList & { readonly source: ListSource }> {
  const { indexes, automaticIndexes } = lists
  const { collection } = request
  const began = performance.now()
  const known = indexes.known(collection)
  let source: ListSource
  try {
    source = listSourceOf(lists, request, known)
  } catch (error) {
    source = await openAgain(lists, request, known, error)
  }
  let set = source.list.scans && !source.isEmpty ? await indexes.recent(collection) : undefined
  for (let tries = 1; ; tries++) {
    const { list, isEmpty } = source
    const path = await choosePath(source, set)
    const page = isEmpty ? NO_DOCUMENTS : path && (await readPage(source, path))
    if (path && page) {
      if (path.kind !== 'search') for (const { index } of path.plans) automaticIndexes.used(index.id)
      return { source, path, page, ms: performance.now() - began }
    }
    set = await indexes.reload(collection)
    source = listSourceOf(lists, request, set)
    if (tries < TRIES_MAX) continue
    if (list.search) throw wordsNotReady(collection)
    // A scan asks for none.
    set = undefined
  }
}

/**
 * Opens a list whose cursor may be that of another process, which knows that ids are not in the order of `createdAt` any more.
 *
 * @throws the error, if it is not
 */
async function openAgain(
  { indexes, ...lists }: ListContext,
  request: ListRequest,
  { isIdOrdered }: IndexSet,
  error: unknown,
): Promise<ListSource> {
  if (request.parameters.cursor === undefined || !isIdOrdered) throw error
  const set = await indexes.reload(request.collection)
  if (set.isIdOrdered) throw error
  return listSourceOf({ indexes, ...lists }, request, set)
}

const NO_DOCUMENTS: ListPage = { total: 0, documents: [] }

/** The page as it is answered: without the document that is only there if more come. */
function answerOf(lists: Lists, source: ListSource, { total, documents }: ListPage): DocumentList {
  const { limit, offset } = source
  const isCut = documents.length <= limit && documents.length < (documents[0]?.fetched ?? 0)
  const shown = documents.slice(0, limit)
  const last = shown.at(-1)
  const hasMore = isCut || documents.length > limit
  const nextCursor = last && hasMore ? cursorAfter(lists, source, last, total) : undefined
  return {
    documents: shown.map(({ id, body, owner = '', version }) => ({ id, body, owner, version })),
    total,
    limit: isCut ? shown.length : limit,
    offset,
    nextCursor,
  }
}

/** The cursor of the page behind a document. */
function cursorAfter(
  { key, cursors }: Lists,
  source: ListSource,
  last: ListPage['documents'][number],
  total: number,
): string {
  const { list, name } = source
  const { order } = list
  // A list without a filter needs no total in it.
  const counted = list.isFiltered && total !== Infinity ? total : undefined
  if (order.keys.length > 0 || order.byScore) {
    const behind = parseJson(last.whole ?? last.body) as Fields
    const score = order.byScore ? scoreBehind(source, behind) : undefined
    return encodeCursor(cursorBehind(behind, order, counted, score), name, key)
  }
  const place = `${last.id} ${counted} ${name}`
  let cursor = cursors.get(place)
  if (cursor === undefined) {
    cursor = encodeCursor(cursorBehind({ _id: last.id }, order, counted), name, key)
    if (place.length <= CACHED_LENGTH_MAX) cursors.set(place, cursor)
  }
  return cursor
}

/** The score of the document that ends a page. */
function scoreBehind({ list, searchFields }: ListSource, document: Fields): number {
  const fields = searchFields.map((path) => ({ path, descending: false }))
  return scoreOf(list.search!, wordsOf(document as Json, fields))
}
