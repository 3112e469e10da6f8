// What a list shows while others write: page and total are of one moment, and one caller with many connections is answered.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'

import { startApp, type TestApp } from '../../../../testing/app.ts'
import { eachEngine, endOfSuite } from '../../../../testing/engines.ts'
import { isLongRun } from '../../../../testing/long-run.ts'
import { readyIndexes } from '../storage/indexes/indexes.fixture.ts'

/** Created and deleted at once, so that a list shows all of them or none. */
const BATCH = 7
const BATCHES = 40
const CONNECTIONS = isLongRun ? 128 : 64

type List = { data: { batch: number }[]; total: number }

eachEngine((engine) => {
  const ending = endOfSuite()
  let app: TestApp
  let token: string
  before(async () => {
    app = await startApp(ending, engine, {
      config: { store: { indexes: { books: ['shelf', 'shelf,-batch'] }, automaticIndexes: false } },
    })
    ;({ token } = await app.register())
    const body = Array.from({ length: 500 }, (_, n) => ({ shelf: n % 2 ? 'lent' : 'lost', n }))
    assert.equal((await app.request('POST', '/store/books', { token, body })).status, 201)
    await readyIndexes(app)
  })

  async function list(filter: object, sort = '', limit = 1000): Promise<List> {
    const query = new URLSearchParams({
      filter: JSON.stringify(filter),
      limit: String(limit),
      ...(sort && { sort }),
    })
    const { status, text, body } = await app.request('GET', `/store/books?${query.toString()}`, { token })
    assert.equal(status, 200, text)
    return body
  }

  test('page and total of a list are of one moment, however it is read', async () => {
    const scanned = { batch: { $gt: 0 }, n: null }
    let isWriting = true
    async function write(): Promise<void> {
      for (let batch = 1; batch <= BATCHES; batch++) {
        const body = Array.from({ length: BATCH }, () => ({ shelf: 'new', batch }))
        assert.equal((await app.request('POST', '/store/books', { token, body })).status, 201)
        // As slow as those who read, so that they see each state or most of them.
        await list(scanned)
      }
      isWriting = false
    }
    async function read(filter: object, sort?: string): Promise<number> {
      const totals = new Set<number>()
      while (isWriting) {
        const { data, total } = await list(filter, sort)
        totals.add(total)
        assert.equal(data.length, total, JSON.stringify([filter, sort]))
        assert.equal(total % BATCH, 0)
        // Those of a batch are next to each other, and each batch is there from the first one on.
        assert.deepEqual(new Set(data.map(({ batch }) => batch)).size, total / BATCH)
      }
      return totals.size
    }
    const isNew = { shelf: 'new' }
    const [, ...states] = await Promise.all([
      write(),
      // By a scan, sorted, and from the entries of indexes: those alone, in the list's order, and with the documents.
      read(scanned),
      read({ batch: { $gt: 0 } }, 'n,-batch'),
      read(isNew),
      read(isNew, '-batch'),
      read({ ...isNew, n: null }),
    ])
    // Several states were seen, so there was something to mix up.
    for (const count of states) assert.ok(count > 2, `${states.join()} states`)
  })

  test('one caller with many connections is answered, by an index or by a scan', async () => {
    for (const filter of [
      { shelf: 'lent' },
      { shelf: { $in: ['lent', 'lost'] }, n: { $gte: 0 } },
      { n: { $gte: 250 } },
    ]) {
      const lists = await Promise.all(Array.from({ length: CONNECTIONS }, () => list(filter, '', 20)))
      assert.deepEqual(new Set(lists.map(({ total }) => total)).size, 1)
    }
  })
})
