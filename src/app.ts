import type { FastifyBaseLogger } from 'fastify'
import type { DestinationStream } from 'pino'

import { systemClock, type Clock } from './base/clock.ts'
import { didYouMean } from './base/did-you-mean.ts'
import { errors, type ApiError } from './base/errors.ts'
import { newId } from './base/ids.ts'
import { oneLine } from './base/one-line.ts'
import { checkRoutes, checkRunning } from './kernel/check-routes.ts'
import { checkSchemas } from './kernel/check-schemas.ts'
import { readConfigFile, thrownBy } from './kernel/config-file.ts'
import {
  checkVariables,
  loadSettings,
  settingNames,
  type Settings,
  type SettingsInput,
} from './kernel/config.ts'
import type { Database } from './db/database.ts'
import { StartError } from './base/start-error.ts'
import { readMigrations } from './db/migrations.ts'
import { openDatabase } from './db/open.ts'
import { createPolicy } from './kernel/policy.ts'
import { ExpectedCallers } from './http/expected-callers.ts'
import type { RouteGroup } from './http/route.ts'
import { createServer, type Server } from './http/server.ts'
import { createIdempotencyStore } from './kernel/idempotency.ts'
import { createJobs } from './kernel/jobs.ts'
import { createLifecycle, type Stage } from './kernel/lifecycle.ts'
import { createLog, type Log } from './kernel/log.ts'
import { createMetrics } from './kernel/metrics.ts'
import { createProcessRateLimiter, createRateLimiter } from './kernel/rate-limits.ts'
import type { createSandbox, Sandbox } from './sandbox/index.ts'
import type { ConfiguredWire, RoutesOf, Running, ServiceOf } from './kernel/wire.ts'
import { auth } from './wires/auth/index.ts'
import { core } from './wires/core/index.ts'
import { messaging, type Messaging } from './wires/messaging/index.ts'
import { store } from './wires/store/index.ts'
import { checkOptions, unconfiguredVariables, variablesOf } from './kernel/options.ts'
import { checkWires, orderWires } from './kernel/wiring.ts'

// So an answer with tokens is erased at most this long after it was last replayed.
const CLEANING_MS = 60_000

/** Sixwire's own wires, in the order in which they may build on each other. */
const BUILT_IN = { core, messaging, auth, store }

type BuiltIn = typeof BUILT_IN
type OptionsOf<W> = W extends (options?: infer O) => ConfiguredWire ? NonNullable<O> : never

/** Every route of Sixwire's own wires, for `createClient<Api>()`. */
export type Api = RoutesOf<BuiltIn[keyof BuiltIn]>

/** What `sixwire.config.ts` says: of the frame, of each wire under its name, and the application's own wires. */
export type Config = SettingsInput & {
  readonly [N in Exclude<keyof BuiltIn, 'core'>]?: OptionsOf<BuiltIn[N]>
} & {
  /** The application's own wires. */
  readonly wires?: readonly ConfiguredWire[]
}

/** Types a configuration; answers it as it is. */
export const defineConfig = (config: Config): Config => config

export type AppOptions = {
  config?: Config
  /** Environment variables; they win over the configuration. Default `process.env`. */
  environment?: Record<string, string | undefined>
  /** The application's folder. Default the current one. */
  folder?: string
  clock?: Clock
  /** Whether stand-ins may open, where the settings want them; a command that serves nobody needs none. Default true. */
  standIns?: boolean
  /** Where log lines go. Default standard output. */
  logTo?: DestinationStream
}

export type App = {
  readonly settings: Settings
  readonly db: Database
  readonly server: Server
  readonly wires: readonly string[]
  /** The routes of each wire. */
  readonly routes: readonly RouteGroup[]
  /** What a wire offers, where it is loaded. */
  service<N extends keyof BuiltIn>(name: N): ServiceOf<BuiltIn[N]>
  /** Brings the tables up to date, and does nothing else. */
  migrate(): Promise<void>
  /** Brings the tables up to date and starts every wire, without opening a port: enough for the command line. */
  start(): Promise<void>
  /** Opens the port, then starts; answers the address. `/ready` is true once this resolves. */
  listen(): Promise<string>
  /** Each wire's health, as a line for `sixwire check`. */
  health(): ReadonlyMap<string, () => Promise<void>>
  /** What each wire has checked beside it. */
  checks(): ReadonlyMap<string, ReadonlyMap<string, () => Promise<void>>>
  /** Finishes what runs, refuses what is new, then lets go of everything; after 30 s without waiting. */
  close(): Promise<void>
}

/** Reads `sixwire.config.ts` of a folder; an empty configuration where there is none. */
export const loadConfig = async (folder: string): Promise<Config> => readConfigFile(folder)

function checkNames(config: Config): void {
  const known = [...settingNames, ...Object.keys(BUILT_IN), 'wires']
  const unknown = Object.keys(config).find((name) => !known.includes(name))
  if (unknown !== undefined)
    throw new StartError(`${unknown}: there is no such setting${didYouMean(unknown, known)}`)
}

