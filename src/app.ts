import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

import type { DestinationStream } from 'pino'

import { systemClock, type Clock } from './base/clock.ts'
import { errors } from './base/errors.ts'
import { newId } from './base/ids.ts'
import { loadSettings, type Settings, type SettingsInput } from './config.ts'
import type { Database } from './db/database.ts'
import { readMigrations, StartError } from './db/migrations.ts'
import { openDatabase } from './db/open.ts'
import { createPolicy } from './http/policy.ts'
import { createServer, type Server } from './http/server.ts'
import { createValidation } from './http/validation.ts'
import { createIdempotencyStore } from './idempotency.ts'
import { createJobs } from './jobs.ts'
import { createLog } from './log.ts'
import { createMetrics } from './metrics.ts'
import { createRateLimiter } from './rate-limits.ts'
import type { ConfiguredWire, RoutesOf, Running, ServiceOf } from './wire.ts'
import { auth } from './wires/auth/index.ts'
import { core } from './wires/core/index.ts'
import { store } from './wires/store/index.ts'

const CLEANING_MS = 600_000
const FORCED_END_MS = 30_000

/** Sixwire's own wires, in the order in which they may build on each other. */
const BUILT_IN = { core, auth, store }

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
  /** Where log lines go. Default standard output. */
  logTo?: DestinationStream
}

export type App = {
  readonly settings: Settings
  readonly db: Database
  readonly server: Server
  readonly wires: readonly string[]
  /** What a wire offers, where it is loaded. */
  service<N extends keyof BuiltIn>(name: N): ServiceOf<BuiltIn[N]>
  /** Brings the tables up to date and starts every wire, without opening a port: enough for the command line. */
  start(): Promise<void>
  /** Opens the port, then starts; answers the address. `/ready` is true once this resolves. */
  listen(): Promise<string>
  /** Each wire's health, as a line for `sixwire check`. */
  health(): ReadonlyMap<string, () => Promise<void>>
  /** Finishes what runs, refuses what is new, then lets go of everything; after 30 s without waiting. */
  close(): Promise<void>
}

const CONFIG_FILES = ['sixwire.config.ts', 'sixwire.config.js', 'sixwire.config.mjs']

/** Reads `sixwire.config.ts` of a folder; an empty configuration where there is none. */
export async function loadConfig(folder: string): Promise<Config> {
  const file = CONFIG_FILES.map((name) => join(folder, name)).find((path) => existsSync(path))
  if (!file) return {}
  const { default: config } = (await import(pathToFileURL(file).href)) as { default?: Config }
  if (typeof config !== 'object' || config === null)
    throw new StartError(`${file}: export default defineConfig({ … }) is missing`)
  return config
}

/** Puts the wires before those that build on them. */
function inOrder(wires: readonly ConfiguredWire[]): ConfiguredWire[] {
  const byName = new Map(wires.map((wire) => [wire.name, wire]))
  if (byName.size < wires.length) {
    const twice = wires.find((wire) => byName.get(wire.name) !== wire)!
    throw new StartError(`wires: two wires are called "${twice.name}"`)
  }
  const ordered = new Set<ConfiguredWire>()
  const visit = (wire: ConfiguredWire, path: readonly string[]): void => {
    if (path.includes(wire.name)) throw new StartError(`wires: ${[...path, wire.name].join(' needs ')}`)
    for (const { wireName, isOptional } of wire.needs) {
      const needed = byName.get(wireName)
      if (needed) visit(needed, [...path, wire.name])
      else if (!isOptional)
        throw new StartError(`SIXWIRE_WIRES: ${wire.name} needs ${wireName}, which is not loaded: add it`)
    }
    ordered.add(wire)
  }
  for (const wire of wires) visit(wire, [])
  return [...ordered]
}

function chooseWires(config: Config, settings: Settings): ConfiguredWire[] {
  const own = Object.entries(BUILT_IN).map(([name, wire]) =>
    (wire as (options: unknown) => ConfiguredWire)(config[name as 'auth' | 'store'] ?? {}),
  )
  const all = [...own, ...(config.wires ?? [])]
  const unknown = settings.load?.find((name) => !all.some((wire) => wire.name === name))
  if (unknown !== undefined)
    throw new StartError(
      `SIXWIRE_WIRES: there is no wire "${unknown}": there are ${all.map((w) => w.name).join(', ')}`,
    )
  // Without core nobody could ask whether the server lives.
  return inOrder(all.filter(({ name }) => name === 'core' || !settings.load || settings.load.includes(name)))
}

function checkOptions(wires: readonly ConfiguredWire[]): Map<ConfiguredWire, unknown> {
  const validation = createValidation()
  return new Map(
    wires.map((wire) => {
      const options = structuredClone(wire.options)
      if (!wire.optionsSchema) return [wire, options]
      const checked = validation('body', wire.optionsSchema)(options)
      if ('error' in checked)
        throw new StartError(
          `${wire.name}: ${checked.error.message.replace(/^\/body\/?/, '').replaceAll('/', '.')}`,
        )
      return [wire, checked.value]
    }),
  )
}

