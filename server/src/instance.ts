import { systemClock, type Clock } from './base/clock.ts'
import { NO_SIBLINGS, type Siblings } from './base/siblings.ts'
import { configFileName } from './kernel/config/config-file.ts'
import { StartError } from './base/start-error.ts'
import {
  checkVariables,
  loadSettings,
  WORKERS_VARIABLE,
  type Settings,
  type Variables,
} from './kernel/config/config.ts'
import type { Database } from './db/database.ts'
import { openDatabase } from './db/open.ts'
import { createPort } from './http/port.ts'
import { checkWebhooks } from './kernel/events/webhook-option.ts'
import { createJobs } from './kernel/jobs/jobs.ts'
import { createLog } from './kernel/telemetry/log.ts'
import type { SettingChanges } from './wires/core/settings/setting-changes.ts'
import { settableOptions } from './kernel/settings/settable-options.ts'
import { NOTHING_STORED, readStoredSettings, type StoredSettings } from './kernel/settings/stored-settings.ts'
import { withStoredCause, withStoredOptions } from './kernel/settings/with-stored-options.ts'
import { createProcesses } from './kernel/lifecycle/processes.ts'
import { checkSchedules } from './kernel/schedule/schedule-option.ts'
import { isRotatedTo } from './kernel/secret/sealed.ts'
import { adoptNextSecret, findNextSecret } from './kernel/secret/secret.ts'
import { explained } from './kernel/lifecycle/storage-start-error.ts'
import type { SandboxLists } from './kernel/wire/sandbox-lists.ts'
import type { OpenStandIns, StandIns } from './kernel/wire/stand-ins.ts'
import type { Running } from './kernel/wire/wire.ts'
import { checkOptions, unconfiguredVariables, variablesOf } from './kernel/wire/options.ts'
import { endWires, readFrameMigrations } from './start.ts'
import { chooseWires, configuredWires, type Config } from './wires.ts'
import { assemble, type Instance, type SharedParts } from './assemble.ts'

/** Options of `createApp`. */
export type AppOptions = {
  /** The configuration, such as that of `loadConfig`. Default: empty. */
  config?: Config
  /** Environment variables; they take precedence over the configuration. Default: `process.env`. */
  environment?: Record<string, string | undefined>
  /** Where a variable of the environment is from, for `GET /core/config`: `.env`. Default: the environment. */
  sourceOf?: (variable: string) => string | undefined
  /** The application's folder. Default: the current one. */
  folder?: string
  /** Whether an empty database is right where the data folder has files of an installation. Default: false. */
  newDatabase?: boolean
  /** The clock of timers and times. Default: the system's. */
  clock?: Clock
  /** Whether the sandbox may open if the settings enable it; a command needs none. Default: true. */
  standIns?: boolean
  /** Whether what administrators have set does not count: to rotate the secret that it may be encrypted under. */
  withoutStored?: boolean
  /** The other processes that answer the port. Default: none. @internal */
  siblings?: Siblings
  /** The destination of log lines. Default: standard output. */
  logTo?: { write(line: string): void }
}

/** What is known of an instance where it is made. */
export type InstanceContext = {
  /** Of the instance whose place it takes; default: it opens them. */
  readonly shared?: SharedParts | undefined
  /** The settings to try, instead of those that are stored. */
  readonly stored?: StoredSettings | undefined
  /** Whether a stand-in may open. */
  readonly standIns: boolean
  readonly changes: SettingChanges
}

/**
 * Makes an instance: reads the configuration with what administrators have set, and sets the wires up.
 *
 * @throws StartError with one line that says what is wrong in the configuration
 */
