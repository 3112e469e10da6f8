import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe } from 'node:test'
import { Client } from 'pg'
import { postgresUrl } from './postgres.ts'

export type Engine = {
  readonly name: 'sqlite' | 'postgres'
  /** The `DATABASE_URL` of a new and empty database, which is removed after the tests. */
  freshUrl(): Promise<string>
}

/** Where work can be left for the end: the context of a test, or `{ after }` of `node:test` for a whole suite. */
export type Ending = { after(work: () => Promise<void>): void }

type Removal = () => Promise<void>

const makeFolder = () => mkdtemp(join(tmpdir(), 'sixwire-test-'))

/** A new folder, removed with all that is in it when the test or suite ends. */
export async function temporaryFolder(ending: Ending): Promise<string> {
  const folder = await makeFolder()
  // A server that is ending may still put files there.
  ending.after(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }))
  return folder
}

async function sqliteDatabase(): Promise<[url: string, remove: Removal]> {
  const folder = await makeFolder()
  return [`sqlite:${join(folder, 'test.db')}`, () => rm(folder, { recursive: true, force: true })]
}

async function postgresDatabase(): Promise<[url: string, remove: Removal]> {
  const server = await postgresUrl()
  const name = `test_${randomBytes(8).toString('hex')}`
  // Copying files takes a third of the time that the write-ahead log would.
  await runOn(server, `create database ${name} template template0 strategy file_copy`)
  const url = new URL(server)
  url.pathname = name
  // By force: a test that failed may have left connections.
  return [url.href, () => runOn(server, `drop database ${name} with (force)`)]
}

async function runOn(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

/**
 * Describes the same behaviour once for each engine, in suites called `sqlite` and `postgres`.
 * The databases are removed after the `after` hooks of `fn` itself, which is where a server is closed.
 */
export function eachEngine(fn: (engine: Engine) => void): void {
  const engines = { sqlite: sqliteDatabase, postgres: postgresDatabase } as const
  for (const name of ['sqlite', 'postgres'] as const) {
    describe(name, () => {
      const removals: Removal[] = []
      fn({
        name,
        async freshUrl() {
          const [url, remove] = await engines[name]()
          removals.push(remove)
          return url
        },
      })
      after(async () => {
        for (const remove of removals) await remove()
      })
    })
  }
}

/** An ending for what a `before` hook starts: call it in the body of `describe`, where `after` means the suite's end. */
export function endOfSuite(): Ending {
  const works: (() => Promise<void>)[] = []
  after(async () => {
    for (const work of works.toReversed()) await work()
  })
  return { after: (work) => void works.push(work) }
}
