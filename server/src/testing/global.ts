// What `node --test --test-global-setup` runs before the first test and after the last one.
import { mkdtemp, rm, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { COUNTS_VARIABLE, totalCounts } from './counts.ts'
import { POSTGRES_VARIABLE, startPostgres, type PostgresServer } from './postgres.ts'
import { makeTemplates, onPostgres, TEMPLATES_VARIABLE, templatesOfRun } from './templates.ts'

const IN_MEMORY = '/dev/shm'
const SPACE_NEEDED = 2 * 1024 ** 3

let server: PostgresServer | undefined
let ownFolder: string | undefined
let counts: string | undefined

/**
 * Prepares what all test files share; they inherit the environment.
 *
 * - A cache of compiled modules: most of what a test process loads was loaded by the one before.
 * - A PostgreSQL. Temporary files go to its folder, so that they are removed even when a test is killed, and that is in
 *   memory where there is room: a test shows what survives the end of a process, not what survives a power cut.
 * - Databases with all tables, to be copied.
 * - A file in which the processes say at their ends what they started.
 */
export async function globalSetup(): Promise<void> {
  process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(
    new URL('../../../node_modules/.cache/compile', import.meta.url),
  )
  if (!process.env['TMPDIR'] && (await hasSpace(IN_MEMORY))) process.env['TMPDIR'] = IN_MEMORY
  if (!process.env[POSTGRES_VARIABLE]) {
    server = await startPostgres()
    process.env[POSTGRES_VARIABLE] = server.url
    process.env['TMPDIR'] = server.folder
  }
  const folder = (ownFolder = await mkdtemp(join(tmpdir(), 'sixwire-templates-')))
  const templates = await makeTemplates(process.env[POSTGRES_VARIABLE], folder)
  process.env[TEMPLATES_VARIABLE] = JSON.stringify(templates)
  counts = process.env[COUNTS_VARIABLE] = join(folder, 'counts')
  await writeFile(counts, '')
}

export async function globalTeardown(): Promise<void> {
  const templates = templatesOfRun()
  if (counts !== undefined) process.stdout.write(`Started by the tests: ${totalCounts(counts)}.\n`)
  if (server) await server.stop()
  else if (templates) await onPostgres(process.env[POSTGRES_VARIABLE]!, `drop database ${templates.postgres}`)
  if (ownFolder !== undefined) await rm(ownFolder, { recursive: true, force: true })
}

async function hasSpace(folder: string): Promise<boolean> {
  try {
    const { bavail, bsize } = await statfs(folder)
    return bavail * bsize >= SPACE_NEEDED
  } catch {
    return false // there is no such folder on this system
  }
}
