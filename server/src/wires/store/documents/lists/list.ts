import { parseJson } from '../../../../base/json.ts'
import { readByIndex } from './by-index.ts'
import { countHits, readBySearch } from './by-search.ts'
import { readByScan } from './by-scan.ts'
import type { Fields } from '../language/document-json.ts'
import type { SeenDocument } from '../language/fields/view.ts'
import { explanationOf, type Explanation, type ReadList } from './explain.ts'
import { selectIndexesSql } from '../storage/sql/index-rows.ts'
import { listSourceOf, nameOf, type ListContext, type ListRequest, type ListSource } from './list-source.ts'
import type { ListPage } from './page.ts'
import { scoreOf } from '../language/search/search-query.ts'
import { wordsOf } from '../language/search/words.ts'
import type { Json } from '../language/query/filter.ts'
import { createParsedLists } from './parsed-list.ts'
import { cursorBehind, encodeCursor } from '../language/query/cursor.ts'

/** A document of a page; its `body` is what was read of it. */
export type ListedDocument = SeenDocument & { readonly id: string; readonly version: number | undefined }

/** A page of documents as they are stored; what is not shown of them is still there. */
export type DocumentList = {
  documents: ListedDocument[]
  /** Infinite if nobody asked for it. */
  total: number
  limit: number
  offset: number
  nextCursor: string | undefined
}

export function createLists(context: Omit<ListContext, 'parsed'>) {
  const lists: ListContext = { ...context, parsed: createParsedLists() }
  return {
    /**
     * Reads a page of a collection.
     * A page whose documents are very large holds fewer than asked for; its `limit` and `nextCursor` say so.
     *
     * @throws validation_error at `/query/…`; unavailable if the query takes too long, or too many wait
     */
    list: async (request: ListRequest): Promise<DocumentList> => {
      const source = listSourceOf(lists, request)
      const { page, ms } = await read(lists, source)
      if (source.list.scans && !('plans' in page) && !source.list.search)
        lists.automaticIndexes.observe(source, { ms, total: page.total })
      return answerOf(lists, source, page)
    },

    /**
     * Reads a list as `list` does, and tells how. It is not counted as a reason for an automatic index.
     *
     * @throws as `list`
     */
    explain: async (request: ListRequest): Promise<Explanation> => {
      const source = listSourceOf(lists, request)
      const answered = await read(lists, source)
      const { page } = answered
      const hits = 'search' in page ? await countHits(source, page) : 0
      const rows = await lists.db.all(selectIndexesSql(source.collection))
      return explanationOf(source, { ...answered, hits }, rows, await source.countAll())
    },
  }
}

/** Reads a list, from an index if there is one for it. */
async function read(context: ListContext, source: ListSource): Promise<ReadList> {
  const began = performance.now()
  if (source.isEmpty) return { page: { total: 0, documents: [] }, ms: 0 }
  if (source.list.search) {
    const page = await readBySearch(context.indexes, source, source.list.search)
    return { page, ms: performance.now() - began }
  }
  const indexed = source.list.scans ? await readByIndex(context, source) : undefined
  const page = indexed ?? (await readByScan(source))
  return { page, ms: performance.now() - began }
}

/** The score of the document that ends a page, if the list is sorted by it. */
function scoreBehind({ list, searchFields }: ListSource, document: Fields): number | undefined {
  const fields = searchFields.map((path) => ({ path, descending: false }))
  return list.search && list.order.byScore
    ? scoreOf(list.search, wordsOf(document as Json, fields))
    : undefined
}

/** The page as it is answered: without the document that is only there if more come. */
function answerOf({ key }: ListContext, source: ListSource, { total, documents }: ListPage): DocumentList {
  const { list, limit, offset } = source
  const isCut = documents.length <= limit && documents.length < (documents[0]?.fetched ?? 0)
  const shown = documents.slice(0, limit)
  const last = shown.at(-1)
  const hasMore = last !== undefined && (isCut || documents.length > limit)
  const needsFields = list.order.keys.length > 0 || list.order.byScore
  const behind =
    last && hasMore && (needsFields ? (parseJson(last.whole ?? last.body) as Fields) : { _id: last.id })
  // A list without a filter needs no total in it.
  const known = list.isFiltered && total !== Infinity ? total : undefined
  const cursor = behind && cursorBehind(behind, list.order, known, scoreBehind(source, behind))
  return {
    documents: shown.map(({ id, body, owner = '', version }) => ({ id, body, owner, version })),
    total,
    limit: isCut ? shown.length : limit,
    offset,
    nextCursor: cursor ? encodeCursor(cursor, nameOf(source), key) : undefined,
  }
}
