import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { eachEngine } from '../testing/engines.ts'
import { until } from '../testing/until.ts'
import { ConstraintError, type Database } from './database.ts'
import { openDatabase } from './open.ts'
import { sql, type Sql } from './sql.ts'

const REASON = 'closed for writes: "items"'

const create: Record<Database['dialect'], Sql[]> = {
  sqlite: [
    sql`create trigger items_closed before insert on items begin
          select raise(abort, 'closed for writes: "items"');
        end`,
  ],
  postgres: [
    sql`create function close_items() returns trigger language plpgsql as $$
        begin
          raise exception 'closed for writes: "items"' using errcode = 'SX001';
        end
        $$`,
    sql`create trigger items_closed before insert on items for each statement execute function close_items()`,
  ],
}
const drop: Record<Database['dialect'], Sql[]> = {
  sqlite: [sql`drop trigger items_closed`],
  postgres: [sql`drop trigger items_closed on items`, sql`drop function close_items()`],
}

eachEngine((engine) => {
  let db: Database
  let other: Database
  before(async () => {
    const url = await engine.freshUrl()
    db = await openDatabase(url)
    other = await openDatabase(url)
    const text = 'create table items (id text primary key, n bigint not null)'
    await db.migrate([{ wire: 'test', name: '001-tables', text }])
  })
  after(() => Promise.all([db.close(), other.close()]))

  let made = 0
  const insert = () => sql.insert('items', { id: `${made++}`, n: 1 }, ['id'])
  const read = () => db.all(sql`select id from items where id = '0'`)
  const onOther = (statements: readonly Sql[]) =>
    other.transaction(async (tx) => {
      for (const statement of statements) await tx.write(statement)
    })

  /** Every way to write, many at once, so that they are grouped. */
  const writes = (): Promise<unknown>[] => [
    ...Array.from({ length: 50 }, () => db.write(insert())),
    ...Array.from({ length: 5 }, () => db.batch([sql`update items set n = n + 1 where id = '0'`, insert()])),
    db.transaction((tx) => tx.write(insert())),
  ]
  const isClosed = (error: unknown): boolean =>
    error instanceof ConstraintError && error.kind === 'trigger' && error.message === REASON

  test('a trigger that another process creates refuses each write, and none once it is dropped', async () => {
    for (let round = 0; round < 2; round++) {
      await Promise.all(writes())
      await onOther(create[engine.name])
      const [before] = await db.all(sql`select count(*) as items, sum(n) as n from items`)
      for (const { status, reason } of (await Promise.allSettled(writes())) as PromiseRejectedResult[])
        assert.ok(status === 'rejected' && isClosed(reason), String(reason))
      assert.deepEqual(await db.all(sql`select count(*) as items, sum(n) as n from items`), [before])
      assert.equal((await read()).length, 1)
      await onOther(drop[engine.name])
    }
    await Promise.all(writes())
  })

  test('a trigger that is created while writes go on refuses those behind it, and breaks none', async () => {
    let isOver = false
    let kept = (await db.all(sql`select id from items`)).length
    const refused: unknown[] = []
    async function write(): Promise<void> {
      while (!isOver)
        await db.write(insert()).then(
          () => kept++,
          (error: unknown) => refused.push(error),
        )
    }
    const writers = Array.from({ length: 8 }, write)
    await onOther(create[engine.name])
    // Reads go on, and their statements too were prepared before.
    assert.equal((await read()).length, 1)
    await assert.rejects(db.write(insert()), isClosed)
    await until(() => refused.length > 0)
    await onOther(drop[engine.name])
    await db.write(insert())
    kept++
    isOver = true
    await Promise.all(writers)
    for (const error of refused) assert.ok(isClosed(error), String(error))
    assert.equal((await db.all(sql`select id from items`)).length, kept)
  })

  test('a transaction that fails leaves no trigger', async () => {
    await assert.rejects(onOther([...create[engine.name], sql`select nothing from nowhere`]))
    await Promise.all(writes())
  })
})
