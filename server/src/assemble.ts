import type { Logger } from './base/logger.ts'
import { errors, type ApiError } from './base/errors.ts'
import { newId } from './base/ids.ts'
import { oneLine } from './base/one-line.ts'
import {
  checkConflicts,
  checkRoutes,
  checkRunning,
  refuseSignedInCallers,
} from './kernel/wire/check-routes.ts'
import { checkSchemas } from './kernel/wire/check-schemas.ts'
import { configFileName, thrownBy } from './kernel/config/config-file.ts'
import type { Settings } from './kernel/config/config.ts'
import type { Database } from './db/database.ts'
import { StartError } from './base/start-error.ts'
import { contextOf, createFrame, statusOf, type DeferredStatus } from './frame.ts'
import type { Dialect } from './db/sql.ts'
import type { Diagnosis } from './kernel/wire/diagnosis.ts'
import { frameDiagnoses } from './wires/core/overview/frame-diagnoses.ts'
import type { AuditLog } from './wires/core/audit/audit-log.ts'
import { recordDenial } from './kernel/audit/denials.ts'
import { createPolicy } from './kernel/policy/policy.ts'
import { ExpectedCallers } from './http/expected-callers.ts'
import type { RouteGroup } from './http/route.ts'
import { scopesOf } from './http/scopes.ts'
import type { Port } from './http/port.ts'
import { createServer, type Server } from './http/server.ts'
import type { JobOperations } from './wires/core/jobs/job-operations.ts'
import { createLifecycle, type Stage } from './kernel/lifecycle/lifecycle.ts'
import type { DeclaredMetric } from './kernel/telemetry/metrics.ts'
import { declareLoadMetrics } from './kernel/telemetry/load-metrics.ts'
import type { LogOperations } from './wires/core/request-log/log-operations.ts'
import { checkScreens } from './wires/core/screens/check-screens.ts'
import type { ShownScreen } from './wires/core/screens/shown-screen.ts'
import type { CoreContext } from './wires/core/server-status.ts'
import type { SettingChanges } from './wires/core/settings/setting-changes.ts'
import { settingsInForce, type SettingInForce } from './wires/core/settings/settings-in-force.ts'
import { SETTINGS_SEALED, type StoredSettings } from './kernel/settings/stored-settings.ts'
import type { Tables } from './kernel/move/copy-tables.ts'
import { refuseMoved } from './kernel/move/closed-source.ts'
import { FRAME_EXPORT } from './kernel/export/frame-export.ts'
import { createSchedule } from './kernel/schedule/schedule.ts'
import { FRAME_SEALED, type SealedColumn } from './kernel/secret/sealed.ts'
import { checkServedPolicy } from './kernel/lifecycle/served-policy.ts'
import { explained } from './kernel/lifecycle/storage-start-error.ts'
import { warningsOf } from './kernel/config/warnings.ts'
import type { PersonalTables } from './kernel/wire/personal-data.ts'
import type { WireExport } from './kernel/wire/table-export.ts'
import type { ConfiguredWire, Running, ServiceOf } from './kernel/wire/wire.ts'
import { unconfiguredProviders } from './kernel/wire/options.ts'
import { tablesOf, wiresIn } from './installation.ts'
import type { ServerParts } from './parts.ts'
import { end, listen, migrate, start, takeOver, type AssembledServer } from './start.ts'
import type { BuiltIn } from './wires.ts'

/** How long an event stream waits to be counted by the other workers. */
const STREAMS_MS = 250

