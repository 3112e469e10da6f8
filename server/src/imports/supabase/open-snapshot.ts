import { StartError } from '../../base/start-error.ts'
import type { Snapshot } from '../../db/database.ts'
import { openDatabase } from '../../db/open.ts'
import { sql } from '../../db/sql.ts'

/** A read-only transaction of the other system's database: all reads see the same state. */
export type OpenSnapshot = { readonly snapshot: Snapshot; readonly close: () => Promise<void> }

/**
 * Opens a transaction (repeatable read, read only) on PostgreSQL.
 *
 * @throws StartError if no server answers there
 */
export async function openSnapshot(url: string): Promise<OpenSnapshot> {
  if (!/^postgres(?:ql)?:\/\/./.test(url))
    throw new StartError('write the address of its database: postgres://postgres:PASSWORD@HOST:5432/postgres')
  const db = await openDatabase(url).catch((error: unknown) => {
    throw error instanceof StartError
      ? new StartError(error.message.replace(/^DATABASE_URL: /, ''), { cause: error })
      : error
  })
  const opened = Promise.withResolvers<Snapshot>()
  const closing = Promise.withResolvers<void>()
  const running = db
    .snapshot(async (snapshot) => {
      opened.resolve(snapshot)
      await closing.promise
    })
    .catch((error: unknown) => opened.reject(error))
  const close = async (): Promise<void> => {
    closing.resolve()
    await running
    await db.close()
  }
  try {
    const snapshot = await opened.promise
    // Policies would leave rows out without a word; so reading them is refused.
    await snapshot.get(sql`select set_config('row_security', 'off', true) as off`)
    return { snapshot, close }
  } catch (error) {
    await close()
    throw error
  }
}
