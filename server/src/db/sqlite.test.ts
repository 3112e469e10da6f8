import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'

import { errors } from '../base/errors.ts'
import { temporaryFolder } from '../testing/engines.ts'
import { startDatabaseScript } from './database.fixture.ts'
import { ConstraintError, requireRow, type Database } from './database.ts'
import { openDatabase } from './open.ts'
import { sql } from './sql.ts'

const unavailable = { code: 'UNAVAILABLE', status: 503 }
const full = { code: 'STORAGE_FULL', status: 507 }
const readOnly = { code: 'STORAGE_READ_ONLY', status: 503 }
const urlOf = (folder: string): string => `sqlite:${join(folder, 'test.db')}`

async function open(url: string, t: { after(work: () => Promise<void>): void }): Promise<Database> {
  const db = await openDatabase(url)
  t.after(() => db.close())
  return db
}

test('writes that were acknowledged before kill -9 are there, whole', async (t) => {
  const folder = await temporaryFolder(t)
  const url = urlOf(folder)
  const said = new Set<string>()
  for (let round = 0; round < 3; round++) {
    const program = await startDatabaseScript(
      t,
      `const db = await openDatabase(${JSON.stringify(url)})
       await db.write(sql\`create table if not exists kept (id text primary key)\`)
       const add = (id) => sql\`insert into kept (id) values (\${id})\`
       const verbs = {
         w: (id) => db.write(add(id + '-1')),
         b: (id) => db.batch([add(id + '-1'), add(id + '-2')]),
         t: (id) => db.transaction(async (tx) => { await tx.write(add(id + '-1')); await tx.write(add(id + '-2')) }),
       }
       const work = async (verb, lane) => {
         for (let i = 0; ; i++) {
           const id = \`${round}-\${verb}-\${lane}-\${i}\`
           await verbs[verb](id)
           say(id)
         }
       }
       for (let lane = 0; lane < 20; lane++) for (const verb of ['w', 'b', 't']) void work(verb, lane)`,
    )
    await program.until(/^(?:.*\n){500}/)
    await program.kill()
    for (const line of program.lines()) said.add(line)
    assert.equal(await program.ended, 'SIGKILL')
  }
  const db = await open(url, t)
  const kept = new Set((await db.scan<{ id: string }>(sql`select id from kept`)).map(({ id }) => id))
  for (const id of said) assert.ok(kept.has(`${id}-1`), `${id} was acknowledged`)
  for (const id of kept)
    if (!id.includes('-w-'))
      assert.ok(kept.has(id.replace(/\d$/, id.endsWith('1') ? '2' : '1')), `${id} is not whole`)
  assert.ok(['w', 'b', 't'].every((verb) => [...said].some((id) => id.includes(verb))))
  assert.deepEqual(await db.get(sql`pragma integrity_check`), { integrity_check: 'ok' })
})

test('several programs write to one file at the same time, and nothing is lost', async (t) => {
  const folder = await temporaryFolder(t)
  const url = urlOf(folder)
  const program = () =>
    startDatabaseScript(
      t,
      `const db = await openDatabase(${JSON.stringify(url)})
       say('open')
       for await (const _ of process.stdin);
       await db.migrate([{ wire: 'test', name: '001-tables', text:
         "create table counters (id text primary key, n bigint); insert into counters values ('a', 0)" }])
       const one = async () => {
         for (let i = 0; i < 20; i++) {
           await db.write(sql\`update counters set n = n + 1 where id = 'a'\`)
           await db.transaction(async (tx) => {
             const { n } = await tx.get(sql\`select n from counters where id = 'a'\`)
             await tx.write(sql\`update counters set n = \${n + 1} where id = 'a'\`)
           })
         }
       }
       await Promise.all(Array.from({ length: 5 }, one))
       await db.close()
       say('done')`,
    )
  // The first one makes the file while the others open it.
  const programs = await Promise.all([program(), program(), program()])
  for (const one of programs) await one.until(/^open$/m)
  for (const one of programs) one.endInput()
  for (const one of programs) {
    assert.equal(await one.ended, 0, one.errors())
    assert.deepEqual(one.lines(), ['open', 'done'])
  }
  const db = await open(url, t)
  assert.deepEqual(await db.get(sql`select n from counters`), { n: 3 * 5 * 20 * 2 })
})

