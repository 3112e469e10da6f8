import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import pg from 'pg'
import { eachEngine, type Engine } from '../testing/engines.ts'
import type { Database } from './database.ts'
import { openDatabase } from './open.ts'
import { SilentServerError } from './postgres-faults.ts'
import { startProxy } from './postgres-proxy.fixture.ts'
import { sql } from './sql.ts'

const unavailable = { code: 'UNAVAILABLE', status: 503 }

const count = sql`update counters set n = n + 1 where id = 'a' returning n`
const countAlso = sql`update counters set n = n + 1 where id = 'b' returning n`
const read = sql`select n from counters where id = 'a'`

/** A database behind a proxy, with two counters at 0, and a connection past the proxy that sees what is so. */
async function setUp(t: TestContext, engine: Engine, options = '') {
  const url = await engine.freshUrl()
  const admin = new pg.Client({ connectionString: url })
  await admin.connect()
  t.after(() => admin.end())
  await admin.query(
    `create table counters (id text primary key, n bigint not null); insert into counters values ('a', 0), ('b', 0)`,
  )
  const proxy = await startProxy(url)
  const db: Database = await openDatabase(proxy.url + options)
  t.after(async () => {
    await db.close()
    await proxy.down()
  })
  const watcher = new pg.Client({ connectionString: url }) // sees others, however `admin` is busy
  await watcher.connect()
  t.after(() => watcher.end())
  const ours = `from pg_stat_activity where datname = current_database() and application_name = 'sixwire'`
  return {
    url,
    db,
    proxy,
    admin,
    counters: async (): Promise<number[]> => {
      const { rows } = await admin.query<{ n: string }>('select n from counters order by id')
      return rows.map(({ n }) => Number(n))
    },
    /** Ends every connection of the database under test. */
    terminate: async (): Promise<void> => {
      await watcher.query(`select pg_terminate_backend(pid) ${ours}`)
    },
    /** Resolves when so many wait for a lock. */
    someoneWaits: async (many = 1): Promise<void> => {
      while ((await watcher.query(`select 1 ${ours} and wait_event_type = 'Lock'`)).rows.length < many);
    },
  }
}

