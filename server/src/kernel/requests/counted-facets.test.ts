import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'

import fc from 'fast-check'

import { newId } from '../../base/ids.ts'
import { allRows, ownRows } from '../../base/row-filter.ts'
import type { Database } from '../../db/database.ts'
import { openDatabase } from '../../db/open.ts'
import { sql, type Sql } from '../../db/sql.ts'
import { pageOf } from '../../http/page.ts'
import { eachEngine } from '../../testing/engines.ts'
import { createCountedList } from './counted-list.ts'
import { openFrame } from '../frame.fixture.ts'

const TABLE = `create table orders (
  id text primary key, owner text, provider text not null, status text, amount bigint not null default 0)`

// As migrations of wires write them.
const TRIGGERS = {
  sqlite: [
    `insert into sixwire_facet_changes select 'test.orders', owner, json_array(provider, status), count(*)
     from orders group by owner, provider, status`,
    `create trigger orders_added after insert on orders begin
       insert into sixwire_facet_changes values ('test.orders', new.owner, json_array(new.provider, new.status), 1);
     end`,
    `create trigger orders_removed after delete on orders begin
       insert into sixwire_facet_changes values ('test.orders', old.owner, json_array(old.provider, old.status), -1);
     end`,
    `create trigger orders_changed after update of provider, status on orders begin
       insert into sixwire_facet_changes values
         ('test.orders', old.owner, json_array(old.provider, old.status), -1),
         ('test.orders', new.owner, json_array(new.provider, new.status), 1);
     end`,
  ],
  postgres: [`select sixwire_count_list('test.orders', 'orders', 'provider', 'status')`],
}

const PROVIDERS = ['card', 'wal"let', 'a/b'] as const
const STATUSES = ['pending', 'completed', null] as const
const OWNERS = ['ada', 'bob', null] as const

type Order = { id: string; provider: string; status: string | null }
type New = { owner: string | null; provider: string; status: string | null }

const listOf = (db: Database) =>
  createCountedList<Order, 'provider' | 'status'>(
    { db },
    {
      name: 'test.orders',
      table: sql.literal('orders'),
      columns: sql.literal('id, provider, status'),
      facets: ['provider', 'status'],
    },
  )

const insertSql = (records: readonly New[]) =>
  sql`insert into orders (id, owner, provider, status) values ${sql.join(
    records.map(({ owner, provider, status }) => sql`(${newId()}, ${owner}, ${provider}, ${status})`),
  )}`

const updateSql = (provider: string, from: string | null, to: string | null): Sql =>
  sql`update orders set status = ${to} where provider = ${provider} and status is not distinct from ${from}`

const FILTERS = [
  {},
  ...PROVIDERS.map((provider) => ({ provider })),
  { status: 'pending' },
  { status: 'completed' },
  { provider: 'card', status: 'pending' },
  { provider: 'a/b', status: 'completed' },
]
const ROW_FILTERS = [allRows, ownRows('ada'), ownRows('bob'), ownRows('eve')]
const ALL = ROW_FILTERS[0]!
const PAGE = pageOf({ limit: 20, offset: 0 })

