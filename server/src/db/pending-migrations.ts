// The threads of SQLite load this: it imports nothing of Node, which each thread would load again.
import { StartError } from '../base/start-error.ts'
import type { Migration } from './database.ts'

/** A migration that the database has recorded. */
export type AppliedMigration = { wire: string; name: string; checksum: string }

/** A migration of this program, with the hash of its text. */
export type ChecksummedMigration = Migration & { checksum: string }

/** Creates the table of applied migrations, on both engines. */
export const migrationsTable = `create table if not exists sixwire_migrations (
  wire text not null,
  name text not null,
  checksum text not null,
  applied_at bigint not null,
  primary key (wire, name)
)`

/** The error for a migration that the engine refused. */
export const failedMigration = ({ wire, name }: Migration, error: unknown): StartError =>
  new StartError(
    `the migration ${wire}/${name} failed, and is rolled back: ${(error as Error).message.replaceAll(/\s+/g, ' ')}`,
    { cause: error },
  )

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
  all: readonly ChecksummedMigration[],
): ChecksummedMigration[] {
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
    if (migration.checksum !== old.checksum)
      throw new StartError(
        `the migration ${key(old)} is not the one that was applied to this database: put its text back and write a new migration instead`,
      )
    done.add(key(old))
  }
  return all.filter((m) => !done.has(key(m)))
}
