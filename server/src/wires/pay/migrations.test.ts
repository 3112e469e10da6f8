// What migrations make of the transactions of older versions.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { readMigrations } from '../../db/migrations.ts'
import { openDatabase } from '../../db/open.ts'
import { ConstraintError } from '../../db/database.ts'
import { sql } from '../../db/sql.ts'
import { startApp, testClock } from '../../testing/app.ts'
import { eachEngine } from '../../testing/engines.ts'
import { createBank, type Bank } from './bank.fixture.ts'
import { startTill } from './pay.fixture.ts'

const FULL = { amount: '1099', captured: '1099', refunded: '400', reserved: '500' }

eachEngine((engine) => {
  test('a dispute of an older version is of the whole payment until the next recheck, which a start makes', async (t) => {
    const databaseUrl = await engine.freshUrl()
    const db = await openDatabase(databaseUrl)
    const pay = await readMigrations('pay', new URL('./migrations/', import.meta.url), db.dialect)
    await db.migrate([
      ...(await readMigrations('sixwire', new URL('../../kernel/migrations/', import.meta.url), db.dialect)),
      ...pay.filter(({ name }) => name < '008'),
    ])
    const insert = (id: string, status: string, isSettled: number) => sql`
      insert into pay_transactions (id, owner, provider, status, reference, amount, currency, exponent, captured, refunded,
        reserved, is_settled, version, created_at, updated_at)
      values (${id}, 'anna', 'cardpay', ${status}, ${id}, '8200', 'EUR', 2, '8200', '0', '0', ${isSettled}, 1, 10, 10)`
    await db.batch([
      insert('t1', 'lost', 1),
      insert('t2', 'disputed', 0),
      insert('t3', 'completed', 1),
      sql`insert into pay_ledger (id, transaction_id, kind, object_id, status, version, amount, currency, created_at, seen_at)
        values ('l1', 't1', 'charge', 'pi_1', 'completed', 0, '8200', 'EUR', 10, 10)`,
      sql`insert into pay_ledger (id, transaction_id, kind, object_id, status, version, amount, currency, created_at, seen_at)
        values ('l2', 't1', 'dispute', 'dp_1', 'lost', 1, '100', 'EUR', 10, 10)`,
    ])
    await db.close()

    const clock = testClock()
    const banks: [Bank, Bank] = [createBank('cardpay', clock), createBank('walletpay', clock)]
    const session = {
      transactionId: 't1',
      reference: 't1',
      currency: 'EUR',
      status: 'paid',
      at: 10,
      paidAt: 10,
    }
    const dispute = { id: 'dp_1', amount: 100n, status: 'lost', version: 1, at: 10 } as const
    banks[0].sessions.set('t1', { ...session, amount: 8200n, refunds: [], disputes: [dispute] } as never)
    const till = await startTill(t, engine, { databaseUrl, clock, banks })
    const amountsOf = async (id: string) => {
      const { status, disputedAmount, lostAmount } = await till.transaction(id)
      return [status, disputedAmount, lostAmount]
    }
    assert.deepEqual(await amountsOf('t2'), ['disputed', 8200, 0])
    assert.deepEqual(await amountsOf('t3'), ['completed', 0, 0])
    while ((await amountsOf('t1'))[0] === 'lost') await delay(5)
    assert.deepEqual(await amountsOf('t1'), ['completed', 0, 100])
  })

  test('what was paid and refunded before is in the sums of its time, however large', async (t) => {
    const databaseUrl = await engine.freshUrl()
    const db = await openDatabase(databaseUrl)
    t.after(() => db.close())
    const pay = await readMigrations('pay', new URL('./migrations/', import.meta.url), db.dialect)
    const frame = await readMigrations(
      'sixwire',
      new URL('../../kernel/migrations/', import.meta.url),
      db.dialect,
    )
    await db.migrate([...frame, ...pay.filter(({ name }) => name < '012')])
    const insert = (id: string, currency: string, captured: string, refunded: string) => sql`
      insert into pay_transactions (id, owner, provider, status, reference, amount, currency, exponent, captured, refunded,
        reserved, is_settled, version, created_at, updated_at)
      values (${id}, 'anna', 'cardpay', 'completed', ${id}, ${captured}, ${currency}, 2, ${captured}, ${refunded}, '0', 1, 1,
        900000, 1900000)`
    await db.batch([
      insert('t1', 'EUR', '8200', '0'),
      insert('t2', 'EUR', '1800', '700'),
      insert('t3', 'ETH', '3000000000000000001', '0'),
    ])
    await db.migrate([...frame, ...pay])
    const rows = await db.all<{
      kind: string
      quarter: number
      currency: string
      limb: number
      amount: number
    }>(sql`select kind, quarter, currency, limb, amount from pay_sums order by kind, currency, limb`)
    assert.deepEqual(
      rows.map((row) => Object.values(row)),
      [
        ['refunds', 2, 'EUR', 0, 700],
        ['revenue', 1, 'ETH', 0, 1],
        ['revenue', 1, 'ETH', 1, 3_000_000],
        ['revenue', 1, 'EUR', 0, 10_000],
      ],
    )
  })

  test('amounts that were integers are text with the same digits, and all else is as it was', async (t) => {
    const databaseUrl = await engine.freshUrl()
    const db = await openDatabase(databaseUrl)
    const pay = await readMigrations('pay', new URL('./migrations/', import.meta.url), db.dialect)
    await db.migrate([
      ...(await readMigrations('sixwire', new URL('../../kernel/migrations/', import.meta.url), db.dialect)),
      ...pay.filter(({ name }) => name < '003'),
    ])
    await db.batch([
      sql`insert into pay_transactions values ('t1', 'anna', 'cardpay', 'partially_refunded', 'cs_1', 'pi_1', null,
        1099, 'EUR', 2, 1099, 400, 500, 1, 3, 10, 20)`,
      sql`insert into pay_ledger values ('l1', 't1', 'charge', 'pi_1', 'completed', 0, 1099, 'EUR', null, null, 10, 10)`,
      sql`insert into pay_calls values ('c1', 't1', 'refund', 400, 'accepted', 0, null, 10)`,
      sql`insert into pay_calls values ('c2', 't1', 'create', null, 'accepted', 0, null, 10)`,
    ])
    await db.close()

    const server = await startApp(t, engine, { databaseUrl })
    const { app } = server
    const stored = await app.db.get(sql`
      select amount, captured, refunded, reserved, owner, reference, version from pay_transactions`)
    assert.deepEqual(stored, { ...FULL, owner: 'anna', reference: 'cs_1', version: 3 })
    assert.deepEqual(await app.db.all(sql`select amount from pay_ledger`), [{ amount: '1099' }])
    const operations = await app.db.all(sql`select amount from pay_calls order by id`)
    assert.deepEqual(operations, [{ amount: '400' }, { amount: null }])

    const { token } = await server.register()
    const { body } = await server.request('GET', '/pay/transactions?status=partially_refunded', { token })
    assert.deepEqual([body.total, body.transactions[0]?.amount], [1, 1099])
    // The counts, the unique index and the check still hold.
    await app.db.write(sql`update pay_transactions set status = 'lost'`)
    const { total } = (await server.request('GET', '/pay/transactions?status=lost', { token })).body
    assert.equal(total, 1)
    const largest = (2n ** 256n - 1n).toString()
    await app.db.write(sql`update pay_transactions set amount = ${largest}`)
    assert.deepEqual(await app.db.get(sql`select amount from pay_transactions`), { amount: largest })
    for (const [kind, statement] of [
      ['check', sql`update pay_transactions set reserved = '-1'`],
      [
        'unique',
        sql`insert into pay_ledger (id, transaction_id, kind, object_id, status, version, amount, currency, created_at, seen_at)
          values ('l2', 't1', 'charge', 'pi_1', 'completed', 0, '1099', 'EUR', 1, 1)`,
      ],
    ] as const)
      await assert.rejects(
        app.db.write(statement),
        (error) => error instanceof ConstraintError && error.kind === kind,
      )
    await app.db.write(sql`delete from pay_transactions`)
    assert.deepEqual(await app.db.all(sql`select id from pay_calls union all select id from pay_ledger`), [])
  })
})