test('a full disk says that it is full, also beside writes that still find room, and passes', async (t) => {
  const db = await open(urlOf(await temporaryFolder(t)), t)
  await db.write(sql`create table kept (id text primary key, text_value text not null)`)
  await db.write(sql`insert into kept values ('a', 'small')`)
  const { page_count: pages } = (await db.get<{ page_count: number }>(sql`pragma page_count`))!
  await db.write(sql`pragma max_page_count = ${sql.literal(String(pages + 2))}`) // of the writer's connection
  const large = 'x'.repeat(100_000)
  const settled = await Promise.allSettled([
    db.write(sql`update kept set text_value = 'other' where id = 'a'`),
    db.write(sql`insert into kept values ('large', ${large})`),
    db.batch([sql`insert into kept values ('half', 'x')`, sql`insert into kept values ('rest', ${large})`]),
    db.write(sql`insert into kept values ('b', 'small')`),
    db.transaction((tx) => tx.write(sql`insert into kept values ('within', ${large})`)),
    db.write(sql`insert into kept values ('c', 'small')`),
  ])
  for (const at of [1, 2, 4])
    await assert.rejects(async () => {
      const one = settled[at]!
      if (one.status === 'rejected') throw one.reason
    }, full)
  assert.deepEqual(
    settled.map(({ status }) => status[0]),
    ['f', 'r', 'r', 'f', 'r', 'f'],
  )
  assert.deepEqual(await db.all(sql`select id, text_value from kept order by id`), [
    { id: 'a', text_value: 'other' },
    { id: 'b', text_value: 'small' },
    { id: 'c', text_value: 'small' },
  ])
  await db.write(sql`pragma max_page_count = 1000000`)
  await db.write(sql`insert into kept values ('large', ${large})`)
  assert.equal((await db.all(sql`select id from kept`)).length, 4)
})

test('a file that has become read-only refuses writes, and goes on reading', async (t) => {
  const db = await open(urlOf(await temporaryFolder(t)), t)
  await db.write(sql`create table kept (id text primary key)`)
  await db.write(sql`pragma query_only = 1`) // of the writer's connection; it refuses as a read-only file does
  const add = sql`insert into kept values ('a')`
  await assert.rejects(db.write(add), readOnly)
  await assert.rejects(db.batch([add, add]), readOnly)
  await assert.rejects(
    db.transaction((tx) => tx.write(add)),
    readOnly,
  )
  assert.deepEqual(await db.all(sql`select id from kept`), [])
})

test('a write through a verb that reads is a bug of the program, not a state of the database', async (t) => {
  const db = await open(urlOf(await temporaryFolder(t)), t)
  await db.write(sql`create table kept (id text primary key)`)
  const add = sql`insert into kept values ('a') returning id`
  for (const refused of [db.get(add), db.all(add), db.scan(add)])
    await assert.rejects(refused, (error: Error) => !('code' in error) && /only read/.test(error.message))
  assert.deepEqual(await db.all(sql`select id from kept`), [])
})

