// Lists for administrators: without a total, of one owner, and with previews in place of large documents.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'

import { sql } from '../../../../../db/sql.ts'
import { startApp, type TestAnswer, type TestApp } from '../../../../../testing/app.ts'
import { eachEngine, endOfSuite, someEngine } from '../../../../../testing/engines.ts'
import { previewOf } from './preview.ts'

type Loose = TestAnswer['body']

eachEngine((engine) => {
  const ending = endOfSuite()
  let app: TestApp
  let [admin, ann]: { _id: string; token: string }[] = []
  before(async () => {
    app = await startApp(ending, engine)
    admin = await app.register()
    ann = await app.register()
  })
  const ask = (path: string, token = admin!.token) => app.request('GET', `/store/${path}`, { token })
  async function create(collection: string, body: unknown, token = admin!.token): Promise<Loose> {
    const answered = await app.request('POST', `/store/${collection}`, { token, body })
    assert.equal(answered.status, 201, answered.text)
    return answered.body
  }

  test('a preview cuts long values, and tells what it cut', async () => {
    const document = await create('notes', {
      title: 'Momo',
      text: '😀'.repeat(60),
      tags: ['a'.repeat(20), 'b'.repeat(20), 'c'.repeat(20)],
      author: { name: 'Ende', about: 'x'.repeat(100), born: 1929 },
      price: 9.9,
      lost: null,
    })
    const { status, body, text } = await ask('notes?preview=50')
    assert.equal(status, 200, text)
    const { data, total } = body
    assert.equal(total, 1)
    const { $preview, ...fields } = data[0]
    const { _id, createdAt, updatedAt } = document
    assert.deepEqual(fields, {
      _id,
      createdAt,
      updatedAt,
      title: 'Momo',
      text: '😀'.repeat(50),
      tags: ['a'.repeat(20), 'b'.repeat(20)],
      author: { name: 'Ende' },
      price: 9.9,
      lost: null,
    })
    assert.deepEqual($preview, {
      cut: {
        text: { type: 'string', length: 60 },
        tags: { type: 'array', length: 3 },
        author: { type: 'object', length: 3 },
      },
      omitted: 0,
      owner: admin!._id,
      etag: (await ask(`notes/${_id}`)).headers.get('etag'),
    })
    // What was cut cannot be stored in place of the whole.
    const put = await app.request('PUT', `/store/notes/${_id}`, { token: admin!.token, body: data[0] })
    assert.equal(put.status, 400)
  })

  test('both engines cut alike, also names and texts that JSON escapes', async () => {
    const documents = [
      { 'a "b"\n': 'x\u0001"\\'.repeat(30), ['k'.repeat(300)]: 1, '7': { '': ['"', '\t'.repeat(40)] } },
      Object.fromEntries(Array.from({ length: 400 }, (_, i) => [`field${i}`, 'value'.repeat(3)])),
      { big: 1e300, deep: { a: { b: { c: [1, 2, { d: 'e'.repeat(50) }] } } }, empty: [], none: {} },
    ]
    await create('alike', documents)
    const { body } = await ask('alike?preview=40&sort=_id')
    const stored = await app.app.db.all<{ body: string }>(
      sql`select body from store_documents where collection = 'alike' order by id`,
    )
    const expected = stored.map(({ body }) =>
      JSON.parse(previewOf(typeof body === 'string' ? body : JSON.stringify(body), 40)),
    )
    assert.deepEqual(
      body.data.map(({ $preview: { owner, etag, ...$preview }, ...fields }: Loose) => ({
        ...fields,
        $preview,
      })),
      expected,
    )
    assert.ok(body.data[1].$preview.omitted > 100)
  })

  test('without a total, pages are the same, by an index, a scan or in order', async () => {
    await create(
      'books',
      Array.from({ length: 30 }, (_, i) => ({ n: i, kind: i % 2 ? 'odd' : 'even' })),
    )
    for (const query of ['', 'filter={"kind":"odd"}', 'sort=-n', 'filter={"n":{"$gt":5}}&sort=kind,n']) {
      const whole = await ask(`books?limit=100&${query}`)
      const parts: unknown[] = []
      let cursor = ''
      do {
        const { body } = await ask(`books?limit=7&total=none&${query}${cursor && `&cursor=${cursor}`}`)
        assert.equal(body.total, undefined)
        parts.push(...body.data)
        cursor = encodeURIComponent(body.nextCursor ?? '')
      } while (cursor)
      assert.deepEqual(parts, whole.body.data, query)
    }
  })

  test('lists of one owner and previews are for administrators', async () => {
    await create('mixed', { of: 'ann' }, ann!.token)
    await create('mixed', { of: 'admin' })
    const { body } = await ask(`mixed?owner=${ann!._id}`)
    assert.deepEqual([body.data.map(({ of }: Loose) => of), body.total], [['ann'], 1])
    for (const query of [`owner=${ann!._id}`, 'preview=10'])
      assert.equal((await ask(`mixed?${query}`, ann!.token)).status, 403)
    assert.equal((await ask('mixed?preview=10&fields=of')).status, 400)
    assert.equal((await ask('mixed?preview=0')).status, 400)
  })

  test('the fields of a collection are told with their types', async () => {
    await create('films', [
      { title: 'Momo', cast: [{ name: 'Radost' }, { name: null }], year: 1986 },
      { title: null, year: '1984' },
    ])
    const { status, body, text } = await ask('films/fields')
    assert.equal(status, 200, text)
    assert.deepEqual([body.documents, body.sample], [2, 2])
    const fields = new Map(body.fields.map(({ path, ...rest }: Loose) => [path, rest]))
    assert.deepEqual(fields.get('title'), { types: { string: 1, null: 1 }, documents: 2 })
    assert.deepEqual(fields.get('year'), { types: { string: 1, number: 1 }, documents: 2 })
    assert.deepEqual(fields.get('cast'), { types: { array: 1 }, documents: 1 })
    assert.deepEqual(fields.get('cast.name'), { types: { string: 1, null: 1 }, documents: 1 })
    assert.equal((await ask('films/fields', ann!.token)).status, 403)
  })
})

someEngine((engine) => {
  test('fifty documents of 1 MiB are a page of 200 KB, which goes on at the right place', async (t) => {
    const app = await startApp(t, engine)
    const { token } = await app.register()
    const ask = (path: string) => app.request('GET', `/store/${path}`, { token })
    const { documents } = app.app.service('store')
    const text = 'a'.repeat(1_040_000)
    for (let i = 0; i < 51; i++)
      await documents.create('large', { n: i, key: `${'k'.repeat(300)}${100 + i}`, list: [i], text })
    const page = await ask('large?preview=200&limit=50&sort=-key&total=none')
    assert.equal(page.status, 200, page.text.slice(0, 300))
    assert.ok(page.text.length <= 200_000, `${page.text.length} bytes`)
    const numbers = (answered: Loose): number[] => answered.body.data.map(({ n }: { n: number }) => n)
    assert.deepEqual(
      numbers(page),
      Array.from({ length: 50 }, (_, i) => 50 - i),
    )
    const cursor = encodeURIComponent(page.body.nextCursor)
    assert.deepEqual(numbers(await ask(`large?preview=200&limit=50&sort=-key&cursor=${cursor}`)), [0])
    assert.ok(!('total' in page.body))
  })
})
