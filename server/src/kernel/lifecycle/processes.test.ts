// What a process held that was killed: free as soon as it is known to have ended, and not before.
import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { pino } from 'pino'

import { openDatabase, sqliteFileOf } from '../../db/open.ts'
import { sql } from '../../db/sql.ts'
import { startApp, testClock, type TestApp } from '../../testing/app.ts'
import { eachEngine, type Ending, type Engine } from '../../testing/engines.ts'
import { startScript, urlLiteral, type Program } from '../../testing/program.ts'
import { until } from '../../testing/until.ts'
import { openFrame } from '../frame.fixture.ts'
import { createProcesses } from './processes.ts'
import { shopThat } from './processes.fixture.ts'

const LOOK_MS = 2_000
const silent = pino({ level: 'silent' })
const ORDER = { body: {}, headers: { 'idempotency-key': 'k' } }

/** A server in a process of its own, which begins a job and a call and ends neither before it reads the end of its input. */
async function startBusyServer(t: Ending, databaseUrl: string): Promise<Program> {
  const program = await startScript(
    t,
    `import { createApp } from ${urlLiteral('app.ts')}
     import { shopThat } from ${urlLiteral('kernel/lifecycle/processes.fixture.ts')}
     const ended = new Promise((resolve) => process.stdin.resume().once('end', resolve))
     const shop = shopThat(async (what, id) => {
       console.log('began ' + what + ' ' + id)
       await ended
       console.log('ended ' + what)
     })
     const environment = { PORT: '0', SIXWIRE_SANDBOX: 'off', LOG_LEVEL: 'silent', DATA_DIR: '.',
       SIXWIRE_SECRET: 'a secret of the tests that is long enough', DATABASE_URL: ${JSON.stringify(databaseUrl)} }
     const app = await createApp({ config: { wires: [shop()] }, environment })
     const url = await app.listen()
     await app.service('shop').deliver('a job')
     fetch(url + '/shop/orders', { method: 'POST', body: '{}',
       headers: { 'content-type': 'application/json', 'idempotency-key': 'k' } }).then(async (answered) => console.log('answered ' + answered.status))`,
  )
  await program.until(/began job/)
  await program.until(/began order/)
  return program
}

/** Another server on the same database; it lists what it does. */
async function startNext(t: Ending, engine: Engine, databaseUrl: string) {
  const done: string[] = []
  const shop = shopThat(async (what, id) => void done.push(`${what} ${id}`))
  const next = await startApp(t, engine, { databaseUrl, config: { wires: [shop()] } })
  return { next, done, order: () => next.request('POST', '/shop/orders', ORDER) }
}

const beatsOf = ({ app }: TestApp) =>
  app.db.all<{ id: string; beat: number }>(sql`select id, beat from sixwire_processes order by id`)

/** Lets a server check the others; on PostgreSQL it shows itself in the same batch. */
async function checkOnce(next: TestApp, own: string): Promise<void> {
  const beatOf = async () => (await beatsOf(next)).find(({ id }) => id === own)!.beat
  const before = await beatOf()
  next.clock.advance(LOOK_MS)
  if (next.app.db.dialect === 'postgres') await until(async () => (await beatOf()) > before)
}

