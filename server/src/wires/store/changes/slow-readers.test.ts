// Clients that connect and never read, while others write: the server keeps a position for each, and no queue.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { openDatabase } from '../../../db/open.ts'
import { sql } from '../../../db/sql.ts'
import { newId } from '../../../base/ids.ts'
import { someEngine, temporaryFolder } from '../../../testing/engines.ts'
import { isLongRun } from '../../../testing/long-run.ts'
import { startScript, urlLiteral } from '../../../testing/program.ts'
import { until } from '../../../testing/until.ts'
import { storedColumn, storedSql } from '../documents/storage/sql/document-rows.ts'
import { pathOf } from './changes.fixture.ts'
import { mirror, type Mirror } from './mirror.fixture.ts'

const SLOW = 100
const OF_USER_MAX = 20
const READERS = 3
const DOCUMENTS = isLongRun ? 5000 : 500
// Written together each 20 ms: 1000 a second, if the machine can.
const BATCH = { size: 20, everyMs: 20 }
const TEXT = 'x'.repeat(10_000)
const MEMORY_MAX_MIB = 100

const server = (databaseUrl: string, folder: string): string => `
  import { createApp } from ${urlLiteral('app.ts')}
  const folder = ${JSON.stringify(folder)}
  const app = await createApp({
    config: { store: { collections: { notes: { read: 'public', create: 'user' } } }, auth: { bcryptCost: 4 } },
    environment: {
      PORT: '0', SIXWIRE_SANDBOX: 'off', DATA_DIR: folder,
      SIXWIRE_SECRET: 'a secret of the tests that is long enough', DATABASE_URL: ${JSON.stringify(databaseUrl)},
    },
    folder,
    logTo: { write() {} },
  })
  console.log('url ' + (await app.listen()))`

async function register(url: string, name: string): Promise<string> {
  const answer = await fetch(`${url}/auth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: `${name}@example.com`, password: 'correct horse battery' }),
  })
  return ((await answer.json()) as { token: string }).token
}

/** The memory of a process, in MiB: now, and at most until now. */
async function memoryOf(pid: number): Promise<{ now: number; most: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  const of = (name: string): number =>
    Math.round(Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)![1]) / 1024)
  return { now: of('VmRSS'), most: of('VmHWM') }
}

/** Connects, asks for changes, and reads nothing. */
async function neverRead(t: TestContext, url: string, token: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  t.after(() => socket.destroy())
  socket.on('error', () => undefined).pause()
  await once(socket, 'connect')
  socket.write(
    `GET ${pathOf({ collection: 'notes' })} HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${token}\r\n\r\n`,
  )
  return socket
}

/** Writes, and deletes all again; answers how long each reader waited for each document, in milliseconds. */
async function load(databaseUrl: string, readers: readonly Mirror[]) {
  const db = await openDatabase(databaseUrl)
  const sent = new Map<string, number>()
  const seen = readers.map(() => new Set<string>())
  const waits: number[] = []
  const look = (): void => {
    const now = performance.now()
    for (const [i, { held }] of readers.entries())
      for (const [id, at] of sent) {
        if (seen[i]!.has(id) || !held[0]!.has(id)) continue
        seen[i]!.add(id)
        waits.push(now - at)
      }
  }
  const timer = setInterval(look, 5)
  for (let due = performance.now(); sent.size < DOCUMENTS; due += BATCH.everyMs) {
    const ids = Array.from({ length: BATCH.size }, () => newId())
    await db.batch(
      ids.map((id) => {
        const body = JSON.stringify({ _id: id, text: TEXT })
        return sql`
          insert into store_documents (collection, id, owner, version, index_set, ${storedColumn})
          values ('notes', ${id}, 'nobody', 1, 0, ${storedSql(body)})`
      }),
    )
    for (const id of ids) sent.set(id, performance.now())
    await delay(Math.max(0, due + BATCH.everyMs - performance.now()))
  }
  await until(() => readers.every(({ held }) => held[0]!.size >= sent.size))
  look()
  clearInterval(timer)
  await db.write(sql`delete from store_documents`)
  await until(() => readers.every(({ held }) => held[0]!.size === 0))
  await db.close()
  waits.sort((a, b) => a - b)
  const at = (share: number): number => Math.round(waits[Math.floor(waits.length * share)]!)
  return { p50: at(0.5), p99: at(0.99) }
}

someEngine((engine) => {
  test('clients that never read take no memory, and nothing from others', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const program = await startScript(t, server(databaseUrl, await temporaryFolder(t)))
    const [, found] = await program.until(/url (\S+)/)
    const url = found!
    const tokens: string[] = []
    for (let n = 0; n < SLOW; n += OF_USER_MAX) tokens.push(await register(url, `slow${n}`))
    const watches = [{ collection: 'notes' }]
    const readers = Array.from({ length: READERS }, () =>
      mirror(t, { url: () => url, token: undefined, watches }),
    )
    await until(() => readers.every(({ counts }) => counts.lists > 0))
    const without = await load(databaseUrl, readers)
    const before = await memoryOf(program.pid)
    const slow: Socket[] = []
    for (let n = 0; n < SLOW; n++) slow.push(await neverRead(t, url, tokens[Math.floor(n / OF_USER_MAX)]!))
    await until(async () =>
      (await (await fetch(`${url}/metrics`)).text()).includes(`sixwire_changes_followers ${SLOW + READERS}`),
    )
    const filling = await load(databaseUrl, readers)
    const filled = await memoryOf(program.pid)
    const beside = await load(databaseUrl, readers)
    const after = await memoryOf(program.pid)
    t.diagnostic(
      `waits without: ${JSON.stringify(without)}; as ${SLOW} that never read fill up: ${JSON.stringify(filling)}; beside them: ${JSON.stringify(beside)}`,
    )
    t.diagnostic(`MiB: ${JSON.stringify({ before, filled, after })}`)
    // What was sent to them as they filled up is garbage that the process may keep; from then on they cost nothing.
    assert.ok(after.now - filled.now < MEMORY_MAX_MIB, `${after.now} MiB of ${filled.now}`)
    assert.ok(readers.every(({ counts }) => counts.resets === 0))
  })
})
