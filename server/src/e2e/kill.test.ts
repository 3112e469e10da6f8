// What was acknowledged is kept, whatever becomes of the process: the real server is killed while clients write.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import pg from 'pg'

import { someEngine, temporaryFolder, type Ending, type Engine } from '../testing/engines.ts'
import { isLongRun } from '../testing/long-run.ts'
import { startProgram, type Program } from '../testing/program.ts'

const CONFIG = 'export default { auth: { bcryptCost: 4 } }\n'
const ROUNDS = isLongRun ? 10 : 2
const CLIENTS = 24
const MOST_WRITES = isLongRun ? 300 : 100
const LONGEST_START_MS = 800
const PASSWORD = 'correct horse battery'

const random = (below: number): number => Math.floor(Math.random() * below)

const startServer = (ending: Ending, folder: string, databaseUrl: string): Program =>
  startProgram(ending, ['start'], {
    folder,
    environment: {
      DATA_DIR: folder,
      DATABASE_URL: databaseUrl,
      LOG_LEVEL: 'warn',
      SIXWIRE_SANDBOX: 'off', // a start without stand-ins takes two thirds of the time
    },
  })

/** On PostgreSQL a statement of a client that is dead goes on until it is done. */
async function statementsEnded(engine: Engine, databaseUrl: string): Promise<void> {
  if (engine.name === 'sqlite') return
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    const others = `select 1 from pg_stat_activity
      where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`
    while ((await client.query(others)).rows.length > 0) await delay(10)
  } finally {
    await client.end()
  }
}

/**
 * A document as a client knows it: every state that it may be in, as JSON, `gone` among them.
 * There is more than one only where the last answer has not come.
 */
type Known = { n: number; id: string | undefined; states: string[] }
const GONE = 'gone'

/** Fields that belong together: one without the others is a document half-written. */
function content(n: number, step: number): Record<string, unknown> {
  const text = String.fromCharCode(97 + random(26)).repeat(random(3000))
  return { n, step, text, length: text.length, again: `${n}:${step}:${text.length}` }
}

type Account = { email: string; acknowledged: boolean }

/** Everything that clients have sent and were answered, over all rounds. */
class Ledger {
  readonly documents: Known[] = []
  readonly accounts: Account[] = []
  acknowledged = 0
  #waiting: { count: number; resolve: () => void } | undefined

