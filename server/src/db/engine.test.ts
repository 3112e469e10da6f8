import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { defineErrors } from '../base/errors.ts'
import { eachEngine } from '../testing/engines.ts'
import { openFresh } from './database.fixture.ts'
import { afterCommit, ConstraintError, requireRow, type Database } from './database.ts'
import { openDatabase } from './open.ts'
import { sql, type Sql } from './sql.ts'

const { gone } = defineErrors({ gone: [409, 'This is gone.'] })

const tables = `
  create table parents (id text primary key);
  create table children (
    id text primary key,
    parent text not null references parents (id) on delete restrict,
    age bigint check (age < 150)
  );
  create table cousins (id text primary key, parent text references parents (id) deferrable initially deferred);
  create unique index children_age on children (age);
  create table stocks (id text primary key, amount bigint not null);`

eachEngine((engine) => {
  let db: Database
  before(async () => {
    db = await openFresh(engine, tables)
  })
  after(() => db.close())
  beforeEach(async () => {
    const emptied = ['children', 'cousins', 'parents', 'stocks'].map(
      (table) => sql`delete from ${sql.literal(table)}`,
    )
    await db.batch([...emptied, addStock('a', 10)])
  })

  const addStock = (id: string, amount: number): Sql =>
    sql`insert into stocks (id, amount) values (${id}, ${amount})`
  const take = (id: string, amount: number): Sql => sql`
    update stocks set amount = amount - ${amount} where id = ${id} and amount >= ${amount} returning amount`
  const stocks = () => db.all<{ id: string; amount: number }>(sql`select id, amount from stocks order by id`)
  const addParent = (id: string): Sql => sql`insert into parents (id) values (${id})`
  const addChild = (id: string, parent: string | null, age: number | null = null): Sql =>
    sql`insert into children (id, parent, age) values (${id}, ${parent}, ${age})`
  const addCousin = (id: string, parent: string): Sql =>
    sql`insert into cousins (id, parent) values (${id}, ${parent})`

  describe('write', () => {
    test('answers what returning says, and reading sees it then', async () => {
      assert.deepEqual(
        await db.write(sql`insert into stocks (id, amount) values ('b', 1), ('c', 2) returning id`),
        [{ id: 'b' }, { id: 'c' }],
      )
      assert.deepEqual((await stocks()).length, 3)
      assert.equal((await db.scan(sql`select id from stocks`)).length, 3)
    })

    test('answers an empty row where a statement without returning changed something, else none', async () => {
      assert.deepEqual(await db.write(addStock('b', 1)), [{}])
      assert.deepEqual(await db.write(sql`update stocks set amount = 5`), [{}])
      assert.deepEqual(await db.write(sql`update stocks set amount = 5 where id = 'z'`), [])
      assert.deepEqual(
        await db.write(sql`insert into stocks (id, amount) values ('a', 1) on conflict do nothing`),
        [],
      )
      assert.deepEqual(await db.write(sql`delete from stocks where id = 'b'`), [{}])
      assert.deepEqual(await db.write(sql`delete from stocks where id = 'b'`), [])
      await db.write(addStock('b', 1))
      assert.deepEqual(await db.write(sql`create table made (id text)`), [])
      assert.deepEqual(await db.write(sql`drop table made`), [])
    })
  })

  const broken: Record<string, [kind: ConstraintError['kind'], setUp: () => Sql[], statement: () => Sql]> = {
    'a primary key': ['unique', () => [addParent('p')], () => addParent('p')],
    'a unique index': ['unique', () => [addParent('p'), addChild('a', 'p', 1)], () => addChild('b', 'p', 1)],
    'a reference to nothing': ['foreign_key', () => [], () => addChild('a', 'nobody')],
    'a deferred reference to nothing': ['foreign_key', () => [], () => addCousin('a', 'nobody')],
    'what others refer to': [
      'foreign_key',
      () => [addParent('p'), addChild('a', 'p')],
      () => sql`delete from parents where id = 'p'`,
    ],
    'a check': ['check', () => [addParent('p')], () => addChild('a', 'p', 150)],
    'a missing value': ['not_null', () => [], () => addChild('a', null)],
  }
  for (const [name, [kind, setUp, statement]] of Object.entries(broken))
    test(`${name} is refused as ${kind}, from every verb alike`, async () => {
      await db.batch(setUp())
      const isRefused = (error: unknown): boolean => error instanceof ConstraintError && error.kind === kind
      await assert.rejects(db.write(statement()), isRefused)
      await assert.rejects(db.batch([statement()]), isRefused)
      await assert.rejects(db.batch([addStock('b', 1), statement()]), isRefused)
      await assert.rejects(
        db.transaction(async (tx) => {
          await tx.write(addStock('b', 1))
          await tx.write(statement())
        }),
        isRefused,
      )
      assert.deepEqual(await stocks(), [{ id: 'a', amount: 10 }])
    })

  describe('batch', () => {
    test('answers the rows of each step', async () => {
      const rows = await db.batch([
        addStock('b', 7),
        take('b', 2),
        sql`select amount from stocks where id = 'b'`,
      ])
      assert.deepEqual(rows, [[{}], [{ amount: 5 }], [{ amount: 5 }]])
      assert.deepEqual(await db.batch([]), [])
    })

    test('answers rows in the shape in which its steps are given', async () => {
      const amountOf = (id: string) => sql<{ amount: number }>`select amount from stocks where id = ${id}`
      const [none, [added], [first, second], last] = await db.batch([
        [],
        sql<{ id: string }>`insert into stocks (id, amount) values ('n', 4) returning id`,
        [amountOf('a'), amountOf('n')],
        amountOf('n'),
      ])
      assert.deepEqual(
        [none, added?.id, first?.[0]?.amount, second?.[0]?.amount, last[0]?.amount],
        [[], 'n', 10, 4, 4],
      )
    })

    test('calls what its steps ask for once they are committed, and never if they are not', async () => {
      const calls: string[] = []
      const step = (id: string) => afterCommit(addStock(id, 1), () => calls.push(id))
      await assert.rejects(db.batch([step('b'), addStock('b', 1)]), ConstraintError)
      await assert.rejects(db.batch([step('b'), requireRow(take('nobody', 1), gone)]), { code: 'GONE' })
      assert.deepEqual(calls, [])
      await db.batch([step('b'), requireRow(step('c'), gone)])
      assert.deepEqual(calls, ['b', 'c'])
      await db.transaction(async (tx) => {
        await tx.write(step('d'))
        assert.deepEqual(calls, ['b', 'c'])
      })
      assert.deepEqual(calls, ['b', 'c', 'd'])
      const undone = db.transaction(async (tx) => {
        await tx.write(step('e'))
        await tx.write(requireRow(take('nobody', 1), gone))
      })
      await assert.rejects(undone, { code: 'GONE' })
      assert.deepEqual(calls, ['b', 'c', 'd'])
    })

    test('leaves nothing where a statement fails, and says which one a constraint refused', async () => {
      const refused = { name: 'ConstraintError', kind: 'unique', step: 2 }
      await assert.rejects(db.batch([take('a', 1), [addStock('b', 1), addStock('b', 1)]]), refused)
      await assert.rejects(db.batch([take('a', 1), sql`insert into nowhere values (1)`]), /nowhere/)
      assert.deepEqual(await stocks(), [{ id: 'a', amount: 10 }])
    })

    test('leaves nothing where a step that must find something does not, and throws its error', async () => {
      for (const steps of [
        [take('a', 1), requireRow(take('a', 50), gone)],
        [requireRow(take('a', 50), gone), take('a', 1)],
        [addStock('b', 1), requireRow(take('a', 50), gone), addStock('c', 1)],
        [requireRow(take('a', 50), gone)],
        [take('a', 1), requireRow(sql`update stocks set amount = 0 where id = 'z'`, gone)],
        [take('a', 1), requireRow(sql`select id from stocks where id = 'z'`, gone)],
      ])
        await assert.rejects(db.batch(steps), { code: 'GONE', status: 409 })
      assert.deepEqual(await stocks(), [{ id: 'a', amount: 10 }])
    })

    test('goes on where a step that must find something does', async () => {
      const rows = await db.batch([
        requireRow(take('a', 1), gone),
        requireRow(sql`update stocks set amount = amount - 1 where id = 'a'`, gone),
        requireRow(sql`select amount from stocks where id = 'a'`, gone),
      ])
      assert.deepEqual(rows, [[{ amount: 9 }], [{}], [{ amount: 8 }]])
    })
  })

  test('a batch of many mebibytes is written, whole or not at all', async () => {
    await db.write(sql`create table large (id bigint primary key, body text not null)`)
    for (const character of ['x', 'é', '😀']) {
      const body = character.repeat(1_000_000 / character.length)
      const steps = Array.from(
        { length: 24 },
        (_, i) => sql`insert into large (id, body) values (${i}, ${body})`,
      )
      await assert.rejects(db.batch([...steps, requireRow(take('a', 50), gone)]), { code: 'GONE' })
      await assert.rejects(db.batch([...steps, steps[0]!]), { name: 'ConstraintError', step: 24 })
      assert.deepEqual(await db.all(sql`select id from large`), [])
      const rows = await db.batch([...steps, requireRow(sql`select count(*) as n from large`, gone)])
      assert.deepEqual(rows, [...steps.map(() => [{}]), [{ n: 24 }]])
      const kept = await db.all(sql`select body from large where id = 23`)
      assert.ok(kept[0]!['body'] === body)
      await db.write(sql`delete from large`)
    }
  })

  describe('writes that arrive together', () => {
    test('succeed and fail each for itself', async () => {
      await db.write(addParent('p'))
      const asked: Promise<unknown>[] = []
      for (let i = 0; i < 20; i++)
        asked.push(
          db.write(addStock(`ok${i}`, i)),
          db.write(addStock('a', i)), // there already
          db.batch([addStock(`half${i}`, i), addChild('a', 'nobody')]),
          db.batch([addStock(`unmet${i}`, i), requireRow(take('a', 50), gone)]),
          db.batch([addStock(`pair${i}`, i), addStock(`twin${i}`, i)]),
          db.write(sql`insert into nowhere values (1)`),
          db.write(addCousin(`lost${i}`, 'nobody')), // fails when it is committed
          db.batch([addCousin(`found${i}`, `q${i}`), addParent(`q${i}`)]),
        )
      const settled = await Promise.allSettled(asked)
      const outcome = ({ status }: { status: string }) => (status === 'fulfilled' ? '+' : '-')
      assert.equal(settled.map(outcome).join(''), '+---+--+'.repeat(20))
      const names = (await stocks()).map(({ id }) => id.replace(/\d+/, ''))
      assert.deepEqual(
        Object.fromEntries(
          Map.groupBy(names, (name) => name)
            .entries()
            .map(([name, all]) => [name, all.length]),
        ),
        { a: 1, ok: 20, pair: 20, twin: 20 },
      )
      assert.equal((await db.all(sql`select id from cousins`)).length, 20)
    })

    test('take out of a stock of 50 exactly 50, however many try', async () => {
      await db.write(addStock('b', 50))
      const rows = await Promise.all(
        Array.from({ length: 200 }, async (_, i) =>
          i % 2 === 0 ? db.write(take('b', 1)) : (await db.batch([take('b', 1), take('z', 1)]))[0],
        ),
      )
      const left = rows.flat().map((row) => row['amount'])
      assert.deepEqual(
        left.toSorted((a, b) => Number(a) - Number(b)),
        Array.from({ length: 50 }, (_, i) => i),
      )
      assert.deepEqual(await db.get(sql`select amount from stocks where id = 'b'`), { amount: 0 })
    })

    test('are all done, thousands of them', async () => {
      const asked = Array.from({ length: 3000 }, (_, i) => db.write(addStock(`s${i}`, i)))
      const rows = await Promise.all(asked)
      assert.equal(rows.length, 3000)
      assert.deepEqual(
        await db.get(sql`select count(*) as n, sum(amount) as sum from stocks where id <> 'a'`),
        {
          n: 3000,
          sum: (2999 * 3000) / 2,
        },
      )
    })
  })

  test('more distinct statements than are kept ready answer right, again and again', async () => {
    const distinct = Array.from({ length: 700 }, (_, i) =>
      sql.literal(`select amount + ${i} as n from stocks where id = `),
    )
    for (let round = 0; round < 2; round++)
      for (const [i, text] of distinct.entries()) {
        assert.deepEqual(await db.get(sql`${text} ${'a'}`), { n: 10 + i })
        if (i % 50 === 0) assert.deepEqual(await db.write(sql`${text} ${'a'}`), [{ n: 10 + i }])
      }
  })

  test('a statement of too many values fails alone', async () => {
    const values = sql.join(Array.from({ length: 40_000 }, (_, i) => sql`${i}`))
    await assert.rejects(db.all(sql`select id from stocks where amount in (${values})`))
    await assert.rejects(db.scan(sql`select id from stocks where amount in (${values})`))
    assert.equal((await stocks()).length, 1)
  })

  test('a statement sees new columns of a table that it has read before', async () => {
    await db.write(sql`create table growing (id text primary key)`)
    await db.write(sql`insert into growing (id) values ('a')`)
    const read = () => sql`select * from growing`
    const readers = [
      () => db.all(read()),
      () => db.scan(read()),
      () => db.write(sql`update growing set id = id returning *`),
      async () => (await db.batch([read()]))[0],
      () => db.transaction((tx) => tx.all(read())),
    ]
    for (const [column, expected] of [
      ['b', { id: 'a' }],
      ['c', { id: 'a', b: 1 }],
      [undefined, { id: 'a', b: 1, c: 1 }],
    ] as const) {
      for (const one of readers) assert.deepEqual(await one(), [expected])
      // On every connection that a pool may have.
      for (const rows of await Promise.all(Array.from({ length: 20 }, () => db.all(read()))))
        assert.deepEqual(rows, [expected])
      if (column) await db.write(sql`alter table growing add column ${sql.literal(column)} bigint default 1`)
    }
  })

  describe('scans', () => {
    // Would take days.
    const endless = sql`
      with recursive numbers (n) as (select cast(1 as bigint) union all select n + 1 from numbers where n < ${10 ** 12})
      select max(n) as n from numbers where ${sql.stoppable(sql`n > 0`)}`

    test('that take too long are stopped, and leave room for others', async () => {
      const error = {
        code: 'UNAVAILABLE',
        status: 503,
        retryAfter: 30,
        message: 'The query took longer than 0.05 s and was stopped: narrow it.',
      }
      for (let round = 0; round < 2; round++) {
        const late = Array.from({ length: 5 }, () => db.scan(endless, { limitMs: 50 }))
        for (const one of late) await assert.rejects(one, error)
      }
      assert.deepEqual(await db.scan(sql`select 1 as one`), [{ one: 1 }])
    })

    test('whose client has gone are stopped, whether they run or wait', async () => {
      const client = new AbortController()
      const options = { caller: 'a', signal: client.signal, limitMs: 600_000 }
      const scans = Array.from({ length: 10 }, () => db.scan(endless, options))
      assert.deepEqual(
        await db.scan(sql`select 1 as one`, { caller: 'b' }),
        [{ one: 1 }],
        'not behind those of a',
      )
      client.abort(new Error('the client has gone'))
      for (const one of scans) await assert.rejects(one, /the client has gone/)
      const all = await Promise.all(
        Array.from({ length: 5 }, () => db.scan(sql`select 1 as one`, { caller: 'a' })),
      )
      assert.equal(all.length, 5)
    })

    test('with a limit beyond that of other statements run for so long', async () => {
      assert.deepEqual(await db.scan(sql`select 1 as one`, { limitMs: 60_000 }), [{ one: 1 }])
    })

    test('a scan with a value that cannot be sent is refused, and keeps no place', async () => {
      for (let scan = 0; scan < 5; scan++)
        await assert.rejects(db.scan(sql`select ${'a\0b'} as one`, { caller: 'a' }), { status: 400 })
      assert.deepEqual(await db.scan(sql`select 1 as one`, { caller: 'a' }), [{ one: 1 }])
    })
  })

  test('a long scan stalls no other reader and no writer', async () => {
    // Were anything held up by the scan, it would end after it however long the scan takes.
    for (let rows = 500_000; ; rows *= 4) {
      const order: string[] = []
      const scan = db
        .scan(sql`
          with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${rows})
          select max(n) as n from numbers`)
        .finally(() => order.push('scan'))
      const query = sql`select amount from stocks where id = 'a'`
      await db.get(query).finally(() => order.push('get'))
      await db.all(query).finally(() => order.push('all'))
      await db.scan(query).finally(() => order.push('short scan'))
      await db.write(take('a', 0)).finally(() => order.push('write'))
      assert.deepEqual(await scan, [{ n: rows }])
      if (order.at(-1) === 'scan') break
      assert.ok(rows < 20_000_000, `in the order ${order.join(', ')}`)
    }
  })
})

