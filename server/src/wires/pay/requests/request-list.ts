import { leastIdOf } from '../../../base/ids.ts'
import type { RowFilter } from '../../../base/row-filter.ts'
import type { Database } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import { cutPage, type Page } from '../../../http/page.ts'
import { selectRequestsSql, storedRequests, type StoredRequest } from './request-rows.ts'
import type { RequestStatus } from './request-state.ts'

/** How many requests are read for one page, if they are filtered by what their chain shows. */
const READ_MAX = 1_000
const CHUNK = 200

/** The filters of the list; times are milliseconds since 1970, `from` inclusive, `to` exclusive. */
export type RequestQuery = {
  rowFilter: RowFilter
  status?: RequestStatus
  chain?: string
  token?: string
  /** In any case. */
  address?: string
  from?: number
  to?: number
}

const conditionsOf = ({ rowFilter, chain, token, address, from, to }: RequestQuery): Sql[] => [
  ...(rowFilter.rows === 'all'
    ? []
    : [sql`r.id in (select id from pay_transactions where owner = ${rowFilter.owner})`]),
  ...(chain === undefined ? [] : [sql`r.chain = ${chain}`]),
  ...(token === undefined ? [] : [sql`r.token = ${token}`]),
  ...(address === undefined ? [] : [sql`r.address = ${address.toLowerCase()}`]),
  ...(from === undefined ? [] : [sql`r.id >= ${leastIdOf(from)}`]),
  ...(to === undefined ? [] : [sql`r.id < ${leastIdOf(to)}`]),
]

const whereSql = (conditions: readonly Sql[]): Sql =>
  conditions.length === 0 ? sql`` : sql`where ${sql.join(conditions, ' and ')}`

/** Counts requests by all filters but the status, which reads all that meet them. */
export async function countRequests(db: Database, query: RequestQuery): Promise<number> {
  const [row] = await db.scan<{ total: number }>(
    sql`select count(*) as total from pay_requests r ${whereSql(conditionsOf(query))}`,
  )
  return row!.total
}

/**
 * Reads a page, newest first. The status is no column: with it, requests are read until the page is full or there were
 * 1,000, and the cursor goes on from there.
 *
 * @param statusOf computes it from what is stored of the chain
 */
export async function pageOfRequests(
  db: Database,
  query: RequestQuery,
  { page, statusOf }: { page: Page; statusOf: (stored: StoredRequest) => Promise<RequestStatus> },
): Promise<{ rows: readonly StoredRequest[]; nextCursor?: string }> {
  const matches: StoredRequest[] = []
  let { before } = page
  let skip = page.offset
  const chunk = query.status === undefined ? page.limit + page.offset + 1 : CHUNK
  for (let readCount = 0; ;) {
    const rows = await read(db, query, { before, limit: chunk })
    for (const stored of rows) {
      const isMatch = query.status === undefined || (await statusOf(stored)) === query.status
      if (isMatch && skip-- <= 0) matches.push(stored)
      if (matches.length > page.limit) return cutPage(matches, page, ({ request }) => request.id)
    }
    readCount += rows.length
    if (rows.length < chunk) return { rows: matches }
    before = rows.at(-1)!.request.id
    if (readCount >= READ_MAX) return { rows: matches, nextCursor: Buffer.from(before).toString('base64url') }
  }
}

async function read(
  db: Database,
  query: RequestQuery,
  { before, limit }: { before: string | undefined; limit: number },
): Promise<StoredRequest[]> {
  const conditions = [...conditionsOf(query), ...(before === undefined ? [] : [sql`r.id < ${before}`])]
  const ids = sql`select r.id from pay_requests r ${whereSql(conditions)} order by r.id desc limit ${limit}`
  // A page is read again by the ids that it has: what arrived at them multiplies the rows.
  return storedRequests(await db.scan(selectRequestsSql(sql`r.id in (select id from (${ids}) as page)`)))
}
