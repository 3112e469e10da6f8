import assert from 'node:assert/strict'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'

import fc from 'fast-check'

import { temporaryFolder } from '../testing/engines.ts'
import { startDatabaseScript } from './database.fixture.ts'
import { openDatabase } from './open.ts'
import { sql } from './sql.ts'
import { SqliteConnection } from './sqlite-connection.ts'

const COMMITS_MAX = 100

// A thread acts as another process.
test('a process that writes without a pause lets in another one that waits', async (t) => {
  const file = join(await temporaryFolder(t), 'test.db')
  const own = new SqliteConnection(file, 'writer')
  t.after(() => own.close())
  own.exec('create table kept (id integer)')
  const state = new Int32Array(new SharedArrayBuffer(4))
  const [HOLDS, ASKS, WROTE] = [1, 2, 3]
  const code = `
    const { workerData: { file, state } } = require('node:worker_threads')
    import(${JSON.stringify(new URL('./sqlite-connection.ts', import.meta.url).href)}).then(({ SqliteConnection }) => {
      const connection = new SqliteConnection(file, 'writer')
      connection.beginWrite()
      Atomics.store(state, 0, ${HOLDS})
      Atomics.wait(state, 0, ${HOLDS}, 100)
      connection.commitWrite()
      Atomics.wait(state, 0, ${HOLDS})
      connection.beginWrite()
      Atomics.store(state, 0, ${WROTE})
      connection.commitWrite()
      connection.close()
    })`
  const other = new Worker(code, { eval: true, workerData: { file, state } })
  const ended = once(other, 'exit')
  while (Atomics.load(state, 0) !== HOLDS) await new Promise(setImmediate)
  own.beginWrite() // waits, and so it knows that another one writes
  Atomics.store(state, 0, ASKS)
  Atomics.notify(state, 0)
  let commits = 0
  for (; commits < COMMITS_MAX && Atomics.load(state, 0) !== WROTE; commits++) {
    const begun = performance.now()
    while (performance.now() - begun < 1); // has the lock for all but a moment
    own.exec('insert into kept values (1)')
    own.commitWrite()
    own.beginWrite()
  }
  own.commitWrite()
  await ended
  assert.ok(commits < COMMITS_MAX, `it committed ${commits} times meanwhile`)
})

test('of several processes that write at once none fails, and all keep order and what they acknowledged', async (t) => {
  const url = `sqlite:${join(await temporaryFolder(t), 'test.db')}`
  const seed = Math.floor(Math.random() * 2 ** 31)
  t.diagnostic(`seed ${seed}`)
  const db = await openDatabase(url)
  t.after(() => db.close())
  await db.write(sql`create table writes (place integer primary key, lane text, n integer, unique (lane, n))`)
  const start = (name: string, at: number) =>
    startDatabaseScript(
      t,
      `const choices = ${JSON.stringify(fc.sample(fc.nat(3), { seed: seed + at, numRuns: 1000 }))}
       const db = await openDatabase(${JSON.stringify(url)})
       let isOver = false
       process.stdin.on('end', () => (isOver = true)).resume()
       const add = (lane, n) => sql\`insert into writes (lane, n) values (\${lane}, \${n})\`
       const verbs = [
         (lane, n) => db.write(add(lane, n)),
         (lane, n) => db.batch([add(lane, n), sql\`update writes set n = n where lane = \${lane} and n = \${n}\`]),
         (lane, n) => db.transaction(async (tx) => { await tx.get(sql\`select 1 as one\`); await tx.write(add(lane, n)) }),
         async (lane, n) => {
           await db.batch([add(lane, -1), add(lane, -1)]).then(() => say('no conflict'), () => undefined)
           await db.write(add(lane, n))
         },
       ]
       await Promise.all(Array.from({ length: 5 }, async (_, at) => {
         const lane = '${name}' + at
         for (let n = 0; !isOver; n++) {
           await verbs[choices[(n * 7 + at) % choices.length]](lane, n)
           say(lane + ' ' + n)
         }
       }))
       await db.close()`,
    )
  const programs = await Promise.all(['a', 'b', 'c'].map(start))
  for (const one of programs) await one.until(/^(?:.*\n){80}/)
  await programs[0]!.kill()
  for (const one of programs.slice(1)) {
    one.endInput()
    assert.equal(await one.ended, 0, one.errors())
  }
  const rows = await db.scan<{ lane: string; n: number }>(sql`select lane, n from writes order by place`)
  const counts = new Map<string, number>()
  for (const { lane, n } of rows) {
    assert.equal(n, counts.get(lane) ?? 0, `the order of ${lane}`)
    counts.set(lane, n + 1)
  }
  for (const line of programs.flatMap((one) => one.lines())) {
    const [lane, n] = line.split(' ') as [string, string]
    assert.ok(Number(n) < counts.get(lane)!, `${line} was acknowledged`)
  }
})

test('the log stays short while several processes write and read all the time', async (t) => {
  const file = join(await temporaryFolder(t), 'test.db')
  const [one, other] = [await openDatabase(`sqlite:${file}`), await openDatabase(`sqlite:${file}`)]
  t.after(() => Promise.all([one.close(), other.close()]))
  await one.write(sql`create table kept (id integer primary key, body text)`)
  let longest = 0
  const body = 'x'.repeat(500_000)
  const work = async (db: typeof one): Promise<void> => {
    for (let n = 0; n < 80; n++) {
      await db.write(sql`insert into kept (body) values (${body})`)
      await db.get(sql`select count(*) as count from kept`)
      longest = Math.max(longest, statSync(`${file}-wal`).size)
    }
  }
  await Promise.all([one, other, one, other, one, other].map(work))
  assert.ok(longest < 60_000_000, `the log had ${longest} bytes`)
})
