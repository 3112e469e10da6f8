// No record without bytes, and no bytes without a record: the real server is killed at each step of an upload and a deletion.
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { request, type ClientRequest } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { openDatabase } from '../../../db/open.ts'
import { sql } from '../../../db/sql.ts'
import { someEngine, temporaryFolder, type Ending } from '../../../testing/engines.ts'
import { isLongRun } from '../../../testing/long-run.ts'
import { startProgram, type Program } from '../../../testing/program.ts'

const CONFIG = 'export default { auth: { bcryptCost: 4 } }\n'
const ROUNDS = isLongRun ? 40 : 1
const CLIENTS = 12
const MOST_ANSWERS = isLongRun ? 300 : 60
const LARGEST_BYTES = 700_000
const PASSWORD = 'correct horse battery'
const BOUNDARY = 'boundary'
const HEAD = `--${BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="a.bin"\r\n\r\n`
const BEFORE_METADATA = `\r\n--${BOUNDARY}\r\ncontent-disposition: form-data; name="metadata"\r\n\r\n`

const random = (below: number): number => Math.floor(Math.random() * below)
const sha256Of = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

const startServer = (ending: Ending, folder: string, databaseUrl: string): Program =>
  startProgram(ending, ['start'], {
    folder,
    environment: { DATA_DIR: folder, DATABASE_URL: databaseUrl, LOG_LEVEL: 'warn' },
  })

/** Begins an upload that never ends. */
function stall(url: string, token: string, body: string | Buffer): ClientRequest {
  const upload = request(`${url}/store/upload`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': `multipart/form-data; boundary=${BOUNDARY}`,
    },
  })
  // The server is killed.
  upload.on('error', () => undefined)
  upload.write(HEAD)
  upload.write(body)
  return upload
}

/** What clients know of a file; where the last answer has not come, it may be there or not. */
type Known = { id: string; sha256: string; state: 'stored' | 'gone' | 'either' }

class Client {
  readonly known: Known[] = []
  /** Of uploads that were not answered. */
  readonly unknown = new Set<string>()
  readonly #url: string
  readonly #token: string
  readonly #answered: () => void

  constructor(url: string, token: string, answered = (): void => undefined) {
    this.#url = url
    this.#token = token
    this.#answered = answered
  }

  #send(method: string, path: string, body?: FormData): Promise<Response> {
    return fetch(this.#url + path, {
      method,
      headers: { authorization: `Bearer ${this.#token}` },
      ...(body && { body }),
    })
  }

  async upload(bytes: Buffer<ArrayBuffer>): Promise<Known> {
    const body = new FormData()
    body.append('file', new Blob([bytes]), 'a.bin')
    const sha256 = sha256Of(bytes)
    this.unknown.add(sha256)
    const answer = await this.#send('POST', '/store/upload', body)
    const { _id: id } = (await answer.json()) as { _id: string }
    assert.equal(answer.status, 201)
    this.unknown.delete(sha256)
    const known: Known = { id, sha256, state: 'stored' }
    this.known.push(known)
    return known
  }

  async remove(known: Known): Promise<void> {
    known.state = 'either'
    const answer = await this.#send('DELETE', `/store/files/${known.id}`)
    await answer.text()
    assert.equal(answer.status, 200)
    known.state = 'gone'
  }

  /** Uploads and deletes until the server is gone. */
  async workUntilKilled(): Promise<void> {
    try {
      for (;;) {
        const stored = this.known.filter(({ state }) => state === 'stored')
        if (stored.length > 2 && random(2) === 0) await this.remove(stored[random(stored.length)]!)
        else await this.upload(randomBytes(random(10) === 0 ? random(LARGEST_BYTES) : random(20_000)))
        this.#answered()
      }
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error
    }
  }
}

/** The names of all files of the uploads, those that are being written included. */
async function namesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  return entries.filter((entry) => entry.isFile() && entry.name !== '.probe').map(({ name }) => name)
}

const until = async (isSo: () => Promise<boolean>): Promise<void> => {
  while (!(await isSo())) await delay(5)
}

