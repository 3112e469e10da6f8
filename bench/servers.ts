import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import pg from 'pg'

import { freePort } from '../server/src/testing/free-port.ts'
import type { Program, Server, Start } from './bench.ts'
import { startListener } from './process.ts'

type Sent = { token?: string; body?: unknown }

const SIXWIRE = fileURLToPath(new URL('../server/bin/sixwire.js', import.meta.url))
const FLOOR = fileURLToPath(new URL('./floor.ts', import.meta.url))
/** The floor takes any token; this one is as long as a real one, so that the same bytes are sent. */
const ANY_TOKEN = randomBytes(240).toString('base64url')

/**
 * One request of the bench's own, apart from the load.
 *
 * @param call method and path, such as `GET /health`
 * @param sent.body sent as JSON; text is sent as it is
 */
export async function ask(base: string, call: string, { token, body }: Sent = {}) {
  const [method, path] = call.split(' ') as [string, string]
  const headers = {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
  }
  const sent = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
  const response = await fetch(base + path, { method, headers, body: sent })
  const text = await response.text()
  return { status: response.status, body: text === '' ? undefined : (JSON.parse(text) as unknown) }
}

/** Like `ask`, for an answer that is needed: throws if it is not 2xx. */
export async function askFor<T>(base: string, call: string, sent: Sent = {}): Promise<T> {
  const { status, body } = await ask(base, call, sent)
  if (status >= 200 && status <= 299) return body as T
  throw new Error(`${call} at ${base} answered ${status}: ${JSON.stringify(body)}`)
}

/** Address and password of the nth account; the caller of a server has the first. */
export const accountOf = (n: number) => ({
  email: `bench${n}@example.com`,
  password: 'correct horse battery',
})

/** Creates an account. @returns its token */
export const register = async (base: string, n: number): Promise<string> =>
  (await askFor<{ token: string }>(base, 'POST /auth/register', { body: accountOf(n) })).token

async function signIn(base: string): Promise<string> {
  const { status, body } = await ask(base, 'POST /auth/login', { body: accountOf(0) })
  return status === 200 ? (body as { token: string }).token : register(base, 0)
}

/** Starts a server in `home`, which holds its log, its configuration and its SQLite database. */
export async function openServer(
  program: Program,
  home: string,
  databaseUrl = `sqlite:${join(home, 'bench.db')}`,
  { environment, config, isAdmin = false }: Start = {},
): Promise<Server> {
  mkdirSync(home, { recursive: true })
  if (config) writeFileSync(join(home, 'sixwire.config.ts'), `export default ${JSON.stringify(config)}\n`)
  const port = await freePort()
  const base = `http://127.0.0.1:${port}`
  const env = {
    PATH: process.env['PATH'],
    HOST: '127.0.0.1',
    PORT: String(port),
    DATABASE_URL: databaseUrl,
    DATA_DIR: home,
    // As in the files of deploy.
    MALLOC_ARENA_MAX: '2',
    // As in production, but without the limits of each address: one address sends everything.
    NODE_ENV: 'production',
    SIXWIRE_POLICY: 'guarded',
    SIXWIRE_RATE_LIMITS: 'off',
    SIXWIRE_SECRET: 'only-for-measuring-'.repeat(3),
    ...environment,
  }
  const isReady = async () => (await ask(base, 'GET /ready')).status === 200
  const args = program === 'sixwire' ? [SIXWIRE, 'start'] : [FLOOR]
  const listener = await startListener(args, { cwd: home, env, log: join(home, `${program}.log`) }, isReady)
  if (program === 'floor') return { ...listener, base, databaseUrl, token: ANY_TOKEN }
  const token = await signIn(base)
  const promote = [SIXWIRE, 'user', 'promote', accountOf(0).email]
  if (isAdmin) await promisify(execFile)(process.execPath, promote, { cwd: home, env })
  return { ...listener, base, databaseUrl, token }
}

/** The address of the database of that name, which is created if there is none. */
export async function databaseOf(serverUrl: string, name: string): Promise<string> {
  const client = new pg.Client({ connectionString: serverUrl })
  await client.connect()
  const { rows } = await client.query('select 1 from pg_database where datname = $1', [name])
  const order = `template template0 encoding 'UTF8' locale_provider libc locale 'C'`
  if (rows.length === 0) await client.query(`create database "${name}" ${order}`)
  await client.end()
  return new URL(`/${name}`, serverUrl).href
}
