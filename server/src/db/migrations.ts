import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { StartError } from '../base/start-error.ts'
import type { Migration } from './database.ts'
import type { ChecksummedMigration } from './pending-migrations.ts'
import type { Dialect } from './sql.ts'

const FILE = /^(\d{3}-[a-z0-9-]+)(?:\.(sqlite|postgres))?\.sql$/

/**
 * Reads the migrations of one wire from its folder, in order.
 * `001-users.sql` is for both engines; if they differ, there are `001-users.sqlite.sql` and `001-users.postgres.sql`.
 */
export async function readMigrations(wire: string, folder: URL, dialect: Dialect): Promise<Migration[]> {
  const migrations = new Map<string, Migration>()
  const files = await readdir(folder).catch((error: unknown) => {
    const { code, message } = error as NodeJS.ErrnoException
    const fault = code === 'ENOENT' ? 'does not exist' : `can't be read: ${message}`
    throw new StartError(`${wire}: the folder of its migrations, ${fileURLToPath(folder)}, ${fault}`)
  })
  for (const file of files.toSorted()) {
    if (!file.endsWith('.sql')) continue
    const [, name, only] = FILE.exec(file) ?? []
    if (name === undefined)
      throw new StartError(`${wire}: the migration ${file} is not named like 001-what-it-does.sql`)
    if (only !== undefined && only !== dialect) continue
    if (migrations.has(name)) throw new StartError(`${wire}: there are two migrations ${name} for ${dialect}`)
    // A hundred small files: to read one by the thread pool takes six times as long.
    const text = readFileSync(join(fileURLToPath(folder), file), 'utf8')
    // Git may write other line ends on another machine; the checksum must not depend on them.
    migrations.set(name, { wire, name, text: text.replaceAll('\r\n', '\n') })
  }
  return [...migrations.values()]
}

export const withChecksum = (migration: Migration): ChecksummedMigration => ({
  ...migration,
  checksum: createHash('sha256').update(migration.text).digest('hex').slice(0, 32),
})