test('a write runs once for each row of values, all or nothing, in batches of any size', async (t) => {
  const db = await open(urlOf(await temporaryFolder(t)), t)
  await db.write(sql`create table pairs (id text primary key, n integer)`)
  const insert = (...rows: [string, number | null][]) =>
    sql.forEach('insert into pairs (id, n) values (?1, ?2) on conflict do nothing', rows)
  assert.deepEqual(await db.batch([insert(['a', 1], ['b', null]), insert()]), [[{}], []])
  await assert.rejects(db.batch([requireRow(insert(['a', 9]), () => errors.conflict())]), { status: 409 })
  const longs = Array.from({ length: 3 }, (_, i): [string, number] => [`${i}`.repeat(1_000_000), i])
  const twice = sql.forEach('insert into pairs (id, n) values (?1, ?2)', [
    ['c', 1],
    ['a', 1],
  ])
  const others = [db.write(insert(['d', 4])), db.batch([insert(['e', 5]), twice]), db.write(insert(['f', 6]))]
  await assert.rejects(db.write(twice), ConstraintError)
  assert.deepEqual(
    (await Promise.allSettled(others)).map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  await assert.rejects(db.batch([insert(...longs), sql`insert into missing values (1)`]))
  await db.batch([insert(...longs), insert(['c', 2])])
  assert.deepEqual(await db.all(sql`select substr(id, 1, 1) as id, typeof(n) as n from pairs order by id`), [
    ...['0', '1', '2', 'a'].map((id) => ({ id, n: 'integer' })),
    { id: 'b', n: 'null' },
    ...['c', 'd', 'f'].map((id) => ({ id, n: 'integer' })),
  ])
  assert.throws(() => insert(['a\0', 1]).render('sqlite'), { code: 'VALIDATION_ERROR' })
})

test('another program that holds the file for too long answers unavailable, and passes', async (t) => {
  const folder = await temporaryFolder(t)
  const db = await open(urlOf(folder), t)
  await db.write(sql`create table kept (id text primary key)`)
  await db.write(sql`pragma busy_timeout = 1`)
  const other = await open(urlOf(folder), t)
  await other.transaction(async (tx) => {
    await tx.write(sql`insert into kept values ('other')`)
    const settled = await Promise.allSettled([
      db.write(sql`insert into kept values ('a')`),
      db.batch([sql`insert into kept values ('b')`, sql`insert into kept values ('c')`]),
      db.transaction((own) => own.write(sql`insert into kept values ('d')`)),
    ])
    for (const one of settled) assert.equal((one as PromiseRejectedResult).reason.code, 'UNAVAILABLE')
    assert.deepEqual(await db.all(sql`select id from kept`), [])
  })
  await db.write(sql`insert into kept values ('a')`)
  assert.deepEqual(await db.all(sql`select id from kept order by id`), [{ id: 'a' }, { id: 'other' }])
})

test('a query that takes all memory of its thread ends that thread alone', async (t) => {
  const folder = await temporaryFolder(t)
  const program = await startDatabaseScript(
    t,
    `const db = await openDatabase(${JSON.stringify(urlOf(folder))})
     await db.write(sql\`create table kept (id text)\`)
     const large = sql\`with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 200)
       select hex(zeroblob(500000 + n)) from numbers\`
     for (const verb of ['scan', 'write']) {
       await db[verb](large).catch((error) => say(error.code))
       say((await db[verb](sql\`select 1 as one\`))[0].one)
     }
     await db.write(sql\`insert into kept values ('a')\`)
     say((await db.get(sql\`select id from kept\`)).id)
     await db.close()`,
    ['--max-old-space-size=60'],
  )
  assert.equal(await program.ended, 0, program.errors())
  assert.deepEqual(program.lines(), ['UNAVAILABLE', '1', 'UNAVAILABLE', '1', 'a'])
})

test('a scan whose table of gathered rows cannot be made leaves its thread as it was', async (t) => {
  const db = await open(urlOf(await temporaryFolder(t)), t)
  const one = sql`select 1 as one`
  await assert.rejects(
    db.scan(sql.gathering(one, sql`select 1 as a, 2 as a, 1 as matches`)),
    /duplicate column/,
  )
  assert.deepEqual(await db.scan(sql.gathering(one, sql`select 1 as a, 1 as matches`)), [{ one: 1 }])
})

test('an open database keeps no process alive that has nothing to do', async (t) => {
  const folder = await temporaryFolder(t)
  const program = await startDatabaseScript(
    t,
    `const db = await openDatabase(${JSON.stringify(urlOf(folder))})
     await db.write(sql\`create table kept (id text)\`)
     await db.scan(sql\`select id from kept\`)
     void db.write(sql\`insert into kept values ('a')\`).then(() => say('written'))`,
  )
  assert.equal(await program.ended, 0, program.errors())
  assert.deepEqual(program.lines(), ['written'])
})

// Each thread acts as a process. The first one that opens the file changes it to WAL while the others open it.
test('a new file that several open at the same moment is opened by all of them', async (t) => {
  const folder = await temporaryFolder(t)
  const code = `
    const { parentPort } = require('node:worker_threads')
    import(${JSON.stringify(new URL('./sqlite-connection.ts', import.meta.url).href)}).then(({ SqliteConnection }) => {
      parentPort.on('message', ({ file, gate }) => {
        while (Atomics.load(gate, 0) === 0);
        try {
          new SqliteConnection(file, 'writer').close()
          parentPort.postMessage('opened')
        } catch (error) {
          parentPort.postMessage(error.message)
        }
      })
      parentPort.postMessage('ready')
    })`
  const threads = Array.from({ length: 6 }, () => new Worker(code, { eval: true }))
  t.after(async () => void (await Promise.all(threads.map((thread) => thread.terminate()))))
  const said = () =>
    Promise.all(threads.map(async (thread) => ((await once(thread, 'message')) as [string])[0]))
  await said()
  for (let round = 0; round < 60; round++) {
    const gate = new Int32Array(new SharedArrayBuffer(4))
    const answers = said()
    for (const thread of threads) thread.postMessage({ file: join(folder, `${round}.db`), gate })
    setTimeout(() => Atomics.store(gate, 0, 1), 3)
    assert.deepEqual(new Set(await answers), new Set(['opened']))
  }
})

test('reads call the functions of a module on every connection, writes on none', async (t) => {
  const db = await openDatabase(urlOf(await temporaryFolder(t)), {
    sqliteFunctions: [new URL('./sqlite-functions.fixture.ts', import.meta.url)],
  })
  t.after(() => db.close())
  const query = sql`select test_length('héllo') as length, hex(test_bytes('hé')) as bytes`
  const row = { length: 5, bytes: '68C3A9' }
  assert.deepEqual(await db.get(query), row)
  assert.deepEqual(await db.all(query), [row])
  assert.deepEqual(await db.scan(query), [row])
  assert.deepEqual(await db.snapshot((snapshot) => snapshot.get(query)), row)
  await assert.rejects(db.write(query), /no such function/)
  await assert.rejects(db.scan(sql`select test_fails()`), /this function fails/)
  assert.deepEqual(await db.scan(query), [row])
})

test('a scan is stopped in the functions that it calls', async (t) => {
  const db = await openDatabase(urlOf(await temporaryFolder(t)), {
    sqliteFunctions: [new URL('./sqlite-functions.fixture.ts', import.meta.url)],
  })
  // Waits for all scans.
  t.after(() => db.close())
  const endless = sql`
    with recursive numbers (n) as (select 1 union all select n + 1 from numbers)
    select max(test_length(cast(n as text))) from numbers`
  await assert.rejects(db.scan(endless, { limitMs: 20 }), unavailable)
})

test('a module of functions that cannot be loaded ends the start with one line', async (t) => {
  const sqliteFunctions = [new URL('./no-such-module.ts', import.meta.url)]
  await assert.rejects(openDatabase(urlOf(await temporaryFolder(t)), { sqliteFunctions }), {
    name: 'StartError',
    message: /^sqliteFunctions: the module .*no-such-module\.ts can't be loaded: [^\n]+$/,
  })
})
