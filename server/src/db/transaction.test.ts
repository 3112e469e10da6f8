import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { eachEngine } from '../testing/engines.ts'
import { until } from '../testing/until.ts'
import { openFresh } from './database.fixture.ts'
import { ConstraintError, type Database, type Transaction } from './database.ts'
import { sql } from './sql.ts'

eachEngine((engine) => {
  let db: Database
  before(async () => {
    db = await openFresh(engine, 'create table counters (id text primary key, n bigint not null)')
  })
  after(() => db.close())
  beforeEach(() =>
    db.batch([sql`delete from counters`, sql`insert into counters (id, n) values ('a', 0), ('b', 0)`]),
  )

  const read = (from: Pick<Transaction, 'get'>, id = 'a') =>
    from.get<{ n: number }>(sql`select n from counters where id = ${id}`).then((row) => row!.n)
  const set = (tx: Pick<Transaction, 'write'>, n: number, id = 'a') =>
    tx.write(sql`update counters set n = ${n} where id = ${id}`)
  const add = (id: string) => sql`insert into counters (id, n) values (${id}, 1)`
  const ids = async () => (await db.all(sql`select id from counters order by id`)).map((row) => row['id'])
  const boom = new Error('boom')

  test('answers what the work answers, and keeps what it wrote', async () => {
    const seen = await db.transaction(async (tx) => {
      assert.equal(tx.dialect, engine.name)
      assert.deepEqual(await tx.write(sql`update counters set n = 5 where id = 'a' returning n`), [{ n: 5 }])
      assert.equal(await db.get(sql`select id from counters where n = 5`), undefined) // nobody else sees it yet
      assert.deepEqual(await tx.all(sql`select id, n from counters order by id`), [
        { id: 'a', n: 5 },
        { id: 'b', n: 0 },
      ])
      assert.equal(await tx.get(sql`select n from counters where id = 'z'`), undefined)
      return read(tx)
    })
    assert.equal(seen, 5)
    assert.equal(await read(db), 5)
  })

  test('what waits for a transaction is told as load', async () => {
    const [entered, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let begun = 0
    const many = engine.name === 'sqlite' ? 1 : 10 // the writer, and all connections
    const hold = () =>
      db.transaction(async (tx) => {
        await read(tx)
        if (++begun === many) entered.resolve()
        await mayEnd.promise
      })
    const held = Array.from({ length: many }, hold)
    await entered.promise
    const write = db.write(sql`update counters set n = 1 where id = 'a'`)
    await until(() => Object.values(db.load().waiting).includes(1))
    assert.deepEqual(
      db.load(),
      engine.name === 'sqlite'
        ? { waiting: { write: 1, scan: 0 } }
        : { waiting: { connection: 1, scan: 0 }, connections: { used: 10, idle: 0 } },
    )
    mayEnd.resolve()
    await Promise.all([...held, write])
    assert.ok(Object.values(db.load().waiting).every((waiting) => waiting === 0))
  })

  test('leaves nothing where the work throws, whenever it does', async () => {
    await assert.rejects(
      db.transaction(async () => {
        throw boom
      }),
      boom,
    )
    await assert.rejects(
      db.transaction(() => {
        throw boom
      }),
      boom,
    )
    await assert.rejects(
      db.transaction(async (tx) => {
        await set(tx, 5)
        throw boom
      }),
      boom,
    )
    assert.equal(await read(db), 0)
  })

  test('leaves nothing where the work goes on after a refused statement', async () => {
    await assert.rejects(
      db.transaction(async (tx) => {
        await set(tx, 5)
        await assert.rejects(tx.write(add('a')), ConstraintError)
        return 'as if nothing had been'
      }),
      ConstraintError,
    )
    await assert.rejects(
      db.transaction(async (tx) => {
        await set(tx, 5)
        await tx.write(add('a')).catch(() => undefined)
        await set(tx, 6)
      }),
      ConstraintError,
    )
    assert.equal(await read(db), 0)
  })

  test('throws what the work makes of a refused statement', async () => {
    await assert.rejects(
      db.transaction(async (tx) => {
        await set(tx, 5)
        await tx.write(add('a')).catch(() => {
          throw boom
        })
      }),
      boom,
    )
    await assert.rejects(
      db.transaction(async (tx) => {
        await set(tx, 5)
        await tx.get(sql`selec`).catch(() => undefined)
        throw boom
      }),
      boom,
    )
    assert.equal(await read(db), 0)
  })

  test('waits for statements that the work did not wait for', async () => {
    await db.transaction(async (tx) => {
      void set(tx, 1)
      void set(tx, 2, 'b')
    })
    assert.deepEqual([await read(db), await read(db, 'b')], [1, 2])
    await assert.rejects(
      db.transaction(async (tx) => {
        void set(tx, 3)
        tx.write(add('a')).catch(() => undefined)
      }),
      ConstraintError,
    )
    assert.equal(await read(db), 1)
  })

  test('runs statements that are begun together one after the other', async () => {
    const rows = await db.transaction((tx) =>
      Promise.all(
        Array.from({ length: 20 }, () =>
          tx.write<{ n: number }>(sql`update counters set n = n + 1 where id = 'a' returning n`),
        ),
      ),
    )
    assert.deepEqual(
      rows.map(([row]) => row!.n),
      Array.from({ length: 20 }, (_, i) => i + 1),
    )
  })

  test('a transaction that has ended runs no statement', async () => {
    let ended: Transaction | undefined
    await db.transaction(async (tx) => {
      ended = tx
      await set(tx, 1)
    })
    await assert.rejects(set(ended!, 2), /has ended/)
    await assert.rejects(ended!.all(sql`select 1 as one`), /has ended/)
    await assert.rejects(ended!.get(sql`select 1 as one`), /has ended/)
    await assert.rejects(
      db.transaction(async (tx) => {
        ended = tx
        throw boom
      }),
      boom,
    )
    await assert.rejects(set(ended!, 2), /has ended/)
    assert.equal(await read(db), 1)
  })

  test('the database itself is not written to in the middle of a transaction, which would wait for it for ever', async () => {
    const misuses: Record<string, () => Promise<unknown>> = {
      write: () => db.write(add('x')),
      batch: () => db.batch([add('x')]),
      transaction: () => db.transaction((tx) => tx.write(add('x'))),
    }
    for (const misuse of Object.values(misuses)) {
      await assert.rejects(
        db.transaction(async (tx) => {
          await tx.write(add('y'))
          await misuse()
        }),
        /use its tx/,
      )
      // Also where the work does not mind: on PostgreSQL it would be written outside.
      await db.transaction(async (tx) => {
        await tx.get(sql`select 1 as one`)
        await assert.rejects(misuse(), /use its tx/)
      })
    }
    assert.deepEqual(await ids(), ['a', 'b'])
  })

  test('what a transaction set going may write once it has ended', async () => {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    let later: Promise<unknown> | undefined
    await db.transaction(async (tx) => {
      await tx.get(sql`select 1 as one`)
      later = ended.then(() => db.write(add('later')))
    })
    end()
    await later
    assert.deepEqual(await ids(), ['a', 'b', 'later'])
  })

  test('no update is lost of transactions that read and then write', async () => {
    await Promise.all(
      Array.from({ length: 30 }, () =>
        db.transaction(async (tx) => {
          const n = await read(tx)
          await set(tx, n + 1)
        }),
      ),
    )
    assert.equal(await read(db), 30)
  })

  test('of two transactions with write skew, one sees the other', async () => {
    // Write skew: both read both rows, and each changes its own.
    const leave = (id: string) =>
      db.transaction(async (tx) => {
        const [row] = await tx.all<{ left: number }>(sql`select count(*) as left from counters where n = 0`)
        if (row!.left > 1) await set(tx, 1, id)
      })
    await Promise.all([leave('a'), leave('b')])
    assert.equal((await read(db)) + (await read(db, 'b')), 1)
  })

  test('writes that come while it is open are kept, after it', async () => {
    const order: string[] = []
    const said = (what: string) => () => order.push(what)
    const { promise: open, resolve: opened } = Promise.withResolvers<void>()
    const { promise: end, resolve: mayEnd } = Promise.withResolvers<void>()
    const transaction = db
      .transaction(async (tx) => {
        await tx.write(sql`update counters set n = 1`)
        opened()
        await end
        assert.equal(await read(tx), 1)
      })
      .then(said('transaction'))
    await open
    const writes = [
      db.write(sql`update counters set n = n * 10 where id = 'a'`).then(said('write')),
      db.batch([sql`update counters set n = n * 10 where id = 'b'`, add('c')]).then(said('batch')),
    ]
    assert.equal(await read(db), 0)
    await new Promise((resolve) => setImmediate(resolve))
    mayEnd()
    await Promise.all([transaction, ...writes])
    // Two connections to a PostgreSQL may bring their answers in either order; what is written shows which came first.
    if (engine.name === 'sqlite') assert.equal(order[0], 'transaction')
    assert.deepEqual([await read(db), await read(db, 'b')], [10, 10])
    assert.deepEqual(await ids(), ['a', 'b', 'c'])
  })

  if (engine.name === 'sqlite')
    test('everything has its turn in the order in which it came', async () => {
      const order: string[] = []
      const kinds = [
        'transaction',
        'transaction',
        'write',
        'write',
        'transaction',
        'batch',
        'transaction',
        'write',
      ]
      await Promise.all(
        kinds.map(async (kind, i) => {
          if (kind === 'write') await db.write(add(`x${i}`))
          else if (kind === 'batch') await db.batch([add(`x${i}`)])
          else await db.transaction((tx) => tx.write(add(`x${i}`)))
          order.push(kind)
        }),
      )
      assert.deepEqual(order, kinds)
    })

  test('a transaction that does not end is ended, and others go on', async (t) => {
    const { promise: beginning, resolve: begun } = Promise.withResolvers<void>()
    let ended: Transaction | undefined
    const endless = db.transaction(async (tx) => {
      t.mock.timers.enable({ apis: ['setTimeout'] }) // the limit is the only timer that is set from here on
      ended = tx
      await set(tx, 1)
      begun()
      await new Promise(() => undefined)
    })
    const refused = assert.rejects(endless, /open for more than 10 s/)
    await beginning
    t.mock.timers.tick(10_000)
    t.mock.timers.reset()
    await db.write(sql`update counters set n = n + 5 where id = 'a'`)
    await refused
    await assert.rejects(set(ended!, 2), /has ended/)
    assert.equal(await read(db), 5)
  })

  test('a transaction gets the time that it asks for, and so do its statements', async (t) => {
    const slow = sql.either({
      sqlite: sql`with recursive n (i) as (select 1 union all select i + 1 from n where i < 300000)
        select count(*) as n from n`,
      postgres: sql`select 300000 as n from pg_sleep(0.05)`,
    })
    const limits = sql`
      select current_setting('statement_timeout') as statement,
        current_setting('idle_in_transaction_session_timeout') as pause`
    const long = { limitMs: 120_000, isolation: 'read committed' } as const
    await db.transaction(async (tx) => {
      t.mock.timers.enable({ apis: ['setTimeout'] }) // those of the limits are set from here on
      await set(tx, 1)
      if (engine.name === 'postgres')
        assert.deepEqual(await tx.get(limits), { statement: '2min', pause: '30s' })
      const row = tx.get(sql`${slow}`)
      await new Promise((resolve) => setImmediate(resolve))
      t.mock.timers.tick(119_999)
      assert.deepEqual(await row, { n: 300_000 })
      t.mock.timers.reset()
    }, long)
    assert.equal(await read(db), 1)
    if (engine.name === 'postgres') assert.deepEqual(await db.get(limits), { statement: '30s', pause: '30s' })
  })

  test('many that fail leave the connections in order', async () => {
    const settled = await Promise.allSettled(
      Array.from({ length: 60 }, (_, i) =>
        db.transaction(async (tx) => {
          await tx.write(add(`x${i}`))
          if (i % 3 === 0) throw boom
          if (i % 3 === 1) await tx.write(add(`x${i}`))
        }),
      ),
    )
    const kept = settled.flatMap(({ status }, i) => (status === 'fulfilled' ? [`x${i}`] : []))
    assert.equal(kept.length, 20)
    assert.deepEqual(await ids(), ['a', 'b', ...kept].toSorted())
  })
})
