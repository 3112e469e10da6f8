import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { join, resolve } from 'node:path'

import { COLOR } from '../../base/color.ts'
import { didYouMean } from '../../base/did-you-mean.ts'
import { isLoopback } from '../../base/loopback.ts'
import { networkFilter } from '../../base/ip-address.ts'
import { isPrivateHost } from '../../base/private-host.ts'
import { isPlain } from './fields.ts'
import type { PolicyName } from '../policy/policy.ts'
import {
  REQUEST_LOG,
  REQUEST_LOG_TEXT,
  requestLogOption,
  type RequestLogSettings,
} from './request-log-option.ts'
import { findSecret } from '../secret/secret.ts'
import {
  choice,
  dayCount,
  databaseAddress,
  hostNames,
  hosts,
  list,
  onOff,
  origins,
  port,
  streamCount,
  proxies,
  settingError,
  text,
  webAddress,
  type Hosts,
} from './setting-parsers.ts'

/** The settings of the frame; every one has a default. */
export type Settings = {
  /** The application's name and version, from its own `package.json` unless the configuration says otherwise. */
  name: string
  version: string
  /** The colour of the application, `#3b4cf0`; undefined: the default ones. */
  color: string | undefined
  /** What access tokens are for: the name of the configuration, whatever the application is called in the console. */
  audience: string
  production: boolean
  host: string
  /** 0 for any free port. */
  port: number
  /** The application's folder; relative paths start there. */
  appDir: string
  /** Folder for the database, uploads, backups and the secret. */
  dataDir: string
  databaseUrl: string
  /** Where the application's pages are: links in mails point there. */
  appUrl: string
  /** Whether there are such pages: `APP_URL` is set, or the sandbox stands in for them. If not, `appUrl` is this server's address. */
  hasFrontend: boolean
  /** Where this server is reached from outside. */
  publicUrl: string
  /** Whether `PUBLIC_URL` is set. If not, `publicUrl` is an address of this machine. */
  hasPublicUrl: boolean
  /** The keys for everything that is encrypted or signed are derived from it. */
  secret: string
  policy: PolicyName
  /** Whether the environment or the configuration file names the policy; if not, it is the default. */
  isPolicySet: boolean
  /** Whether local stand-ins take the place of providers that are not configured. Never in production. */
  sandbox: boolean
  /** Outside production: the host names under which this server answers, beside those that no stranger's domain can be. */
  hosts: readonly string[]
  /** The host names under which everybody may use the sandbox, and the networks whose callers may; none by default. */
  sandboxHost: Hosts
  /** Where the sandbox answers this server itself and a browser on its machine: `http://localhost:3000/sandbox`. */
  sandboxUrl: string
  /** Whether `/console` has a page for administrators. */
  console: boolean
  /** Whether administrators may set options while the server runs. */
  settings: boolean
  /** Addresses that are administrators once they are verified. */
  admins: readonly string[]
  /** Names of the wires to load; undefined for all. */
  load: readonly string[] | undefined
  rateLimits: boolean
  /** How many event streams may be open in this process. */
  streams: number
  /** How many days an entry of the audit log is kept. */
  auditDays: number
  /** Proxies whose forwarding headers count: how many hops, or their addresses. */
  trustProxy: number | string
  logLevel: string
  /** How much of the requests is kept for `GET /core/logs`; false: nothing. */
  requestLog: RequestLogSettings | false
  /** Browser origins that may read answers, that of `APP_URL` included; outside production loopback origins may, too. */
  origins: readonly string[]
}

/** The settings of a configuration file. The environment takes precedence. */
export type SettingsInput = Partial<
  Omit<
    Settings,
    | 'secret'
    | 'appDir'
    | 'hasFrontend'
    | 'hasPublicUrl'
    | 'isPolicySet'
    | 'audience'
    | 'sandboxUrl'
    | 'sandboxHost'
    | 'requestLog'
  >
> & {
  /** Host names, and networks like `172.16.0.0/12`. */
  sandboxHost?: string | readonly string[]
  /** How much of the requests is kept for `GET /core/logs`; false: nothing. */
  requestLog?: boolean | Partial<RequestLogSettings>
}

/** Values of environment variables. */
export type Variables = Readonly<Record<string, string | undefined>>
type Variable<K extends keyof Settings> = {
  key: K
  parse: (text: string, name: string) => Settings[K]
  /** In words; undefined if there is none. */
  default?: string
  description: string
}

