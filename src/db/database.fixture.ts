import type { Engine } from '../testing/engines.ts'
import type { Database } from './database.ts'
import { openDatabase } from './open.ts'

/** A new database with these tables. The caller closes it. */
export async function openFresh(engine: Engine, tables = ''): Promise<Database> {
  const db = await openDatabase(await engine.freshUrl())
  if (tables) await db.migrate([{ wire: 'test', name: '001-tables', text: tables }])
  return db
}