eachEngine((engine) => {
  let db: Database
  let other: Database
  before(async () => {
    const frame = await openFrame(engine)
    db = frame.db
    other = await openDatabase(frame.url)
    await db.batch([
      sql.literal(TABLE),
      insertSql([
        { owner: 'ada', provider: 'card', status: 'pending' },
        { owner: 'ada', provider: 'card', status: 'pending' },
        { owner: null, provider: 'a/b', status: null },
      ]),
    ])
    for (const text of TRIGGERS[db.dialect]) await db.write(sql.literal(text))
  })
  after(() => Promise.all([db.close(), other.close()]))

  const clear = () => db.write(sql`delete from orders`)
  const total = async (filter: { provider?: string; status?: string }, owner?: string) =>
    (await listOf(db)(owner === undefined ? allRows : ownRows(owner), [], PAGE, filter)).total

  describe('a counted list with facets', () => {
    test('counts the records from before its triggers', async () => {
      assert.deepEqual(
        [await total({}), await total({ provider: 'card' }, 'ada'), await total({ provider: 'a/b' })],
        [3, 2, 1],
      )
      await clear()
      assert.equal(await total({}), 0)
    })

    test('moves a record from one count to another when its status changes', async () => {
      await clear()
      await db.write(insertSql([{ owner: 'ada', provider: 'card', status: 'pending' }]))
      const totals = async () => [
        await total({ status: 'pending' }, 'ada'),
        await total({ status: 'completed' }, 'ada'),
        await total({ status: 'completed' }, 'bob'),
        await total({ provider: 'card' }),
      ]
      assert.deepEqual(await totals(), [1, 0, 0, 1])
      await db.write(updateSql('card', 'pending', 'completed'))
      assert.deepEqual(await totals(), [0, 1, 0, 1])
      await db.write(sql`update orders set amount = 5`)
      assert.deepEqual(await totals(), [0, 1, 0, 1])
      const id = newId()
      const same = sql`insert into orders (id, owner, provider) values (${id}, 'ada', 'card')`
      await assert.rejects(db.batch([updateSql('card', 'completed', 'pending'), same, same]), {
        kind: 'unique',
      })
      assert.deepEqual(await totals(), [0, 1, 0, 1])
    })

    test('reads the totals of facets without counting, and counts for other conditions', async () => {
      await clear()
      await db.write(insertSql([{ owner: 'ada', provider: 'card', status: 'pending' }]))
      await db.write(sql`insert into sixwire_facet_counts (list, owner, facets, slot, records)
        select list, owner, facets, 99, 1000 from sixwire_facet_counts
        where list = 'test.orders' group by list, owner, facets having sum(records) = 1`)
      assert.equal(await total({ status: 'pending' }), 1001)
      assert.equal(await total({ provider: 'card', status: 'pending' }, 'ada'), 1001)
      assert.equal(await total({ status: 'completed' }), 0)
      const scanned = await listOf(db)(ALL, [sql`amount = 0`], PAGE, { status: 'pending' })
      assert.deepEqual([scanned.total, scanned.rows.length], [1, 1])
      await db.write(sql`delete from sixwire_facet_counts where slot = 99`)
    })

    test('reads the page of the facets only, newest first', async () => {
      await clear()
      for (let i = 0; i < 5; i++)
        await db.write(
          insertSql([
            { owner: 'ada', provider: 'card', status: 'pending' },
            { owner: 'bob', provider: 'card', status: 'completed' },
          ]),
        )
      const list = listOf(db)
      const filter = { provider: 'card', status: 'completed' }
      const first = await list(ALL, [], pageOf({ limit: 3, offset: 0 }), filter)
      const second = await list(ALL, [], pageOf({ limit: 3, offset: 0, cursor: first.nextCursor! }), filter)
      const ids = [...first.rows, ...second.rows].map(({ id }) => id)
      const expected = await db.all<{ id: string }>(
        sql`select id from orders where status = 'completed' order by id desc`,
      )
      assert.deepEqual(
        ids,
        expected.map(({ id }) => id),
      )
      assert.deepEqual([first.total, second.total, second.nextCursor], [5, 5, undefined])
    })

    test('property: has the right totals after any changes at once, by two programs', async () => {
      const record = fc.record({
        owner: fc.constantFrom(...OWNERS),
        provider: fc.constantFrom(...PROVIDERS),
        status: fc.constantFrom(...STATUSES),
      })
      const step = fc.oneof(
        fc.array(record, { minLength: 1, maxLength: 4 }).map(insertSql),
        fc
          .tuple(fc.constantFrom(...PROVIDERS), fc.constantFrom(...STATUSES), fc.constantFrom(...STATUSES))
          .map(([provider, from, to]) => updateSql(provider, from, to)),
        fc
          .constantFrom(...STATUSES)
          .map(
            (status) =>
              sql`delete from orders where id in (select id from orders where status is not distinct from ${status} limit 3)`,
          ),
      )
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
          await Promise.all(steps.map((one, at) => (at % 2 ? db : other).write(one)))
          const list = listOf(db)
          for (const rowFilter of ROW_FILTERS) {
            for (const filter of FILTERS) {
              const stored = await list(rowFilter, [], PAGE, filter)
              const counted = await list(rowFilter, [sql`true`], PAGE, filter)
              assert.equal(stored.total, counted.total, JSON.stringify({ rowFilter, filter }))
            }
          }
        }),
        { numRuns: 6 },
      )
    })

    test('property: transactions that change several counts in any order do not wait for each other in a circle', async () => {
      await clear()
      const record = fc.record({
        owner: fc.constantFrom(...OWNERS),
        provider: fc.constantFrom(...PROVIDERS),
        status: fc.constantFrom(...STATUSES),
      })
      const transaction = fc.array(record, { minLength: 3, maxLength: 5 })
      await fc.assert(
        fc.asyncProperty(fc.array(transaction, { minLength: 25, maxLength: 40 }), async (transactions) => {
          let runs = 0
          await Promise.all(
            transactions.map((records, at) =>
              (at % 2 ? db : other).transaction(
                async (tx) => {
                  runs++
                  for (const one of records) await tx.write(insertSql([one]))
                },
                { isolation: 'read committed' },
              ),
            ),
          )
          // The engine ends a deadlock by repeating one of the transactions.
          assert.equal(runs, transactions.length)
          const counted = await listOf(db)(ALL, [sql`true`], PAGE)
          assert.equal(await total({}), counted.total)
        }),
        { numRuns: 3, endOnFailure: true },
      )
    })
  })
})
