import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import type { Database } from '../../db/database.ts'
import type { Settings, Variables } from '../config/config.ts'
import type { WebhookEndpoint } from '../events/webhook-option.ts'
import type { Jobs } from '../jobs/job.ts'
import type { SandboxLists } from './sandbox-lists.ts'
import type { ConfiguredWire } from './wire.ts'

/** What local stand-ins for providers know of the server. */
export type StandInsContext = {
  db: Database
  clock: Clock
  settings: Settings
  log: Logger
  /** Work that must survive a restart. */
  jobs: Jobs
  /** The webhooks of the application's configuration. */
  endpoints: readonly WebhookEndpoint[]
  /** The final values of the variables of all wires. Called once they are set up. */
  configured: () => Variables
  /** What the wires show in the sandbox. Called once they are set up. */
  lists: () => SandboxLists
}

/** Local stand-ins for the providers that nothing configures. They are open, and their wire is not set up yet. */
export type StandIns = {
  /** The environment variables with which the adapters of providers reach them. */
  readonly variables: Variables
  /** Serves them. It is set up before all other wires, which may call them from their start to their end. */
  readonly wire: ConfiguredWire
  /** Ends them where their wire does not. */
  close(): Promise<void>
}

/**
 * Opens the stand-ins of those providers that have a variable in `unconfigured`.
 *
 * @param unconfigured the variables of all providers that nothing configures
 */
export type OpenStandIns = (context: StandInsContext, unconfigured: ReadonlySet<string>) => Promise<StandIns>
