import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

import { pino } from 'pino'

import { newId } from '../../../base/ids.ts'
import { readMigrations } from '../../../db/migrations.ts'
import { openDatabase } from '../../../db/open.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import { createJobs } from '../../../kernel/jobs/jobs.ts'
import type { JobRunner } from '../../../kernel/jobs/job.ts'
import { stillClock } from '../../../testing/clock.ts'
import { temporaryFolder, type Engine } from '../../../testing/engines.ts'
import { createLocalStorage } from './local-storage.ts'
import { createObjects, type NewObject, type Objects } from './objects.ts'

const MIGRATIONS = [
  ['sixwire', new URL('../../../kernel/migrations/', import.meta.url)],
  ['store', new URL('../migrations/', import.meta.url)],
] as const

/** Objects in a real folder with their rows in a database, a clock that stands still, and replicas of both. */
export async function setUp(t: TestContext, engine: Engine) {
  const url = await engine.migratedUrl()
  const folder = await temporaryFolder(t)
  const clock = stillClock()
  const lines: string[] = []
  const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) })
  const uploads = join(folder, 'uploads')
  const ends: (() => Promise<void>)[] = []
  t.after(async () => {
    for (const end of ends.toReversed()) await end()
  })

  async function replica() {
    const db = await openDatabase(url)
    ends.push(() => db.close())
    for (const [wire, from] of MIGRATIONS) await db.migrate(await readMigrations(wire, from, db.dialect))
    const jobs: JobRunner = createJobs({ db, clock, log })
    const objects: Objects = createObjects(
      { db, clock, jobs, log },
      {
        storages: {
          uploads: createLocalStorage({ folder: uploads, isSharded: true }),
          backups: createLocalStorage({ folder: join(folder, 'backups'), isSharded: false }),
        },
      },
    )
    ends.push(async () => {
      await jobs.stop()
      await objects.close()
    })
    return { db, jobs, objects }
  }

  const first = await replica()

  /** The rows of objects that no record names. */
  const rows = () =>
    first.db.all<{ storage: string; key: string; state: string; due: number }>(
      sql`select storage, key, state, due from store_unclaimed order by storage, key`,
    )

  /** The names of all files in the folder of uploads, those that are being written included. */
  async function names(): Promise<string[]> {
    const entries = await readdir(uploads, { recursive: true, withFileTypes: true }).catch(() => [])
    return entries
      .filter((entry) => entry.isFile())
      .map(({ name }) => name)
      .toSorted()
  }

  return { ...first, replica, clock, lines, uploads, rows, names }
}

export const pieces = async function* (count = 3, size = 1000): AsyncGenerator<Buffer> {
  for (let n = 0; n < count; n++) yield randomBytes(size)
}

/** The statement that inserts a file's record. */
export const recordSql = ({ key, size, sha256 }: NewObject, owner = 'somebody'): Sql => sql`
  insert into store_files
    (id, owner, object, original_name, content_type, size, sha256, metadata, created_at)
  values (${newId()}, ${owner}, ${key}, 'a.txt', 'text/plain', ${size}, ${sha256}, '{}', 1)`
