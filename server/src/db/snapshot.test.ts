import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { after, before, test } from 'node:test'
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises'

import { eachEngine } from '../testing/engines.ts'
import { openFresh } from './database.fixture.ts'
import type { Database, Snapshot } from './database.ts'
import { openDatabase } from './open.ts'
import { startProxy } from './postgres-proxy.fixture.ts'
import { sql } from './sql.ts'

const tables = `
  create table notes (id text primary key, body text not null);
  create table marks (n bigint primary key);`

const LARGEST = 1024 * 1024

eachEngine((engine) => {
  let db: Database
  let url: string
  before(async () => {
    url = await engine.freshUrl()
    db = await openDatabase(url)
    await db.migrate([{ wire: 'test', name: '001-tables', text: tables }])
  })
  after(() => db.close())

  const add = (id: string, body: string) => sql`insert into notes (id, body) values (${id}, ${body})`
  const bodies = sql<{ line: string }>`select body as line from notes order by id`
  const count = sql<{ n: number }>`select count(*) as n from marks`

  async function textOf(snapshot: Snapshot, query = bodies): Promise<string> {
    const pieces: Buffer[] = []
    for await (const piece of snapshot.lines(query)) pieces.push(piece)
    return Buffer.concat(pieces).toString()
  }

  /** The connections that snapshots have open, as the engine itself counts them. */
  async function openSnapshots(): Promise<number> {
    if (engine.name === 'sqlite') {
      // Only if nobody reads an older moment can the log be emptied.
      const other = new DatabaseSync(url.replace('sqlite:', ''))
      const row = other.prepare('pragma wal_checkpoint(truncate)').get()
      other.close()
      return Number(row!['busy'])
    }
    const row = await db.get<{ n: number }>(sql`
      select count(*) as n from pg_stat_activity
      where datname = current_database() and application_name = 'sixwire snapshot'`)
    return row!.n
  }

  async function until(isTrue: () => Promise<boolean>): Promise<void> {
    while (!(await isTrue())) await nextTurn()
  }

  test('lines hold every character as it is, and values are bound', async () => {
    const characters = Array.from({ length: 0x3000 }, (_, at) => String.fromCodePoint(at + 1)).join('')
    const odd = `${characters}\u{feff}\u{10ffff}\u{1f600}\\N\\.\\r"'$1 ?`
    const values = [odd, '', 'é'.repeat(70_000), '\u{feff}', 'ends']
    await db.batch(values.map((body, at) => add(`${at}`, body)))
    await db.snapshot(async (snapshot) => {
      assert.ok((await textOf(snapshot)) === values.map((body) => `${body}\n`).join(''))
      const bound = sql<{ line: string }>`
        select body as line from notes where id <> ${`o'\\1`} and ${-1} < 0 and 3 -${-1} = 4 and id = ${'4'}
          and ${null} is null and cast(${2n ** 60n} as bigint) > 0`
      assert.equal(await textOf(snapshot, bound), 'ends\n')
      assert.equal(await textOf(snapshot, sql`select body as line from notes where id = 'none'`), '')
      assert.deepEqual(await snapshot.get(sql`select id from notes where id = ${'2'}`), { id: '2' })
      assert.equal(await snapshot.get(sql`select id from notes where id = 'none'`), undefined)
      assert.equal((await snapshot.all(sql`select id from notes`)).length, values.length)
    })
    await db.write(sql`delete from notes`)
  })

  test('all reads see one moment, while writes go on', async () => {
    // Each commit adds one mark and one note, so a moment has as many of the one as of the other.
    let isOver = false
    let written = 0
    async function write(writer: number): Promise<void> {
      for (let at = 0; !isOver; at++) {
        const n = at * 4 + writer
        await db.batch([sql`insert into marks (n) values (${n})`, add(`m${n}`, '.'.repeat(500))])
        written++
      }
    }
    const writers = [0, 1, 2, 3].map(write)
    await until(async () => written > 100)
    for (let round = 0; round < 3; round++) {
      const before = written
      await db.snapshot(async (snapshot) => {
        const { n } = (await snapshot.get(count))!
        assert.ok(n >= before)
        const during = written
        await until(async () => written > during + 200)
        assert.equal((await textOf(snapshot)).length, n * 501)
        assert.deepEqual(await snapshot.get(count), { n })
      })
    }
    isOver = true
    await Promise.all(writers)
    assert.deepEqual(await db.get(count), { n: written })
  })

  test('what is read slowly waits in the database, not in memory', async () => {
    const body = 'ü'.repeat(LARGEST / 2)
    const rows = 40
    await db.write(sql`delete from notes`)
    for (let at = 0; at < rows; at++) await db.write(add(`large ${1000 + at}`, body))
    let bytes = 0
    await db.snapshot(async (snapshot) => {
      const before = process.memoryUsage().external
      for await (const piece of snapshot.lines(bodies)) {
        if (bytes === 0) await delay(100) // as long as it takes to read all of them
        bytes += piece.length
        if (bytes === piece.length) {
          const ahead = process.memoryUsage().external - before
          assert.ok(ahead < 10 * LARGEST, `${ahead} bytes were read ahead`)
        }
      }
    })
    assert.equal(bytes, rows * (LARGEST + 1))
    await db.write(sql`delete from notes where id > 'large 1005'`)
  })

  test('ends where its reader stops, its work throws, or it is done', async () => {
    const ways: ((snapshot: Snapshot) => Promise<unknown>)[] = [
      async (snapshot) => {
        const reader = snapshot.lines(bodies)[Symbol.asyncIterator]()
        await reader.next()
        await reader.return!()
        await assert.rejects(snapshot.all(count), /has ended/)
      },
      async (snapshot) => {
        for await (const piece of snapshot.lines(bodies)) if (piece.length > 0) throw new Error('boom')
      },
      // All of it has come when the first piece is read, and not all is taken.
      async (snapshot) => {
        const few = sql<{ line: string }>`select body as line from notes where id = 'large 1000'`
        const reader = snapshot.lines(few)[Symbol.asyncIterator]()
        await reader.next()
        await delay(20)
        await reader.return!()
      },
      async (snapshot) => {
        await snapshot.lines(bodies)[Symbol.asyncIterator]().next()
        await assert.rejects(snapshot.get(count), /to their end first/)
      },
      (snapshot) => textOf(snapshot),
      (snapshot) => snapshot.all(sql`select nothing from nowhere`),
      (snapshot) => snapshot.all(sql`insert into marks (n) values (-1) returning n`),
      (snapshot) => textOf(snapshot, sql`select null as line`),
    ]
    const results = await Promise.allSettled(ways.map((way) => db.snapshot(way)))
    assert.deepEqual(
      results.map(({ status }) => status === 'fulfilled'),
      [true, false, true, true, true, false, false, false],
    )
    await until(async () => (await openSnapshots()) === 0)
    let late: Snapshot | undefined
    await db.snapshot(async (snapshot) => void (late = snapshot))
    await assert.rejects(late!.all(count), /has ended/)
    await assert.rejects(textOf(late!), /has ended/)
  })

  test('ends with the database', async () => {
    const closing = await openFresh(engine, tables)
    await closing.write(sql`insert into marks (n) values (1)`)
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    const { promise: closed, resolve: close } = Promise.withResolvers<void>()
    const reading = closing.snapshot(async (snapshot) => {
      await snapshot.all(count)
      begin()
      await closed
      await snapshot.all(count)
    })
    await begun
    await closing.close()
    close()
    await assert.rejects(reading, { code: 'UNAVAILABLE' })
    await assert.rejects(closing.snapshot(textOf), { code: 'UNAVAILABLE' })
  })

  if (engine.name === 'postgres')
    test('a connection that is lost fails what is read, and no other', async () => {
      const proxy = await startProxy(url)
      const own = await openDatabase(proxy.url)
      const end = sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name = 'sixwire snapshot'`
      const large = sql<{ line: string }>`select repeat('x', 1000000) as line from generate_series(1, 100)`
      const ways: ((snapshot: Snapshot, lose: () => Promise<unknown>) => Promise<unknown>)[] = [
        async (snapshot, lose) => {
          let bytes = 0
          for await (const piece of snapshot.lines(large)) {
            if (bytes === 0) await lose()
            bytes += piece.length
          }
        },
        async (snapshot, lose) => {
          await lose()
          await snapshot.all(count)
        },
        (snapshot, lose) => Promise.all([snapshot.all(sql`select 1 as one from pg_sleep(30)`), lose()]),
      ]
      for (const way of ways) {
        await assert.rejects(
          own.snapshot((snapshot) => way(snapshot, () => db.all(end))),
          { code: 'UNAVAILABLE' },
        )
        await assert.rejects(
          own.snapshot((snapshot) => way(snapshot, () => proxy.down())),
          { code: 'UNAVAILABLE' },
        )
        await proxy.up()
        assert.equal((await own.all(count)).length, 1)
      }
      await proxy.down()
      await assert.rejects(own.snapshot(textOf), { code: 'UNAVAILABLE' })
      await own.close()
    })
})