someEngine((engine) => {
  test('a server killed at any step of uploads and deletions', async (t) => {
    const folder = await temporaryFolder(t)
    const uploads = join(folder, 'uploads')
    await writeFile(join(folder, 'sixwire.config.mjs'), CONFIG)
    const databaseUrl = await engine.migratedUrl()
    let server = startServer(t, folder, databaseUrl)
    let url = await server.url()
    const registered = await fetch(`${url}/auth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'writer@example.com', password: PASSWORD }),
    })
    const { token } = (await registered.json()) as { token: string }
    const db = await openDatabase(databaseUrl)
    t.after(() => db.close())
    const known: Known[] = []
    const unknown = new Set<string>()

    async function check(): Promise<void> {
      const records = await db.all<{ id: string; object: string; sha256: string }>(
        sql`select id, object, sha256 from store_files`,
      )
      const byId = new Map(records.map((one) => [one.id, one]))
      for (const one of known) {
        if (one.state === 'either') one.state = byId.has(one.id) ? 'stored' : 'gone'
        assert.equal(byId.has(one.id), one.state === 'stored', `${one.id} is to be ${one.state}`)
        byId.delete(one.id)
      }
      for (const { id, sha256 } of byId.values()) {
        assert.ok(unknown.has(sha256), `${id} was not uploaded`)
        known.push({ id, sha256, state: 'stored' })
      }
      for (const { object, sha256 } of records)
        assert.equal(sha256Of(await readFile(join(uploads, object.slice(-2), object))), sha256)
      // Nothing is there of which the database does not know.
      const rows = await db.all<{ key: string }>(sql`select key from store_unclaimed`)
      const keys = new Set([...records.map(({ object }) => object), ...rows.map(({ key }) => key)])
      const strays = (await namesIn(uploads)).filter(
        (name) => !keys.has(name.replace(/^\.(.*)\.part$/, '$1')),
      )
      assert.deepEqual(strays, [])
    }

    for (let round = 0; round < ROUNDS; round++) {
      // Killed after the row, while bytes are written, and between the bytes and the record.
      const before = new Set(await namesIn(uploads))
      const rows = await db.all(sql`select key from store_unclaimed`)
      stall(url, token, 'a few bytes')
      stall(url, token, randomBytes(2_000_000))
      const sent = randomBytes(100_000)
      stall(url, token, Buffer.concat([sent, Buffer.from(BEFORE_METADATA)]))
      await until(async () => (await db.all(sql`select key from store_unclaimed`)).length >= rows.length + 3)
      await until(async () => {
        const added = (await namesIn(uploads)).filter((name) => !before.has(name))
        const part = added.find((name) => name.endsWith('.part'))
        return part !== undefined && added.some((name) => !name.endsWith('.part'))
      })
      const moment = Promise.withResolvers<void>()
      let left = 1 + random(MOST_ANSWERS)
      const answered = (): void => (--left === 0 ? moment.resolve() : undefined)
      const clients = Array.from({ length: CLIENTS }, () => new Client(url, token, answered))
      const working = Promise.all(clients.map((one) => one.workUntilKilled()))
      await Promise.race([moment.promise, working])
      await server.kill()
      await working
      if (engine.name === 'postgres')
        await until(
          async () =>
            (
              await db.all(sql`
                select 1 from pg_stat_activity where datname = current_database()
                  and backend_type = 'client backend' and state <> 'idle' and pid <> pg_backend_pid()`)
            ).length === 0,
        )
      for (const client of clients) {
        known.push(...client.known)
        for (const sha256 of client.unknown) unknown.add(sha256)
      }
      await check()

      // Their time is over.
      await db.write(sql`update store_unclaimed set due = 0`)
      server = startServer(t, folder, databaseUrl)
      url = await server.url()
      const next = new Client(url, token)
      await next.remove(await next.upload(randomBytes(10)))
      known.push(...next.known)
      await until(async () => (await db.all(sql`select key from store_unclaimed`)).length === 0)
      await check()
      const stored = known.filter(({ state }) => state === 'stored')
      assert.equal((await namesIn(uploads)).length, stored.length)
    }
    t.diagnostic(`${known.length} files in ${ROUNDS} rounds`)
    await server.kill()
    assert.ok((await stat(uploads)).isDirectory())
  })
})
