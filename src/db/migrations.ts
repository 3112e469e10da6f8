import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { StartError } from '../base/start-error.ts'
import type { Dialect } from './sql.ts'
import type { Migration } from './database.ts'

/** A migration that the database has recorded. */
export type AppliedMigration = { wire: string; name: string; checksum: string }

/** Creates the table of applied migrations, on both engines. */
export const migrationsTable = `create table if not exists sixwire_migrations (
  wire text not null,
  name text not null,
  checksum text not null,
  applied_at bigint not null,
  primary key (wire, name)
)`

export const checksumOf = (migration: Migration): string =>
  createHash('sha256').update(migration.text).digest('hex').slice(0, 32)

/** The error for a migration that the engine refused. */
export const failedMigration = ({ wire, name }: Migration, error: unknown): StartError =>
  new StartError(
    `the migration ${wire}/${name} failed, and is rolled back: ${(error as Error).message.replaceAll(/\s+/g, ' ')}`,
    { cause: error },
  )

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
    // Git may write other line ends on another machine; the checksum must not depend on them.
    const text = (await readFile(join(fileURLToPath(folder), file), 'utf8')).replaceAll('\r\n', '\n')
    migrations.set(name, { wire, name, text })
  }
  return [...migrations.values()]
}

/**
 * The migrations that are not applied yet, in order.
 *
 * @param applied migrations that the database has recorded
 * @param all migrations of this program
 * @throws StartError if the database has a migration that this program does not have (the database is newer), or has
 *   with another text (the file was changed after it was applied)
 */
export function pendingMigrations(
  applied: readonly AppliedMigration[],
  all: readonly Migration[],
): Migration[] {
  const key = (m: { wire: string; name: string }) => `${m.wire}/${m.name}`
  const byKey = new Map(all.map((m) => [key(m), m]))
  const wires = new Set(all.map((m) => m.wire))
  const done = new Set<string>()
  for (const old of applied) {
    if (!wires.has(old.wire)) continue
    const migration = byKey.get(key(old))
    if (!migration)
      throw new StartError(
        `the database is newer than this program: it has the migration ${key(old)}, which this program does not have. Start the newer version, or restore a backup from before the upgrade`,
      )
    if (checksumOf(migration) !== old.checksum)
      throw new StartError(
        `the migration ${key(old)} is not the one that was applied to this database: put its text back and write a new migration instead`,
      )
    done.add(key(old))
  }
  return all.filter((m) => !done.has(key(m)))
}