// The frame reads no others but `NODE_ENV` and the secrets.
const VARIABLES: { [name: string]: { [K in keyof Settings]: Variable<K> }[keyof Settings] } = {
  HOST: {
    key: 'host',
    parse: text,
    default: '127.0.0.1; in production 0.0.0.0',
    description: 'The address to listen at.',
  },
  PORT: {
    key: 'port',
    parse: port,
    default: '3000',
    description: 'The port to listen at; 0 for any free one.',
  },
  DATA_DIR: {
    key: 'dataDir',
    parse: text,
    default: './data',
    description:
      'The folder of the database file, uploads, backups and the secret, readable by the server’s user alone.',
  },
  DATABASE_URL: {
    key: 'databaseUrl',
    parse: databaseAddress,
    default: 'sqlite:./data/sixwire.db',
    description: 'The database: a file of SQLite, or postgres://user:password@host:5432/name.',
  },
  APP_URL: {
    key: 'appUrl',
    parse: webAddress,
    default: 'the page of the sandbox; without it PUBLIC_URL',
    description: 'The address of the application’s pages, to which links in mails lead.',
  },
  PUBLIC_URL: {
    key: 'publicUrl',
    parse: webAddress,
    default: 'http://localhost:PORT',
    description: 'The address of this server from outside.',
  },
  SIXWIRE_POLICY: {
    key: 'policy',
    parse: choice('open', 'guarded'),
    default: 'open; in production guarded',
    description:
      'Who may do what. open: any signed-in user may read and change everything; guarded: their own records.',
  },
  SIXWIRE_SANDBOX: {
    key: 'sandbox',
    parse: onOff,
    default: 'on; never in production',
    description: 'Whether the sandbox stands in for providers that are not configured.',
  },
  SIXWIRE_HOSTS: {
    key: 'hosts',
    parse: hostNames,
    default: 'those of PUBLIC_URL and APP_URL',
    description:
      'Outside production: further host names under which this server answers; IP addresses, and names that no stranger can own, always work.',
  },
  SIXWIRE_SANDBOX_HOST: {
    key: 'sandboxHost',
    parse: hosts,
    description: 'Networks and host names to which the sandbox is open, joined by commas.',
  },
  SIXWIRE_CONSOLE: {
    key: 'console',
    parse: onOff,
    default: 'on',
    description: 'Whether there is a page for administrators at /console.',
  },
  SIXWIRE_ADMINS: {
    key: 'admins',
    parse: list,
    description: 'Addresses that are administrators once verified, joined by commas.',
  },
  SIXWIRE_WIRES: {
    key: 'load',
    parse: list,
    default: 'all',
    description: 'The wires to load, joined by commas; core always is.',
  },
  SIXWIRE_SETTINGS: {
    key: 'settings',
    parse: onOff,
    default: 'on',
    description: 'Whether administrators may set options in the console and over HTTP.',
  },
  SIXWIRE_RATE_LIMITS: {
    key: 'rateLimits',
    parse: onOff,
    default: 'off; in production on',
    description: 'Whether calls are limited, for each client address or user.',
  },
  SIXWIRE_STREAMS: {
    key: 'streams',
    parse: streamCount,
    default: '10000',
    description: 'How many event streams may be open at once in this process.',
  },
  SIXWIRE_AUDIT_DAYS: {
    key: 'auditDays',
    parse: dayCount,
    default: '365',
    description: 'How many days an entry of the audit log is kept.',
  },
  TRUST_PROXY: {
    key: 'trustProxy',
    parse: proxies,
    default: '0',
    description:
      'The number of proxies in front, or their addresses and networks: only their forwarding headers count.',
  },
  LOG_LEVEL: {
    key: 'logLevel',
    parse: choice('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'),
    default: 'info',
    description: 'trace, debug, info, warn, error, fatal or silent.',
  },
  SIXWIRE_REQUEST_LOG: {
    key: 'requestLog',
    parse: requestLogOption,
    default: REQUEST_LOG_TEXT,
    description:
      'How much of the requests, warnings and errors GET /core/logs keeps: off, or limits joined by commas. perSecond: successful requests that a server writes in a second; slowMs: those that take longer are written like those that fail.',
  },
  SIXWIRE_ORIGINS: {
    key: 'origins',
    parse: origins,
    default: 'that of APP_URL; outside production those of this machine, too',
    description: 'Further origins of browsers that may read answers, joined by commas; * for any.',
  },
}

/** The names of all settings of a configuration file. */
export const settingNames: ReadonlySet<string> = new Set([
  'name',
  'color',
  'version',
  'production',
  ...Object.values(VARIABLES).map(({ key }) => key),
])

/** The frame's variables for the reference: what each means, and its default in words. */
export const frameVariables: Readonly<
  Record<string, { description: string; option?: string; default?: string }>
