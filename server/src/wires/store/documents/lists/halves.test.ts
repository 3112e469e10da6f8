// Lists of so many documents that SQLite reads them in two halves at once.
import assert from 'node:assert/strict'
import { availableParallelism } from 'node:os'
import { test } from 'node:test'

import { startApp } from '../../../../testing/app.ts'
import { eachEngine, endOfSuite } from '../../../../testing/engines.ts'

const DOCUMENTS = 21_000
const BATCH = 1000
const LIMIT = 3

type List = { data: { n: number }[]; total: number; nextCursor?: string }

eachEngine((engine) => {
  const ending = endOfSuite()

  test('a list that is read in halves is that of all documents', async () => {
    const app = await startApp(ending, engine, { config: { store: { automaticIndexes: false } } })
    const { token } = await app.register()
    for (let first = 0; first < DOCUMENTS; first += BATCH) {
      const body = Array.from({ length: BATCH }, (_, i) => ({ n: first + i }))
      assert.equal((await app.request('POST', '/store/books', { token, body })).status, 201)
    }
    const { db } = app.app
    let together = 0
    const scanTogether = db.scanTogether?.bind(db)
    if (scanTogether)
      db.scanTogether = async (queries, options) => {
        const rows = await scanTogether(queries, options)
        if (rows) together++
        return rows
      }
    const list = async (parameters: object): Promise<List> => {
      const query = new URLSearchParams({ limit: String(LIMIT), ...parameters }).toString()
      const { status, text, body } = await app.request('GET', `/store/books?${query}`, { token })
      assert.equal(status, 200, text)
      return body
    }
    const last = DOCUMENTS - 1
    for (const [filter, total, oldest] of [
      [{ n: { $gte: 0 } }, DOCUMENTS, [0, 1, 2, 3]],
      [{ n: { $in: [5, last - 5] } }, 2, [5, last - 5]],
      [{ n: { $in: [0, 1, last - 1, last] } }, 4, [0, 1, last - 1, last]],
      [{ n: { $lt: 4 } }, 4, [0, 1, 2, 3]],
      [{ n: { $gt: last - 4 } }, 4, [last - 3, last - 2, last - 1, last]],
      [{ n: -1 }, 0, []],
    ] as const)
      for (const sort of ['_id', '-_id']) {
        const newest = total === DOCUMENTS ? oldest.map((n) => last - n) : oldest.toReversed()
        const expected = sort === '_id' ? oldest : newest
        // What runs at once depends on whether its threads have been started.
        for (let times = 0; times < 2; times++) {
          const { data, total: found, nextCursor } = await list({ filter: JSON.stringify(filter), sort })
          assert.equal(found, total)
          assert.deepEqual(
            data.map(({ n }) => n),
            expected.slice(0, LIMIT),
          )
          if (total <= LIMIT) assert.equal(nextCursor, undefined)
          else {
            const next = await list({ filter: JSON.stringify(filter), sort, cursor: nextCursor })
            assert.equal(next.data[0]!.n, expected[LIMIT])
            assert.equal(next.total, total)
          }
        }
      }
    if (db.dialect === 'sqlite' && availableParallelism() > 1) assert.ok(together > 12, String(together))
  })
})
