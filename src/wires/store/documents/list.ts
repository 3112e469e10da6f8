import type { Key } from '../../../base/crypto.ts'
import { invalid } from '../../../base/errors.ts'
import { parseJson } from '../../../base/json.ts'
import type { Database, ScanOptions } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { RowFilter } from '../../../http/access.ts'
import type { MakeRoom } from '../../../http/route.ts'
import { readByIndex, type IndexPage } from './by-index.ts'
import { readByScan } from './by-scan.ts'
import type { Fields } from './document-json.ts'
import { documentsSql } from './sql/document-rows.ts'
import type { Documents } from './documents.ts'
import { explanationOf, selectExplainedSql, type Explanation } from './explain.ts'
import type { Indexes } from './indexes/indexes.ts'
import type { ListSource, ListPage } from './page.ts'
import { fewestFirst } from './plan/choose.ts'
import { plansOf, type Plan } from './plan/plan.ts'
import { createParsedLists, listQuery, type ListParameters, type ParsedLists } from './list-query.ts'

const LARGEST_LIMIT = 1000
// Indexes may be dropped between a plan and its reads.
const PLANS_MAX = 3

/** What a list is asked for. */
export type ListRequest = {
  readonly collection: string
  readonly rowFilter: RowFilter
  readonly parameters: ListParameters & { readonly limit: number; readonly offset: number }
  /** For whom the page is read, and when to stop. */
  readonly options?: ScanOptions
  /** Called before a large page is read. */
  readonly makeRoom?: MakeRoom
}

/** A page as it is answered; the documents as JSON text. */
export type DocumentList = {
  bodies: string[]
  total: number
  limit: number
  offset: number
  nextCursor: string | undefined
}

/** What lists are read with. */
export type ListContext = {
  readonly db: Database
  readonly documents: Pick<Documents, 'count'>
  readonly indexes: Pick<Indexes, 'recent' | 'reload' | 'observe' | 'used'>
  /** How long a query may take. */
  readonly limitMs: number
  /** Authenticates cursors. */
  readonly key: Key
  readonly parsed: ParsedLists
}

export const createLists = (context: Omit<ListContext, 'parsed'>) => {
  const lists: ListContext = { ...context, parsed: createParsedLists() }
  return {
    list: (request: ListRequest) => list(lists, request),
    explain: (request: ListRequest) => explain(lists, request),
  }
}

/**
 * Reads a page of a collection.
 * A page whose documents are very large holds fewer than asked for; its `limit` and `nextCursor` say so.
 *
 * @throws validation_error at `/query/…`; unavailable if the query takes too long, or too many wait
 */
export async function list(context: ListContext, request: ListRequest): Promise<DocumentList> {
  const source = sourceOf(context, request)
  const { page, indexed, ms } = await read(context, source)
  const { collection, query, countAll } = source
  if (query.scans && !indexed)
    context.indexes.observe({
      collection,
      filter: query.filter,
      order: query.order,
      ms,
      total: page.total,
      countAll,
    })
  return answerOf(source, page)
}

/**
 * Reads a list as `list` does, and tells how. It is not counted as a reason for an automatic index.
 *
 * @throws as `list`
 */
export async function explain(context: ListContext, request: ListRequest): Promise<Explanation> {
  const source = sourceOf(context, request)
  const { page, indexed, ms } = await read(context, source)
  const rows = await context.db.all(selectExplainedSql(source.collection))
  return explanationOf({ source, indexed, ...page, ms, documents: await source.countAll(), rows })
}

function sourceOf(
  context: ListContext,
  { collection, rowFilter, parameters, options, makeRoom }: ListRequest,
): ListSource {
  const { db, documents, limitMs, key, parsed } = context
  const { owner } = rowFilter
  const { limit, offset } = parameters
  if (parameters.cursor !== undefined && offset > 0)
    throw invalid({ path: '/query/cursor', message: 'give either a cursor or an offset' })
  const query = listQuery(parameters, `${collection} ${owner ?? ''}`, key, parsed)
  const shown = Math.min(limit, LARGEST_LIMIT)
  return {
    db,
    query,
    collection,
    owner,
    scope:
      owner === undefined
        ? sql`d.collection = ${collection}`
        : sql`d.collection = ${collection} and d.owner = ${owner}`,
    limit: shown,
    offset,
    limited: sql`limit ${shown + 1} offset ${offset}`,
    knownTotal: query.total ?? sql`(${documentsSql(collection, owner)})`,
    options: { limitMs, ...options },
    makeRoom: makeRoom ?? (async () => undefined),
    countAll: () => documents.count(collection, rowFilter),
    countCollection: () => documents.count(collection, { owner: undefined }),
  }
}

/** Reads a list, from an index if there is one for it. */
async function read(context: ListContext, source: ListSource) {
  const began = performance.now()
  const indexed = source.query.scans ? await readByBestIndex(context, source) : undefined
  const page: ListPage = indexed ?? (await readByScan(source))
  return { page, indexed, ms: performance.now() - began }
}

/** Reads a list from the entries of an index; undefined if none is of use. */
async function readByBestIndex(
  { db, indexes }: ListContext,
  source: ListSource,
): Promise<PlannedPage | undefined> {
  const { collection, query, owner } = source
  let set = await indexes.recent(collection)
  for (let attempt = 0; attempt < PLANS_MAX; attempt++) {
    if (set.indexes.length === 0) return undefined
    let isOutdated = false
    const plans = plansOf(set.indexes, { filter: query.filter, order: query.order, owner })
    for (const plan of await fewestFirst(db, plans, owner)) {
      const page = await readByIndex(source, plan)
      if (page === 'wide') continue
      isOutdated = page === 'outdated'
      if (page === 'outdated') break
      indexes.used(plan.index.id)
      return { ...page, plan }
    }
    if (!isOutdated) return undefined
    set = await indexes.reload(collection)
  }
  return undefined
}

type PlannedPage = IndexPage & { readonly plan: Plan }

/** The page as it is answered: without the document that is only there if more come. */
function answerOf({ query, limit, offset }: ListSource, { total, found }: ListPage): DocumentList {
  const isCut = found.length <= limit && found.length < (found[0]?.fetched ?? 0)
  const shown = found.slice(0, limit)
  const last = shown.at(-1)
  const hasMore = last !== undefined && (isCut || found.length > limit)
  const behind = last && hasMore && (query.scans ? (parseJson(last.body) as Fields) : { _id: last.id })
  return {
    bodies: shown.map(({ body }) => body),
    total,
    limit: isCut ? shown.length : limit,
    offset,
    nextCursor: behind ? query.cursorAfter(behind, query.filtered ? total : undefined) : undefined,
  }
}
