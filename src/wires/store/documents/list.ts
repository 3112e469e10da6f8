import type { Key } from '../../../base/crypto.ts'
import { invalid } from '../../../base/errors.ts'
import { parseJson } from '../../../base/json.ts'
import type { Database, ScanOptions } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { RowFilter } from '../../../http/access.ts'
import type { Fields } from './document-json.ts'
import type { Documents } from './documents.ts'
import { indexReads, type IndexRead } from './index-reads.ts'
import type { Indexes } from './indexes/indexes.ts'
import { plansOf } from './plan/plan.ts'
import { listQuery, type ListParameters } from './query/index.ts'
import { scanReads, type PageSource } from './scan-reads.ts'

const LARGEST_LIMIT = 1000
// Indexes may be dropped between a plan and its reads.
const PLANS_MAX = 3

export type PageRequest = ListParameters & { limit: number; offset: number }

/** A page as it is answered; the documents as JSON text. */
export type Page = {
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
  /** Reads a list from the entries of an index; undefined if none is of use. */
  async function readByIndex(source: PageSource, owner: string | undefined): Promise<IndexRead | undefined> {
    const { collection, query } = source
    if (!query.scans) return undefined
    let set = await indexes.recent(collection)
    for (let attempt = 0; attempt < PLANS_MAX; attempt++) {
      const [plan] = plansOf(set.indexes, { ...query, owner })
      if (!plan) return undefined
      const answer = await indexReads(source, plan, owner)
      if (answer === 'wide') return undefined
      if (answer !== 'outdated') {
        indexes.used(plan.index.id)
        return answer
      }
      set = await indexes.reload(collection)
    }
    return undefined
  }

  /**
   * Reads a page of a collection.
   * A page whose documents are very large holds fewer than asked for; its `limit` and `nextCursor` say so.
   *
   * @param options for whom the page is read, and when to stop
   * @throws validation_error at `/query/…`; unavailable if the query takes too long, or too many wait
   */
  return async function list(
    collection: string,
    rowFilter: RowFilter,
    asked: PageRequest,
    options: ScanOptions = {},
  ): Promise<Page> {
    const { offset } = asked
    const limit = Math.min(asked.limit, LARGEST_LIMIT)
    if (asked.cursor !== undefined && offset > 0)
      throw invalid({ path: '/query/cursor', message: 'give either a cursor or an offset' })
    const query = listQuery(asked, `${collection} ${rowFilter.owner ?? ''}`, key)
    const mine: Sql = rowFilter.owner === undefined ? sql.literal('') : sql` and d.owner = ${rowFilter.owner}`
    const inReach = sql`d.collection = ${collection}${mine}`

    const countAll = () => documents.count(collection, rowFilter)
    const source: PageSource = {
      db,
      query,
      inReach,
      collection,
      limit,
      offset,
      options: { limitMs, ...options },
      countAll,
    }
    const began = performance.now()
    const indexed = await readByIndex(source, rowFilter.owner)
    const { total, found } = indexed ?? (await scanReads(source)())
    if (query.scans && !indexed) {
      const ms = performance.now() - began
      indexes.observe({ collection, filter: query.filter, order: query.order, ms, total, countAll })
    }

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
}
