// Documents with ids of other systems: whatever takes an `_id` takes theirs, and lists stay in the order of time.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import fc from 'fast-check'

import { newId } from '../../../../base/ids.ts'
import type { Config } from '../../../../app.ts'
import type { TestApp } from '../../../../testing/app.ts'
import { eachEngine, endOfSuite, temporaryFolder } from '../../../../testing/engines.ts'
import { startReplicas } from '../../../../testing/auth.ts'
import { follow } from '../../changes/changes.fixture.ts'
import { assertEntries, indexesOf, readyIndexes } from '../storage/indexes/indexes.fixture.ts'

const FOREIGN = [
  'Zz-9_',
  '0',
  '_',
  '-',
  '__proto__',
  'constructor',
  '507f1f77bcf86cd799439011',
  '8f14e45f-ceea-467f-a83d-0242ac120002',
  'kzmjx5nm2r4v1qf',
  'ZZZZZZZZZZZZZZZZZZZZ',
  'x'.repeat(64),
]

const config = {
  store: {
    collections: {
      notes: {
        ids: 'client',
        search: ['text'],
        relations: { parent: { to: 'notes', onDelete: 'cascade' }, of: { to: 'notes', onDelete: 'unset' } },
      },
      tasks: { read: 'owner', create: 'user', update: 'owner', delete: 'owner', ids: 'client' },
      served: 'shared',
    },
  },
} satisfies Config

type Document = { _id: string; createdAt: string; n: number; title?: string }
type Person = { _id: string; token: string }

const id = fc.string({
  minLength: 1,
  maxLength: 64,
  unit: fc.constantFrom(...Array.from('ABCXYZabcxyz0123456789_-')),
})
const time = fc.integer({ min: 1, max: 4 }).map((hour) => `2026-01-01T0${hour}:00:00.000Z`)

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
const newest = (a: Document, b: Document): number =>
  compare(b.createdAt, a.createdAt) || compare(b._id, a._id)
/** The orders of lists, as docs/queries.md tells them. */
const ORDERS: Record<string, (a: Document, b: Document) => number> = {
  '': newest,
  'sort=createdAt': (a, b) => compare(a.createdAt, b.createdAt) || compare(a._id, b._id),
  'sort=-createdAt,_id': (a, b) => compare(b.createdAt, a.createdAt) || compare(a._id, b._id),
  'sort=_id': (a, b) => compare(a._id, b._id),
  'sort=title': (a, b) => compare(a.title!, b.title!) || compare(a._id, b._id),
  'sort=title,-createdAt': (a, b) =>
    compare(a.title!, b.title!) || compare(b.createdAt, a.createdAt) || compare(b._id, a._id),
}

