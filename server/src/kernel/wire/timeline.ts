import { sql, type Sql } from '../../db/sql.ts'
import type { DataSubject } from './personal-data.ts'

/** Something that happened to a person. */
export type TimelineEntry = {
  /** Its place in its part, from which the next page goes on: an id, or a number as text. */
  readonly key: string
  /** Milliseconds since 1970. */
  readonly at: number
  /** What it is, in a few words: `Payment of 12.30 EUR`. */
  readonly text: string
  /** One line more, such as a subject or a reason. */
  readonly detail?: string
  /** What became of it: `completed`, `deleted`. */
  readonly state?: string
  /** The id of the account or service key that did it, if that is another one. */
  readonly by?: string
  /** The screen of the console with the record: `payments/01m825ceev…`. */
  readonly opens?: string
}

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
  ) => Promise<readonly TimelineEntry[]>
}

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