export async function createInstance(options: AppOptions, context: InstanceContext): Promise<Instance> {
  const {
    environment = process.env,
    folder = process.cwd(),
    clock = systemClock,
    config: file = {},
    siblings = NO_SIBLINGS,
  } = options
  const written = await configure(file, { environment, folder, clock })
  const log = await createLog(written.settings, options.logTo)
  const { databaseUrl } = written.settings
  const opening = async () =>
    openDatabase(databaseUrl, {
      sqliteFunctions: written.chosen.flatMap(({ sqliteFunctions }) => sqliteFunctions ?? []),
    })
  const db = context.shared?.db ?? (await explained(databaseUrl, opening()))
  const port = context.shared?.port ?? createPort(log.log)
  const startedAt = context.shared?.startedAt ?? performance.now()
  const processes = createProcesses({ db, clock, log: log.log }, { databaseUrl })
  const jobs = createJobs({ db, clock, log: log.log }, { process: processes.id })
  processes.onEnd((ended) => [jobs.releaseSql(ended)])
  const running: Running[] = []
  let standIns: StandIns | undefined
  let explainStored = (error: unknown): unknown => error
  try {
    const { secret } = environment['SIXWIRE_SECRET']
      ? written.settings
      : await finishRotation(written.settings, db, clock)
    const stored =
      context.stored ?? (options.withoutStored ? NOTHING_STORED : await readStoredSettings(db, secret))
    const elsewhere = { config: file, environment, configFile: configFileName(folder) ?? 'sixwire.config.ts' }
    const settable = settableOptions(written.chosen, elsewhere)
    const { config, inForce } = withStoredOptions(file, settable, stored.options)
    if (!context.stored) explainStored = (error) => withStoredCause(error, settable, inForce)
    const configured = inForce.size === 0 ? written : await configure(config, { environment, folder, clock })
    const { all, chosen, webhooks, schedules } = configured
    const settings = { ...configured.settings, secret, audience: written.settings.audience }
    if (settings.sandbox && siblings.count > 1)
      throw new StartError(
        `${WORKERS_VARIABLE}: the sandbox is one process: set SIXWIRE_SANDBOX=off, or run one worker`,
      )
    if (settings.sandbox && context.standIns)
      standIns = await openStandIns(
        {
          db,
          clock,
          jobs,
          settings,
          endpoints: webhooks,
          log: log.log,
          configured: () => variablesOf(wireOptions),
          lists: () => Object.assign({}, ...running.map(({ sandboxLists }) => sandboxLists)) as SandboxLists,
        },
        unconfiguredVariables(all, environment),
      )
    const wireOptions = checkOptions(chosen, environment, standIns?.variables)
    return await assemble(
      {
        config,
        settable: settableOptions(chosen, elsewhere),
        stored: { ...stored, inForce },
        environment,
        sourceOf: options.sourceOf,
        settings,
        newDatabase: options.newDatabase ?? false,
        clock,
        log,
        db,
        port,
        startedAt,
        siblings,
        jobs,
        processes,
        wires: standIns ? [standIns.wire, ...chosen] : chosen,
        wireOptions,
        schedules,
        webhooks,
        absentWires: all.filter((wire) => !chosen.includes(wire)).map(({ name }) => name),
        running,
        standInVariables: standIns?.variables ?? {},
      },
      context.changes,
    )
  } catch (error) {
    await endWires(running, log.log)
    await standIns?.close()
    if (!context.shared) {
      await port.close()
      await db.close()
    }
    throw explainStored(error)
  }
}

type Environment = { environment: Variables; folder: string; clock: Clock }

/** What a configuration says. @throws StartError with what can't work */
async function configure(config: Config, { environment, folder, clock }: Environment) {
  const all = configuredWires(config)
  checkVariables(
    environment,
    all.flatMap(({ variables }) => Object.keys(variables)),
  )
  const schedules = await checkSchedules(config.schedule, clock.now())
  const settings = await loadSettings(config, environment, folder)
  const webhooks = checkWebhooks(config.webhooks, settings)
  return { all, schedules, settings, webhooks, chosen: chooseWires(all, settings) }
}

/** Takes over the secret file of a rotation that was cut off when the database had been encrypted under it. */
async function finishRotation(settings: Settings, db: Database, clock: Clock): Promise<Settings> {
  const next = await findNextSecret(settings.dataDir)
  if (next === undefined) return settings
  await db.migrate(await readFrameMigrations(db.dialect))
  if (!(await isRotatedTo(db, next))) return settings
  await adoptNextSecret(settings.dataDir, clock.now())
  return { ...settings, secret: next }
}

/** Opens the sandbox. It is loaded only if it is used: in production no module of it is. */
const openStandIns: OpenStandIns = async (...context) =>
  (await import('sixwire-sandbox')).openSandbox(...context)
