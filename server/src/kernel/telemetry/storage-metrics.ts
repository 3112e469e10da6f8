import { stat, statfs } from 'node:fs/promises'

import type { Database } from '../../db/database.ts'
import { sqliteFileOf } from '../../db/open.ts'
import { sql } from '../../db/sql.ts'
import type { Settings } from '../config/config.ts'
import type { WireMetrics } from './metrics.ts'

/** Declares what tells that a disk will be full. */
export function declareStorageMetrics(
  metrics: WireMetrics,
  db: Database,
  { dataDir, databaseUrl }: Pick<Settings, 'dataDir' | 'databaseUrl'>,
): void {
  metrics.gauge({ name: 'sixwire_data_free_bytes', help: 'Free space of DATA_DIR', labels: [] }, async () => {
    const { bavail, bsize } = await statfs(dataDir)
    return [{ labels: {}, value: bavail * bsize }]
  })
  const file = sqliteFileOf(databaseUrl)
  metrics.gauge(
    {
      name: 'sixwire_database_size_bytes',
      help: 'Size of the database, and on SQLite of its write-ahead log: database or log',
      labels: ['part'],
    },
    async () => {
      if (file === undefined) {
        const row = await db.get<{ size: number }>(sql`select pg_database_size(current_database()) as size`)
        return [{ labels: { part: 'database' }, value: row!.size }]
      }
      const [database, log] = await Promise.all([stat(file), stat(`${file}-wal`).catch(() => ({ size: 0 }))])
      return [
        { labels: { part: 'database' }, value: database.size },
        { labels: { part: 'log' }, value: log.size },
      ]
    },
  )
}
