import { randomBytes } from 'node:crypto'
import { chmod, link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { isIPv6 } from 'node:net'
import { dirname, join, resolve } from 'node:path'

import { didYouMean } from '../base/did-you-mean.ts'
import { isIpNetwork } from '../base/ip-address.ts'
import { isLoopback } from '../base/loopback.ts'
import { StartError } from '../base/start-error.ts'
import type { PolicyName } from './policy.ts'

/** What the frame goes by; every one has a default. */
export type Settings = {
  /** The application's name and version, from its own `package.json` unless the configuration says otherwise. */
  name: string
  version: string
  production: boolean
  host: string
  /** 0 for any free one. */
  port: number
  /** The application's folder; relative paths start there. */
  appDir: string
  /** Folder for the database, uploads, backups and the secret. */
  dataDir: string
  databaseUrl: string
  /** Where the application's pages are: links in mails point there. */
  appUrl: string
  /** Whether any are there: `APP_URL` was said, or the sandbox stands in for them. Else it is this server, without any. */
  hasFrontend: boolean
  /** Where this server is reached from outside. */
  publicUrl: string
  /** Keys for everything encrypted or signed are derived from it. */
  secret: string
  policy: PolicyName
  /** Whether providers that are not configured are stood in for by local ones. Never in production. */
  sandbox: boolean
  /** The host name, beside those of loopback, under which everybody may use the sandbox. */
  sandboxHost: string | undefined
  /** Where the sandbox answers this server itself and a browser on its machine: `http://localhost:3000/sandbox`. */
  sandboxUrl: string
  /** Addresses that are administrators once they are verified. */
  admins: readonly string[]
  /** Names of the wires to load; undefined for all. */
  load: readonly string[] | undefined
  rateLimits: boolean
  /** Proxies that may say whom they forward: how many hops, or their addresses. */
  trustProxy: number | string
  logLevel: string
  /** Browser origins that may read answers, that of `APP_URL` among them; outside production loopback origins may as well. */
  origins: readonly string[]
}

/** What a configuration file may say of the frame. The environment wins over it. */
export type SettingsInput = Partial<Omit<Settings, 'secret' | 'appDir' | 'hasFrontend' | 'sandboxUrl'>>

type Environment = Record<string, string | undefined>
type Variable<K extends keyof Settings> = { key: K; parse: (text: string, name: string) => Settings[K] }

const bad = (name: string, why: string): StartError => new StartError(`${name}: ${why}`)

function text(value: string, name: string): string {
  if (value.trim() === '') throw bad(name, 'it is empty')
  return value
}

const list = (value: string): string[] =>
  value
    .split(',')
    .map((one) => one.trim())
    .filter(Boolean)

function choice<const C extends string>(...choices: C[]): (value: string, name: string) => C {
  return (value, name) => {
    const found = choices.find((one) => one === value)
    if (found === undefined) throw bad(name, `"${value}" is not one of ${choices.join(', ')}`)
    return found
  }
}

function port(value: string, name: string): number {
  if (!/^\d{1,5}$/.test(value) || Number(value) > 65_535)
    throw bad(name, `"${value}" is not a port: a number from 0 to 65535`)
  return Number(value)
}

/** In the form that URLs have once they are parsed: signatures are made over it, and compared letter by letter. */
function webAddress(value: string, name: string): string {
  // What stands before an @ may be a password.
  const shown = value.includes('@') ? 'what is set' : `"${value}"`
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (!url || !/^https?:$/.test(url.protocol))
    throw bad(name, `${shown} is not an address like https://shop.example`)
  if (url.username !== '' || url.password !== '') throw bad(name, 'the address must not name a user')
  if (/[?#]/.test(value)) throw bad(name, `${shown} must end before the "?" or "#"`)
  return (url.origin + url.pathname).replace(/\/+$/, '')
}

/** In the form that URLs have once they are parsed: with it the `Host` of a request is compared. */
function hostName(value: string, name: string): string {
  const address = `http://${isIPv6(value) ? `[${value}]` : value}`
  const isName = isIPv6(value.replace(/^\[(.*)\]$/, '$1')) || !/[\s:/?#@\\*[\]]/.test(value)
  if (!isName || !URL.canParse(address))
    throw bad(name, `"${value}" is not a host name or IP address, without a port, like shop.example`)
  return new URL(address).hostname
}

function databaseAddress(value: string, name: string): string {
  if (/^postgres(ql)?:\/\//.test(value) || (/^sqlite:./.test(value) && value !== 'sqlite::memory:'))
    return value
  // Without the value itself: it may hold a password.
  throw bad(name, 'write sqlite:path/to/file.db or postgres://user:password@host:port/name')
}

function proxies(value: string, name: string): number | string {
  if (/^\d{1,2}$/.test(value)) return Number(value)
  const isKnown = (one: string) => /^(loopback|linklocal|uniquelocal)$/.test(one) || isIpNetwork(one)
  const addresses = list(value)
  if (addresses.length > 0 && addresses.every(isKnown)) return addresses.join(',')
  throw bad(name, `"${value}" is neither a number of proxies nor a list of their addresses or networks`)
}

function origins(value: string, name: string): string[] {
  return list(value).map((one) => {
    const origin = one.replace(/\/$/, '')
    if (origin !== '*' && !/^[a-z][a-z\d+.-]*:\/\/[^\s/?#]+$/i.test(origin))
      throw bad(name, `"${one}" is not an origin like https://shop.example`)
    return origin
  })
}

const onOff = (value: string, name: string): boolean => choice('on', 'off')(value, name) === 'on'

// One line a variable; what is not here is not read by the frame.
const VARIABLES: { [name: string]: { [K in keyof Settings]: Variable<K> }[keyof Settings] } = {
  HOST: { key: 'host', parse: text },
  PORT: { key: 'port', parse: port },
  DATA_DIR: { key: 'dataDir', parse: text },
  DATABASE_URL: { key: 'databaseUrl', parse: databaseAddress },
  APP_URL: { key: 'appUrl', parse: webAddress },
  PUBLIC_URL: { key: 'publicUrl', parse: webAddress },
  SIXWIRE_POLICY: { key: 'policy', parse: choice('open', 'guarded') },
  SIXWIRE_SANDBOX: { key: 'sandbox', parse: onOff },
  SIXWIRE_SANDBOX_HOST: { key: 'sandboxHost', parse: hostName },
  SIXWIRE_ADMINS: { key: 'admins', parse: list },
  SIXWIRE_WIRES: { key: 'load', parse: list },
  SIXWIRE_RATE_LIMITS: { key: 'rateLimits', parse: onOff },
  TRUST_PROXY: { key: 'trustProxy', parse: proxies },
  LOG_LEVEL: { key: 'logLevel', parse: choice('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent') },
  SIXWIRE_ORIGINS: { key: 'origins', parse: origins },
}

/** Every name of the frame that a configuration file may give. */
export const settingNames: ReadonlySet<string> = new Set([
  'name',
  'version',
  'production',
  ...Object.values(VARIABLES).map(({ key }) => key),
])

/** Set by `sixwire dev` for the server that it runs. */
export const DEV_VARIABLE = 'SIXWIRE_DEV'

const PREFIX = 'SIXWIRE_'

// Not settings: the secret, and what development and the tests go by.
const OTHER_VARIABLES = [
  'SIXWIRE_SECRET',
  DEV_VARIABLE,
  'SIXWIRE_TEST_POSTGRES',
  'SIXWIRE_TEST_TEMPLATES',
  'SIXWIRE_CONTRACTS',
]

// What Kubernetes sets for services called sixwire or sixwire-…, as NAME=value.
// https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
const SERVICE_LINK =
  /^SIXWIRE_(\w+_)?(SERVICE_(HOST|PORT(_\w+)?)=|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?=|=\w+:\/\/))/

/**
 * A misspelt variable would be ignored, and leave a server open that was to be guarded.
 *
 * @param ofWires the variables that the wires declare, those among them that are not loaded
 * @throws StartError with the first variable that begins with `SIXWIRE_` and does not exist
 */
export function checkVariables(environment: Environment, ofWires: readonly string[]): void {
  const known = [...Object.keys(VARIABLES), ...OTHER_VARIABLES, ...ofWires]
  const prefixed = known.filter((name) => name.startsWith(PREFIX))
  // Of others' variables only those that are a slip of the pen away from one of ours.
  const isOurs = (name: string): boolean =>
    name.startsWith(PREFIX) || (/^six/i.test(name) && didYouMean(name, prefixed) !== '')
  for (const [name, value] of Object.entries(environment)) {
    if (value === undefined || known.includes(name) || !isOurs(name)) continue
    if (SERVICE_LINK.test(`${name}=${value}`)) continue
    const meant = didYouMean(name, known) || didYouMean(name.slice(PREFIX.length), known)
    throw bad(name, `there is no such variable${meant}`)
  }
}

/** A setting of the configuration file, written as its variable would be: so one parser checks both. */
function asVariable(value: unknown, name: string): string {
  if (typeof value === 'boolean') return value ? 'on' : 'off'
  if ([value].flat().every((one) => typeof one === 'string' || typeof one === 'number')) return String(value)
  throw bad(name, 'write a text, a number, true or false, or a list of texts')
}

const SECRET_LENGTH = 32
const PRIVATE = 0o600

/**
 * Brings together the environment, the configuration file and the defaults, in this order.
 *
 * @param folder the application's folder; relative paths start there
 * @throws StartError with the name that can't work and why
 */
export async function loadSettings(
  input: SettingsInput,
  environment: Environment,
  folder: string,
): Promise<Settings> {
  const said: Partial<Settings> = {}
  // As from a variable of a script that is not set; every other one means its default then, which opens nothing.
  if (environment['SIXWIRE_POLICY'] === '') throw bad('SIXWIRE_POLICY', 'it is empty: write guarded or open')
  for (const [name, { key, parse }] of Object.entries(VARIABLES)) {
    const [value, from] = environment[name]
      ? [environment[name], name]
      : [input[key as keyof SettingsInput], key]
    if (value !== undefined) Object.assign(said, { [key]: parse(asVariable(value, from), from) })
  }
  for (const name of ['name', 'version'] as const)
    if (input[name] !== undefined && typeof input[name] !== 'string') throw bad(name, 'write a text')
  if (input.production !== undefined && typeof input.production !== 'boolean')
    throw bad('production', 'write true or false')
  const nodeEnv = environment['NODE_ENV']
  // A slip of the pen here would run an open server on the open net.
  if (nodeEnv && /prod/i.test(nodeEnv) && nodeEnv !== 'production')
    throw bad('NODE_ENV', `"${nodeEnv}" means nothing: write "production"`)
  const production = nodeEnv ? nodeEnv === 'production' : (input.production ?? false)
  if (production && said.sandbox)
    throw bad(
      'SIXWIRE_SANDBOX',
      'there is no sandbox in production: take it out, and configure the providers',
    )
  const dataDir = resolve(folder, said.dataDir ?? 'data')
  const listenPort = said.port ?? 3000
  const here = `http://localhost:${listenPort}`
  const own = await applicationPackage(folder)
  const publicUrl = said.publicUrl ?? here
  const publicHost = new URL(publicUrl).hostname
  const sandbox = said.sandbox ?? !production
  // It does not answer to a public name that it was not opened to.
  const isSandboxPublic = isLoopback(publicHost) || publicHost === said.sandboxHost
  const sandboxUrl = `${isSandboxPublic ? publicUrl : here}/sandbox`
  return {
    name: input.name ?? own.name,
    version: input.version ?? own.version,
    production,
    host: said.host ?? (production ? '0.0.0.0' : '127.0.0.1'),
    port: listenPort,
    appDir: folder,
    dataDir,
    databaseUrl: absolute(said.databaseUrl ?? `sqlite:${join(dataDir, 'sixwire.db')}`, folder),
    // The sandbox stands in for the frontend, too.
    appUrl: said.appUrl ?? (sandbox ? `${sandboxUrl}/app` : publicUrl),
    hasFrontend: said.appUrl !== undefined || sandbox,
    publicUrl,
    secret: await findSecret(environment['SIXWIRE_SECRET'], production, dataDir),
    policy: said.policy ?? (production ? 'guarded' : 'open'),
    sandbox,
    sandboxHost: said.sandboxHost,
    sandboxUrl,
    admins: said.admins ?? [],
    load: said.load,
    rateLimits: said.rateLimits ?? production,
    trustProxy: said.trustProxy ?? 0,
    logLevel: said.logLevel ?? 'info',
    origins: [...new Set([...(said.appUrl ? [new URL(said.appUrl).origin] : []), ...(said.origins ?? [])])],
  }
}

/** The path of a SQLite file starts in the application's folder, wherever the program was started. */
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
    throw bad(file, `this is not JSON: ${(error as Error).message}`)
  }
}

/** The operator's secret; outside production one is made and kept in the data folder. */
async function findSecret(given: string | undefined, production: boolean, dataDir: string): Promise<string> {
  if (given) {
    if (given.length < SECRET_LENGTH)
      throw bad('SIXWIRE_SECRET', `it is shorter than ${SECRET_LENGTH} characters`)
    return given
  }
  if (production)
    throw bad(
      'SIXWIRE_SECRET',
      'it is required in production: make one with "openssl rand -base64 48" and keep it safe',
    )
  const file = join(dataDir, 'secret')
  let secret: string
  try {
    secret = await readFile(file, 'utf8').catch(() => makeSecret(file))
  } catch (error) {
    throw bad('DATA_DIR', `${file} can't be kept: ${(error as Error).message}`)
  }
  // An earlier mode may be open to others. It stays if the file is another user's or the disk has no modes.
  await chmod(file, PRIVATE).catch(() => {})
  if (secret.length < SECRET_LENGTH)
    throw bad(
      'DATA_DIR',
      `${file} does not hold a whole secret: delete it, and what was sealed with it is lost`,
    )
  return secret
}

/** Of programs that start at the same moment one makes the file, and never half of it: all read the same secret. */
async function makeSecret(file: string): Promise<string> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const mine = `${file}.${randomBytes(8).toString('hex')}`
  try {
    await writeFile(mine, randomBytes(48).toString('base64url'), { mode: PRIVATE, flush: true })
    await link(mine, file).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    })
  } finally {
    await rm(mine, { force: true })
  }
  return readFile(file, 'utf8')
}
