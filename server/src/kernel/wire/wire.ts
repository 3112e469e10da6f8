import type { Static, TSchema } from 'typebox'

import type { Logger } from '../../base/logger.ts'
import type { Clock } from '../../base/clock.ts'
import type { Siblings } from '../../base/siblings.ts'
import type { Audit } from '../audit/audit.ts'
import { StartError } from '../../base/start-error.ts'
import type { Settings } from '../config/config.ts'
import { schemaAt } from '../config/option-path.ts'
import type { Diagnosis } from './diagnosis.ts'
import type { Figure } from './figure.ts'
import type { WireScreen } from './screen.ts'
import type { Series } from './series.ts'
import type { Database } from '../../db/database.ts'
import {
  checkFields,
  FUNCTION,
  isEach,
  isPlain,
  isSchema,
  isText,
  optional,
  TEXT,
  type Field,
} from '../config/fields.ts'
import type { Caller, CallerWatch } from '../../http/access.ts'
import type { ApiShape } from '../../http/api-shape.ts'
import type { RecordEvent } from '../../http/event-log.ts'
import type { WireMetrics } from '../telemetry/metrics.ts'
import type { Policy } from '../policy/policy.ts'
import type { Stage } from '../lifecycle/lifecycle.ts'
import type { Processes } from '../lifecycle/processes.ts'
import type { createIdempotencyStore } from '../requests/idempotency.ts'
import type { DatabaseRateLimiter } from '../requests/rate-limits.ts'
import type { Mount } from '../../http/mount.ts'
import type { Route, RouteVariants } from '../../http/route.ts'
import type { Events } from '../events/events.ts'
import type { Jobs } from '../jobs/job.ts'
import type { SandboxLists } from './sandbox-lists.ts'
import type { SealedColumn } from '../secret/sealed.ts'
import type { ArchiveStorage, DataSubject, PersonalData, PersonalTables } from './personal-data.ts'
import type { TimelinePart } from './timeline.ts'
import type { TableCopies } from './table-copy.ts'
import type { WireExport } from './table-export.ts'
import {
  checkProviders,
  ENV,
  providersOf,
  type Env,
  type ProviderDeclarations,
  type WireProvider,
} from './provider-options.ts'

/** The whole server, as each wire knows it once all are set up. */
export type ServerState = {
  /** `starting` until migrations ran and every wire started; `draining` from the signal to end. */
  state(): Stage
  /** The names of the wires that are loaded. */
  wires(): readonly string[]
  /** Whether a wire declares a screen of the console. */
  hasScreens(): boolean
  /** Every scope that a service key may have. */
  scopes(): readonly string[]
}

/** The first argument of the `setup` of a wire; the services of the wires in `needs` are added by name. */
export type WireContext = {
  db: Database
  clock: Clock
  jobs: Jobs
  /** Publishes changes of state to webhooks. */
  events: Events
  /** Writes down who did what that concerns accounts, money, keys or whole collections. */
  audit: Audit
  /** What all wires hold of persons: exported and erased together. */
  personalData: PersonalData
  /** Which process holds a claim, and what frees those of one that was killed. */
  processes: Processes
  /** The other workers of this server: for what a wire keeps in memory. */
  siblings: Siblings
  log: Logger
  /** Writes a line to the log for what happens to an account outside of calls; a call has its own `record`. */
  record: RecordEvent
  /** Declares counters, gauges and histograms for `GET /metrics`; what calls and jobs take is counted anyway. */
  metrics: WireMetrics
  settings: Settings
  policy: Policy
  /** Rate limits that are steps of a batch; those of routes are their `limit`. */
  rateLimiter: Pick<DatabaseRateLimiter, 'takeSql' | 'waitSql'>
  /** Answers under an `Idempotency-Key` that are stored in the batch of their work. */
  idempotency: Pick<ReturnType<typeof createIdempotencyStore>, 'finishSql'>
  server: ServerState
}