eachEngine((engine) => {
  test('the job and the key of a server that was killed are free before their leases are over', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const program = await startBusyServer(t, databaseUrl)
    const [, recordId] = /began order (\S+)/.exec(program.output())!
    await program.kill()
    const { next, done, order } = await startNext(t, engine, databaseUrl)
    if (engine.name === 'postgres') {
      const own = (await beatsOf(next)).at(-1)!.id
      for (let checks = 0; checks < 4; checks++) await checkOnce(next, own)
      assert.deepEqual(done, [])
      const refused = await order()
      assert.deepEqual([refused.status, refused.headers.get('retry-after')], [409, '2'], refused.text)
      await checkOnce(next, own)
    }
    await until(async () => (await beatsOf(next)).length === 1)
    const answered = await order()
    assert.deepEqual([answered.status, answered.body], [201, { _id: recordId }], answered.text)
    await until(() => done.includes('job a job'))
    assert.match(next.log(), /a process ended without finishing/)
    const file = sqliteFileOf(databaseUrl)
    const locks = file === undefined ? [] : await readdir(dirname(file))
    const isLock = (name: string): boolean => name.includes('-process-')
    await until(async () => file === undefined || (await readdir(dirname(file))).filter(isLock).length === 1)
    await next.stop()
    const left = file === undefined ? [] : (await readdir(dirname(file))).filter(isLock)
    assert.deepEqual(left, [], `of ${locks.join()}`)
  })

  test('a live server keeps its jobs and keys when others start beside it', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const program = await startBusyServer(t, databaseUrl)
    const { next, done, order } = await startNext(t, engine, databaseUrl)
    const own = (await beatsOf(next)).at(-1)!.id
    if (engine.name === 'postgres') {
      // It shows itself every two seconds of its own clock, once between the checks of this one.
      const other = async () => (await beatsOf(next)).find(({ id }) => id !== own)!.beat
      for (const checks of [4, 4, 1]) {
        for (let check = 0; check < checks; check++) await checkOnce(next, own)
        const before = await other()
        while ((await other()) === before) await delay(20)
      }
      await checkOnce(next, own)
    } else for (let checks = 0; checks < 8; checks++) await checkOnce(next, own)
    const refused = await order()
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [409, '1'], refused.text)
    assert.equal((await beatsOf(next)).length, 2)
    assert.deepEqual(done, [])
    program.endInput()
    await program.until(/answered 201/)
    assert.equal((await order()).status, 201)
    assert.deepEqual(done, [])
  })

  test('a server that only stood still does not act on what it lost meanwhile', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const program = await startBusyServer(t, databaseUrl)
    const { next, done, order } = await startNext(t, engine, databaseUrl)
    program.signal('SIGSTOP')
    const own = (await beatsOf(next)).at(-1)!.id
    for (let checks = 0; checks < 5; checks++) await checkOnce(next, own)
    if (engine.name === 'sqlite') {
      // It holds its lock: only the leases end.
      assert.equal((await order()).status, 409)
      assert.deepEqual(done, [])
      next.clock.advance(60_000)
    }
    await until(() => done.includes('job a job'))
    const answered = await order()
    assert.equal(answered.status, 201)
    program.signal('SIGCONT')
    program.endInput()
    await program.until(/answered 201/)
    await program.until(/ended job/)
    assert.deepEqual((await order()).body, answered.body)
    assert.deepEqual(done.toSorted(), [`job a job`, `order ${answered.body._id}`])
    // It goes on under its own name.
    await until(async () => (await beatsOf(next)).length === 2)
  })

  test('a server ends when a newer version has changed the tables, and not for those of a wire it lacks', async (t) => {
    const old = await startApp(t, engine, { config: { wires: [shopThat(async () => undefined)()] } })
    const { db } = old.app
    const apply = (wire: string) => sql`
      insert into sixwire_migrations (wire, name, checksum, applied_at) values (${wire}, '999-later', '', 0)`
    await db.write(apply('absent'))
    await checkOnce(old, (await beatsOf(old)).at(-1)!.id)
    assert.equal((await old.request('GET', '/ready')).status, 200)
    await db.write(apply('sixwire'))
    old.clock.advance(LOOK_MS)
    await assert.rejects(old.app.outdated, /the database is newer than this program: .* sixwire\/999-later/)
    await old.app.close()
    await assert.rejects(fetch(`${old.url}/ready`))
    assert.match(old.log(), /this server ends: the database is newer than it/)
  })

  test('no process counts as ended because the database was away, or the observer stood still', async (t) => {
    const { db: first, url } = await openFrame(engine)
    const clock = testClock()
    const dbs = [first, await openDatabase(url)] as const
    t.after(() => Promise.all(dbs.map((db) => db.close())))
    const one = createProcesses({ db: first, clock: testClock(), log: silent }, { databaseUrl: url })
    await one.start()
    let isAway = false
    const broken = new Proxy(dbs[1], {
      get(target, name) {
        if (isAway) throw new Error('away')
        const value: unknown = Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const observer = createProcesses({ db: broken, clock, log: silent }, { databaseUrl: url })
    observer.onEnd((ended) => [sql`insert into sixwire_processes (id, beat) values (${`ended ${ended}`}, 0)`])
    await observer.start()
    isAway = true
    for (let checks = 0; checks < 10; checks++) {
      clock.advance(LOOK_MS)
      await delay(5)
    }
    isAway = false
    clock.advance(600_000)
    await delay(50)
    const rows = await dbs[0].all<{ id: string }>(sql`select id from sixwire_processes`)
    assert.deepEqual(rows.map(({ id }) => id).toSorted(), [one.id, observer.id].toSorted())
    await Promise.all([one.stop(true), observer.stop(true)])
    assert.deepEqual(await dbs[0].all(sql`select id from sixwire_processes`), [])
  })
})