eachEngine((engine) => {
  if (engine.name === 'sqlite') return

  test('a page in the order of an index is planned without bitmaps, and what is read beside it with them', async (t) => {
    const { db } = await setUp(t, engine)
    const setting = sql<{ bitmaps: string }>`select current_setting('enable_bitmapscan') as bitmaps`
    const other = sql<{ bitmaps: string }>`select current_setting('enable_bitmapscan') as bitmaps, 1 as n`
    const [page, beside] = await Promise.all([db.get(sql.inOrder(setting)), db.get(other)])
    assert.deepEqual([page?.bitmaps, beside?.bitmaps], ['off', 'on'])
    assert.equal((await db.get(setting))?.bitmaps, 'on')
  })

  test('the server keeps the plan of a statement, unless its text is that of one request', async (t) => {
    const { db } = await setUp(t, engine)
    const kept = sql<{ statement: string }>`select statement from pg_prepared_statements`
    // One after the other, so all of them take the same connection.
    for (const query of [read, sql.once(sql`select n from counters where id = 'once'`)]) await db.all(query)
    const statements = (await db.all(kept)).map(({ statement }) => statement)
    assert.ok(statements.includes(`select n from counters where id = 'a'`), String(statements))
    assert.ok(!statements.some((text) => text.includes('once')), String(statements))
  })

  describe('connections that the server ends', () => {
    test('while they are idle are replaced', async (t) => {
      const { db, terminate, counters } = await setUp(t, engine)
      for (let round = 1; round <= 5; round++) {
        await Promise.all(Array.from({ length: 20 }, () => db.get(read)))
        await terminate()
        await Promise.all(Array.from({ length: 20 }, () => db.get(read)))
        // A write may find out only by sending: then it says so, and has not happened.
        await db
          .write(count)
          .catch((error: unknown) => assert.ok((error as { code: string }).code === 'UNAVAILABLE'))
      }
      const [n] = await counters()
      assert.ok(n! <= 5)
      assert.deepEqual(await db.get(read), { n })
    })

    test('during a read: it is read again', async (t) => {
      const { db, admin, terminate, someoneWaits } = await setUp(t, engine)
      await admin.query('select pg_advisory_lock(1)')
      const reads = [
        db.get(sql`select n, pg_advisory_xact_lock_shared(1) as lock from counters where id = 'a'`),
        db.scan(sql`select n, pg_advisory_xact_lock_shared(1) as lock from counters where id = 'b'`),
      ]
      await someoneWaits()
      await terminate()
      await someoneWaits()
      await admin.query('select pg_advisory_unlock(1)')
      assert.deepEqual(await Promise.all(reads), [{ n: 0, lock: '' }, [{ n: 0, lock: '' }]])
    })

    test('during a write: it is done again, because the server answered that it was not done', async (t) => {
      const { db, admin, terminate, someoneWaits, counters } = await setUp(t, engine)
      await admin.query('begin; update counters set n = 10')
      const write = db.write(count)
      await someoneWaits()
      await terminate()
      await someoneWaits()
      await admin.query('commit')
      assert.deepEqual(await write, [{ n: 11 }])
      assert.deepEqual(await counters(), [11, 10])
    })

    test('during a batch: it is done again from the start', async (t) => {
      const { db, admin, terminate, someoneWaits, counters } = await setUp(t, engine)
      await admin.query(`begin; update counters set n = 10 where id = 'b'`)
      const batch = db.batch([count, countAlso])
      await someoneWaits()
      await terminate()
      await someoneWaits()
      await admin.query('commit')
      assert.deepEqual(await batch, [[{ n: 1 }], [{ n: 11 }]])
      assert.deepEqual(await counters(), [1, 11])
    })

    test('between two statements of a transaction: it is done again from the start', async (t) => {
      const { db, terminate, counters } = await setUp(t, engine)
      let runs = 0
      await db.transaction(async (tx) => {
        runs++
        await tx.write(count)
        if (runs === 1) await terminate()
        await tx.write(countAlso)
      })
      assert.equal(runs, 2)
      assert.deepEqual(await counters(), [1, 1])
    })

    test('in a transaction whose work goes on as if nothing had been: it is done again', async (t) => {
      const { db, terminate, counters } = await setUp(t, engine)
      let runs = 0
      await db.transaction(async (tx) => {
        runs++
        await tx.write(count)
        if (runs === 1) await terminate()
        await tx.write(countAlso).catch(() => undefined)
      })
      assert.equal(runs, 2)
      assert.deepEqual(await counters(), [1, 1])
    })

    test('whenever it is, a batch is done whole or not at all', async (t) => {
      const { db, terminate, counters } = await setUp(t, engine)
      let done = 0
      let unknown = 0
      let over = false
      const lane = async () => {
        while (!over)
          await db.batch([count, countAlso]).then(
            () => done++,
            (error: unknown) => {
              assert.equal((error as { code: string }).code, 'UNAVAILABLE')
              unknown++
            },
          )
      }
      const lanes = Array.from({ length: 8 }, lane)
      for (let i = 0; i < 20; i++) {
        await terminate()
        await db.get(read)
      }
      over = true
      await Promise.all(lanes)
      const [a, b] = await counters()
      assert.equal(a, b)
      assert.ok(a! >= done && a! <= done + unknown, `${a} of ${done} done and ${unknown} unknown`)
    })
  })

  test('scans are planned in their own way, and nothing else is', async (t) => {
    const { db } = await setUp(t, engine)
    const settings = sql<Record<string, string>>`
      select current_setting('jit') as jit, current_setting('parallel_setup_cost') as cost`
    const others = await db.get(settings)
    for (const limitMs of [1_000, 60_000])
      assert.deepEqual(await db.scan(settings, { limitMs }), [{ jit: 'off', cost: '100' }])
    assert.deepEqual(await db.get(settings), others)
    assert.notEqual(others!['cost'], '100')
  })

  describe('where the answer is lost', () => {
    test('of a read: it is read again', async (t) => {
      const { db, proxy } = await setUp(t, engine)
      for (const fate of ['lose request', 'lose answer'] as const) {
        proxy.once('counters', fate)
        assert.deepEqual(await db.get(read), { n: 0 })
        proxy.once('counters', fate)
        assert.deepEqual(await db.scan(read), [{ n: 0 }])
      }
    })

    for (const [fate, n] of [
      ['lose request', 0],
      ['lose answer', 1],
    ] as const) {
      test(`of a write (${fate}): unavailable, and not done again`, async (t) => {
        const { db, proxy, counters } = await setUp(t, engine)
        proxy.once('update counters', fate)
        await assert.rejects(db.write(count), unavailable)
        assert.deepEqual(await counters(), [n, 0])
        assert.deepEqual(await db.write(count), [{ n: n + 1 }])
      })

      // Nothing of a batch is answered before all of it, its commit included, may have happened.
      for (const text of ['update counters', `'b'`])
        test(`of ${text} in a batch (${fate}): unavailable, and not done again`, async (t) => {
          const { db, proxy, counters } = await setUp(t, engine)
          proxy.once(text, fate)
          await assert.rejects(db.batch([count, countAlso]), unavailable)
          assert.deepEqual(await counters(), [n, n])
        })

      for (const text of ['begin', `'b'`])
        test(`of ${text} in a transaction (${fate}): done again, once`, async (t) => {
          const { db, proxy, counters } = await setUp(t, engine)
          proxy.once(text, fate)
          await db.transaction(async (tx) => {
            await tx.write(count)
            await tx.write(countAlso)
          })
          assert.deepEqual(await counters(), [1, 1])
        })

      test(`of a commit (${fate}): unavailable, and not done again`, async (t) => {
        const { db, proxy, counters } = await setUp(t, engine)
        let runs = 0
        proxy.once('commit', fate)
        const transaction = db.transaction(async (tx) => {
          runs++
          await tx.write(count)
          await tx.write(countAlso)
        })
        await assert.rejects(transaction, unavailable)
        assert.equal(runs, 1)
        assert.deepEqual(await counters(), [n, n])
      })
    }
  })

  test('a server that is down answers unavailable, and works again when it is back', async (t) => {
    const { db, proxy, counters } = await setUp(t, engine)
    for (let round = 1; round <= 2; round++) {
      await proxy.down()
      await assert.rejects(db.get(read), unavailable)
      await assert.rejects(db.scan(read), unavailable)
      await assert.rejects(db.write(count), unavailable)
      await assert.rejects(db.batch([count]), unavailable)
      await assert.rejects(
        db.transaction((tx) => tx.write(count)),
        unavailable,
      )
      await assert.rejects(db.ping(), unavailable)
      await proxy.up()
      assert.deepEqual(await db.get(read), { n: round - 1 })
      await db.write(count)
      await db.ping()
      assert.deepEqual(await counters(), [round, 0])
    }
  })

  test('a write is begun again where no connection was to be had', async (t) => {
    const { db, proxy, terminate, counters } = await setUp(t, engine)
    await terminate()
    await db.get(read)
    await proxy.down()
    await assert.rejects(db.get(read), unavailable) // notices that the connections are gone
    const writes = Promise.all(Array.from({ length: 10 }, () => db.batch([count])))
    await proxy.up()
    await writes
    assert.deepEqual(await counters(), [10, 0])
  })

  test('a server that says nothing any more answers unavailable', async (t) => {
    const { db, proxy, counters } = await setUp(t, engine, '?query_timeout=1000')
    proxy.once('counters', 'silence')
    await assert.rejects(db.get(read), unavailable)
    proxy.once('counters', 'silence')
    await assert.rejects(db.write(count), unavailable)
    proxy.once('counters', 'silence')
    await assert.rejects(db.batch([count]), unavailable)
    assert.deepEqual(await counters(), [0, 0])
    assert.deepEqual(await db.write(count), [{ n: 1 }])
  })

  test('a server that hangs ends all calls under way, long before the limit of a statement', async (t) => {
    const { db, proxy, counters } = await setUp(t, engine, '?connect_timeout=1')
    const calls = () => [db.get(read), db.write(count), db.batch([countAlso])]
    await Promise.all(calls())
    proxy.silence()
    for (const call of calls())
      await assert.rejects(call, ({ code, cause }) => {
        assert.equal(code, 'UNAVAILABLE')
        assert.ok(cause instanceof SilentServerError, String(cause))
        return true
      })
    assert.deepEqual(await counters(), [1, 1])
  })

  test('a statement that takes long is waited for while the server answers others', async (t) => {
    const { db } = await setUp(t, engine)
    assert.deepEqual(await db.get(sql`select 1 as n from pg_sleep(1.5)`), { n: 1 })
  })

  test('a query beyond the limit is ended by the server', async (t) => {
    const { db } = await setUp(t, engine, '?statement_timeout=250')
    const endless = sql`select count(*) from generate_series(1, 1000000000000)`
    for (const verb of ['get', 'all', 'scan', 'write'] as const)
      await assert.rejects(db[verb](endless), { ...unavailable, retryAfter: 30 })
    await assert.rejects(db.batch([endless]), { ...unavailable, retryAfter: 30 })
    assert.deepEqual(await db.get(read), { n: 0 })
  })

  test('a query that an administrator cancels is not said to take too long', async (t) => {
    const { db, admin, someoneWaits } = await setUp(t, engine)
    await admin.query('begin; update counters set n = 10')
    const refused = assert.rejects(db.write(count), { ...unavailable, retryAfter: 1, message: /try again/ })
    await someoneWaits()
    await admin.query(`select pg_cancel_backend(pid) from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`)
    await refused
    await admin.query('rollback')
    assert.deepEqual(await db.write(count), [{ n: 1 }])
  })

  test('a server that has become read-only says so, and works when it no longer is', async (t) => {
    const { admin, url } = await setUp(t, engine)
    const setting = (value: string) =>
      admin.query(`do $$ begin execute format('alter database %I set ${value}', current_database()); end $$`)
    await setting('default_transaction_read_only = on')
    const standby = await openDatabase(url)
    t.after(() => standby.close())
    assert.deepEqual(await standby.get(read), { n: 0 })
    await assert.rejects(standby.migrate([]), /^StartError: DATABASE_URL: .* name the primary/)
    const readOnly = { code: 'STORAGE_READ_ONLY', status: 503 }
    await assert.rejects(standby.write(count), readOnly)
    await assert.rejects(standby.batch([count]), readOnly)
    // `do` itself may write only where that is said.
    await admin.query('set default_transaction_read_only = off')
    await setting('default_transaction_read_only = off')
    assert.deepEqual(await standby.write(count), [{ n: 1 }])
  })

  test('nothing depends on how the database has its strings', async (t) => {
    const { url } = await setUp(t, engine, '')
    const server = new pg.Client({ connectionString: url })
    await server.connect()
    t.after(() => server.end())
    await server.query(
      `do $$ begin execute format('alter database %I set standard_conforming_strings = off', current_database()); end $$`,
    )
    const db = await openDatabase(url)
    t.after(() => db.close())
    const text = sql<{ text: string }>`select '\\0' as text`
    assert.deepEqual(await db.get(text), { text: String.raw`\0` })
    assert.deepEqual(await db.snapshot((snapshot) => snapshot.all(text)), [{ text: String.raw`\0` }])
    await db.migrate([
      { wire: 'own', name: '001-text', text: String.raw`create table texts as select '\0' as text` },
    ])
    assert.deepEqual(await db.get(sql`select text from texts`), { text: String.raw`\0` })
  })

  test('of two transactions in a deadlock, one is repeated', async (t) => {
    const { db, admin, terminate, someoneWaits, counters } = await setUp(t, engine)
    await admin.query(
      `do $$ begin execute format('alter database %I set deadlock_timeout = 10', current_database()); end $$`,
    )
    await terminate()
    const add = (id: string) => sql`update counters set n = n + 1 where id = ${id}`

    let runs = 0
    const { promise: both, resolve: bothHave } = Promise.withResolvers<void>()
    const inOrder = (a: string, b: string) =>
      db.transaction(async (tx) => {
        await tx.write(add(a))
        if (++runs === 2) bothHave()
        await both
        await tx.write(add(b))
      })
    await Promise.all([inOrder('a', 'b'), inOrder('b', 'a')])
    assert.ok(runs > 2)
    assert.deepEqual(await counters(), [2, 2])

    await admin.query('select pg_advisory_lock(1)')
    const meet = sql`select pg_advisory_xact_lock_shared(1)`
    const batches = [db.batch([add('a'), meet, add('b')]), db.batch([add('b'), meet, add('a')])]
    await someoneWaits(2)
    await admin.query('select pg_advisory_unlock(1)')
    await Promise.all(batches)
    assert.deepEqual(await counters(), [4, 4])
  })
})