/** The return value of the `setup` of a wire. */
export type Running<Service = unknown, Routes extends readonly Route[] = readonly Route[]> = {
  routes: Routes
  /** Routes that `/openapi.json` describes beside those, such as `/store/projects` beside `/store/{collection}`. */
  variants?: RouteVariants
  /** What the variants are made of: when it is another value, they are described anew. */
  variantsOf?: () => unknown
  /** The largest body in bytes of the routes that name none of their own. Default 1 MiB. */
  bodyLimit?: number
  /** The object that wires which need this one get. */
  service: Service
  /** Runs once the tables exist, before the server is ready. */
  start?: () => Promise<void>
  /**
   * Runs after the `start` of all wires, once jobs run; the server is ready when it resolves. For jobs without which the wire
   * cannot answer.
   *
   * @param goOn throws if the server is to close: call it now and then
   */
  ready?: (goOn: () => void) => Promise<void>
  /** Rejects if the wire can't work now. */
  health?: () => Promise<void>
  /**
   * What `sixwire check` asks beside the health, by name: configured services outside of this server, without which the
   * server can run for a while. Each rejects with a sentence for the operator.
   */
  checks?: ReadonlyMap<string, () => Promise<void>>
  /**
   * Why an option of `settable`, as it is now, cannot work beyond what its schema and `setup` say; asked before it is stored
   * by an administrator, and not at a start. Resolves to a sentence, or to undefined.
   */
  optionFault?: (path: string) => Promise<string | undefined>
  /**
   * What a start and `sixwire check` warn of: options that can work and are likely to be a mistake, one line each, which
   * begins with the setting.
   */
  warnings?: readonly string[]
  /** What the first page of the console shows of the wire, in a few figures. */
  figures?: readonly Figure[]
  /** What the first page of the console draws of the wire over time. */
  series?: readonly Series[]
  /** The screens of the console for the records of the wire. */
  screens?: readonly WireScreen[]
  /** What `sixwire doctor` looks at, while the wire is not started; the name of the wire is put before each. */
  diagnoses?: readonly Diagnosis[]
  /** The columns that hold what is encrypted under `SIXWIRE_SECRET`, for `sixwire secret rotate`. */
  sealed?: readonly SealedColumn[]
  /** What `sixwire export --all` writes of the wire. It writes the rows of other tables as they are. */
  exports?: WireExport
  /**
   * What the tables of the wire hold of persons: exported for them, and erased, or kept with a reason, when their account is deleted.
   *
   * @example
   * personalTables: {
   *   shop_orders: {
   *     about: 'orders',
   *     rows: ({ id }) => sql`owner = ${id}`,
   *     exported: { id: 'value', number: 'value', created_at: 'time' },
   *     deletion: { keeps: 'orders are part of the accounts for ten years', clears: ['note'] },
   *   },
   * }
   */
  personalTables?: PersonalTables
  /** What the wire knows of what happened to a person, for the timeline of an account. */
  timeline?: readonly TimelinePart[]
  /** Where archives of exports are. The wire that stores files defines it. */
  archives?: ArchiveStorage
  /** By what records know the person of an account. The wire that has the accounts defines it. */
  personOf?: (account: string) => Promise<DataSubject | undefined>
  /** The id of the account with an email address; undefined if there is none. The wire that has the accounts defines it. */
  accountOfEmail?: (email: string) => Promise<string | undefined>
  /** Releases the wire's resources after the last answer. */
  close?: () => Promise<void>
  /** Finds the sender of a bearer token. The wire that has the accounts defines it. */
  authenticate?: (token: string) => Caller | undefined | Promise<Caller | undefined>
  /**
   * Follows the callers of streams, which end if their caller is not as it was. Without it they go on. The wire that has the
   * accounts defines it.
   */
  callers?: CallerWatch
  /**
   * Whether users must verify their address before they can call anything but `/auth/*`, under the policy `guarded`. The
   * wire that has the accounts defines it.
   */
  requiresVerifiedEmail?: () => boolean
  /** What the wire adds to the context of scheduled work, by name. */
  scheduleContext?: Readonly<Record<string, unknown>>
  /** What the sandbox shows of the wire. */
  sandboxLists?: SandboxLists
  /** @internal */
  mounts?: readonly Mount[]
  /**
   * Ends the streams of mounts, when the server is to end and waits for the requests in progress.
   *
   * @internal
   */
  quiet?: () => void
}

/** Another wire that a wire needs; it is loaded first. */
export type Need<Name extends string = string, Service = unknown, Optional extends boolean = boolean> = {
  readonly wireName: Name
  readonly isOptional: Optional
  /** Only for the types: the service of the other wire. */
  readonly offers?: Service
}

