import type { Database } from '../../db/database.ts'
import { sql } from '../../db/sql.ts'
import { newestIdsSql, numberIn, type TimelinePart } from '../../kernel/wire/timeline.ts'

/** Changes of a person's documents as long as they are logged, and files. */
export const storeTimeline = ({ db }: { db: Database }): TimelinePart[] => [
  {
    name: 'documents',
    async read({ id }, { before, limit }) {
      const place = before === undefined ? sql`` : sql`and seq < ${numberIn(before)}`
      const rows = await db.scan<{
        seq: number
        collection: string
        id: string
        version: number
        at: number
        is_new: number
      }>(sql`
        select seq, collection, id, version, at, case when old is null then 1 else 0 end as is_new
        from store_changes where owner = ${id} ${place} order by seq desc limit ${limit}`)
      return rows.map((row) => ({
        key: String(row.seq),
        at: row.at,
        text: `Document in ${row.collection}`,
        detail: row.id,
        state: row.version === 0 ? 'deleted' : row.is_new === 1 ? 'created' : 'changed',
        opens: row.version === 0 ? `data/${row.collection}` : `data/${row.collection}/${row.id}`,
      }))
    },
  },
  {
    name: 'files',
    async read({ id }, page) {
      const rows = await db.scan<{
        id: string
        original_name: string
        status: string
        created_at: number
      }>(sql`
        select id, original_name, status, created_at from store_files
        where id in (${newestIdsSql('store_files', [sql`owner = ${id}`], page)})
        order by id desc limit ${page.limit}`)
      return rows.map((row) => ({
        key: row.id,
        at: row.created_at,
        text: 'File',
        detail: row.original_name,
        state: row.status,
        opens: `files/${row.id}`,
      }))
    },
  },
]
