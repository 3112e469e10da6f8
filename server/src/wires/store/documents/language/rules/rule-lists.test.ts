import assert from 'node:assert/strict'
import { before, test } from 'node:test'

import type { Config } from '../../../../../app.ts'
import { deriveKey } from '../../../../../base/crypto.ts'
import { allRows, type RowFilter } from '../../../../../base/row-filter.ts'
import { startApp, type TestApp } from '../../../../../testing/app.ts'
import { eachEngine, endOfSuite } from '../../../../../testing/engines.ts'
import { until } from '../../../../../testing/until.ts'
import { createLists } from '../../lists/list.ts'
import { parseFilter } from '../query/parse-filter.ts'
import { matchingRows, type RuleCondition } from './rule.ts'

const DOCUMENTS = 3000

const config = {
  store: {
    automaticIndexes: { slowMs: 0, max: 4 },
    indexes: { projects: ['members', 'team'] },
    collections: {
      projects: { read: ['owner', { members: '$$user._id' }, { team: 'open' }] },
      tasks: { read: { members: '$$user._id' } },
      notes: { read: ['owner', { members: '$$user._id' }] },
    },
  },
} satisfies Config

type Person = Awaited<ReturnType<TestApp['register']>>
type Stored = { _id: string; n: number; owner: string; members: string[]; team: string; state: string }

const searchFieldsOf = () => []

