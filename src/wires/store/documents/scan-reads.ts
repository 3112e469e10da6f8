import { parseJson } from '../../../base/json.ts'
import type { Database, ScanOptions } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { Json } from './query/filter.ts'
import type { ListQuery } from './query/index.ts'
import { readPage, SHORT_LIMIT, SHORT_OFFSET, type Found } from './page-rows.ts'

/** What a page is read from. */
export type PageSource = {
  readonly db: Database
  readonly query: ListQuery
  /** The condition of row `d` that it is of the list's collection, and of an owner if the list is. */
  readonly inReach: Sql
  readonly collection: string
  readonly limit: number
  readonly offset: number
  readonly options: ScanOptions
  /** Counts the documents in reach. */
  readonly countAll: () => Promise<number>
}

/** Reads the total of a list, and a page of it with one document more than it shows, if there is one. */
export type PageReads = () => Promise<{ total: number; found: Found[] }>

/** Looks into the documents one after the other. */
export function scanReads({
  db,
  query,
  inReach,
  collection,
  limit,
  offset,
  options,
  countAll,
}: PageSource): PageReads {
  const scan = <R>(statement: Sql<R>): Promise<R[]> =>
    db.scan(statement, options).catch((error: unknown) => {
      throw query.faultOf(error)
    })

  async function count(): Promise<number> {
    if (!query.filtered) return countAll()
    if (query.total !== undefined) return query.total
    const [row] = await scan(
      sql<{ total: number }>`
        select count(*) as total from ${query.from} where ${inReach} and ${sql.stoppable(query.where)}`,
    )
    return row!.total
  }

  async function read(): Promise<Found[]> {
    const after = await whereAfter({ db, query, inReach })
    const isQuick = limit <= SHORT_LIMIT && offset <= SHORT_OFFSET && !query.scans
    const where = isQuick ? after : sql`${sql.stoppable(after)}`
    return readPage(
      {
        collection,
        limit,
        from: query.from,
        where: sql`${inReach} and ${where}`,
        orderBy: query.orderBy,
        limited: sql`limit ${limit + 1} offset ${offset}`,
      },
      isQuick ? (statement) => db.all(statement) : scan,
      scan,
    )
  }

  return async () => {
    const [total, found] = await Promise.all([count(), read()])
    return { total, found }
  }
}

/** What comes after the cursor, whose key may be too long to be in it. */
export async function whereAfter({
  db,
  query,
  inReach,
}: Pick<PageSource, 'db' | 'query' | 'inReach'>): Promise<Sql> {
  if (query.anchor === undefined) return query.whereAfter
  const anchor = await db.get<{ body: string }>(
    sql`select d.body from store_documents d where ${inReach} and d.id = ${query.anchor}`,
  )
  return query.exactAfter(anchor && (parseJson(anchor.body) as Json))
}
