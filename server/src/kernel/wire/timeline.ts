import { sql, type Sql } from '../../db/sql.ts'
import type { DataSubject, PersonEvent } from './personal-data.ts'

/** What a wire knows of what happened to a person, for `GET /auth/users/:id/timeline`. */
export type TimelinePart = {
  /** In small letters, with hyphens between words: `payments`. */
  readonly name: string
  /**
   * Reads what happened before a place, newest first, by an index.
   *
   * @param page.before the key of the last entry that was read; undefined: from the newest on
   */
  readonly read: (
    person: DataSubject,
    page: { before: string | undefined; limit: number },
  ) => Promise<readonly PersonEvent[]>
}

/** The number in a place, which comes with a request: 0 for what no column holds. */
export const numberIn = (place: string): number => (Number.isSafeInteger(Number(place)) ? Number(place) : 0)

/**
 * The ids of the newest rows that meet any of some conditions, each read by its own index, which ends with the id.
 *
 * @param column the id in this table
 */
export const newestIdsSql = (
  table: string,
  conditions: readonly Sql[],
  { before, limit }: { before: string | undefined; limit: number },
  column = 'id',
): Sql => {
  const [from, id] = [sql.literal(table), sql.literal(column)]
  const place = before === undefined ? sql`` : sql`and ${id} < ${before}`
  const newest = conditions.map(
    (condition) => sql`
      select id from (
        select ${id} as id from ${from} where ${condition} ${place} order by ${id} desc limit ${limit}) as newest`,
  )
  return sql.join(newest, ' union ')
}