/** Puts the wires into a server: nothing is reachable until `listen`, nothing is in the database until `start`. */
export async function createApp(options: AppOptions = {}): Promise<App> {
  const { config = {}, environment = process.env, folder = process.cwd(), clock = systemClock } = options
  const settings = await loadSettings(config, environment, folder)
  const wires = chooseWires(config, settings)
  const wireOptions = checkOptions(wires)
  const { log, answers } = await createLog(settings, options.logTo)
  const startedAt = performance.now()

  const db = await openDatabase(settings.databaseUrl)
  const metrics = createMetrics()
  const jobs = createJobs(db, clock, log)
  const limiter = createRateLimiter(db, clock)
  const idempotency = createIdempotencyStore(db, clock, settings.secret)
  const verifies = wires.some(({ name }) => name === 'messaging')
  const policy = createPolicy(
    settings.policy,
    verifies && config.auth?.local?.requireEmailVerification !== false,
  )

  let state: 'starting' | 'ready' | 'draining' = 'starting'
  const checks = new Map<string, () => Promise<void>>()
  const running = new Map<string, Running>()
  const context = {
    db,
    clock,
    jobs,
    log,
    settings,
    policy,
    server: {
      state: () => state,
      uptime: () => Math.round(performance.now() - startedAt) / 1000,
      wires: () => checks,
      metrics: () => metrics.read(),
    },
  }

  for (const wire of wires) {
    const services = Object.fromEntries(
      wire.needs.map(({ wireName }) => [wireName, running.get(wireName)?.service]),
    )
    const one = await wire.setup({ ...context, ...services }, wireOptions.get(wire))
    running.set(wire.name, one)
    checks.set(wire.name, one.health ?? (async () => undefined))
  }

  const authenticate = [...running.values()].find((one) => one.authenticate)?.authenticate
  const groups = [...running].map(([wire, { routes }]) => ({ wire, routes }))
  if (!authenticate) {
    const closed = groups.find(({ routes }) =>
      routes.some(({ spec }) => spec.access !== 'public' && spec.access !== 'optional'),
    )
    if (closed)
      throw new StartError(
        `SIXWIRE_WIRES: ${closed.wire} answers signed-in callers only, and no loaded wire keeps accounts: add auth`,
      )
  }

  const server = await createServer({
    groups,
    policy,
    authenticate: authenticate ?? (async () => undefined),
    limiter,
    limitsOn: settings.rateLimits,
    idempotency,
    newId: () => newId(clock.now()),
    log,
    onAnswer(answered) {
      metrics.observe(answered)
      const { requestId, method, path, status, ms } = answered
      answers.info({ requestId, method, path, status, ms: Math.round(ms * 10) / 10 })
    },
    description: { title: settings.name, version: settings.version, url: settings.publicUrl },
    origins: settings.origins,
    production: settings.production,
    trustProxy: settings.trustProxy,
    refusal() {
      if (state === 'ready') return undefined
      if (state === 'starting')
        return errors.unavailable({ message: 'The server is starting: ask again shortly.', retryAfter: 1 })
      return errors.unavailable({
        message: 'The server is going down: ask again shortly.',
        retryAfter: 1,
        headers: { connection: 'close' },
      })
    },
  })

  async function start(): Promise<void> {
    const frame = await readMigrations('sixwire', new URL('./migrations/', import.meta.url), db.dialect)
    const own = await Promise.all(
      wires.map(async ({ name, migrations }) =>
        migrations ? readMigrations(name, migrations, db.dialect) : [],
      ),
    )
    await db.migrate([...frame, ...own.flat()])
    for (const one of running.values()) await one.start?.()
  }

  jobs.every('sixwire.clean', CLEANING_MS, async () => {
    await idempotency.forgetExpired()
    await limiter.forgetFull()
  })

  let closing: Promise<void> | undefined
  async function letGo(): Promise<void> {
    await server.close()
    await jobs.stop()
    for (const one of [...running.values()].toReversed()) await one.close?.()
    await db.close()
    log.flush()
  }

  return {
    settings,
    db,
    server,
    wires: wires.map(({ name }) => name),
    service: (name) => {
      const one = running.get(name)
      if (!one) throw new StartError(`SIXWIRE_WIRES: ${name} is not loaded`)
      return one.service as never
    },
    start,
    async listen() {
      const address = await server.listen({ host: settings.host, port: settings.port })
      await start()
      await jobs.start()
      state = 'ready'
      return address
    },
    health: () => checks,
    close() {
      closing ??= (async () => {
        state = 'draining'
        let timer: NodeJS.Timeout | undefined
        const forced = new Promise<void>((resolve) => {
          timer = setTimeout(resolve, FORCED_END_MS)
        })
        await Promise.race([server.idle(), forced])
        clearTimeout(timer)
        await letGo()
      })()
      return closing
    },
  }
}
