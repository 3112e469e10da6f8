import type { Clock } from './base/clock.ts'
import type { Siblings } from './base/siblings.ts'
import type { Database } from './db/database.ts'
import type { Port } from './http/port.ts'
import type { Settings, Variables } from './kernel/config/config.ts'
import type { WebhookEndpoint } from './kernel/events/webhook-option.ts'
import type { JobRunner } from './kernel/jobs/job.ts'
import type { Log } from './kernel/telemetry/log.ts'
import type { ProcessWatch } from './kernel/lifecycle/processes.ts'
import type { Schedule } from './kernel/schedule/schedule-option.ts'
import type { Settable } from './kernel/settings/settable-options.ts'
import type { StoredSettings } from './kernel/settings/stored-settings.ts'
import type { ConfiguredWire, Running } from './kernel/wire/wire.ts'
import type { Config } from './wires.ts'

/** What a server is assembled from. */
export type ServerParts = {
  /** With what administrators have set. */
  config: Config
  settable: Settable
  /** What administrators have set, and which paths of it are in force. */
  stored: StoredSettings & { readonly inForce: ReadonlySet<string> }
  environment: Variables
  /** Where a variable of the environment is from; undefined: the environment. */
  sourceOf: ((variable: string) => string | undefined) | undefined
  settings: Settings
  /** Whether an empty database may be filled beside the files of an installation. */
  newDatabase: boolean
  clock: Clock
  log: Log
  db: Database
  port: Port
  /** When the server was created, as `performance.now()` has it: before this instance, if it took the place of another. */
  startedAt: number
  /** The other processes that answer the port. */
  siblings: Siblings
  jobs: JobRunner
  processes: ProcessWatch
  wires: readonly ConfiguredWire[]
  wireOptions: ReadonlyMap<ConfiguredWire, unknown>
  schedules: readonly Schedule[]
  webhooks: readonly WebhookEndpoint[]
  /** The names of the wires that are not loaded. */
  absentWires: readonly string[]
  /** The wires that are set up, in their order; `assemble` adds them. */
  running: Running[]
  /** The variables that stand-ins of providers set. */
  standInVariables: Variables
}