type Offers<N extends Need> =
  N extends Need<string, infer Service, infer Optional>
    ? Optional extends true
      ? Service | undefined
      : Service
    : never
type Needed<Needs extends readonly Need[]> = { [N in Needs[number] as N['wireName']]: Offers<N> }

/** A wire with its options, ready to be loaded. */
export type ConfiguredWire<
  Name extends string = string,
  Service = unknown,
  Routes extends readonly Route[] = readonly Route[],
> = {
  readonly name: Name
  /** Whether it is one of Sixwire's own, whose defaults and names are known: `configuredWires` tells. */
  readonly isBuiltIn?: true
  /**
   * Whether the server does not name it among its wires, because it serves developers: the sandbox.
   *
   * @internal
   */
  readonly isUnlisted?: true
  readonly description: string | undefined
  readonly needs: readonly Need[]
  readonly migrations: URL | undefined
  readonly tableCopies: TableCopies
  readonly sqliteFunctions: URL | undefined
  readonly optionsSchema: TSchema | undefined
  readonly options: unknown
  /**
   * The paths of the options that administrators may set while the server runs: `smtp`, or `providers.*` for entries of a
   * map that they name.
   */
  readonly settable: readonly string[]
  /** All environment variables, those of its providers included, each with the path of its option. */
  readonly variables: Env
  readonly providers: readonly WireProvider[]
  setup(
    context: WireContext & Record<string, unknown>,
    options: unknown,
  ): Running<Service, Routes> | Promise<Running<Service, Routes>>
}

/** A wire: call it with options to load it, or name it in `needs` of another wire to get its service. */
export type Wire<Name extends string, Options, Service, Routes extends readonly Route[]> = {
  (options?: Options): ConfiguredWire<Name, Service, Routes>
} & Need<Name, Service, false> & {
    /** As a need: `undefined` if the wire is not loaded. */
    readonly optional: Need<Name, Service, true>
  }

/** The options as they are written: everything may be left out. */
type Input<T> = T extends readonly unknown[] | ((...args: never) => unknown)
  ? T
  : T extends object
    ? { [K in keyof T]?: Input<T[K]> }
    : T

type RoutesOf<W> = W extends (...options: never[]) => ConfiguredWire<string, unknown, infer R>
  ? R[number]
  : never

/** The routes of a wire, for the typed client: `createClient<Api & ApiOf<typeof greetings>>(url)`. */
export type ApiOf<W> = ApiShape<RoutesOf<W>>

/** The service of a wire: `ServiceOf<typeof auth>`. */
export type ServiceOf<W> = W extends Need<string, infer Service> ? Service : never

const DEFINITION: { readonly [Name in keyof Required<Parameters<typeof defineWire>[0]>]: Field } = {
  name: TEXT,
  description: optional(TEXT),
  needs: optional({
    takes: 'a list of wires, like [auth, messaging.optional]',
    fits: (value) =>
      Array.isArray(value) && value.every((one: Partial<Need> | null) => isText(one?.wireName)),
  }),
  options: optional({ takes: 'a schema like Type.Object({ … })', fits: isSchema }),
  env: optional(ENV),
  providers: optional({
    takes: "an object of declarations, like { smtp: { env: { SMTP_URL: 'url' } } }",
    fits: (value) => isPlain(value) && isEach(value, isPlain),
  }),
  settable: optional({
    takes: "a list of paths, like ['smtp', 'limit']",
    fits: (value) => Array.isArray(value) && value.every(isText),
  }),
  migrations: optional({
    takes: "the file: URL of a folder, like new URL('./migrations/', import.meta.url)",
    fits: (value) => value instanceof URL && value.protocol === 'file:',
  }),
  tableCopies: optional({
    takes: 'an object by the names of tables, like { shop_carts: { isLeftOut: true } }',
    fits: (value) => isPlain(value) && isEach(value, isPlain),
  }),
  sqliteFunctions: optional({
    takes: "the file: URL of a module, like new URL('./sqlite-functions.ts', import.meta.url)",
    fits: (value) => value instanceof URL && value.protocol === 'file:',
  }),
  setup: FUNCTION,
}

