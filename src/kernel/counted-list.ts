import type { Database } from '../db/database.ts'
import { cachedUntilWrite } from '../db/cached-until-write.ts'
import { sql, type Sql } from '../db/sql.ts'
import type { RowFilter } from '../http/access.ts'
import { cutPage, type Page } from '../http/page.ts'

// A page of this many rows, those skipped included, is read on the event loop; a longer one where it stalls nobody.
const SHORT_PAGE = 100

export type CountedPage<R> = { rows: readonly R[]; total: number; nextCursor?: string }

/** Reads a page, newest first, of the records within the row filter that meet all conditions. */
export type CountedList<R> = (
  rowFilter: RowFilter,
  conditions: readonly Sql[],
  page: Page,
) => Promise<CountedPage<R>>

/**
 * A list of records with its total, which without conditions is read and not counted: triggers count in
 * `sixwire_counts` as records come and go, see `messaging/migrations/005-counts.*.sql`.
 *
 * The table has the columns `id` (text that sorts by time) and `owner` (text that never changes; null: nobody's).
 *
 * @example
 * const list = createCountedList<Row>(db, {
 *   name: 'messaging.messages',
 *   table: sql.literal('messaging_messages'),
 *   columns: sql.literal('id, status'),
 * })
 * const { rows, total, nextCursor } = await list(policy.rowFilter(caller), [sql`status = ${status}`], pageOf(query))
 *
 * @param options.name how the triggers name the list: wire and records
 * @param options.columns what is read of a record, `id` among it
 */
export function createCountedList<R extends { id: string }>(
  db: Database,
  options: { name: string; table: Sql; columns: Sql },
): CountedList<R> {
  const { name, table, columns } = options

  const storedTotal = cachedUntilWrite(db, async (owner) => {
    const row = await db.get<{ records: number }>(sql`
      select cast(coalesce(sum(records), 0) as bigint) as records from sixwire_counts
      where list = ${name} and owner = ${owner}`)
    return row!.records
  })

  async function countRows(where: Sql): Promise<number> {
    const [row] = await db.scan<{ total: number }>(sql`select count(*) as total from ${table} ${where}`)
    return row!.total
  }

  return async ({ owner }, conditions, page) => {
    const { limit, offset, before } = page
    const all = [...(owner === undefined ? [] : [sql`owner = ${owner}`]), ...conditions]
    const place = before === undefined ? [] : [sql`id < ${before}`]
    const query = sql<R>`
      select ${columns} from ${table} ${whereSql([...all, ...place])}
      order by id desc limit ${limit + 1} offset ${offset}`
    const isShort = conditions.length === 0 && offset + limit <= SHORT_PAGE
    const [rows, total] = await Promise.all([
      isShort ? db.all(query) : db.scan(query),
      conditions.length === 0 ? storedTotal(owner ?? '') : countRows(whereSql(all)),
    ])
    return { ...cutPage(rows, page, ({ id }) => id), total }
  }
}

const whereSql = (conditions: readonly Sql[]): Sql =>
  conditions.length === 0 ? sql.literal('') : sql`where ${sql.join(conditions, ' and ')}`
