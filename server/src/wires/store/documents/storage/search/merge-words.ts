import { Type } from '../../../../../base/schema.ts'
import type { Step } from '../../../../../db/database.ts'
import { sql } from '../../../../../db/sql.ts'
import type { WireContext } from '../../../../../kernel/wire/wire.ts'

const DELAY_MS = 3_600_000
/** Pages of one step, so that no other write waits for long. */
const PAGES = 64

/**
 * Takes the words of deleted documents out of SQLite's index, which only marks them as deleted until it merges its parts. All parts are
 * written anew, so it is done once for all deletions of an hour. PostgreSQL's index has no words of rows that are gone.
 *
 * @see https://www.sqlite.org/fts5.html#the_merge_command
 */
export function createWordMerge({ db, clock, jobs }: Pick<WireContext, 'db' | 'clock' | 'jobs'>): {
  /** The steps that have it done within the next hour or so. */
  mergeSql(): readonly Step[]
} {
  const job = jobs.define('store.merge-words', { payload: Type.Null() }, async ({ stopping }) => {
    // The first step takes all parts together, and the others go on.
    for (let pages = -PAGES; (await merge(pages)) && !stopping.aborted; pages = PAGES);
  })

  /** @returns whether there may be more to do */
  async function merge(pages: number): Promise<boolean> {
    const countSql = sql<{ changes: number }>`select total_changes() as changes`
    const [before, , after] = await db.batch([
      countSql,
      sql`insert into store_search_words (store_search_words, rank) values ('merge', ${pages})`,
      countSql,
    ])
    return after[0]!.changes - before[0]!.changes >= 2
  }

  return {
    mergeSql: () =>
      db.dialect === 'sqlite'
        ? [job.enqueueSql(null, { id: 'merge-words', runAt: clock.now() + DELAY_MS })]
        : [],
  }
}