eachEngine((engine) => {
  let app: TestApp
  let [ann, bob]: Person[] = []
  const stored: Stored[] = []
  const ending = endOfSuite()
  before(async () => {
    app = await startApp(ending, engine, { config })
    const admin = await app.register()
    ann = await app.register()
    bob = await app.register()
    const fields = Array.from({ length: DOCUMENTS }, (_, n) => ({
      n: (n * 7919) % DOCUMENTS,
      members: n % 100 === 0 ? [ann!._id] : n % 150 === 1 ? [bob!._id, ann!._id] : [],
      team: n % 500 === 2 ? 'open' : 'closed',
      state: n % 3 === 0 ? 'done' : 'open',
    }))
    for (const collection of ['projects', 'tasks', 'notes'])
      for (let i = 0; i < DOCUMENTS; i += 1000) {
        const body = fields.slice(i, i + 1000)
        const made = await app.request('POST', `/store/${collection}`, { token: admin.token, body })
        if (collection === 'projects')
          for (const one of made.body.data) stored.push({ ...one, owner: admin._id })
      }
    for (let n = 0; n < 5; n++) {
      const { body } = await app.request('POST', '/store/projects', {
        token: ann.token,
        body: { ...fields[3], n: -n },
      })
      stored.push({ ...body, owner: ann._id })
    }
    await until(async () => {
      const { body } = await app.request('GET', '/store/projects/explain', { token: admin.token })
      return body.indexes.every((one: { state: string }) => one.state === 'ready')
    })
  })

  async function walk(
    who: Person,
    collection: string,
    query: string,
    limit: number,
  ): Promise<[string[], number]> {
    const ids: string[] = []
    let [cursor, total] = ['', 0]
    do {
      const path = `/store/${collection}?limit=${limit}&${query}${cursor && `&cursor=${cursor}`}`
      const { body, text, status } = await app.request('GET', path, { token: who.token })
      assert.equal(status, 200, text)
      ids.push(...body.data.map((one: Stored) => one._id))
      ;[cursor, total] = [body.nextCursor ?? '', body.total]
    } while (cursor !== '')
    return [ids, total]
  }

  test('a list by a rule of several alternatives has each document once, in order, on all pages', async () => {
    for (const who of [ann!, bob!]) {
      const reach = stored.filter(
        ({ owner, members, team }) => owner === who._id || members.includes(who._id) || team === 'open',
      )
      const newest = reach
        .map(({ _id }) => _id)
        .toSorted()
        .toReversed()
      assert.deepEqual(await walk(who, 'projects', '', 7), [newest, reach.length])
      const open = reach.filter(({ state }) => state === 'open').toSorted((a, b) => a.n - b.n)
      const filter = `sort=n&filter=${encodeURIComponent('{"state":"open"}')}`
      assert.deepEqual(await walk(who, 'projects', filter, 20), [open.map(({ _id }) => _id), open.length])
    }
  })

  test('it looks into the documents that the indexes of the alternatives lead to', async () => {
    const { documents, indexes, automaticIndexes } = app.app.service('store')
    const key = deriveKey('a secret of the tests', 'cursors')
    const lists = createLists({
      db: app.app.db,
      documents,
      indexes,
      automaticIndexes,
      limitMs: 10_000,
      key,
      searchFieldsOf,
    })
    const filters = [parseFilter(JSON.stringify({ members: ann!._id })), parseFilter('{"team":"open"}')]
    const explain = (rowFilter: RowFilter<RuleCondition>, filter = '{}') =>
      lists.explain({
        collection: 'projects',
        access: { rowFilter, view: undefined },
        parameters: { filter, limit: 20, offset: 0 },
      })
    const own = await explain(matchingRows(filters, ann!._id))
    assert.deepEqual(
      [own.plan, own.index, own.examined.documents],
      ['union', 'members | team', 30 + 20 + 6 + 5],
    )
    const others = await explain(matchingRows(filters))
    assert.deepEqual([others.plan, others.examined.documents], ['union', 30 + 20 + 6])
    const one = await explain(matchingRows(filters.slice(0, 1)))
    assert.deepEqual([one.plan, one.index], ['index', 'members'])
    const asked = await explain(allRows, '{"$or":[{"team":"open"},{"members":"x"}],"n":{"$gte":0}}')
    assert.deepEqual([asked.plan, asked.index, asked.total], ['union', 'team | members', 6])
    // An alternative without an index may be any document.
    assert.equal((await explain(allRows, '{"$or":[{"team":"open"},{"state":"x"}]}')).plan, 'scan')
  })

  test('alternatives that lead to much work are looked into where a query is stopped', async () => {
    const { documents, indexes, automaticIndexes } = app.app.service('store')
    for (let n = 0; n < 40; n++)
      await documents.create('projects', { team: 'large', text: 'x'.repeat(20_000) }, { owner: bob!._id })
    const key = deriveKey('a secret of the tests', 'cursors')
    const lists = createLists({
      db: app.app.db,
      documents,
      indexes,
      automaticIndexes,
      limitMs: 10_000,
      key,
      searchFieldsOf,
    })
    const options = { signal: AbortSignal.abort(new Error('the client has gone')) }
    const list = (filters: object[], owner?: string) => {
      const access = {
        rowFilter: matchingRows(
          filters.map((one) => parseFilter(JSON.stringify(one))),
          owner,
        ),
        view: undefined,
      }
      const parameters = { filter: '{"text":{"$regex":"y$"}}', limit: 20, offset: 0 }
      return lists.list({ collection: 'projects', access, parameters, options })
    }
    await assert.rejects(list([{ team: 'large' }, { members: 'x' }]), /the client has gone/)
    await assert.rejects(list([{ members: 'x' }], bob!._id), /the client has gone/)
    assert.equal((await list([{ team: 'open' }, { members: 'x' }])).total, 0)
  })

  for (const collection of ['tasks', 'notes'])
    test(`lists of ${collection} by their rule get an automatic index`, async () => {
      const { indexes } = app.app.service('store')
      await until(async () => {
        await walk(ann!, collection, '', 1000)
        const set = await indexes.reload(collection)
        return set.indexes.some(({ fields, state }) => fields[0]!.path[0] === 'members' && state === 'ready')
      })
      const [ids, total] = await walk(ann!, collection, '', 1000)
      assert.deepEqual([ids.length, total], [50, 50])
    })
})