> = {
  NODE_ENV: {
    option: 'production',
    description: 'production: the policy guarded, rate limits, no sandbox, and a secret is required.',
  },
  SIXWIRE_SECRET: {
    default: 'created in DATA_DIR/secret',
    description:
      'At least 32 characters; everything encrypted and signed depends on it. Required in production.',
  },
  SIXWIRE_NEW_SECRET: { description: 'The secret to which sixwire secret rotate changes.' },
  SIXWIRE_WORKERS: {
    default: '1',
    description:
      'How many processes of sixwire start answer at the port, auto for as many as there are cores. Not with the sandbox.',
  },
  ...Object.fromEntries(
    Object.entries(VARIABLES).map(([name, { key, parse: _, ...words }]) => [name, { option: key, ...words }]),
  ),
}

/** Set by `sixwire dev` for the server that it runs. */
export const DEV_VARIABLE = 'SIXWIRE_DEV'

/** How many processes answer, for `sixwire start`, whose process that starts them reads no configuration file. */
export const WORKERS_VARIABLE = 'SIXWIRE_WORKERS'

/** Set for each of them: its number, and of how many. */
export const WORKER_VARIABLE = 'SIXWIRE_WORKER'

/** The secret that `sixwire secret rotate` changes to. */
export const NEW_SECRET_VARIABLE = 'SIXWIRE_NEW_SECRET'

const PREFIX = 'SIXWIRE_'

// Not settings: the secret, and what development and tests use.
const OTHER_VARIABLES = [
  'SIXWIRE_SECRET',
  NEW_SECRET_VARIABLE,
  DEV_VARIABLE,
  WORKERS_VARIABLE,
  WORKER_VARIABLE,
  'SIXWIRE_TEST_POSTGRES',
  'SIXWIRE_TEST_S3',
  'SIXWIRE_TEST_TEMPLATES',
  'SIXWIRE_CONTRACTS',
]

// What Kubernetes sets for services called sixwire or sixwire-…, as NAME=value.
// https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
const SERVICE_LINK =
  /^SIXWIRE_(\w+_)?(SERVICE_(HOST|PORT(_\w+)?)=|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?=|=\w+:\/\/))/

/**
 * Refuses a misspelt variable, which would be ignored and might leave a server open that should be guarded.
 *
 * @param ofWires the variables that the wires declare, those that are not loaded included
 * @throws StartError with the first variable that begins with `SIXWIRE_` and does not exist
 */
export function checkVariables(environment: Variables, ofWires: readonly string[]): void {
  const names = [...Object.keys(VARIABLES), ...OTHER_VARIABLES, ...ofWires]
  const prefixedNames = names.filter((name) => name.startsWith(PREFIX))
  // Variables of other programs are refused only if they are likely to be misspelt ones of ours.
  const isOurs = (name: string): boolean =>
    name.startsWith(PREFIX) || (/^six/i.test(name) && didYouMean(name, prefixedNames) !== '')
  for (const [name, value] of Object.entries(environment)) {
    if (value === undefined || names.includes(name) || !isOurs(name)) continue
    if (SERVICE_LINK.test(`${name}=${value}`)) continue
    const meant = didYouMean(name, names) || didYouMean(name.slice(PREFIX.length), names)
    throw settingError(name, `there is no such variable${meant}`)
  }
}

/** A setting of the configuration file as the text of its variable, so that one parser checks both. */
function asVariable(value: unknown, name: string): string {
  if (typeof value === 'boolean') return value ? 'on' : 'off'
  const entries = isPlain(value) ? Object.entries(value) : []
  if (entries.length > 0 && entries.every(([, one]) => typeof one === 'number'))
    return entries.map(([field, one]) => `${field}=${String(one)}`).join(',')
  if ([value].flat().every((one) => typeof one === 'string' || typeof one === 'number')) return String(value)
  throw settingError(name, 'write a text, a number, true or false, or a list of texts')
}

/**
 * Brings together the environment, the configuration file and the defaults, in this order.
 *
 * @param folder the application's folder; relative paths start there
 * @throws StartError with the setting that can't work, and why
 */
export async function loadSettings(
  input: SettingsInput,
  environment: Variables,
  folder: string,
): Promise<Settings> {
  const settings = await readSettings(input, environment, folder)
  const { production, dataDir } = settings
  return { ...settings, secret: await findSecret(environment['SIXWIRE_SECRET'], production, dataDir) }
}