/** A server; see `createApp`. */
export type App = {
  readonly settings: Settings
  readonly db: Database
  /** @internal */
  readonly server: Server
  readonly wires: readonly string[]
  /** The routes of each wire. */
  readonly routes: readonly RouteGroup[]
  /**
   * Returns the service of a wire, which does what its routes do without HTTP.
   *
   * @throws StartError if the wire is not loaded
   */
  service<N extends keyof BuiltIn>(name: N): ServiceOf<BuiltIn[N]>
  /** Runs the migrations, and does nothing else. @throws StartError if the data was moved, unless that does not matter */
  migrate(options?: { evenIfMoved?: boolean }): Promise<void>
  /** Runs the migrations and starts every wire, without opening a port: enough for the command line. */
  start(): Promise<void>
  /** Opens the port, then starts; returns the address. `/ready` is true once this resolves. */
  listen(): Promise<string>
  /** The health of each wire, by name, for `sixwire check`. */
  health(): ReadonlyMap<string, () => Promise<void>>
  /** The further checks of each wire, by name. */
  checks(): ReadonlyMap<string, ReadonlyMap<string, () => Promise<void>>>
  /** What operators do with background jobs. */
  readonly jobs: JobOperations
  /** What operators do with the request log. */
  readonly logs: LogOperations
  /** Who did what that concerns accounts, money, keys and whole collections. */
  readonly audit: AuditLog
  /** Rejects, as `listen` does, if the policy would open data that was guarded. */
  checkPolicy(): Promise<void>
  readonly log: Logger
  /** The providers that nothing configures, by their wires: `pay.stripe`. */
  readonly notConfigured: readonly string[]
  /** What of the configuration can work and is likely to be a mistake, one line each. */
  readonly warnings: readonly string[]
  /** What `/metrics` has, beside the metrics of requests and of Node. */
  metrics(): readonly DeclaredMetric[]
  /** All types of events that the wires declare; `*` is any name. */
  eventTypes(): readonly string[]
  /** The checks of the frame and of each wire, for `sixwire doctor`. */
  diagnoses(): readonly Diagnosis[]
  /** The columns that hold what is encrypted under `SIXWIRE_SECRET`. */
  sealed(): readonly SealedColumn[]
  /** What the frame and each wire write into an export. */
  exports(): readonly WireExport[]
  /** What the tables of all wires hold of persons. @internal */
  personalTables(): PersonalTables
  /** The tables of an engine, for `sixwire move`. @throws StartError if the database has tables of wires that are not loaded */
  tablesOf(dialect: Dialect): Promise<Tables>
  /** Rejects if the server ends by itself, because a newer version has brought the database up to date. */
  readonly outdated: Promise<never>
  /** Refuses new requests, waits for those in progress and for jobs (30 s at most), then closes everything. */
  close(): Promise<void>
}

/** An App, and how it takes the place of another one. */
export type Instance = App & {
  /** What it leaves to the instance that takes its place. */
  readonly shared: SharedParts
  /** What administrators have set, as it is in force. */
  readonly stored: StoredSettings
  /** Asks the wires of these options whether they can work. @throws StartError with the first that cannot */
  refuseFaultyOptions(paths: readonly string[]): Promise<void>
  /** Starts, and answers the next requests of the port. */
  takeOver(): Promise<void>
  /** Ends it; requests under way may take that long, in milliseconds. Default: 30 s. */
  end(longestMs?: number): Promise<void>
}

/** What outlasts an instance. */
export type SharedParts = {
  readonly db: Database
  readonly port: Port
  /** When the server was created, as `performance.now()` has it. */
  readonly startedAt: number
}

/**
 * Sets the wires up, and makes the server of what they offer.
 *
 * @internal so that the types of the package need none of the parts
 * @throws StartError with what is wrong in the configuration
 */
