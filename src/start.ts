import { asset } from './base/asset.ts'
import type { Logger } from './base/logger.ts'
import type { Database } from './db/database.ts'
import { readMigrations } from './db/migrations.ts'
import type { ServerFrame } from './frame.ts'
import { listenError } from './http/listen-error.ts'
import type { Server } from './http/server.ts'
import type { Lifecycle } from './kernel/lifecycle.ts'
import { migrateWithLog } from './kernel/migrate-with-log.ts'
import { variablesOf } from './kernel/options.ts'
import type { SandboxLists } from './kernel/sandbox-lists.ts'
import type { createSchedule } from './kernel/schedule/schedule.ts'
import { recordServedPolicy } from './kernel/served-policy.ts'
import { refuseVanished } from './kernel/vanished-database.ts'
import type { Running } from './kernel/wire.ts'
import type { Parts } from './parts.ts'

/** A server that is assembled, with what a start begins and an end stops. */
export type Whole = {
  parts: Parts
  frame: ServerFrame
  life: Lifecycle
  server: Server
  schedule: ReturnType<typeof createSchedule>
  warnings: readonly string[]
}

/** Makes or changes the tables of the frame, of each wire and of the sandbox. */
export async function migrate(parts: Parts): Promise<void> {
  const { db, clock, settings } = parts
  const { log } = parts.log
  await refuseVanished({ db, settings, log }, parts.newDatabase)
  await migrateWithLog({ db, clock, log }, await readAllMigrations(parts))
}

async function startWires({ parts, frame, life, warnings }: Whole): Promise<void> {
  const { running, sandbox } = parts
  for (const line of warnings) parts.log.log.warn(line)
  await parts.processes.start()
  frame.requestLog.start()
  await frame.idempotency.start()
  await frame.delivery.start()
  await sandbox?.start(
    variablesOf(parts.wireOptions),
    Object.assign({}, ...running.map((one) => one.sandboxLists)) as SandboxLists,
  )
  for (const one of running) {
    life.goOn()
    await one.start?.()
  }
}

/** Starts without a port: enough for the command line. */
export async function start(whole: Whole): Promise<void> {
  await migrate(whole.parts)
  await startWires(whole)
}

/** Opens the port, which answers that the server is starting, and starts all that there is. Returns the address. */
export async function listen(whole: Whole): Promise<string> {
  const { parts, life, server } = whole
  const { host, port } = parts.settings
  const address = await server.listen({ host, port }).catch((error: unknown) => {
    throw listenError(error, host, port)
  })
  await migrate(parts)
  await recordServedPolicy(parts.db, parts.settings)
  await startWires(whole)
  await whole.schedule.start()
  await parts.jobs.start()
  for (const one of parts.running) await one.ready?.(() => life.goOn())
  life.ready()
  return address
}

/** Releases everything, in the other order. `isQuiet` is false if work was still in progress. */
export async function end(parts: Parts, frame: ServerFrame, server: Server, isQuiet: boolean): Promise<void> {
  const { log } = parts.log
  await server.close()
  await endWires(parts.running, log)
  frame.delivery.close()
  await parts.sandbox?.close()
  await frame.requestLog.stop()
  await parts.processes.stop(isQuiet)
  await parts.db.close()
  log.flush()
}

export const readFrameMigrations = (db: Database) =>
  readMigrations('sixwire', asset('kernel/migrations/'), db.dialect)

/** The migrations of the frame, of each wire and of the sandbox. */
async function readAllMigrations({ db, wires, sandbox }: Parts) {
  const frame = await readFrameMigrations(db)
  const own = await Promise.all(
    wires.map(async ({ name, migrations }) =>
      migrations ? readMigrations(name, migrations, db.dialect) : [],
    ),
  )
  const sandboxMigrations = sandbox ? await readMigrations('sandbox', sandbox.migrations, db.dialect) : []
  return [...frame, ...own.flat(), ...sandboxMigrations]
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