  acknowledge(): void {
    this.acknowledged++
    if (this.#waiting && this.acknowledged >= this.#waiting.count) this.#waiting.resolve()
  }

  /** Resolves when so many more writes were acknowledged. */
  after(more: number): Promise<void> {
    return new Promise((resolve) => (this.#waiting = { count: this.acknowledged + more, resolve }))
  }
}

/** The server went away before the answer was here. */
class NoAnswer extends Error {}

async function send(url: string, method: string, path: string, body?: unknown, token?: string) {
  let response: Response
  let text: string
  try {
    response = await fetch(url + path, {
      method,
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    text = await response.text()
  } catch (error) {
    throw new NoAnswer(`${method} ${path}`, { cause: error })
  }
  return { status: response.status, text, body: JSON.parse(text) }
}

async function expect(status: number, asked: ReturnType<typeof send>) {
  const answered = await asked
  assert.equal(answered.status, status, answered.text)
  return answered.body
}

/** Writes one thing after the other, each of its own, until the server is gone. */
async function writeUntilKilled(url: string, token: string, ledger: Ledger, mine: Known[]): Promise<void> {
  async function create(): Promise<void> {
    const n = ledger.documents.length
    const fields = content(n, 0)
    const known: Known = { n, id: undefined, states: [GONE, JSON.stringify(fields)] }
    ledger.documents.push(known)
    mine.push(known)
    known.id = (await expect(201, send(url, 'POST', '/store/things', fields, token)))._id
    known.states.shift()
  }
  async function update(known: Known): Promise<void> {
    const { step } = JSON.parse(known.states[0]!)
    const fields = content(known.n, step + 1)
    known.states.push(JSON.stringify(fields))
    await expect(200, send(url, 'PUT', `/store/things/${known.id}`, fields, token))
    known.states.shift()
  }
  async function remove(known: Known): Promise<void> {
    known.states.push(GONE)
    await expect(200, send(url, 'DELETE', `/store/things/${known.id}`, undefined, token))
    known.states.shift()
  }
  async function register(): Promise<void> {
    const account = { email: `client${ledger.accounts.length}@example.com`, acknowledged: false }
    ledger.accounts.push(account)
    await expect(201, send(url, 'POST', '/auth/register', { email: account.email, password: PASSWORD }))
    account.acknowledged = true
  }

  try {
    for (;;) {
      const living = mine.filter(({ states }) => states[0] !== GONE)
      const chosen = living[random(living.length)]
      const dice = random(20)
      if (dice === 0) await register()
      else if (chosen && dice < 3) await remove(chosen)
      else if (chosen && dice < 10) await update(chosen)
      else await create()
      ledger.acknowledge()
    }
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error
  }
}

async function readAll(url: string, token: string): Promise<Record<string, unknown>[]> {
  const all: Record<string, unknown>[] = []
  let cursor: string | undefined
  do {
    const query = `limit=1000${cursor === undefined ? '' : `&cursor=${cursor}`}`
    const page = await expect(200, send(url, 'GET', `/store/things?${query}`, undefined, token))
    all.push(...page.data)
    cursor = page.nextCursor
    if (cursor === undefined) assert.equal(page.total, all.length, 'the total is the number of documents')
  } while (cursor !== undefined)
  return all
}

/** Holds what is there against the ledger, and settles what was open in it. */
async function checkDocuments(url: string, token: string, ledger: Ledger): Promise<void> {
  const found = new Map<number, { id: string; state: string }>()
  for (const { _id, createdAt, updatedAt, ...fields } of await readAll(url, token)) {
    const n = fields['n'] as number
    assert.ok(!found.has(n), `document ${n} is there twice`)
    assert.ok(typeof createdAt === 'string' && typeof updatedAt === 'string')
    found.set(n, { id: _id as string, state: JSON.stringify(fields) })
  }
  for (const known of ledger.documents) {
    const { id = known.id, state = GONE } = found.get(known.n) ?? {}
    assert.ok(
      known.states.includes(state),
      `document ${known.n} is ${state}, not ${known.states.join(' or ')}`,
    )
    if (known.id !== undefined && state !== GONE) assert.equal(id, known.id)
    known.id = id
    known.states = [state]
    found.delete(known.n)
  }
  assert.deepEqual([...found], [], 'documents that nobody sent')
}

async function checkAccounts(url: string, accounts: readonly Account[]): Promise<void> {
  await Promise.all(
    accounts.map(async (account) => {
      const body = { email: account.email, password: PASSWORD }
      if (!account.acknowledged) {
        const { status, text } = await send(url, 'POST', '/auth/register', body)
        assert.ok(status === 201 || status === 409, text)
        account.acknowledged = true
      }
      await expect(200, send(url, 'POST', '/auth/login', body))
    }),
  )
}

someEngine((engine) => {
  test('a server killed while it writes keeps what it acknowledged, whole', async (t) => {
    const folder = await temporaryFolder(t)
    await writeFile(join(folder, 'sixwire.config.mjs'), CONFIG)
    const databaseUrl = await engine.migratedUrl()
    let server = startServer(t, folder, databaseUrl)
    let url = await server.url()
    const account = { email: 'writer@example.com', password: PASSWORD }
    // The session outlives the kills as well.
    const { token } = await expect(201, send(url, 'POST', '/auth/register', account))
    const ledger = new Ledger()
    const shares = Array.from({ length: CLIENTS }, (): Known[] => [])

    for (let round = 1; round <= ROUNDS; round++) {
      const moment = 1 + random(MOST_WRITES)
      const reached = ledger.after(moment)
      const clients = Promise.all(shares.map((mine) => writeUntilKilled(url, token, ledger, mine)))
      await Promise.race([reached, clients])
      await server.kill()
      await clients
      await statementsEnded(engine, databaseUrl)

      server = startServer(t, folder, databaseUrl)
      url = await server.url()
      await checkDocuments(url, token, ledger)
      await checkAccounts(url, ledger.accounts.slice(-CLIENTS * 2))
    }
    await checkAccounts(url, ledger.accounts)
    assert.ok(ledger.acknowledged >= ROUNDS)
    await server.kill()
  })

  test('a server killed while it starts for the first time starts again', async (t) => {
    const folder = await temporaryFolder(t)
    await writeFile(join(folder, 'sixwire.config.mjs'), CONFIG)
    const databaseUrl = await engine.migratedUrl()
    for (let round = 1; round <= ROUNDS; round++) {
      const server = startServer(t, folder, databaseUrl)
      await delay(random(LONGEST_START_MS))
      await server.kill()
    }
    const server = startServer(t, folder, databaseUrl)
    const url = await server.url()
    const account = { email: 'first@example.com', password: PASSWORD }
    const { token } = await expect(201, send(url, 'POST', '/auth/register', account))
    await expect(201, send(url, 'POST', '/store/things', { n: 1 }, token))
    assert.equal((await readAll(url, token)).length, 1)
    await server.kill()
  })
})
