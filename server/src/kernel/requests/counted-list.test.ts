import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'

import fc from 'fast-check'

import { newId } from '../../base/ids.ts'
import { allRows, ownRows } from '../../base/row-filter.ts'
import type { Database } from '../../db/database.ts'
import { openDatabase } from '../../db/open.ts'
import { sql } from '../../db/sql.ts'
import { pageOf } from '../../http/page.ts'
import { eachEngine } from '../../testing/engines.ts'
import { createCountedList } from './counted-list.ts'
import { openFrame } from '../frame.fixture.ts'

const TABLE = sql`create table tickets (id text primary key, owner text, color text not null)`

// As migrations of wires write them.
const TRIGGERS = {
  sqlite: [
    `create trigger tickets_added after insert on tickets begin
       insert into sixwire_counts (list, owner, slot, records)
       select 'test.tickets', per.owner, 0, 1 from (select '' as owner union all select new.owner) as per
       where per.owner is not null
       on conflict (list, owner, slot) do update set records = records + 1;
     end`,
    `create trigger tickets_removed after delete on tickets begin
       update sixwire_counts set records = records - 1
       where list = 'test.tickets' and owner in ('', old.owner) and slot = 0;
     end`,
  ],
  postgres: [
    `create trigger tickets_added after insert on tickets
     referencing new table as changed for each statement execute function sixwire_count_records('test.tickets')`,
    `create trigger tickets_removed after delete on tickets
     referencing old table as changed for each statement execute function sixwire_count_records('test.tickets')`,
  ],
}

type Ticket = { id: string; color: string }

const listOf = (db: Database) =>
  createCountedList<Ticket>(
    { db },
    {
      name: 'test.tickets',
      table: sql.literal('tickets'),
      columns: sql.literal('id, color'),
    },
  )

const ALL = allRows

const insertSql = (owner: string | null, color = 'red', count = 1) =>
  sql`insert into tickets (id, owner, color) values
      ${sql.join(Array.from({ length: count }, () => sql`(${newId()}, ${owner}, ${color})`))}`

const page = (query: Partial<Parameters<typeof pageOf>[0]> = {}) => pageOf({ limit: 20, offset: 0, ...query })

eachEngine((engine) => {
  let db: Database
  let other: Database
  before(async () => {
    const frame = await openFrame(engine)
    db = frame.db
    other = await openDatabase(frame.url)
    await db.batch([TABLE, ...TRIGGERS[db.dialect].map((text) => sql.literal(text))])
  })
  after(() => Promise.all([db.close(), other.close()]))

  const clear = () => db.write(sql`delete from tickets`)

  describe('a counted list', () => {
    test('has its total, in all and of each owner', async () => {
      await clear()
      const list = listOf(db)
      assert.deepEqual(await list(ALL, [], page()), { rows: [], total: 0 })
      assert.deepEqual(await list(ALL, [], page({ total: 'none' })), { rows: [], total: undefined })
      await db.batch([insertSql('ada', 'red', 3), insertSql('bob', 'blue'), insertSql(null)])
      const totals = async () =>
        Promise.all(
          [ALL, ownRows('ada'), ownRows('bob'), ownRows('eve')].map(
            async (filter) => (await list(filter, [], page())).total,
          ),
        )
      assert.deepEqual(await totals(), [5, 3, 1, 0])
      await db.write(sql`delete from tickets where color = 'red'`)
      assert.deepEqual(await totals(), [1, 0, 1, 0])
      await db.write(sql`delete from tickets where color = 'green'`)
      await db.write(
        sql`insert into tickets select id, owner, color from tickets where true on conflict (id) do nothing`,
      )
      assert.deepEqual(await totals(), [1, 0, 1, 0])
    })

    test('reads its total without counting, unless it has conditions', async () => {
      await clear()
      await db.write(insertSql('ada', 'red', 4))
      await db.write(sql`
        insert into sixwire_counts (list, owner, slot, records) values
          ('test.tickets', '', 99, 1000), ('test.tickets', 'ada', 99, 100)`)
      const list = listOf(db)
      assert.equal((await list(ALL, [], page())).total, 1004)
      assert.equal((await list(ownRows('ada'), [], page({ limit: 1000 }))).total, 104)
      assert.equal((await list(ownRows('ada'), [sql`color = 'red'`], page())).total, 4)
      assert.equal((await list(ownRows('bob'), [sql`color = 'red'`], page())).total, 0)
      await db.write(sql`delete from sixwire_counts where slot = 99`)
    })

    test('is read page by page, newest first, whether pages are short or long', async () => {
      await clear()
      for (let i = 0; i < 13; i++) await db.batch([insertSql('ada', 'red', 20), insertSql('bob', 'blue', 3)])
      const ids = (
        await db.all<{ id: string }>(sql`select id from tickets where owner = 'ada' order by id desc`)
      ).map(({ id }) => id)
      const list = listOf(db)
      for (const limit of [1, 7, 100, 101, 1000]) {
        const seen: string[] = []
        let cursor: string | undefined
        do {
          const { rows, total, nextCursor } = await list(
            ownRows('ada'),
            [],
            page({ limit, ...(cursor && { cursor }) }),
          )
          assert.equal(total, 260)
          seen.push(...rows.map(({ id }) => id))
          cursor = nextCursor
        } while (cursor !== undefined)
        assert.deepEqual(seen, ids, `${limit} a page`)
        const { rows } = await list(ownRows('ada'), [], page({ limit, offset: 95 }))
        assert.deepEqual(
          rows.map(({ id }) => id),
          ids.slice(95, 95 + limit),
        )
      }
      const blue = await list(ALL, [sql`color = 'blue'`], page({ limit: 1000 }))
      assert.deepEqual([blue.rows.length, blue.total], [39, 39])
    })

    test('keeps nothing of what is rolled back', async () => {
      await clear()
      const id = newId()
      const same = sql`insert into tickets (id, owner, color) values (${id}, 'ada', 'red')`
      await assert.rejects(db.batch([same, same]), { kind: 'unique' })
      assert.equal((await listOf(db)(ALL, [], page())).total, 0)
    })

    test('property: has the right totals after any changes at once, by two programs', async () => {
      const owner = fc.constantFrom('ada', 'bob', null)
      const change = fc.oneof(
        fc.record({ kind: fc.constant('add' as const), owner, count: fc.integer({ min: 1, max: 4 }) }),
        fc.record({ kind: fc.constant('add two' as const), owner, second: owner }),
        fc.record({ kind: fc.constant('remove' as const), owner, count: fc.integer({ min: 1, max: 4 }) }),
      )
      await fc.assert(
        fc.asyncProperty(fc.array(change, { maxLength: 25 }), async (changes) => {
          await Promise.all(
            changes.map(async (one, at) => {
              const program = at % 2 ? db : other
              if (one.kind === 'add') await program.write(insertSql(one.owner, 'red', one.count))
              else if (one.kind === 'add two')
                await program.batch([insertSql(one.owner), insertSql(one.second, 'blue', 2)])
              else
                await program.write(sql`
                  delete from tickets where id in (
                    select id from tickets where owner is not distinct from ${one.owner} limit ${one.count})`)
            }),
          )
          const list = listOf(db)
          for (const rowFilter of [ALL, ownRows('ada'), ownRows('bob')]) {
            const stored = await list(rowFilter, [], page())
            const counted = await list(rowFilter, [sql`true`], page())
            assert.equal(stored.total, counted.total, JSON.stringify(rowFilter))
          }
        }),
        { numRuns: 15 },
      )
    })
  })
})
