// Which documents refer to others, from the entries of an index.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { errors } from '../../../../../base/errors.ts'
import { requireRow } from '../../../../../db/database.ts'
import { sql } from '../../../../../db/sql.ts'
import { startApp } from '../../../../../testing/app.ts'
import { eachEngine } from '../../../../../testing/engines.ts'
import { indexesOf, readyIndexes } from '../indexes/indexes.fixture.ts'
import { hasNoReferrers, selectReferrersSql } from './referrers.ts'

eachEngine((engine) => {
  test('documents that refer to others are found, and keep them from being deleted', async (t) => {
    const app = await startApp(t, engine, {
      config: { store: { indexes: { orders: ['lines.product'] } } },
    })
    const { token } = await app.register()
    const { db } = app.app
    const create = async (...products: unknown[]): Promise<string> => {
      const body = { lines: products.map((product) => ({ product })) }
      return (await app.request('POST', '/store/orders', { token, body })).body._id
    }
    const [lamp, chair, both] = [await create('lamp'), await create('chair'), await create('lamp', 'chair')]
    const long = 'x'.repeat(3_000)
    await create(null, 5, `${long}1`)
    await readyIndexes(app)
    const [index] = await indexesOf(app)
    const referrers = async (targets: string[], limit = 10) =>
      (await db.all(selectReferrersSql(index!, targets, limit))).map(({ id }) => id)
    const isFree = async (...targets: string[]): Promise<boolean> => {
      const step = sql`select 1 as free where ${hasNoReferrers(index!, targets)}`
      try {
        await db.batch([requireRow(step, () => errors.conflict())])
        return true
      } catch {
        return false
      }
    }

    assert.deepEqual(await referrers(['lamp']), [lamp, both])
    assert.deepEqual(await referrers(['lamp', 'chair']), [lamp, chair, both])
    assert.deepEqual(await referrers(['lamp', 'chair'], 2), [lamp, chair])
    assert.deepEqual(await referrers(['lam', 'lampe', '5', `${long}2`]), [])
    assert.equal((await referrers([`${long}1`])).length, 1)
    assert.deepEqual([await isFree('table', '5'), await isFree('table', 'chair')], [true, false])

    await app.request('DELETE', `/store/orders/${chair}`, { token })
    assert.equal(await isFree('chair'), false)
    await app.request('PUT', `/store/orders/${both}`, { token, body: { lines: [] } })
    assert.deepEqual([await isFree('chair'), await referrers(['lamp'])], [true, [lamp]])

    // Entries that a build has not removed yet.
    await db.batch([
      sql`update store_indexes set state = 'building' where id = ${index!.id}`,
      sql`update store_entries set ends = -1`,
    ])
    assert.deepEqual([await isFree('table'), await referrers(['lamp'])], [false, []])
  })
})
