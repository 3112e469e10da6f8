import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'

import { StartError } from './db/migrations.ts'
import type { PolicyName } from './http/policy.ts'

/** What the frame goes by; every one has a default. */
export type Settings = {
  /** The application's name and version, from its own `package.json` unless the configuration says otherwise. */
  name: string
  version: string
  production: boolean
  host: string
  /** 0 for any free one. */
  port: number
  /** Folder for the database, uploads, backups and the secret. */
  dataDir: string
  databaseUrl: string
  /** Where the application's pages are: links in mails point there. */
  appUrl: string
  /** Where this server is reached from outside. */
  publicUrl: string
  /** Keys for everything encrypted or signed are derived from it. */
  secret: string
  policy: PolicyName
  /** Addresses that are administrators once they are verified. */
  admins: readonly string[]
  /** Names of the wires to load; undefined for all. */
  load: readonly string[] | undefined
  rateLimits: boolean
  /** Proxies that may say whom they forward: how many hops, or their addresses. */
  trustProxy: number | string
  logLevel: string
  /** Browser origins that may read answers. */
  origins: readonly string[]
}

/** What a configuration file may say of the frame. The environment wins over it. */
export type SettingsInput = Partial<Omit<Settings, 'secret'>>

type Environment = Record<string, string | undefined>
type Variable<K extends keyof Settings> = { key: K; parse: (text: string, name: string) => Settings[K] }

const bad = (name: string, why: string): StartError => new StartError(`${name}: ${why}`)

const text = (value: string): string => value
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

function webAddress(value: string, name: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (!url || !/^https?:$/.test(url.protocol))
    throw bad(name, `"${value}" is not an address like https://shop.example`)
  return value.replace(/\/+$/, '')
}

function proxies(value: string, name: string): number | string {
  if (/^\d{1,2}$/.test(value)) return Number(value)
  if (/^[\da-fA-F.:/, ]+$/.test(value) || /^(loopback|linklocal|uniquelocal)$/.test(value)) return value
  throw bad(name, `"${value}" is neither a number of proxies nor a list of their addresses or networks`)
}

// One line a variable; what is not here is not read by the frame.
const VARIABLES: { [name: string]: { [K in keyof Settings]: Variable<K> }[keyof Settings] } = {
  HOST: { key: 'host', parse: text },
  PORT: { key: 'port', parse: port },
  DATA_DIR: { key: 'dataDir', parse: text },
  DATABASE_URL: { key: 'databaseUrl', parse: text },
  APP_URL: { key: 'appUrl', parse: webAddress },
  PUBLIC_URL: { key: 'publicUrl', parse: webAddress },
  SIXWIRE_POLICY: { key: 'policy', parse: choice('open', 'guarded') },
  SIXWIRE_ADMINS: { key: 'admins', parse: list },
  SIXWIRE_WIRES: { key: 'load', parse: list },
  SIXWIRE_RATE_LIMITS: {
    key: 'rateLimits',
    parse: (value, name) => choice('on', 'off')(value, name) === 'on',
  },
  TRUST_PROXY: { key: 'trustProxy', parse: proxies },
  LOG_LEVEL: { key: 'logLevel', parse: choice('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent') },
  SIXWIRE_ORIGINS: { key: 'origins', parse: list },
}

const SECRET_LENGTH = 32

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
  const said: Partial<Settings> = { ...input }
  for (const [name, { key, parse }] of Object.entries(VARIABLES)) {
    const value = environment[name]
    if (value !== undefined && value !== '') Object.assign(said, { [key]: parse(value, name) })
  }
  const production = said.production ?? environment['NODE_ENV'] === 'production'
  const dataDir = resolve(folder, said.dataDir ?? 'data')
  const listenPort = said.port ?? 3000
  const here = `http://localhost:${listenPort}`
  const own = await applicationPackage(folder)
  return {
    name: said.name ?? own.name,
    version: said.version ?? own.version,
    production,
    host: said.host ?? (production ? '0.0.0.0' : '127.0.0.1'),
    port: listenPort,
    dataDir,
    databaseUrl: said.databaseUrl ?? `sqlite:${join(dataDir, 'sixwire.db')}`,
    appUrl: said.appUrl ?? here,
    publicUrl: said.publicUrl ?? here,
    secret: await findSecret(environment['SIXWIRE_SECRET'], production, dataDir),
    policy: said.policy ?? (production ? 'guarded' : 'open'),
    admins: said.admins ?? [],
    load: said.load,
    rateLimits: said.rateLimits ?? production,
    trustProxy: said.trustProxy ?? 0,
    logLevel: said.logLevel ?? 'info',
    origins: said.origins ?? (production ? (said.appUrl ? [new URL(said.appUrl).origin] : []) : ['*']),
  }
}

async function applicationPackage(folder: string): Promise<{ name: string; version: string }> {
  const file = await readFile(join(folder, 'package.json'), 'utf8').catch(() => '{}')
  const { name = 'app', version = '0.0.0' } = JSON.parse(file) as { name?: string; version?: string }
  return { name, version }
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
  await mkdir(dataDir, { recursive: true })
  try {
    // `wx` fails where the file is there, so that programs starting at once end up with one secret.
    await writeFile(file, randomBytes(48).toString('base64url'), { flag: 'wx', mode: 0o600, flush: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST')
      throw bad('DATA_DIR', `${file} can't be written: ${(error as Error).message}`)
  }
  const secret = await readFile(file, 'utf8')
  if (secret.length < SECRET_LENGTH)
    throw bad(
      'DATA_DIR',
      `${file} does not hold a whole secret: delete it, and what was sealed with it is lost`,
    )
  return secret
}
