import { execFile, spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { openDatabase } from '../src/db/open.ts'
import { sql } from '../src/db/sql.ts'

/** What a backup is held against. */
export type Baseline = {
  name: string
  /** Copies the documents once. @returns the seconds that it took */
  run(): Promise<number>
}

const run = promisify(execFile)

/** The major version of a program of PostgreSQL; undefined where there is none. */
function versionOf(program: string): number | undefined {
  const found = /\(PostgreSQL\) (\d+)/.exec(
    spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout ?? '',
  )
  return found ? Number(found[1]) : undefined
}

async function serverVersion(url: string): Promise<number> {
  const db = await openDatabase(url)
  const row = await db.get(sql`select current_setting('server_version_num') as version`)
  await db.close()
  return Math.floor(Number(row!['version']) / 10_000)
}

function program(name: string, command: string, args: readonly string[], target: string): Baseline {
  return {
    name,
    async run() {
      const begun = performance.now()
      await run(command, args)
      const seconds = (performance.now() - begun) / 1000
      rmSync(target)
      return seconds
    },
  }
}

/** `pg_dump` of the documents. It refuses a newer server; `\copy` of psql does the same work for one table. */
async function postgresBaseline(url: string, target: string): Promise<Baseline | undefined> {
  if ((versionOf('pg_dump') ?? 0) >= (await serverVersion(url))) {
    const args = ['--data-only', '--table=store_documents', `--file=${target}`, url]
    return program('pg_dump', 'pg_dump', args, target)
  }
  if (versionOf('psql') === undefined) return undefined
  const args = ['--no-psqlrc', '--quiet', `--command=\\copy store_documents to '${target}'`, url]
  return program('\\copy of psql', 'psql', args, target)
}

function sqliteBaseline(file: string, target: string): Baseline {
  const script = fileURLToPath(new URL('./backup-floor.ts', import.meta.url))
  return {
    name: 'select into zstd',
    async run() {
      const { stdout } = await run(process.execPath, [script, file, target])
      rmSync(target)
      return Number(stdout)
    },
  }
}

/** @returns undefined where no program of PostgreSQL is installed */
export async function openBaseline(url: string, folder: string): Promise<Baseline | undefined> {
  const target = join(folder, 'baseline.dump')
  return url.startsWith('sqlite:')
    ? sqliteBaseline(url.slice('sqlite:'.length), target)
    : postgresBaseline(url, target)
}