/** Sixwire's own wires with their options, and the application's. */
function configuredWires(config: Config): ConfiguredWire[] {
  const own = Object.entries(BUILT_IN).map(([name, wire]) =>
    (wire as (options: unknown) => ConfiguredWire)(config[name as Exclude<keyof BuiltIn, 'core'>] ?? {}),
  )
  return [...own, ...(config.wires ?? [])]
}

function chooseWires(all: readonly ConfiguredWire[], settings: Settings): ConfiguredWire[] {
  const names = all.map(({ name }) => name)
  const unknown = settings.load?.find((name) => !names.includes(name))
  if (unknown !== undefined)
    throw new StartError(
      `SIXWIRE_WIRES: there is no wire "${unknown}": there are ${names.join(', ')}${didYouMean(unknown, names)}`,
    )
  // Without core nobody could ask whether the server lives.
  return orderWires(
    all.filter(({ name }) => name === 'core' || !settings.load || settings.load.includes(name)),
  )
}

/** Puts the wires into a server: nothing is reachable until `listen`, nothing is in the database until `start`. */
export async function createApp(options: AppOptions = {}): Promise<App> {
  const { config = {}, environment = process.env, folder = process.cwd(), clock = systemClock } = options
  const { standIns = true } = options
  checkNames(config)
  checkWires(config.wires ?? [])
  const all = configuredWires(config)
  checkVariables(
    environment,
    all.flatMap(({ variables }) => Object.keys(variables)),
  )
  const settings = await loadSettings(config, environment, folder)
  const wires = chooseWires(all, settings)
  const log = await createLog(settings, options.logTo)
  const db = await openDatabase(settings.databaseUrl)
  const running: Running[] = []
  let sandbox: Sandbox | undefined
  try {
    sandbox =
      settings.sandbox && standIns ? await loadSandbox({ db, clock, settings, log: log.log }) : undefined
    // A stand-in may be used without the wire, by a client of the application's own.
    await sandbox?.open(unconfiguredVariables(all, environment))
    const wireOptions = checkOptions(wires, environment, sandbox?.variables)
    return await assemble({ config, settings, clock, log, db, wires, wireOptions, running, sandbox })
  } catch (error) {
    await endWires(running, log.log)
    await sandbox?.close()
    await db.close()
    throw error
  }
}

/** Loaded only if it is used: in production no module of the sandbox is. */
const loadSandbox = async (context: Parameters<typeof createSandbox>[0]): Promise<Sandbox> =>
  (await import('./sandbox/index.ts')).createSandbox(context)

type Parts = {
  config: Config
  settings: Settings
  clock: Clock
  log: Log
  db: Database
  wires: readonly ConfiguredWire[]
  wireOptions: ReadonlyMap<ConfiguredWire, unknown>
  /** Filled with the wires that are set up, in their order. */
  running: Running[]
  sandbox: Sandbox | undefined
}