/**
 * Defines a wire: its name, the wires that it needs, its options, its tables, and the setup that returns its routes.
 * Sixwire's own wires are defined by it, too.
 *
 * `setup` must not use the database, because its tables may not exist yet. `start` may.
 *
 * @throws StartError with the field that is missing, unknown or does not fit
 * @example
 * export const greetings = defineWire({
 *   name: 'greetings',
 *   options: Type.Object({ word: Type.String({ default: 'Hello' }) }),
 *   setup: (_context, { word }) => ({
 *     routes: [
 *       route(
 *         'GET /greetings/:name',
 *         {
 *           summary: 'Read a greeting',
 *           access: 'user',
 *           params: Type.Object({ name: Type.String({ maxLength: 40 }) }),
 *           reply: { 200: Type.Object({ text: Type.String() }) },
 *         },
 *         ({ params }) => ({ text: `${word}, ${params.name}!` }),
 *       ),
 *     ] as const,
 *     service: undefined,
 *   }),
 * })
 */
export function defineWire<
  const Name extends string,
  const Needs extends readonly Need[] = readonly [],
  Options extends TSchema = TSchema,
  Service = undefined,
  const Routes extends readonly Route[] = readonly Route[],
>(definition: {
  name: Name
  /** What the wire is for, in one sentence, for `/openapi.json` and `/docs`. */
  description?: string
  needs?: Needs
  /** Schema of the options; its defaults are the options' defaults. */
  options?: Options
  /**
   * Environment variables that take precedence over the configuration, each with the path of the option that it sets:
   * `{ MAIL_BOUNCE_SECRET: 'bounceSecret' }`. The option's schema reads the text. Those of providers are in `providers`.
   */
  env?: Env
  /**
   * The outside providers that the options configure, by the path of their options.
   *
   * @example
   * providers: {
   *   smtp: { env: { SMTP_URL: 'url', MAIL_FROM: 'from' }, sharedWithSandbox: ['from'] },
   *   'chains.*': { instances: ['ethereum'], env: { '*_RPC_URL': 'rpcUrls', '*_ID': 'id' } },
   * }
   */
  providers?: ProviderDeclarations
  /**
   * The paths of the options that administrators may set in the console while the server runs; of an object all within it, and
   * by `shops.*` those of each entry of a map, to which they add. They must be JSON. What the environment or the configuration file sets cannot be set there.
   */
  settable?: readonly string[]
  /** Folder with the wire's `001-….sql` files. */
  migrations?: URL
  /** How `sixwire move` copies tables of the wire that it can't copy column by column, by their names. */
  tableCopies?: TableCopies
  /**
   * Module with functions that the wire's reads call in SQL on SQLite; it exports them as `functions`, by their names,
   * which begin with the wire's. They are deterministic, and it imports little: each thread that reads loads it.
   */
  sqliteFunctions?: URL
  setup(
    context: WireContext & Needed<Needs>,
    options: Static<Options>,
  ): Running<Service, Routes> | Promise<Running<Service, Routes>>
}): Wire<Name, Input<Static<Options>>, Service, Routes> {
  const where = `defineWire(${isText(definition.name) ? definition.name : ''})`
  checkFields(where, definition, DEFINITION)
  const { env = {}, providers: declarations = {} } = definition
  checkProviders(where, env, declarations, definition.options)
  const { settable = [] } = definition
  for (const path of settable)
    if (schemaAt(definition.options, path) === undefined)
      throw new StartError(`${where}: settable: there is no option "${path}"`)
  const configure = (options: unknown = {}): ConfiguredWire<Name, Service, Routes> => {
    const providers = providersOf(declarations, options)
    return {
      name: definition.name,
      description: definition.description,
      needs: definition.needs ?? [],
      migrations: definition.migrations,
      tableCopies: definition.tableCopies ?? {},
      sqliteFunctions: definition.sqliteFunctions,
      optionsSchema: definition.options,
      options,
      variables: Object.assign({}, env, ...providers.map(({ variables }) => variables)) as Env,
      providers,
      settable,
      setup: (context, checked) =>
        definition.setup(context as WireContext & Needed<Needs>, checked as Static<Options>),
    }
  }
  return Object.assign(configure, {
    wireName: definition.name,
    isOptional: false as const,
    optional: { wireName: definition.name, isOptional: true as const },
  })
}
