import type { FastifyPluginAsync } from 'fastify'

import type { Logger } from '../../server/src/base/logger.ts'
import type { Clock } from '../../server/src/base/clock.ts'
import type { Settings, Variables } from '../../server/src/kernel/config/config.ts'
import type { Database } from '../../server/src/db/database.ts'
import type { WebhookEndpoint } from '../../server/src/kernel/events/webhook-option.ts'
import type { Jobs } from '../../server/src/kernel/jobs/job.ts'
import type { SandboxLists } from '../../server/src/kernel/wire/sandbox-lists.ts'
import type { CallbackQueue } from './callbacks.ts'
import type { Version } from './events.ts'
import type { Faults } from './faults.ts'
import type { WebhookLog } from './webhooks.ts'

/** What every stand-in gets. */
export type StandInContext = {
  db: Database
  clock: Clock
  settings: Settings
  log: Logger
  /** Work that must survive a restart. */
  jobs: Jobs
  faults: Faults
  /** Sends what it reports to the application. */
  callbacks: CallbackQueue
  /** Sends webhooks of payments to the application, and keeps a log of them. */
  webhooks: WebhookLog
  /** The webhooks of the application's configuration. */
  endpoints: readonly WebhookEndpoint[]
  /** The sandbox's address for this server and for a browser on its machine: `http://localhost:3000/sandbox`. */
  base: string
}

/** A part of the sandbox: a local provider that speaks a real one's protocol, or what several of them share. */
export type StandIn = {
  /** Its name in `/sandbox/api`; the addresses of a provider, if it has any, are below `/sandbox/<name>`. */
  readonly name: string
  /** Whether faults can be injected into it. */
  readonly takesFaults: boolean
  /**
   * The environment variables with which a production adapter reaches it; empty if it stands in for no provider. Before
   * `open` they are what they would be: an address may change if its port turns out to be taken.
   */
  describe(): Readonly<Record<string, string>>
  /** Opens ports and starts programs of its own. Called only if no real provider is configured instead. */
  open?(): Promise<void>
  /** Its routes below `/sandbox`, with body parsers of its own. They exist whether it is in use or not. */
  readonly routes: FastifyPluginAsync
  /** Address, credentials and content, for `GET /sandbox/api`. */
  state(): Promise<Record<string, unknown>>
  /** The part of the page that lists its content. */
  readonly part?: { readonly name: string; readonly version: Version }
  /** Deletes its content. */
  reset(): Promise<void>
  /**
   * Called once the tables exist, on one that was opened.
   *
   * @param configured the final values of all variables: an operator's own, or the stand-in's
   * @param lists what of the application the page shows beside the stand-in's own content
   */
  start?(configured: Variables, lists: SandboxLists): Promise<void>
  close?(): Promise<void>
}
