import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'

import { ApiError } from '../../base/errors.ts'
import type { Logger } from '../../base/logger.ts'
import { StartError } from '../../base/start-error.ts'
import type { Database } from '../../db/database.ts'
import { sql } from '../../db/sql.ts'
import type { Settings } from '../config/config.ts'
import { SECRET_FILE } from '../secret/secret.ts'

/**
 * Refuses an empty database beside the files of an installation, outside of production with a warning only: the database was
 * removed, or the address is wrong.
 *
 * @throws StartError
 */
export async function refuseVanished(
  { db, settings, log }: { db: Database; settings: Settings; log: Logger },
  isNewAllowed: boolean,
): Promise<void> {
  if (isNewAllowed || (await hasTables(db))) return
  const traces = await tracesIn(settings.dataDir)
  if (traces.length === 0) return
  const problem = `DATABASE_URL: the database is empty, while ${settings.dataDir} has the ${traces.join(' and ')} of an installation`
  if (settings.production)
    throw new StartError(
      `${problem}: correct the address, put a copy back as docs/backups.md says, or run sixwire start --new-database`,
    )
  log.warn(`${problem}: a new database is created`)
}

const hasTables = (db: Database): Promise<boolean> =>
  db.get(sql`select 1 as found from sixwire_migrations limit 1`).then(
    (row) => row !== undefined,
    (error: unknown) => {
      if (error instanceof ApiError) throw error
      return false
    },
  )

/** No object has such a name: a file system, or a write that was cut off, leaves it. */
const isTrace = (name: string): boolean => !name.startsWith('.') && name !== 'lost+found'

/** What earlier starts have left in the data folder. */
async function tracesIn(dataDir: string): Promise<string[]> {
  const [secret, ...folders] = await Promise.all([
    stat(join(dataDir, SECRET_FILE)).then(
      // A first start has created it itself.
      ({ mtimeMs }) => mtimeMs < performance.timeOrigin,
      () => false,
    ),
    ...['uploads', 'backups'].map((name) =>
      readdir(join(dataDir, name)).then(
        (names) => (names.some(isTrace) ? [name] : []),
        () => [],
      ),
    ),
  ])
  return [...(secret ? [SECRET_FILE] : []), ...folders.flat()]
}
