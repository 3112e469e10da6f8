import { asset } from './base/asset.ts'
import type { Logger } from './base/logger.ts'
import type { Migration } from './db/database.ts'
import { readMigrations, withChecksum } from './db/migrations.ts'
import { pendingMigrations, type AppliedMigration } from './db/pending-migrations.ts'
import { sql, type Dialect } from './db/sql.ts'
import type { ServerFrame } from './frame.ts'
import { listenError } from './http/listen-error.ts'
import type { Server } from './http/server.ts'
import type { Lifecycle } from './kernel/lifecycle/lifecycle.ts'
import { migrateWithLog } from './kernel/lifecycle/migrate-with-log.ts'
import type { createSchedule } from './kernel/schedule/schedule.ts'
import { recordServedPolicy } from './kernel/lifecycle/served-policy.ts'
import { refuseVanished } from './kernel/lifecycle/vanished-database.ts'
import { refuseMoved } from './kernel/move/closed-source.ts'
import { newestVersion } from './kernel/settings/stored-settings.ts'
import type { ConfiguredWire, Running } from './kernel/wire/wire.ts'
import type { ServerParts } from './parts.ts'
import type { SettingChanges } from './wires/core/settings/setting-changes.ts'

/** A server that is assembled, with what a start begins and an end stops. */
export type AssembledServer = {
  parts: ServerParts
  frame: ServerFrame
  life: Lifecycle
  server: Server
  schedule: ReturnType<typeof createSchedule>
  changes: SettingChanges
  /** Called once if the server ends by itself. */
  outdated: (reason: unknown) => void
  warnings: readonly string[]
}

/** Makes or changes the tables of the frame and of each wire. */
export async function migrate(
  parts: ServerParts,
): Promise<{ migrations: readonly Migration[]; hasMigrated: boolean }> {
  const { db, clock, settings } = parts
  const { log } = parts.log
  await refuseVanished({ db, settings, log }, parts.newDatabase)
  const migrations = await readAllMigrations(parts.wires, db.dialect)
  return { migrations, hasMigrated: await migrateWithLog({ db, clock, log }, migrations) }
}

async function startWires(
  assembled: AssembledServer,
  { migrations, hasMigrated }: Awaited<ReturnType<typeof migrate>>,
): Promise<void> {
  const { parts, frame, life, warnings } = assembled
  if (parts.siblings.isFirst) for (const line of warnings) parts.log.log.warn(line)
  await parts.processes.start(async () => {
    await followSettings(assembled)
    return endIfOutdated(assembled, migrations)
  }, hasMigrated)
  frame.requestLog.start()
  await frame.idempotency.start()
  await frame.delivery.start()
  for (const one of parts.running) {
    life.goOn()
    await one.start?.()
  }
}

/**
 * Ends the server if a newer version has brought the tables up to date: this one does not know what it would have to keep up.
 *
 * @param migrations as they were at the start; the files may be those of the newer version by now
 */
async function endIfOutdated(
  { parts: { db, log }, life, outdated }: AssembledServer,
  migrations: readonly Migration[],
): Promise<boolean> {
  const applied = await db.all(sql<AppliedMigration>`select wire, name, checksum from sixwire_migrations`)
  try {
    pendingMigrations(applied, migrations.map(withChecksum))
    return false
  } catch (error) {
    log.log.fatal({ err: error }, 'this server ends: the database is newer than it')
    outdated(error)
    void life.close()
    return true
  }
}

/** Puts settings into force that another process has stored. */
async function followSettings({ parts: { db, stored }, changes }: AssembledServer): Promise<void> {
  if ((await newestVersion(db)) === stored.version) return
  // Not awaited: it ends what calls this.
  changes.follow().catch(() => undefined) // it is logged
}

/** Starts without a port: enough for the command line. */
export async function start(assembled: AssembledServer): Promise<void> {
  await refuseMoved(assembled.parts.db)
  const migrated = await migrate(assembled.parts)
  await startWires(assembled, migrated)
}

/** Opens the port, which answers until then that the server is starting, and starts all that there is. Returns the address. */
export async function listen(assembled: AssembledServer): Promise<string> {
  const { host, port } = assembled.parts.settings
  const open = () =>
    assembled.server.listen({ host, port }).catch((error: unknown) => {
      throw listenError(error, host, port)
    })
  if (!assembled.parts.siblings.isFirst) {
    // Others answer: this one would say that the server is starting.
    await startAll(assembled)
    return open()
  }
  const address = await open()
  await startAll(assembled)
  return address
}

/** Starts all that there is, then answers the requests of the port, which is open. */
export async function takeOver(assembled: AssembledServer): Promise<void> {
  await startAll(assembled)
  await assembled.server.takeOver()
}

async function startAll(assembled: AssembledServer): Promise<void> {
  const { parts, life } = assembled
  await refuseMoved(parts.db)
  const migrated = await migrate(parts)
  await recordServedPolicy(parts.db, parts.settings)
  await startWires(assembled, migrated)
  await assembled.schedule.start()
  await parts.jobs.start()
  for (const one of parts.running) await one.ready?.(() => life.goOn())
  life.ready()
  joinSiblings(assembled)
}

/** What the other workers tell and ask is for this instance from now on. */
function joinSiblings({ parts: { siblings }, frame, server, changes }: AssembledServer): void {
  frame.metrics.join()
  frame.limiters.process.join()
  siblings.on('streams', (owner) => server.streamsOf(owner as string))
  siblings.on('settings', () => changes.follow())
}

/** Releases everything but what outlasts it, in the other order. `isQuiet` is false if work was still in progress. */
export async function end(
  parts: ServerParts,
  frame: ServerFrame,
  server: Server,
  isQuiet: boolean,
): Promise<void> {
  const { log } = parts.log
  await server.close()
  await endWires(parts.running, log)
  frame.delivery.close()
  await frame.requestLog.stop()
  await parts.processes.stop(isQuiet)
  log.flush()
}

/** Sixwire's own migrations, by wire and engine. They are read once a process: its code does not change while it runs. */
const ownMigrations = new Map<string, readonly Migration[]>()

async function readOwnMigrations(wire: string, folder: URL, dialect: Dialect): Promise<readonly Migration[]> {
  const key = `${wire} ${dialect}`
  const migrations = ownMigrations.get(key) ?? (await readMigrations(wire, folder, dialect))
  ownMigrations.set(key, migrations)
  return migrations
}

export const readFrameMigrations = (dialect: Dialect) =>
  readOwnMigrations('sixwire', asset('kernel/migrations/'), dialect)

/** The migrations of the frame and of each wire. */
export async function readAllMigrations(
  wires: readonly Pick<ConfiguredWire, 'name' | 'migrations' | 'isBuiltIn'>[],
  dialect: Dialect,
): Promise<readonly Migration[]> {
  const all = await Promise.all([
    readFrameMigrations(dialect),
    ...wires.map(({ name, migrations, isBuiltIn }) => {
      if (!migrations) return []
      return isBuiltIn
        ? readOwnMigrations(name, migrations, dialect)
        : readMigrations(name, migrations, dialect)
    }),
  ])
  return all.flat()
}

/** Closes the later wires first, because they need the earlier ones. */
export async function endWires(running: readonly Running[], log: Logger): Promise<void> {
  for (const one of running.toReversed())
    try {
      await one.close?.()
    } catch (error) {
      log.error({ err: error }, 'a wire did not close cleanly')
    }
}
