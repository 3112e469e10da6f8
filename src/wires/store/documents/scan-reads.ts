import { parseJson } from '../../../base/json.ts'
import type { ScanOptions } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import { readPage, SHORT_LIMIT, SHORT_OFFSET, type Found } from './page-rows.ts'
import { isById, type PageReads, type PageSource } from './page-source.ts'
import { readParts } from './part-reads.ts'
import { byOwner, type Partition } from './parts.ts'
import { countConditions, type Json } from './query/filter.ts'

export type { PageReads, PageSource } from './page-source.ts'

// Bytes × conditions of a document that is examined in microseconds.
const QUICK_BYTES = 4096

/** What one statement reads: all of the list. */
type Whole = {
  readonly from: Sql
  /** The filter, and only what comes after the cursor. */
  readonly after: Sql
  /** See `sql.stoppable`. */
  readonly unless?: Sql
}

/** Looks into the documents one after the other. */
export function scanReads(source: PageSource): PageReads {
  const { db, query, inReach, collection, owner, limit, offset, options } = source

  const scanIn =
    (spent: ScanOptions['spent']) =>
    <R>(statement: Sql<R>): Promise<R[]> =>
      db.scan(statement, spent ? { ...options, spent } : options).catch((error: unknown) => {
        throw query.faultOf(error)
      })
  const scan = scanIn(undefined)

  async function count({ from, unless }: Whole): Promise<number> {
    if (!query.filtered) return source.countAll()
    if (query.total !== undefined) return query.total
    const [row] = await scan(
      sql<{ total: number }>`
        select count(*) as total from ${from} where ${inReach} and ${sql.stoppable(query.where, unless)}`,
    )
    return row!.total
  }

  function read({ from, after, unless }: Whole): Promise<Found[]> {
    const isQuick = limit <= SHORT_LIMIT && offset <= SHORT_OFFSET && !query.scans
    const where = isQuick ? after : sql`${sql.stoppable(after, unless)}`
    return readPage(
      {
        collection,
        limit,
        makeRoom: source.makeRoom,
        from,
        where: sql`${inReach} and ${where}`,
        orderBy: query.orderBy,
        limited: sql`limit ${limit + 1} offset ${offset}`,
      },
      isQuick ? (statement) => db.all(statement) : scan,
      scan,
    )
  }

  async function readAndCount(whole: Whole): Promise<{ total: number; found: Found[] }> {
    const [total, found] = await Promise.all([count(whole), read(whole)])
    return { total, found }
  }

  /** A page that the list ends on tells the total, unless it is behind the end. */
  async function readThenCount(whole: Whole): Promise<{ total: number; found: Found[] }> {
    const found = await read(whole)
    const fetched = found[0]?.fetched ?? found.length
    const isEnd = fetched <= limit && (fetched > 0 || offset === 0)
    const isCounted = isEnd && query.filtered && query.total === undefined
    return { total: isCounted ? offset + fetched : await count(whole), found }
  }

  /** In parts, because SQLite runs a statement in one thread. */
  async function readInParts(partition: Partition, after: Sql): Promise<{ total: number; found: Found[] }> {
    const unless = sql`d.bytes < ${Math.floor(QUICK_BYTES / Math.max(countConditions(query.filter), 1))}`
    const { from, parts } = partition
    if (parts.length === 1) return readThenCount({ from, after, unless })
    const { total, found } = await readParts({ ...source, partition, after, unless, scanIn })
    return { total, found: found ?? (await read({ from, after })) }
  }

  return async () => {
    const after = await whereAfter(source)
    const whole = { from: owner === undefined ? query.from : byOwner, after }
    // One round trip to PostgreSQL.
    if (!query.filtered && !query.scans) return readAndCount(whole)
    if (!query.scans) return readThenCount(whole)
    if (db.dialect === 'sqlite') return readInParts(await source.parts(collection, owner, options), after)
    if (isById(query)) return readThenCount(whole)
    return readAndCount(whole)
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