export async function assemble(parts: ServerParts, changes: SettingChanges): Promise<Instance> {
  const { config, settings, clock, db, wires, running } = parts
  const { log, answered } = parts.log
  const frame = createFrame(parts)
  const { delivery, requestLog } = frame
  const policy = createPolicy(settings, {
    requireVerifiedEmail: () => running.some((one) => one.requiresVerifiedEmail?.()),
    accountOfEmail: async (email) => running.find((one) => one.accountOfEmail)?.accountOfEmail?.(email),
  })
  // What the wires ask for before it is there, as they do in a request only.
  const deferred: DeferredStatus = {
    state: () => life.stage(),
    health: () => wiresSetUp.health,
    diagnoses: () => diagnosesOf(parts, warnings),
    screens: () => screens,
    scopes: () => scopesOf(groups),
    figures: () => figuresOf(parts),
    series: () => seriesOf(parts),
    settings: () => inForce(parts),
    settable: parts.settable,
    stored: () => parts.stored,
    changes,
  }
  const countStreamEnd = declareLoadMetrics(frame.metrics, db, {
    streams: () => server.streams(),
    waiting: () => server.waiting(),
  })
  const life = createLifecycle({
    quiet() {
      for (const one of running) one.quiet?.()
      return Promise.all([server.endStreams(), server.idle(), parts.jobs.stop()])
    },
    end: (isQuiet) => end(parts, frame, server, isQuiet),
  })
  const wiresSetUp: WiresSetUp = { services: new Map(), health: new Map(), checks: new Map() }
  const core = { ...contextOf(parts, frame, policy, deferred), status: statusOf(parts, frame, deferred) }
  await setUpAll(parts, core, wiresSetUp)
  delivery.events.check(parts.absentWires)

  const accounts = running.find((one) => one.authenticate)
  const groups = routeGroupsOf(parts)
  // The tests check the routes of Sixwire's own wires.
  const ofApplication = new Set(config.wires?.map(({ name }) => name))
  const applications = groups.filter(({ wire }) => ofApplication.has(wire))
  for (const { wire, routes } of applications) {
    checkRoutes(wire, routes)
    checkSchemas(wire, routes)
  }
  if (applications.length > 0) checkConflicts(groups)
  if (!accounts) refuseSignedInCallers(groups)
  const screens = screensOf(parts)
  const server = await createServer({
    port: parts.port,
    groups,
    policy,
    authenticate: accounts?.authenticate ?? (() => undefined),
    callers: accounts?.callers,
    maxStreams: settings.streams,
    async streamsElsewhere(owner) {
      if (parts.siblings.count === 1) return []
      return (await parts.siblings.ask('streams', owner, STREAMS_MS)).answers as number[]
    },
    onStreamEnd: countStreamEnd,
    clock,
    // On SQLite a session is read without a round trip.
    expectedCallers: db.dialect === 'postgres' ? new ExpectedCallers() : undefined,
    limiters: frame.limiters,
    limitsOn: settings.rateLimits,
    idempotency: frame.idempotency,
    newId: () => newId(clock.now()),
    log,
    countEvent: frame.metrics.countEvent,
    onDenied: (call) => recordDenial({ db, audit: frame.audit, limiter: frame.limiters.process, log }, call),
    onAnswer(answer) {
      frame.metrics.observe(answer)
      answered(answer)
      requestLog.answered(answer)
    },
    description: {
      title: settings.name,
      version: settings.version,
      url: settings.hasPublicUrl ? settings.publicUrl : undefined,
    },
    origins: settings.origins,
    production: settings.production,
    console: settings.console && accounts !== undefined,
    mounts: running.flatMap(({ mounts = [] }) => mounts),
    hosts: settings.production ? undefined : settings.hosts,
    trustProxy: settings.trustProxy,
    refusal: () => REFUSALS[life.stage()]?.(),
  }).catch((error: unknown) => {
    throw config.wires?.length ? refusedRoute(error) : error
  })
  const schedule = createSchedule(
    { db, clock, jobs: parts.jobs, log },
    {
      schedules: parts.schedules,
      offered: Object.assign({}, ...running.map((one) => one.scheduleContext)) as Record<string, unknown>,
    },
  )
  const warnings = [
    ...warningsOf(settings, parts.environment),
    ...running.flatMap((one) => one.warnings ?? []),
  ]
  const { promise: outdated, reject } = Promise.withResolvers<never>()
  outdated.catch(() => undefined) // only `sixwire start` asks for it
  const assembled: AssembledServer = {
    parts,
    frame,
    life,
    server,
    schedule,
    warnings,
    changes,
    outdated: reject,
  }
  const begin = <T>(work: () => Promise<T>): Promise<T> =>
    life.begin(() => explained(settings.databaseUrl, work()))

  return {
    settings,
    db,
    server,
    wires: [...wiresSetUp.services.keys()],
    routes: groups,
    service(name) {
      if (!wiresSetUp.services.has(name)) throw new StartError(`SIXWIRE_WIRES: ${name} is not loaded`)
      return wiresSetUp.services.get(name) as never
    },
    async migrate({ evenIfMoved = false } = {}) {
      await begin(async () => {
        if (!evenIfMoved) await refuseMoved(db)
        await migrate(parts)
      })
    },
    start: () => begin(() => start(assembled)),
    listen: () => begin(() => listen(assembled)),
    health: () => wiresSetUp.health,
    checks: () => wiresSetUp.checks,
    jobs: frame.jobs,
    logs: frame.logs,
    audit: frame.auditLog,
    metrics: () => frame.metrics.declared(),
    eventTypes: () => delivery.events.types(),
    checkPolicy: () => checkServedPolicy(db, settings),
    log,
    notConfigured: unconfiguredProviders(wires, parts.environment),
    warnings,
    diagnoses: deferred.diagnoses,
    sealed: () => [...FRAME_SEALED, SETTINGS_SEALED, ...running.flatMap((one) => one.sealed ?? [])],
    exports: () => [FRAME_EXPORT, ...running.flatMap((one) => one.exports ?? [])],
    tablesOf: async (dialect) => tablesOf(parts.wires, await wiresIn(db), dialect),
    personalTables: () => frame.personalData.declared(),
    outdated,
    shared: { db, port: parts.port, startedAt: parts.startedAt },
    stored: parts.stored,
    async refuseFaultyOptions(paths) {
      for (const [at, { optionFault }] of running.entries())
        for (const path of paths) {
          const wire = `${wires[at]!.name}.`
          const fault = path.startsWith(wire) && (await optionFault?.(path.slice(wire.length)))
          if (fault) throw new StartError(`${path}: ${fault}`)
        }
    },
    takeOver: () => begin(() => takeOver(assembled)),
    end: (longestMs) => life.close(longestMs),
    async close() {
      await life.close()
      await parts.port.close()
      await db.close()
    },
  }
}

