import type { FastifyBaseLogger, FastifyPluginAsync } from 'fastify'

import type { Clock } from '../base/clock.ts'
import type { Settings } from '../kernel/config.ts'
import type { Database } from '../db/database.ts'
import type { Variables } from '../kernel/wiring.ts'
import type { CallbackQueue } from './callbacks.ts'
import type { Version } from './events.ts'
import type { Faults } from './faults.ts'

/** What every stand-in is given. */
export type StandInContext = {
  db: Database
  clock: Clock
  settings: Settings
  log: FastifyBaseLogger
  faults: Faults
  /** What it calls the application back by. */
  callbacks: Pick<CallbackQueue, 'of'>
  /** Where the sandbox answers this server and a browser on its machine: `http://localhost:3000/sandbox`. */
  base: string
}

/** A part of the sandbox: a local provider that speaks a real one's protocol, or what several of them share. */
export type StandIn = {
  /** Its name in `/sandbox/api`; a provider has addresses of its own below `/sandbox/<name>`, if any. */
  readonly name: string
  /** Whether something can go wrong at it on purpose. */
  readonly takesFaults: boolean
  /** What a production adapter is configured with to reach it: environment variables. */
  readonly variables: Readonly<Record<string, string>>
  /** Its addresses, below `/sandbox`, with body parsers of its own. */
  readonly routes: FastifyPluginAsync
  /** Address, credentials and what it holds, for `GET /sandbox/api`. */
  state(): Promise<Record<string, unknown>>
  /** The part of the page that lists what it holds. */
  readonly part?: { readonly name: string; readonly version: Version }
  /** Forgets everything. */
  reset(): Promise<void>
  /**
   * Called once the tables are there.
   *
   * @param configured what the application goes by in the end, by variable: an operator's own value, or the stand-in's
   */
  start?(configured: Variables): Promise<void>
  close?(): Promise<void>
}