async function assemble(parts: Parts): Promise<App> {
  const { config, settings, clock, db, wires, running, sandbox } = parts
  const { log, answered } = parts.log
  const startedAt = performance.now()
  const metrics = createMetrics()
  const jobs = createJobs(db, clock, log)
  const rateLimiter = createRateLimiter(db, clock)
  const idempotency = createIdempotencyStore(db, clock, settings.secret)
  const services = new Map<string, unknown>()
  // Nobody can be asked to verify an address to which no mail can be sent.
  const policy = createPolicy(
    settings.policy,
    () =>
      config.auth?.local?.requireEmailVerification !== false &&
      (services.get('messaging') as Messaging | undefined)?.sendsMail === true,
  )
  const life = createLifecycle({
    quiet() {
      sandbox?.endStreams()
      return Promise.all([server.idle(), jobs.stop()])
    },
    async end() {
      await server.close()
      await endWires(running, log)
      await sandbox?.close()
      await db.close()
      log.flush()
    },
  })

  const health = new Map<string, () => Promise<void>>()
  const checks = new Map<string, ReadonlyMap<string, () => Promise<void>>>()
  const context = {
    db,
    clock,
    jobs,
    log,
    settings,
    policy,
    rateLimiter,
    server: {
      state: life.stage,
      uptime: () => Math.round(performance.now() - startedAt) / 1000,
      wires: () => health,
      metrics: () => metrics.read(),
    },
  }
  for (const wire of wires) {
    const needed = Object.fromEntries(wire.needs.map(({ wireName }) => [wireName, services.get(wireName)]))
    const one = await setUp(wire, { ...context, ...needed }, parts)
    running.push(one)
    services.set(wire.name, one.service)
    health.set(wire.name, one.health ?? (async () => undefined))
    checks.set(wire.name, one.checks ?? new Map())
  }

  const authenticate = running.find((one) => one.authenticate)?.authenticate
  const groups = running.map(({ routes, bodyLimit }, at) => {
    const { name, description } = wires[at]!
    return { wire: name, description, routes, ...(bodyLimit !== undefined && { bodyLimit }) }
  })
  checkRoutes(groups, authenticate !== undefined)
  // Those of Sixwire's own wires are compiled by its tests.
  for (const { wire, routes } of groups) if (!Object.hasOwn(BUILT_IN, wire)) checkSchemas(wire, routes)
  const server = await createServer({
    groups,
    policy,
    authenticate: authenticate ?? (async () => undefined),
    // On SQLite a session is read without a round trip.
    expectedCallers: db.dialect === 'postgres' ? new ExpectedCallers() : undefined,
    limiters: { database: rateLimiter, process: createProcessRateLimiter(clock) },
    limitsOn: settings.rateLimits,
    idempotency,
    newId: () => newId(clock.now()),
    log,
    onAnswer(answer) {
      metrics.observe(answer)
      answered(answer)
    },
    description: { title: settings.name, version: settings.version, url: settings.publicUrl },
    origins: settings.origins,
    production: settings.production,
    mounts: sandbox ? [{ prefix: '/sandbox', plugin: sandbox.plugin }] : [],
    trustProxy: settings.trustProxy,
    refusal: () => REFUSALS[life.stage()]?.(),
  }).catch((error: unknown) => {
    throw config.wires?.length ? refusedRoute(error) : error
  })

  jobs.every('sixwire.clean', CLEANING_MS, async () => {
    await idempotency.deleteExpired()
    await rateLimiter.deleteFull()
  })

  async function migrate(): Promise<void> {
    const frame = await readMigrations(
      'sixwire',
      new URL('./kernel/migrations/', import.meta.url),
      db.dialect,
    )
    const own = await Promise.all(
      wires.map(async ({ name, migrations }) =>
        migrations ? readMigrations(name, migrations, db.dialect) : [],
      ),
    )
    const stoodIn = sandbox ? await readMigrations('sandbox', sandbox.migrations, db.dialect) : []
    await db.migrate([...frame, ...own.flat(), ...stoodIn])
  }

  async function start(): Promise<void> {
    await migrate()
    await sandbox?.start(variablesOf(parts.wireOptions))
    for (const one of running) {
      life.goOn()
      await one.start?.()
    }
  }

  async function listen(): Promise<string> {
    const { host, port } = settings
    const address = await server.listen({ host, port }).catch((error: unknown) => {
      throw unheard(error, host, port)
    })
    await start()
    await jobs.start()
    life.ready()
    return address
  }

  return {
    settings,
    db,
    server,
    wires: wires.map(({ name }) => name),
    routes: groups,
    service(name) {
      if (!services.has(name)) throw new StartError(`SIXWIRE_WIRES: ${name} is not loaded`)
      return services.get(name) as never
    },
    migrate: () => life.begin(migrate),
    start: () => life.begin(start),
    listen: () => life.begin(listen),
    health: () => health,
    checks: () => checks,
    close: () => life.close(),
  }
}

/** A fault of Sixwire's own wires is a bug, and told with its stack; one of an application's wire in one line. */
async function setUp(
  wire: ConfiguredWire,
  context: Parameters<ConfiguredWire['setup']>[0],
  { config, settings, wireOptions }: Parts,
): Promise<Running> {
  const isOwn = config.wires?.includes(wire) === true
  const one = await (async () => wire.setup(context, wireOptions.get(wire)))().catch((error: unknown) => {
    throw isOwn ? thrownBy(`wires: ${wire.name}: setup`, error, settings.appDir) : error
  })
  checkRunning(wire.name, one)
  return one
}

/** The one line for a route of an application that the HTTP engine refuses; Sixwire's own are not refused. */
const refusedRoute = (error: unknown): StartError =>
  new StartError(`wires: ${oneLine((error as Error).message, 1_000)}`, { cause: error })

const REFUSALS: Record<Stage, (() => ApiError) | undefined> = {
  starting: () =>
    errors.unavailable({ message: 'The server is starting: ask again shortly.', retryAfter: 1 }),
  ready: undefined,
  draining: () =>
    errors.unavailable({
      message: 'The server is shutting down: ask again shortly.',
      retryAfter: 1,
      headers: { connection: 'close' },
    }),
}

/** The later wires end first: they build on the earlier ones. */
async function endWires(running: readonly Running[], log: FastifyBaseLogger): Promise<void> {
  for (const one of running.toReversed())
    try {
      await one.close?.()
    } catch (error) {
      log.error({ err: error }, 'a wire could not end cleanly')
    }
}

/** The one line for a port that can't be opened. */
function unheard(error: unknown, host: string, port: number): unknown {
  const { code = '', message } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE')
    return new StartError(
      `PORT: another program listens at ${host}:${port} already: end it, or choose another port`,
    )
  if (code === 'EACCES')
    return new StartError(`PORT: this user may not listen at ${host}:${port}: choose a port from 1024 on`)
  if (code === 'ENOTFOUND' || code === 'EADDRNOTAVAIL' || code === 'EAI_AGAIN')
    return new StartError(`HOST: "${host}" is not an address of this machine: ${message}`)
  return error
}
