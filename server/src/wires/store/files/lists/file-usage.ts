import type { Database, ScanOptions } from '../../../../db/database.ts'
import { sql } from '../../../../db/sql.ts'
import type { FileSum } from './file-bulk.ts'

/** How many files there are, and the bytes of all of them and of the owners who have most. */
export type FileUsage = FileSum & { owners: (FileSum & { owner: string })[] }

/**
 * Reads how much files take. They are counted as they are written; only the counts of owners are added up.
 *
 * @param query.owner only this one
 * @throws UNAVAILABLE if there are so many owners that it takes too long
 */
export async function readUsage(
  db: Database,
  { limit, owner }: { limit: number; owner?: string | undefined },
  options?: ScanOptions,
): Promise<FileUsage> {
  const all = sql<FileSum>`
    select cast(coalesce(sum(files), 0) as bigint) as files, cast(coalesce(sum(bytes), 0) as bigint) as bytes
    from store_usage where owner = ''`
  const byOwner = sql<FileSum & { owner: string }>`
    select owner, cast(sum(files) as bigint) as files, cast(sum(bytes) as bigint) as bytes from store_usage
    where ${owner === undefined ? sql`owner > '' and ${sql.stoppable(sql`true`)}` : sql`owner = ${owner}`}
    group by owner having sum(files) > 0
    order by sum(bytes) desc, owner limit ${limit}`
  const [[total], owners] = await Promise.all([db.scan<FileSum>(all), db.scan(byOwner, options)])
  return { ...total!, owners }
}
