import type { Database } from '../../db/database.ts'
import { sql } from '../../db/sql.ts'
import type { Series } from '../../kernel/wire/series.ts'

/** How many bytes files and documents take, as quotas count them. */
export const storedBytes = ({ db }: { db: Database }): Series => ({
  name: 'stored-bytes',
  title: 'Storage',
  unit: 'bytes',
  kind: 'level',
  parts: ['files', 'documents'],
  opens: 'files',
  sample: () =>
    db.all<{ part: string; value: number }>(sql`
      select 'files' as part, cast(coalesce(sum(bytes), 0) as bigint) as value from store_usage where owner = ''
      union all
      select 'documents', cast(coalesce(sum(bytes), 0) as bigint) from store_counts where owner = ''`),
})