type WiresSetUp = {
  readonly services: Map<string, unknown>
  readonly health: Map<string, () => Promise<void>>
  readonly checks: Map<string, ReadonlyMap<string, () => Promise<void>>>
}

/** Sets the wires up in their order, each with the services of those that it needs; `core` alone has the status. */
async function setUpAll(
  parts: ServerParts,
  { status, ...context }: CoreContext,
  { services, health, checks }: WiresSetUp,
): Promise<void> {
  for (const wire of parts.wires) {
    const ofCore = wire.name === 'core' ? { status } : {}
    const needed = Object.fromEntries(wire.needs.map(({ wireName }) => [wireName, services.get(wireName)]))
    const one = await setUp(wire, { ...context, ...needed, ...ofCore }, parts)
    parts.running.push(one)
    if (wire.isUnlisted) continue
    services.set(wire.name, one.service)
    health.set(wire.name, one.health ?? (async () => undefined))
    checks.set(wire.name, one.checks ?? new Map())
  }
}

const diagnosesOf = (parts: ServerParts, warnings: readonly string[]): Diagnosis[] => [
  ...frameDiagnoses(parts, warnings),
  ...parts.running.flatMap(({ diagnoses = [] }, at) =>
    diagnoses.map((one) => ({ ...one, name: `${parts.wires[at]!.name}: ${one.name}` })),
  ),
]

/** The routes of each wire. */
const routeGroupsOf = ({ running, wires }: ServerParts): RouteGroup[] =>
  running.flatMap(({ routes, variants, variantsOf, bodyLimit }, at) => {
    const { name, description, isUnlisted } = wires[at]!
    if (isUnlisted) return []
    return {
      wire: name,
      description,
      routes,
      variants,
      variantsOf,
      ...(bodyLimit !== undefined && { bodyLimit }),
    }
  })

/** @throws StartError if a screen does not fit its routes */
const screensOf = ({ running, wires }: ServerParts): readonly ShownScreen[] =>
  running.flatMap(({ routes, screens }, at) =>
    screens ? checkScreens(wires[at]!.name, routes, screens) : [],
  )

const figuresOf = ({ running, wires }: ServerParts) =>
  running.flatMap(({ figures = [] }, at) => figures.map((figure) => ({ wire: wires[at]!.name, figure })))

const seriesOf = ({ running, wires }: ServerParts) =>
  running.flatMap(({ series = [] }, at) => series.map((one) => ({ wire: wires[at]!.name, series: one })))

/** What is in force, and where it is from. */
const inForce = (parts: ServerParts): SettingInForce[] => {
  const { config, environment, settings, standInVariables, sourceOf = () => 'environment' } = parts
  return settingsInForce(
    { ...parts, input: config },
    {
      sourceOf: (name) => {
        if (environment[name]) return sourceOf(name) ?? 'environment'
        return standInVariables[name] === undefined ? undefined : 'sandbox'
      },
      configFile: configFileName(settings.appDir) ?? 'sixwire.config.ts',
      isStored: (path) => parts.stored.inForce.has(path),
    },
  )
}

/** An error of Sixwire's own wires is a bug, reported with its stack; one of an application's wire is one line. */
async function setUp(
  wire: ConfiguredWire,
  context: Parameters<ConfiguredWire['setup']>[0],
  { config, settings, wireOptions }: ServerParts,
): Promise<Running> {
  const isOwn = config.wires?.includes(wire) === true
  const one = await (async () => wire.setup(context, wireOptions.get(wire)))().catch((error: unknown) => {
    throw isOwn ? thrownBy(`wires: ${wire.name}: setup`, error, settings.appDir) : error
  })
  checkRunning(wire.name, one)
  return one
}

/** The error line for a route of an application that the HTTP engine refuses; it refuses none of Sixwire's own. */
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
