import { randomBytes, randomInt } from 'node:crypto'
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test, type TestContext } from 'node:test'

import { Client } from 'pg'

import { countStart } from './counts.ts'
import { isLongRun } from './long-run.ts'
import { postgresUrl } from './postgres.ts'
import { templatesOfRun } from './templates.ts'

export type Engine = {
  readonly name: 'sqlite' | 'postgres'
  /** The `DATABASE_URL` of a new and empty database, which is removed after the tests. */
  freshUrl(): Promise<string>
  /** Likewise of one in which the tables of Sixwire are already, so that a server starts sooner. */
  migratedUrl(): Promise<string>
}

/** Where work can be left for the end: the context of a test, or `{ after }` of `node:test` for a whole suite. */
export type Ending = { after(work: () => Promise<void>): void }

const ENGINES = ['sqlite', 'postgres'] as const

type Removal = () => Promise<void>

const makeFolder = () => mkdtemp(join(tmpdir(), 'sixwire-test-'))

/** A new folder, removed with all that is in it when the test or suite ends. */
export async function temporaryFolder(ending: Ending): Promise<string> {
  const folder = await makeFolder()
  // A server that is ending may still put files there.
  ending.after(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }))
  return folder
}

type Database = [url: string, remove: Removal]

async function sqliteDatabase(template?: string): Promise<Database> {
  countStart('SQLite databases')
  const folder = await makeFolder()
  const file = join(folder, 'test.db')
  if (template !== undefined) await copyFile(template, file)
  return [`sqlite:${file}`, () => rm(folder, { recursive: true, force: true })]
}

type Administrator = { client: Client; socket: Socket; pending: number }

let administrator: Promise<Administrator> | undefined

async function connect(): Promise<Administrator> {
  const socket = new Socket()
  const client = new Client({ connectionString: await postgresUrl(), stream: () => socket })
  await client.connect()
  client.on('error', () => undefined) // the server of a run ends before some processes do
  return { client, socket, pending: 0 }
}

/**
 * Runs a statement beside the databases of tests. The process keeps one connection for it, which does not keep the process
 * running: a new one takes a quarter of what a database takes.
 */
async function administer(statement: string): Promise<void> {
  const one = await (administrator ??= connect())
  if (one.pending++ === 0) one.socket.ref()
  try {
    await one.client.query(statement)
  } finally {
    if (--one.pending === 0) one.socket.unref()
  }
}

async function postgresDatabase(template = 'template0'): Promise<Database> {
  countStart('PostgreSQL databases')
  const server = await postgresUrl()
  const name = `test_${randomBytes(8).toString('hex')}`
  // Copying files takes a third of the time that the write-ahead log would.
  await administer(`create database ${name} template ${template} strategy file_copy`)
  const url = new URL(server)
  url.pathname = name
  // By force: a test that failed may have left connections.
  return [url.href, () => administer(`drop database ${name} with (force)`)]
}

const DATABASES = { sqlite: sqliteDatabase, postgres: postgresDatabase } as const

/**
 * Describes the same behaviour once for each engine, in suites called `sqlite` and `postgres`.
 * The databases are removed after the `after` hooks of `fn` itself, which is where a server is closed.
 */
export function eachEngine(fn: (engine: Engine) => void): void {
  for (const name of ENGINES) describeOn(name, fn)
}

/**
 * Describes what takes long on one of the engines, another one at each run; in the long run on each. For samples of what a
 * `.long.ts` file shows in full.
 */
export function someEngine(fn: (engine: Engine) => void): void {
  for (const name of isLongRun ? ENGINES : [ENGINES[randomInt(2)]!]) describeOn(name, fn)
}

const sampledEngine = ENGINES[randomInt(2)]

type Test = (name: string, fn: (t: TestContext) => void | Promise<void>) => void

/**
 * For tests that one engine is enough for, in a suite of `eachEngine` whose server they share: `test` on one of the engines,
 * another one at each run, and nothing on the other; in the long run on each.
 */
export const testOnOne = ({ name }: Engine): Test =>
  isLongRun || name === sampledEngine ? (title, fn) => void test(title, fn) : () => undefined

/** Describes once what no database can change, such as the behaviour of a page in a browser. */
export const anyEngine = (fn: (engine: Engine) => void): void => describeOn('sqlite', fn)

function describeOn(name: Engine['name'], fn: (engine: Engine) => void): void {
  describe(name, () => {
    const removals: Removal[] = []
    const urlOf = ([url, remove]: Database): string => {
      removals.push(remove)
      return url
    }
    fn({
      name,
      freshUrl: async () => urlOf(await DATABASES[name]()),
      migratedUrl: async () => urlOf(await DATABASES[name](templatesOfRun()?.[name])),
    })
    after(async () => {
      for (const remove of removals) await remove()
    })
  })
}

/** An ending for what a `before` hook starts: call it in the body of `describe`, where `after` means the suite's end. */
export function endOfSuite(): Ending {
  const works: (() => Promise<void>)[] = []
  after(async () => {
    for (const work of works.toReversed()) await work()
  })
  return { after: (work) => void works.push(work) }
}