/** The same without the secret, which neither has to be there nor is created. @throws StartError likewise */
export async function readSettings(
  input: SettingsInput,
  environment: Variables,
  folder: string,
): Promise<Omit<Settings, 'secret'>> {
  const settings: Partial<Settings> = {}
  // A script may pass on a variable that is not set. Other settings take their defaults then, but this default is open.
  if (environment['SIXWIRE_POLICY'] === '')
    throw settingError('SIXWIRE_POLICY', 'it is empty: write guarded or open')
  for (const [name, { key, parse }] of Object.entries(VARIABLES)) {
    const [value, from] = environment[name]
      ? [environment[name], name]
      : [input[key as keyof SettingsInput], key]
    if (value !== undefined) Object.assign(settings, { [key]: parse(asVariable(value, from), from) })
  }
  for (const name of ['name', 'version'] as const)
    if (input[name] !== undefined && typeof input[name] !== 'string') throw settingError(name, 'write a text')
  if (input.color !== undefined && (typeof input.color !== 'string' || !new RegExp(COLOR).test(input.color)))
    throw settingError('color', 'write a colour like #3b4cf0')
  if (input.production !== undefined && typeof input.production !== 'boolean')
    throw settingError('production', 'write true or false')
  const nodeEnv = environment['NODE_ENV']
  // A misspelt value would run an open server on the internet.
  if (nodeEnv && /prod/i.test(nodeEnv) && nodeEnv !== 'production')
    throw settingError('NODE_ENV', `"${nodeEnv}" means nothing: write "production"`)
  const production = nodeEnv ? nodeEnv === 'production' : (input.production ?? false)
  if (production && settings.sandbox)
    throw settingError(
      'SIXWIRE_SANDBOX',
      'there is no sandbox in production: remove it, and configure the providers',
    )
  const dataDir = resolve(folder, settings.dataDir ?? 'data')
  const listenPort = settings.port ?? 3000
  const here = `http://localhost:${listenPort}`
  const own = await applicationPackage(folder)
  const publicUrl = settings.publicUrl ?? here
  const publicHost = new URL(publicUrl).hostname
  const sandbox = settings.sandbox ?? !production
  const sandboxHost = settings.sandboxHost ?? { names: [], networks: [] }
  const isSandboxPublic = isLoopback(publicHost) || isOpenUnder(publicHost, sandboxHost)
  const sandboxUrl = `${isSandboxPublic ? publicUrl : here}/sandbox`
  return {
    name: input.name ?? own.name,
    audience: input.name ?? own.name,
    color: input.color,
    version: input.version ?? own.version,
    production,
    host: settings.host ?? (production ? '0.0.0.0' : '127.0.0.1'),
    port: listenPort,
    appDir: folder,
    dataDir,
    databaseUrl: absolute(settings.databaseUrl ?? `sqlite:${join(dataDir, 'sixwire.db')}`, folder),
    // The sandbox stands in for the frontend, too.
    appUrl: settings.appUrl ?? (sandbox ? `${sandboxUrl}/app` : publicUrl),
    hasFrontend: settings.appUrl !== undefined || sandbox,
    publicUrl,
    hasPublicUrl: settings.publicUrl !== undefined,
    policy: settings.policy ?? (production ? 'guarded' : 'open'),
    isPolicySet: settings.policy !== undefined,
    sandbox,
    hosts: [
      publicHost,
      ...(settings.appUrl ? [new URL(settings.appUrl).hostname] : []),
      ...sandboxHost.names,
      ...(settings.hosts ?? []),
    ],
    sandboxHost,
    sandboxUrl,
    console: settings.console ?? true,
    settings: settings.settings ?? true,
    admins: settings.admins ?? [],
    load: settings.load,
    rateLimits: settings.rateLimits ?? production,
    streams: settings.streams ?? 10_000,
    auditDays: settings.auditDays ?? 365,
    trustProxy: settings.trustProxy ?? 0,
    logLevel: settings.logLevel ?? 'info',
    requestLog: settings.requestLog ?? REQUEST_LOG,
    origins: [
      ...new Set([
        ...(settings.appUrl ? [new URL(settings.appUrl).origin] : []),
        ...(settings.origins ?? []),
      ]),
    ],
  }
}

/** Whether the sandbox answers this server itself to a host name that is not of loopback. */
function isOpenUnder(hostname: string, { names, networks }: Hosts): boolean {
  if (names.includes(hostname)) return true
  if (networks.length === 0 || !isPrivateHost(hostname)) return false
  // The server calls its own address from this address.
  const address = hostname.replace(/^\[(.*)\]$/, '$1')
  return isIP(address) === 0 || networkFilter(networks)(address)
}

/** The path of a SQLite file is relative to the application's folder, not to the current one. */
const absolute = (databaseUrl: string, folder: string): string =>
  databaseUrl.startsWith('sqlite:')
    ? `sqlite:${resolve(folder, databaseUrl.slice('sqlite:'.length))}`
    : databaseUrl

async function applicationPackage(folder: string): Promise<{ name: string; version: string }> {
  const file = join(folder, 'package.json')
  const manifest = await readFile(file, 'utf8').catch(() => '{}')
  try {
    const { name = 'app', version = '0.0.0' } = JSON.parse(manifest) as { name?: string; version?: string }
    return { name, version }
  } catch (error) {
    throw settingError(file, `this is not JSON: ${(error as Error).message}`)
  }
}
