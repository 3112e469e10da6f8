import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/**
 * The environment variable that holds the address of the PostgreSQL for tests.
 * `global.ts` sets it for a whole run. Set it yourself to test against a server of your own:
 * its user must be allowed to create databases, and it should not sort by bytes.
 */
export const POSTGRES_VARIABLE = 'SIXWIRE_TEST_POSTGRES'

export type PostgresServer = {
  /** `postgres://…` of the database `postgres`, as the superuser. */
  readonly url: string
  /** Removed when the server ends, with whatever else was put there. */
  readonly folder: string
  /** Resolves when the server and its folder are gone. */
  stop(): Promise<void>
}

/**
 * Starts a PostgreSQL of its own in a temporary folder: about a second.
 * It ends with `stop`, or by itself when this process ends in whatever way; it does not keep this process alive.
 *
 * @param options.isDurable whether a commit is flushed to the disk
 */
export async function startPostgres({ isDurable = false } = {}): Promise<PostgresServer> {
  const script = fileURLToPath(new URL('./postgres-server.ts', import.meta.url))
  const folder = await mkdtemp(join(tmpdir(), 'sixwire-tests-'))
  // Detached: Ctrl-C is for the tests, which end before their database does.
  const child = spawn(process.execPath, [script, folder, ...(isDurable ? ['durable'] : [])], {
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  const lines = createInterface({ input: child.stdout })
  const url = await Promise.race([
    once(lines, 'line').then(([line]) => String(line)),
    exited.then(() => {
      throw new Error('PostgreSQL for tests did not start: the reason is printed above.')
    }),
  ])
  lines.close()
  child.stdout.destroy()
  child.unref()
  return {
    url,
    folder,
    async stop() {
      child.ref()
      child.stdin.end()
      await exited
    },
  }
}

let own: Promise<PostgresServer> | undefined

/**
 * The address of the PostgreSQL for tests: the one of the whole run under `npm test`;
 * where a test file is run alone by `node --test`, one that is started for it now and ends with it.
 */
export async function postgresUrl(): Promise<string> {
  const shared = process.env[POSTGRES_VARIABLE]
  if (shared) return shared
  own ??= startPostgres()
  return (await own).url
}
