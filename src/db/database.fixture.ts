import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Engine } from '../testing/engines.ts'
import type { Database } from './database.ts'
import { openDatabase } from './open.ts'

/** A new database with these tables. The caller closes it. */
export async function openFresh(engine: Engine, tables = ''): Promise<Database> {
  const db = await openDatabase(await engine.freshUrl())
  if (tables) await db.migrate([{ wire: 'test', name: '001-tables', text: tables }])
  return db
}

const script = (name: string): string => JSON.stringify(new URL(name, import.meta.url).href)

/**
 * Starts a process of its own that has `openDatabase` and `sql`, runs `body` and prints lines with `say`.
 * Its standard error is the test's own.
 */
export async function spawnProgram(folder: string, body: string, options: readonly string[] = []) {
  const file = join(folder, `program-${randomUUID()}.mjs`)
  await writeFile(
    file,
    `import { writeSync } from 'node:fs'
     import { openDatabase } from ${script('./open.ts')}
     import { sql } from ${script('./sql.ts')}
     const say = (line) => writeSync(1, line + '\\n')
     ${body}`,
  )
  const child = spawn(process.execPath, [...options, file], { stdio: ['pipe', 'pipe', 'inherit'] })
  const exited = once(child, 'exit').then(([code, signal]) => (signal ?? code) as string | number)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    /** Its next line; undefined where it said its last. */
    async line(): Promise<string | undefined> {
      const { value, done } = await lines.next()
      return done ? undefined : value
    },
    /** Everything that it still says, until it ends. */
    async rest(): Promise<string[]> {
      const all: string[] = []
      for (let next = await lines.next(); !next.done; next = await lines.next()) all.push(next.value)
      return all
    },
    /** Ends what it reads from its standard input. */
    go: () => child.stdin.end(),
    kill: () => child.kill('SIGKILL'),
    /** Its exit code, or the signal that ended it. */
    exited,
  }
}
