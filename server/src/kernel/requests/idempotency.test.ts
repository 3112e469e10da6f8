import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Database } from '../../db/database.ts'
import { readMigrations } from '../../db/migrations.ts'
import { openDatabase } from '../../db/open.ts'
import { sql } from '../../db/sql.ts'
import { openFrame } from '../frame.fixture.ts'
import { stillClock } from '../../testing/clock.ts'
import type { IdempotentStart, StoredAnswer } from '../../http/idempotency.ts'
import { createIdempotencyStore } from './idempotency.ts'
import { eachEngine } from '../../testing/engines.ts'

const SECOND = 1000
const DAY = 24 * 3_600_000
const SECRET = 'the secret of the operator'

const answer: StoredAnswer = {
  status: 201,
  headers: { etag: '"1"' },
  body: '{"token":"s3cr3t-token","text":"it\'s 😀 \\u0000 \\ud800"}',
}
const request = '["POST /auth/register",{},{"email":"ann@example.com","password":"correct horse"}]'

eachEngine((engine) => {
  let db: Database
  let url: string
  before(async () => {
    ;({ db, url } = await openFrame(engine))
  })
  after(() => db.close())

  let made = 0
  /** A store with a clock that a test moves, and a key that nobody else uses. */
  function setUp() {
    const clock = stillClock()
    const store = createIdempotencyStore({ db, clock }, { secret: SECRET })
    const caller = `user:${++made}`
    return {
      clock,
      store,
      caller,
      begin: (text = request) => store.begin(caller, 'key', text),
      finish: (kept = answer, keepMs?: number) => store.finish(caller, 'key', kept, keepMs),
      release: () => store.release(caller, 'key'),
    }
  }
  function recordOf(start: IdempotentStart): string {
    assert.equal(start.state, 'new')
    return start.state === 'new' ? start.recordId : ''
  }

  test('the first call is new, one while it runs is told to wait, one after it is given its answer', async () => {
    const { clock, begin, finish } = setUp()
    assert.match(recordOf(await begin()), /^[0-9a-hjkmnp-tv-z]{26}$/)
    assert.deepEqual(await begin(), { state: 'running', retryAfter: 60 })
    clock.advance(59 * SECOND + 1)
    assert.deepEqual(await begin(), { state: 'running', retryAfter: 1 })
    await finish()
    assert.deepEqual(await begin(), { state: 'done', answer })
    clock.advance(DAY - 60 * SECOND)
    assert.deepEqual(await begin(), { state: 'done', answer })
  })

  test('another request under the same key is a mismatch, also while the first one runs or is over', async () => {
    const { clock, begin, finish, release } = setUp()
    const record = recordOf(await begin())
    assert.deepEqual(await begin('another'), { state: 'mismatch' })
    clock.advance(61 * SECOND)
    assert.deepEqual(await begin('another'), { state: 'mismatch' })
    await release()
    assert.deepEqual(await begin('another'), { state: 'mismatch' })
    assert.equal(recordOf(await begin()), record)
    await finish()
    assert.deepEqual(await begin('another'), { state: 'mismatch' })
    assert.deepEqual(await begin(), { state: 'done', answer })
  })

  test('callers and keys do not meet, whatever they are called', async () => {
    const { store } = setUp()
    const records = new Set<string>()
    for (const caller of ['user:a', 'user:A', 'key:a', 'anybody', "o'brien"])
      for (const name of ['k', 'K', 'k ', '!', '~'.repeat(255)])
        records.add(recordOf(await store.begin(caller, name, request)))
    assert.equal(records.size, 25)
  })

  test('of calls with one key at once one is new', async () => {
    const other = await openDatabase(url)
    try {
      const { store, clock, caller } = setUp()
      const stores = [store, createIdempotencyStore({ db: other, clock }, { secret: SECRET })]
      const together = () =>
        Promise.all(Array.from({ length: 40 }, (_, i) => stores[i % 2]!.begin(caller, 'key', request)))
      const count = (starts: readonly IdempotentStart[], state: string): number =>
        starts.filter((start) => start.state === state).length
      const first = await together()
      assert.deepEqual([count(first, 'new'), count(first, 'running')], [1, 39])
      clock.advance(61 * SECOND)
      const second = await together()
      assert.deepEqual([count(second, 'new'), count(second, 'running')], [1, 39])
      await stores[1]!.finish(caller, 'key', answer)
      assert.equal(count(await together(), 'done'), 40)
      clock.advance(DAY)
      const third = await together()
      assert.deepEqual([count(third, 'new'), count(third, 'running')], [1, 39])
    } finally {
      await other.close()
    }
  })

  test('a call whose process died is taken over after its lease, with the same record id', async () => {
    const { clock, begin, finish } = setUp()
    const record = recordOf(await begin())
    for (let crash = 0; crash < 3; crash++) {
      clock.advance(60 * SECOND - 1)
      assert.equal((await begin()).state, 'running')
      clock.advance(1)
      assert.equal(recordOf(await begin()), record)
    }
    await finish()
    assert.deepEqual(await begin(), { state: 'done', answer })
  })

  test('the first answer stands, also where the call that was taken over ends after all', async () => {
    const { clock, begin, finish, release } = setUp()
    await begin()
    clock.advance(61 * SECOND)
    await begin()
    await finish()
    await finish({ status: 500, headers: {}, body: 'of the one that came late' })
    await release()
    assert.deepEqual(await begin(), { state: 'done', answer })
  })

  test('a call that was given back is new at once, with the same record id', async () => {
    const { begin, finish, release } = setUp()
    const record = recordOf(await begin())
    await release()
    assert.equal(recordOf(await begin()), record)
    assert.equal((await begin()).state, 'running')
    await release()
    assert.equal(recordOf(await begin()), record)
    await finish()
    await release()
    assert.deepEqual(await begin(), { state: 'done', answer })
  })

  test('after a day a key is new, with another record id, for any request', async () => {
    for (const next of [request, 'another'])
      for (const isDone of [true, false]) {
        const { clock, begin, finish } = setUp()
        const record = recordOf(await begin())
        if (isDone) await finish()
        clock.advance(DAY - 1)
        if (isDone) assert.equal((await begin()).state, 'done')
        clock.advance(1)
        assert.notEqual(recordOf(await begin(next)), record)
        await finish({ ...answer, status: 200 })
        assert.deepEqual(await begin(next), { state: 'done', answer: { ...answer, status: 200 } })
      }
  })

  test('an answer that is kept for a minute is erased after it, and its key is free', async () => {
    const { clock, store, caller, begin, finish } = setUp()
    const record = recordOf(await begin())
    await finish(answer, 60 * SECOND)
    clock.advance(60 * SECOND - 1)
    await store.deleteExpired()
    assert.deepEqual(await begin(), { state: 'done', answer })
    clock.advance(1)
    assert.notEqual(recordOf(await begin()), record)
    await finish(answer, 60 * SECOND)
    clock.advance(60 * SECOND)
    await store.deleteExpired()
    assert.deepEqual(await db.all(sql`select * from sixwire_idempotency where caller = ${caller}`), [])
  })

  test('an answer that is expired before its time frees its key; a call under way keeps it', async () => {
    const { store, caller, begin, finish } = setUp()
    const record = recordOf(await begin())
    await store.expire(caller, 'key')
    assert.equal((await begin()).state, 'running')
    await finish()
    await store.expire(caller, 'key')
    assert.notEqual(recordOf(await begin()), record)
    assert.equal((await begin()).state, 'running')
  })

  test('expired keys are forgotten, and no others', async () => {
    const { clock, store, caller } = setUp()
    await db.write(sql`delete from sixwire_idempotency`)
    await store.begin(caller, 'old', request)
    clock.advance(DAY / 2)
    await store.begin(caller, 'young', request)
    clock.advance(DAY / 2 + 1)
    await store.deleteExpired()
    assert.deepEqual(await db.all(sql`select key from sixwire_idempotency`), [{ key: 'young' }])
  })

  test('the table holds neither the request nor the answer to read, and not twice the same', async () => {
    await db.write(sql`delete from sixwire_idempotency`)
    const texts: string[] = []
    for (let i = 0; i < 2; i++) {
      const { begin, finish } = setUp()
      await begin()
      await finish()
    }
    for (const row of await db.all(sql`select * from sixwire_idempotency`)) texts.push(JSON.stringify(row))
    for (const secret of ['ann@example.com', 'correct horse', 's3cr3t', 'etag', 'token'])
      for (const form of [secret, Buffer.from(secret).toString('base64url').slice(0, -2)])
        assert.ok(!texts.some((text) => text.includes(form)), secret)
    const sealed = await db.all(sql`select answer from sixwire_idempotency`)
    assert.notEqual(sealed[0]!['answer'], sealed[1]!['answer'])
  })

  test('answers to strangers that an earlier version kept for the day are removed, and no others', async () => {
    const folder = new URL('../migrations/', import.meta.url)
    const old = await openDatabase(await engine.freshUrl())
    try {
      const all = await readMigrations('sixwire', folder, old.dialect)
      await old.migrate(all.slice(0, 1))
      for (const [caller, kept] of [
        ['stranger:x', 'sealed'],
        ['stranger:under-way', null],
        ['user:x', 'sealed'],
      ] as const)
        await old.write(sql`
          insert into sixwire_idempotency (caller, key, fingerprint, record_id, answer, lease_until, expires_at)
          values (${caller}, 'key', '', '', ${kept}, 0, 0)`)
      await old.migrate(all)
      const left = await old.all<{ caller: string }>(
        sql`select caller from sixwire_idempotency order by caller`,
      )
      assert.deepEqual(
        left.map(({ caller }) => caller),
        ['stranger:under-way', 'user:x'],
      )
    } finally {
      await old.close()
    }
  })

  test('with another secret a kept answer is not given', async () => {
    const { clock, caller, begin, finish } = setUp()
    await begin()
    await finish()
    const other = createIdempotencyStore({ db, clock }, { secret: 'another secret' })
    assert.deepEqual(await other.begin(caller, 'key', request), { state: 'mismatch' })
    assert.deepEqual(await begin(), { state: 'done', answer })
  })
})
