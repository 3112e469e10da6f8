import type { Key } from '../../../base/crypto.ts'
import { invalid } from '../../../base/errors.ts'
import { parseJson } from '../../../base/json.ts'
import type { Database, ScanOptions } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { RowFilter } from '../../../http/access.ts'
import type { MakeRoom } from '../../../http/route.ts'
import type { Fields } from './document-json.ts'
import type { Documents } from './documents.ts'
import { explanationOf, selectExplainedSql, type Explanation } from './explain.ts'
import { indexReads, type IndexRead } from './index-reads.ts'
import type { Indexes } from './indexes/indexes.ts'
import { createParts } from './parts.ts'
import { fewestFirst } from './plan/choose.ts'
import { plansOf, type Plan } from './plan/plan.ts'
import { createParsedLists, listQuery, type ListParameters } from './query/index.ts'
import { scanReads, type PageSource } from './scan-reads.ts'

const LARGEST_LIMIT = 1000
// Indexes may be dropped between a plan and its reads.
const PLANS_MAX = 3

export type PageRequest = ListParameters & { limit: number; offset: number }

/** A page as it is answered; the documents as JSON text. */
export type DocumentList = {
  bodies: string[]
  total: number
  limit: number
  offset: number
  nextCursor: string | undefined
}

/**
 * @param indexes of collections
 * @param limitMs how long a query may take
 * @param key authenticates cursors
 */
export function createLists(
  db: Database,
  documents: Documents,
  indexes: Pick<Indexes, 'recent' | 'reload' | 'observe' | 'used'>,
  limitMs: number,
  key: Key,
) {
  const parsedLists = createParsedLists()
  const parts = createParts(db, (collection, owner) => documents.count(collection, { owner }))

  /** Reads a list from the entries of an index; undefined if none is of use. */
  async function readByIndex(source: PageSource, owner: string | undefined): Promise<Indexed | undefined> {
    const { collection, query } = source
    const { filter, order } = query
    if (!query.scans) return undefined
    let set = await indexes.recent(collection)
    for (let attempt = 0; attempt < PLANS_MAX; attempt++) {
      if (set.indexes.length === 0) return undefined
      let isOutdated = false
      for (const plan of await fewestFirst(db, plansOf(set.indexes, { filter, order, owner }), owner)) {
        const read = await indexReads(source, plan, owner)
        if (read === 'wide') continue
        isOutdated = read === 'outdated'
        if (read === 'outdated') break
        indexes.used(plan.index.id)
        return { ...read, plan }
      }
      if (!isOutdated) return undefined
      set = await indexes.reload(collection)
    }
    return undefined
  }

  /** Reads a list, from an index if there is one for it. */
  async function read(
    collection: string,
    rowFilter: RowFilter,
    asked: PageRequest,
    options: ScanOptions,
    makeRoom: MakeRoom = async () => undefined,
  ) {
    const { offset } = asked
    if (asked.cursor !== undefined && offset > 0)
      throw invalid({ path: '/query/cursor', message: 'give either a cursor or an offset' })
    const query = listQuery(asked, `${collection} ${rowFilter.owner ?? ''}`, key, parsedLists)
    const mine: Sql = rowFilter.owner === undefined ? sql.literal('') : sql` and d.owner = ${rowFilter.owner}`
    const source: PageSource = {
      db,
      query,
      inReach: sql`d.collection = ${collection}${mine}`,
      collection,
      owner: rowFilter.owner,
      limit: Math.min(asked.limit, LARGEST_LIMIT),
      offset,
      parts,
      makeRoom,
      options: { limitMs, query: { isAdmitted: false }, ...options },
      countAll: () => documents.count(collection, rowFilter),
    }
    const began = performance.now()
    const indexed = await readByIndex(source, rowFilter.owner)
    const { total, found } = indexed ?? (await scanReads(source)())
    return { source, indexed, total, found, ms: performance.now() - began }
  }

  /**
   * Reads a page of a collection.
   * A page whose documents are very large holds fewer than asked for; its `limit` and `nextCursor` say so.
   *
   * @param options for whom the page is read, and when to stop
   * @param makeRoom called before a large page is read
   * @throws validation_error at `/query/…`; unavailable if the query takes too long, or too many wait
   */
  async function list(
    collection: string,
    rowFilter: RowFilter,
    asked: PageRequest,
    options: ScanOptions = {},
    makeRoom?: MakeRoom,
  ): Promise<DocumentList> {
    const { source, indexed, total, found, ms } = await read(collection, rowFilter, asked, options, makeRoom)
    const { query, limit, offset, countAll } = source
    if (query.scans && !indexed)
      indexes.observe({ collection, filter: query.filter, order: query.order, ms, total, countAll })

    const cut = found.length <= limit && found.length < (found[0]?.fetched ?? 0)
    const shown = found.slice(0, limit)
    const last = shown.at(-1)
    const more = last !== undefined && (cut || found.length > limit)
    return {
      bodies: shown.map(({ body }) => body),
      total,
      limit: cut ? shown.length : limit,
      offset,
      nextCursor: more
        ? query.cursorAfter(
            query.scans ? (parseJson(last.body) as Fields) : { _id: last.id },
            query.filtered ? total : undefined,
          )
        : undefined,
    }
  }

  /**
   * Reads a list as `list` does, and tells how. It is not counted as a reason for an automatic index.
   *
   * @throws as `list`
   */
  async function explain(
    collection: string,
    rowFilter: RowFilter,
    asked: PageRequest,
    options: ScanOptions = {},
  ): Promise<Explanation> {
    const answer = await read(collection, rowFilter, asked, options)
    const rows = await db.all(selectExplainedSql(collection))
    return explanationOf({ ...answer, documents: await answer.source.countAll(), rows })
  }

  return { list, explain }
}

type Indexed = IndexRead & { readonly plan: Plan }
