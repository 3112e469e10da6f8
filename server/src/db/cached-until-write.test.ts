import assert from 'node:assert/strict'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'

import { eachEngine, temporaryFolder } from '../testing/engines.ts'
import { openDatabase } from './open.ts'
import { cachedUntilWrite } from './cached-until-write.ts'
import { sql } from './sql.ts'

const tables = `create table stocks (id text primary key, amount bigint not null)`
const take = sql<{ amount: number }>`update stocks set amount = amount - 1 where id = 'a' returning amount`

eachEngine((engine) => {
  /** Two programs on one database, and a counted reading of the one's. */
  async function open(t: { after(work: () => Promise<void>): void }) {
    const url = await engine.freshUrl()
    const [db, other] = [await openDatabase(url), await openDatabase(url)]
    t.after(async () => {
      await db.close()
      await other.close()
    })
    await db.migrate([{ wire: 'test', name: '001-tables', text: tables }])
    await db.write(sql`insert into stocks (id, amount) values ('a', 100)`)
    const counted = { reads: 0 }
    const amount = cachedUntilWrite(db, async (id) => {
      counted.reads++
      return (await db.get<{ amount: number }>(sql`select amount from stocks where id = ${id}`))?.amount
    })
    return { db, other, amount, counted }
  }

  test('a cached value is never older than the last write of this program', async (t) => {
    const { db, amount } = await open(t)
    let writing = true
    // Read in the same turn of the event loop, before the write is known.
    const onlooker = (async () => {
      for (; writing; await nextTurn()) await Promise.all([amount('a'), amount('b')])
    })()
    await Promise.all(
      Array.from({ length: 20 }, async (_, lane) => {
        for (let round = 0; round < 10; round++) {
          const [left] = lane % 3 === 0 ? await db.transaction((tx) => tx.write(take)) : await db.write(take)
          const seen = (await amount('a'))!
          assert.ok(seen <= left!.amount, `read ${seen} after ${left!.amount} was written`)
        }
      }),
    )
    writing = false
    await onlooker
    assert.equal(await amount('a'), -100)
  })

  test('a write of another program is seen from the next turn of the event loop on', async (t) => {
    const { other, amount } = await open(t)
    for (let left = 100; left > 80; left--) {
      await nextTurn()
      assert.equal(await amount('a'), left)
      await other.write(take)
    }
  })

  test('a cached value is read again only after a write', async (t) => {
    const { db, amount, counted } = await open(t)
    for (let round = 0; round < 5; round++) {
      assert.deepEqual([await amount('a'), await amount('nothing')], [100, undefined])
      await nextTurn()
    }
    // PostgreSQL does not tell what has changed: there each call reads.
    assert.equal(counted.reads, db.revision() === undefined ? 10 : 2)
  })
})

test('the log of SQLite is emptied also while reads never pause', async (t) => {
  const folder = await temporaryFolder(t)
  const db = await openDatabase(`sqlite:${join(folder, 'test.db')}`)
  await db.migrate([{ wire: 'test', name: '001-tables', text: tables }])
  let writing = true
  const reading = (async () => {
    while (writing) {
      await Promise.all(
        Array.from({ length: 20 }, () => db.get(sql`select amount from stocks where id = 'a'`)),
      )
      await nextTurn()
    }
  })()
  const text = 'x'.repeat(8000)
  await Promise.all(
    Array.from({ length: 8 }, async (_, lane) => {
      for (let at = 0; at < 500; at++)
        await db.write(sql`insert into stocks (id, amount) values (${`${lane}-${at}-${text}`}, 1)`)
    }),
  )
  writing = false
  await reading
  const { size } = await stat(join(folder, 'test.db-wal'))
  // 4,000 writes of at least 8 kB twice (table and index) are 64 MB; how much of
  // that waits for a gap between reads depends on the machine.
  assert.ok(size < 32_000_000, `the log has ${size} bytes`)
  await db.close()
})
