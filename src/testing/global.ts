// What `node --test --test-global-setup` runs before the first test and after the last one.
import { POSTGRES_VARIABLE, startPostgres, type PostgresServer } from './postgres.ts'

let server: PostgresServer | undefined

/**
 * Starts one PostgreSQL for all test files, which inherit the environment.
 * Their temporary files go to its folder, so that they are removed even when a test is killed.
 */
export async function globalSetup(): Promise<void> {
  if (process.env[POSTGRES_VARIABLE]) return
  server = await startPostgres()
  process.env[POSTGRES_VARIABLE] = server.url
  process.env['TMPDIR'] = server.folder
}

export async function globalTeardown(): Promise<void> {
  await server?.stop()
}
