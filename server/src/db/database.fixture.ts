import type { Ending, Engine } from '../testing/engines.ts'
import { startScript, urlLiteral, type Program } from '../testing/program.ts'
import type { Database } from './database.ts'
import { openDatabase } from './open.ts'

/** A new database with these tables. The caller closes it. */
export async function openFresh(engine: Engine, tables = ''): Promise<Database> {
  const db = await openDatabase(await engine.freshUrl())
  if (tables) await db.migrate([{ wire: 'test', name: '001-tables', text: tables }])
  return db
}

/** Runs `body` in a process of its own that has `openDatabase` and `sql`, and prints lines with `say`. */
export const startDatabaseScript = (
  ending: Ending,
  body: string,
  nodeOptions: readonly string[] = [],
): Promise<Program> =>
  startScript(
    ending,
    `import { writeSync } from 'node:fs'
     import { openDatabase } from ${urlLiteral('db/open.ts')}
     import { sql } from ${urlLiteral('db/sql.ts')}
     const say = (line) => {
       for (let rest = Buffer.from(line + '\\n'); rest.length > 0; )
         try {
           rest = rest.subarray(writeSync(1, rest))
         } catch (error) {
           if (error.code !== 'EAGAIN') throw error // a pipe that is full, as its reader is slow
         }
     }
     ${body}`,
    { nodeOptions },
  )