eachEngine((engine) => {
  const ending = endOfSuite()
  let app: TestApp
  let other: TestApp
  let folder: string
  let user: Person
  let key: string
  before(async () => {
    folder = await temporaryFolder(ending)
    ;[app, other] = await startReplicas(ending, engine, { config, environment: { DATA_DIR: folder } })
    user = await app.register()
    ;({ key } = await app.app.service('auth').keys.create('mover', ['store']))
    await readyIndexes(app)
  })
  const ask = (method: string, path: string, body?: unknown, token = key, at = app) =>
    at.request(method, `/store/${path}`, { token, body })
  async function answered(status: number, method: string, path: string, body?: unknown, token?: string) {
    const answer = await ask(method, path, body, token)
    assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`)
    return answer.body
  }
  async function imported(collection: string, lines: readonly object[]): Promise<void> {
    const content = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
    const { status, body, text } = await app.request('POST', `/store/${collection}/import?conflict=skip`, {
      token: key,
      raw: `--b\r\ncontent-disposition: form-data; name="file"; filename="x"\r\n\r\n${content}\r\n--b--\r\n`,
      headers: { 'content-type': 'multipart/form-data; boundary=b' },
    })
    assert.deepEqual([status, body?.failed], [200, 0], text)
  }
  /** All documents of a list, read page by page from the two replicas in turn. */
  async function paged(collection: string, query: string, limit = 3): Promise<string[]> {
    const ids: string[] = []
    let cursor: string | undefined
    for (let page = 0; page === 0 || cursor !== undefined; page++) {
      const next = cursor === undefined ? '' : `&cursor=${cursor}`
      const at = page % 2 === 0 ? app : other
      const { status, body, text } = await ask(
        'GET',
        `${collection}?${query}&limit=${limit}${next}`,
        undefined,
        key,
        at,
      )
      assert.equal(status, 200, text)
      ids.push(...body.data.map(({ _id }: Document) => _id))
      cursor = body.nextCursor
    }
    return ids
  }
  let collections = 0

  describe('an _id of another system', () => {
    for (const _id of FOREIGN)
      test(`${_id} is kept by a service key, and taken everywhere`, async () => {
        const created = await answered(201, 'POST', 'things', { _id, n: 1 })
        assert.deepEqual([created._id, created.n], [_id, 1])
        assert.equal((await answered(409, 'POST', 'things', { _id })).error.details.fields[0], '_id')
        assert.equal((await answered(200, 'PUT', `things/${_id}`, { n: 2 }))._id, _id)
        assert.equal((await answered(200, 'PATCH', `things/${_id}`, { $inc: { n: 1 } })).n, 3)
        assert.equal((await answered(200, 'GET', `things/${_id}`)).n, 3)
        const filter = encodeURIComponent(JSON.stringify({ _id }))
        assert.deepEqual(await paged('things', `filter=${filter}`), [_id])
        const bulk = { ids: [_id], action: 'set', set: { n: 4 }, expected: 1 }
        assert.equal((await answered(200, 'POST', 'things/bulk', bulk)).changed, 1)
        await answered(200, 'DELETE', `things/${_id}`)
        await answered(404, 'GET', `things/${_id}`)
      })

    test('is refused if no document can have it, with the place', async () => {
      for (const _id of [
        '',
        'a b',
        'ä',
        'a/b',
        'x'.repeat(65),
        7,
        null,
        { $oid: '507f1f77bcf86cd799439011' },
      ]) {
        const { error } = await answered(400, 'POST', 'things', { _id })
        assert.equal(error.details.issues[0].path, '/body/_id')
      }
      const { error } = await answered(400, 'POST', 'things', [{ _id: 'a' }, { _id: 'a' }])
      assert.equal(error.details.issues[0].path, '/body/1/_id')
      await answered(404, 'GET', 'things/a')
    })

    test('is no word of the routes, which would hide its document', async () => {
      const { paths } = (await app.request('GET', '/openapi.json')).body
      const words = Object.keys(paths).flatMap(
        (path) => /^\/store\/\{collection\}\/(\w+)$/.exec(path)?.[1] ?? [],
      )
      assert.ok(words.length > 4, words.join())
      for (const _id of words) await answered(400, 'POST', 'things', { _id })
    })

    test('is kept from users where the collection says so, and ignored elsewhere', async () => {
      assert.equal((await answered(201, 'POST', 'notes', { _id: 'mine' }, user.token))._id, 'mine')
      assert.notEqual((await answered(201, 'POST', 'things', { _id: 'mine' }, user.token))._id, 'mine')
      const { body } = await ask('GET', 'collections', undefined, key)
      const ids = new Map(body.data.map((one: { name: string; ids: string }) => [one.name, one.ids]))
      assert.deepEqual([ids.get('notes'), ids.get('served')], ['client', 'server'])
    })

    test('is that of one of many who create it at once', async () => {
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          ask(
            'POST',
            'locks',
            n % 2 ? { _id: 'lock', n } : [{ n: 'x' }, { _id: 'lock', n }],
            key,
            n % 3 ? app : other,
          ),
        ),
      )
      const created = answers.filter(({ status }) => status === 201)
      assert.deepEqual([created.length, answers.filter(({ status }) => status === 409).length], [1, 19])
      const [{ body }] = created as [(typeof created)[0]]
      const { n } = body.data?.[1] ?? body
      assert.equal((await answered(200, 'GET', 'locks/lock')).n, n)
      // Of the others nothing stays, whatever index is kept up meanwhile.
      assert.equal((await answered(200, 'GET', 'locks')).total, body.data ? 2 : 1)
    })

    test('is created once by a call that is repeated', async () => {
      for (const body of [{ _id: 'once', n: 1 }, [{ n: 1 }, { _id: 'twice' }]]) {
        const headers = { 'idempotency-key': newId() }
        const send = () => app.request('POST', '/store/repeated', { token: key, body, headers })
        const first = await send()
        assert.equal(first.status, 201, first.text)
        const again = await send()
        assert.deepEqual([again.status, again.text], [201, first.text])
      }
      assert.equal((await answered(200, 'GET', 'repeated')).total, 3)
    })

    test('is created by a PUT with upsert, and changed by the next', async () => {
      const path = 'upserted/a-1'
      await answered(404, 'PUT', path, { n: 1 })
      const created = await answered(201, 'PUT', `${path}?upsert=true`, { n: 1, m: 1 })
      assert.deepEqual([created._id, created.n], ['a-1', 1])
      assert.equal((await answered(200, 'PUT', `${path}?upsert=true`, { n: 2 })).m, 1)
      assert.equal((await answered(200, 'PUT', `${path}?upsert=true&replace=true`, { n: 3 })).m, undefined)
      await answered(403, 'PUT', `${path}?upsert=true`, { n: 4 }, user.token)
      const expected = await app.request('PUT', '/store/upserted/b?upsert=true', {
        token: key,
        body: {},
        headers: { 'if-match': '"1"' },
      })
      assert.equal(expected.status, 404)
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, n) => ask('PUT', 'upserted/many?upsert=true', { [`f${n}`]: n })),
      )
      const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b)
      assert.deepEqual(statuses, [...Array<number>(9).fill(200), 201])
      assert.equal(Object.keys(await answered(200, 'GET', 'upserted/many')).length, 13)
    })

    test('of a document that the caller may not read is neither told nor changed', async () => {
      await answered(201, 'PUT', 'tasks/hers?upsert=true', { n: 1 }, user.token)
      const stranger = (await app.register()).token
      await answered(409, 'POST', 'tasks', { _id: 'hers' }, stranger)
      await answered(404, 'PUT', 'tasks/hers?upsert=true', { n: 2 }, stranger)
      assert.equal((await app.request('PUT', '/store/tasks/x?upsert=true', { body: {} })).status, 401)
      assert.equal((await answered(200, 'GET', 'tasks/hers', undefined, user.token)).n, 1)
    })

    test('stands in relations, expand, searches and the feed of changes', async (t) => {
      const stream = await follow(t, app.url, { token: key, query: { collection: 'notes' } })
      await stream.receives('ready')
      const [root, uuid] = ['Root-1_', '8f14e45f-ceea-467f-a83d-0242ac120002']
      await answered(201, 'POST', 'notes', [
        { _id: root, text: 'old oak' },
        { _id: uuid, text: 'young oak' },
      ])
      await answered(201, 'POST', 'notes', { _id: 'leaf', parent: root, of: uuid, text: 'green' })
      await answered(400, 'POST', 'notes', { parent: 'Root-2_' })
      const leaf = await answered(200, 'GET', 'notes/leaf?expand=parent,of')
      assert.deepEqual([leaf.$expanded.parent.text, leaf.$expanded.of.text], ['old oak', 'young oak'])
      const hits = (await answered(200, 'GET', 'notes?search=oak')).data
      assert.deepEqual(hits.map(({ _id }: Document) => _id).toSorted(), [uuid, root].toSorted())
      await answered(200, 'DELETE', `notes/${uuid}`)
      assert.equal((await answered(200, 'GET', 'notes/leaf')).of, undefined)
      await answered(200, 'DELETE', `notes/${root}`)
      await answered(404, 'GET', 'notes/leaf')
      await answered(201, 'PUT', 'notes/last?upsert=true', { title: 'last' })
      await t.waitFor(() => assert.ok(stream.held.has('last')), { timeout: 20_000 })
      for (const gone of [root, uuid, 'leaf']) {
        assert.ok(
          stream.events.some(({ event, data }) => event === 'put' && data._id === gone),
          gone,
        )
        assert.equal(stream.held.has(gone), false)
      }
    })
  })

  describe('a list', () => {
    test('is in the order of createdAt and _id, on every page, with and without an index', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.uniqueArray(fc.record({ _id: id, createdAt: time, title: fc.constantFrom('a', 'b') }), {
            selector: ({ _id }) => _id,
            minLength: 1,
            maxLength: 12,
          }),
          fc.boolean(),
          async (lines, isBuilt) => {
            const collection = `listed${collections++}`
            // The other replica knows the collection as one in the order of ids.
            const own = await answered(201, 'POST', collection, [
              { title: 'a' },
              { title: 'b' },
              { title: 'a' },
            ])
            await ask('GET', `${collection}?filter={}&sort=title`, undefined, key, other)
            await imported(collection, lines)
            if (isBuilt) await readyIndexes(app)
            const all: Document[] = [...own.data, ...lines]
            for (const [query, order] of Object.entries(ORDERS))
              assert.deepEqual(
                await paged(collection, query),
                all.toSorted(order).map(({ _id }) => _id),
                query,
              )
            const titled = all.filter(({ title }) => title === 'a').toSorted(newest)
            assert.deepEqual(
              await paged(collection, 'filter={"title":"a"}'),
              titled.map(({ _id }) => _id),
            )
          },
        ),
        { numRuns: 12 },
      )
    })

    test('goes on at its place when the first foreign id comes', async () => {
      for (const query of ['', 'sort=createdAt', 'sort=title,-createdAt']) {
        const collection = `turned${collections++}`
        const own = await answered(
          201,
          'POST',
          collection,
          Array.from({ length: 9 }, (_, n) => ({ n, title: n % 2 ? 'a' : 'b' })),
        )
        const first = await answered(200, 'GET', `${collection}?${query}&limit=4`)
        const foreign = [
          { _id: 'Zz', createdAt: '2020-01-01T00:00:00.000Z', title: 'a' },
          { _id: '0', createdAt: '2040-01-01T00:00:00.000Z', title: 'c' },
        ]
        await imported(collection, foreign)
        const order = ORDERS[query]!
        const last = first.data.at(-1)
        const wanted = [...own.data, ...foreign].toSorted(order).filter((one) => order(one, last) > 0)
        for (const at of [app, other]) {
          const next = await ask(
            'GET',
            `${collection}?${query}&cursor=${first.nextCursor}`,
            undefined,
            key,
            at,
          )
          assert.equal(next.status, 200, next.text)
          assert.deepEqual(
            next.body.data.map(({ _id }: Document) => _id),
            wanted.map(({ _id }) => _id),
          )
        }
      }
    })

    test('of a collection without foreign ids is read by _id, and of one with them by an index', async () => {
      await answered(201, 'POST', 'plain', { n: 1 })
      assert.equal((await answered(200, 'GET', 'plain/explain')).plan, 'id')
      await imported('mixed', [{ _id: 'a' }])
      await readyIndexes(app)
      const { plan, index, sort } = await answered(200, 'GET', 'mixed/explain')
      assert.deepEqual([plan, index, sort], ['index', 'createdAt', 'index'])
      assert.equal((await answered(200, 'GET', 'tasks/explain')).plan, 'index')
      assert.deepEqual(
        (await indexesOf(app)).filter(({ collection }) => collection === 'plain'),
        [],
      )
      await assertEntries(app)
    })

    test('a dry run of an import leaves it in the order of ids', async () => {
      await answered(201, 'POST', 'dry', { n: 1 })
      const { body } = await app.request('POST', '/store/dry/import?dryRun=true', {
        token: key,
        raw: '--b\r\ncontent-disposition: form-data; name="file"; filename="x"\r\n\r\n{"_id":"a"}\r\n--b--\r\n',
        headers: { 'content-type': 'multipart/form-data; boundary=b' },
      })
      assert.equal(body.created, 1)
      assert.equal((await answered(200, 'GET', 'dry/explain')).plan, 'id')
    })
  })

  test('a backup brings them back, and an archive those that were never there', async () => {
    await imported('saved', [
      { _id: 'Zz-9_', createdAt: '2030-01-01T00:00:00.000Z', $owner: '507f1f77bcf86cd799439011' },
      { _id: '0', createdAt: '2020-01-01T00:00:00.000Z' },
    ])
    await answered(201, 'POST', 'saved', { n: 1 })
    const whole = await paged('saved', '')
    assert.deepEqual([whole[0], whole[2]], ['Zz-9_', '0'])
    const owned = await answered(200, 'GET', 'saved?owner=507f1f77bcf86cd799439011')
    assert.equal(owned.total, 1)
    const { backups, restores } = app.app.service('store')
    const backup = await backups.create('manual')
    await backup.done
    await answered(200, 'DELETE', 'saved/0')
    await app.app.service('store').restores.restore({ id: backup.id })
    assert.deepEqual(await paged('saved', ''), whole)
    await readyIndexes(app)
    assert.deepEqual(await paged('saved', ''), whole)
    await assertEntries(app)
    void restores
  })
})
