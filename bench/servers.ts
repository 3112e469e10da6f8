import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

import { ask, askFor } from './client.ts'

export type Program = 'sixwire' | 'floor'

/** A server of its own process, ready for requests. */
export type Server = {
  readonly program: Program
  readonly base: string
  readonly pid: number
  readonly token: string
  /** Milliseconds from the start of the process to the first 200 of `/ready`. */
  readonly startMs: number
  stop(): Promise<void>
}

/** What load is sent to. */
export type Target = Pick<Server, 'base' | 'token' | 'pid'>

export type Policy = 'open' | 'guarded'

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url))
const START_LIMIT_MS = 60_000
const password = 'correct horse battery staple'

/** An account's address and password, for what signs in. */
export const account = (n: number) => ({ email: `bench${n}@example.com`, password })

// As in production. Rate limits are off because one address sends everything; only sign-in and registration have one.
const sixwireEnvironment = (policy: Policy, folder: string): Record<string, string> => ({
  NODE_ENV: 'production',
  SIXWIRE_SECRET: 'only-for-measuring-'.repeat(3),
  SIXWIRE_POLICY: policy,
  SIXWIRE_RATE_LIMITS: 'off',
  DATA_DIR: folder,
})

export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  return port
}

async function signUp(base: string): Promise<string> {
  const { token } = await askFor<{ token: string }>(base, 'POST /auth/register', {
    body: JSON.stringify(account(0)),
  })
  return token
}

async function signIn(base: string): Promise<string> {
  const { status, body } = await ask(base, 'POST /auth/login', { body: JSON.stringify(account(0)) })
  return status === 200 ? (body as { token: string }).token : signUp(base)
}

/** The floor takes any token; this one is as long as a real one, so that the same bytes cross the wire. */
const anyToken = randomBytes(240).toString('base64url')

/** The SQLite file of a server's folder. */
export const sqliteUrl = (folder: string): string => `sqlite:${join(folder, 'bench.db')}`

/**
 * Starts a server over the database in `folder`, waits until it is ready, and signs in.
 *
 * @param databaseUrl where it is not the SQLite file in the folder
 * @param environment further variables
 * @throws Error with the end of the server's log where it does not start
 */
export async function startServer(
  program: Program,
  folder: string,
  policy: Policy,
  databaseUrl = sqliteUrl(folder),
  environment: Record<string, string> = {},
): Promise<Server> {
  const port = await freePort()
  const base = `http://127.0.0.1:${port}`
  const logFile = join(folder, `${program}.log`)
  const log = openSync(logFile, 'a')
  const begun = performance.now()
  const child = spawn(
    process.execPath,
    program === 'sixwire' ? [path('../bin/sixwire.js'), 'start'] : [path('./floor.ts')],
    {
      cwd: folder,
      stdio: ['ignore', log, log],
      env: {
        PATH: process.env['PATH'],
        HOST: '127.0.0.1',
        PORT: String(port),
        DATABASE_URL: databaseUrl,
        ...(program === 'sixwire' ? sixwireEnvironment(policy, folder) : {}),
        ...environment,
      },
    },
  )
  closeSync(log)
  const kill = () => child.kill('SIGKILL')
  process.on('exit', kill)
  const ended = once(child, 'exit').then(() => process.off('exit', kill))

  const failed = (what: string) =>
    new Error(`${program} ${what}. Its log ends:\n${readFileSync(logFile, 'utf8').trim().slice(-2000)}`)
  for (;;) {
    const status = await ask(base, 'GET /ready').then(
      (answer) => answer.status,
      () => 0,
    )
    if (status === 200) break
    if (child.exitCode !== null || child.signalCode !== null) throw failed('ended before it was ready')
    if (performance.now() - begun > START_LIMIT_MS) throw failed('was not ready within a minute')
    await delay(3)
  }
  const startMs = performance.now() - begun

  return {
    program,
    base,
    pid: child.pid!,
    token: program === 'sixwire' ? await signIn(base) : anyToken,
    startMs,
    async stop() {
      child.kill('SIGTERM')
      const late = setTimeout(kill, 10_000)
      await ended
      clearTimeout(late)
    },
  }
}