eachEngine((engine) => {
  test('close waits for what was begun, more than there are connections too', async () => {
    const url = await engine.freshUrl()
    const db = await openDatabase(url)
    await db.write(sql`create table kept (id bigint)`)
    const order: string[] = []
    const begun = [
      ...Array.from({ length: 100 }, (_, i) => db.write(sql`insert into kept (id) values (${i})`)),
      ...Array.from({ length: 20 }, (_, i) => db.batch([sql`insert into kept (id) values (${100 + i})`])),
      ...Array.from({ length: 20 }, (_, i) =>
        db.transaction(async (tx) => {
          await new Promise((resolve) => setImmediate(resolve))
          await tx.write(sql`insert into kept (id) values (${120 + i})`)
        }),
      ),
      ...Array.from({ length: 20 }, () => db.scan(sql`select count(*) from kept`)),
      ...Array.from({ length: 20 }, () => db.get(sql`select count(*) from kept`)),
    ].map((one) => (one as Promise<unknown>).then(() => order.push('done')))
    const closed = db.close().then(() => order.push('closed'))
    const settled = await Promise.allSettled(begun)
    await closed
    assert.deepEqual([...new Set(settled.map(({ status }) => status))], ['fulfilled'])
    assert.equal(order.indexOf('closed'), 180)

    const again = await openDatabase(url)
    assert.deepEqual(await again.get(sql`select count(distinct id) as n from kept`), { n: 140 })
    await again.close()
  })

  test('after close everything is refused, and closing again is harmless', async () => {
    const db = await openFresh(engine, tables)
    await db.scan(sql`select 1 as one`)
    await Promise.all([db.close(), db.close()])
    await db.close()
    const unavailable = { code: 'UNAVAILABLE', status: 503 }
    const query = sql`select 1 as one`
    await assert.rejects(db.get(query), unavailable)
    await assert.rejects(db.all(query), unavailable)
    await assert.rejects(db.scan(query), unavailable)
    await assert.rejects(db.write(query), unavailable)
    await assert.rejects(db.batch([query]), unavailable)
    await assert.rejects(
      db.transaction((tx) => tx.get(query)),
      unavailable,
    )
    await assert.rejects(db.ping(), unavailable)
  })
})
