import type { Database } from '../db/database.ts'
import { readMigrations } from '../db/migrations.ts'
import { openDatabase } from '../db/open.ts'
import type { Engine } from '../testing/engines.ts'

/** A database with the frame's own tables, and its address for a second replica. The caller closes it. */
export async function openFrame(engine: Engine): Promise<{ db: Database; url: string }> {
  const url = await engine.freshUrl()
  const db = await openDatabase(url)
  await db.migrate(await readMigrations('sixwire', new URL('./migrations/', import.meta.url), db.dialect))
  return { db, url }
}
