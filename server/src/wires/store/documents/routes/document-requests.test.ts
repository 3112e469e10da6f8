// PATCH, documents created together, conditions, and the fields that are answered.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { allRows } from '../../../../base/row-filter.ts'

import { Ajv } from 'ajv'

import { sql } from '../../../../db/sql.ts'
import { startApp, type TestAnswer, type RequestOptions, type TestApp } from '../../../../testing/app.ts'
import { resolved } from '../../../../testing/description.ts'
import { endOfSuite, someEngine } from '../../../../testing/engines.ts'
import { deleteSql } from '../storage/sql/document-rows.ts'
import { withoutIndexes } from '../storage/sql/index-rows.ts'

const UNKNOWN_ID = '0'.repeat(26)

/** A document as it is answered, without the fields of the service. */
const own = (text: string): string => text.replaceAll(/"(?:_id|createdAt|updatedAt)":"[^"]*",?/g, '')

someEngine((engine) => {
  let app: TestApp
  let token: string
  const ending = endOfSuite()
  before(async () => {
    app = await startApp(ending, engine)
    token = (await app.register()).token
  })

  const ask = (method: string, path: string, options: RequestOptions = {}) =>
    app.request(method, `/store/${path}`, { token, ...options })
  const create = (raw: string, collection = 'things') => ask('POST', collection, { raw })
  const created = async (raw: string): Promise<string> => (await create(raw)).body._id
  const issueOf = ({ body }: TestAnswer) => body.error.details.issues[0]

  describe('a merge patch', () => {
    const patch = (id: string, raw: string, headers: Record<string, string> = {}) =>
      ask('PATCH', `things/${id}`, { raw, headers })

    // RFC 7396, appendix A, as far as both are objects, and the example of section 3.
    for (const [target, change, expected] of [
      ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
      ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
      ['{"a":"b"}', '{"a":null}', '{}'],
      ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
      ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
      ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
      ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
      ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
      ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
      ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
      ['{"a":"b"}', '{"a":{"x":[null],"y":null}}', '{"a":{"x":[null]}}'],
      [
        '{"title":"Goodbye!","author":{"givenName":"John","familyName":"Doe"},"tags":["example","sample"],"content":"x"}',
        '{"title":"Hello!","phoneNumber":"+01-123-456-7890","author":{"familyName":null},"tags":["example"]}',
        '{"title":"Hello!","author":{"givenName":"John"},"tags":["example"],"content":"x","phoneNumber":"+01-123-456-7890"}',
      ],
      [
        '{"toString":1,"":{"":2}}',
        '{"toString":null,"":{"":null},"hasOwnProperty":{"a":1}}',
        '{"":{},"hasOwnProperty":{"a":1}}',
      ],
    ] as const)
      test(`${change} on ${target}`, async () => {
        const id = await created(target)
        const patched = await patch(id, change)
        assert.equal(patched.status, 200, patched.text)
        assert.equal(patched.headers.get('etag'), '"2"')
        assert.equal(own(patched.text).replace(/,}$/, '}'), expected)
        assert.equal((await ask('GET', `things/${id}`)).text, patched.text)
      })

    test('is taken under its own media type, which other routes refuse', async () => {
      const id = await created('{"a":1}')
      for (const type of ['application/merge-patch+json', 'Application/Merge-Patch+JSON; charset=utf-8']) {
        const { status, body } = await patch(id, '{"b":2}', { 'content-type': type })
        assert.deepEqual([status, body.a, body.b], [200, 1, 2])
      }
      for (const [method, type] of [
        ['PATCH', 'application/json-patch+json'],
        ['PUT', 'application/merge-patch+json'],
      ] as const) {
        const refused = await ask(method, `things/${id}`, { raw: '{}', headers: { 'content-type': type } })
        assert.equal(refused.status, 415)
        assert.match(refused.body.error.message, /application\/json/)
      }
    })

    test('leaves the fields of the service alone', async () => {
      const { body } = await create('{"a":1}')
      app.clock.advance(1000)
      const { body: patched } = await patch(body._id, '{"_id":null,"createdAt":null,"updatedAt":"x","a":2}')
      assert.deepEqual(patched, { ...body, updatedAt: patched.updatedAt, a: 2 })
      assert.ok(Date.parse(patched.updatedAt) > Date.parse(body.updatedAt))
    })

    test('is refused whole where a part of it is, and of what is no object', async () => {
      const { text, body } = await create('{"a":1}')
      assert.equal(issueOf(await patch(body._id, '{"a":2,"b":{"$c":1}}')).path, '/body/b/$c')
      for (const raw of ['[]', 'null', '"a"', '']) assert.equal((await patch(body._id, raw)).status, 400, raw)
      const large = await patch(
        body._id,
        JSON.stringify({ b: Array(49_000).fill(1e20) }).replaceAll('100000000000000000000', '1e20'),
      )
      assert.equal(large.status, 413)
      assert.equal((await ask('GET', `things/${body._id}`)).text, text)
      assert.equal((await patch(UNKNOWN_ID, '{}')).status, 404)
    })

    test('holds to If-Match, and is not lost among others', async () => {
      const id = await created('{"n":{}}')
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, n) => patch(id, `{"n":{"f${n}":${n}}}`)),
      )
      assert.ok(answers.every(({ status }) => status === 200))
      assert.equal(Object.keys((await ask('GET', `things/${id}`)).body.n).length, 20)
      assert.equal((await patch(id, '{}', { 'if-match': '"20"' })).status, 412)
      assert.equal((await patch(id, '{}', { 'if-match': '"21"' })).status, 200)
    })
  })

  test('what is answered can be sent back', async () => {
    const fields = '"n":[1152921504606847000,123456789012345680000,1e+21,-0.1],"":{"toString":1}'
    const answer = await create(`{${fields}}`)
    assert.equal(answer.status, 201, answer.text)
    for (const [method, path] of [
      ['POST', 'things'],
      ...['PUT', 'PATCH'].map((name) => [name, `things/${answer.body._id}`]),
    ]) {
      const { text, status } = await ask(method!, path!, { raw: answer.text })
      assert.ok(status < 300 && text.endsWith(`${fields}}`), text)
    }
    for (const refused of ['9007199254740993', '1152921504606847001'])
      assert.equal((await create(`{"n":${refused}}`)).status, 400)
  })

  describe('conditions', () => {
    test('a list in If-Match lets a change through if it names the current version', async () => {
      for (const list of ['"2","1"', '"x", W/"1" ,"7"', ', "1",,', '"a,b","1"', '"1"\t']) {
        const id = await created('{}')
        const headers = { 'if-match': list }
        assert.equal((await ask('PUT', `things/${id}`, { body: {}, headers })).status, 200, list)
        assert.equal(
          (await ask('DELETE', `things/${id}`, { headers })).status,
          list.includes('2') ? 200 : 412,
        )
      }
    })

    test('what is no list of ETags, or names other versions, is a 412', async () => {
      const id = await created('{}')
      for (const list of [
        '"2","3"',
        '"2, "1"',
        '"2""1',
        '"x","1',
        '*,"1"',
        '"01"',
        '1',
        '"2"; "1"',
        `"${'9'.repeat(16)}"`,
      ])
        for (const [method, body] of [['PUT', {}], ['PATCH', {}], ['DELETE']] as const) {
          const answered = await ask(method, `things/${id}`, { body, headers: { 'if-match': list } })
          assert.equal(answered.body?.error?.code, 'PRECONDITION_FAILED', list)
        }
    })

    test('a delete of any version is the same statement, of which PostgreSQL keeps the plan', () => {
      const { dialect } = app.app.db
      const texts = [1, 2].map(
        (version) =>
          deleteSql('things', 'id', allRows, version, withoutIndexes('things')).render(dialect).text,
      )
      assert.equal(texts[0], texts[1])
    })

    test('If-None-Match answers 304 while the copy is current', async () => {
      const id = await created('{"a":1}')
      const read = (list: string, method = 'GET') =>
        ask(method, `things/${id}`, { headers: { 'if-none-match': list } })
      for (const list of ['"1"', 'W/"1"', '"7", "1"', '*'])
        for (const method of ['GET', 'HEAD']) {
          const { status, text, headers } = await read(list, method)
          assert.deepEqual([status, text, headers.get('etag')], [304, '', '"1"'], list)
          assert.equal(headers.get('content-type'), null)
        }
      for (const list of ['"2"', '1', '', '"1', '"x"']) assert.equal((await read(list)).body.a, 1, list)
      await ask('PUT', `things/${id}`, { body: { a: 2 } })
      assert.equal((await read('"1"')).body.a, 2)
      const none = await ask('GET', `things/${UNKNOWN_ID}`, { headers: { 'if-none-match': '*' } })
      assert.equal(none.status, 404)
    })
  })

  describe('an array of documents', () => {
    test('is created in its order, each with an id of its own', async () => {
      const sent = Array.from({ length: 1000 }, (_, n) => ({ n, text: `é"\\${n}` }))
      const { status, body, headers } = await ask('POST', 'many', { body: sent })
      assert.equal(status, 201)
      assert.equal(headers.get('etag'), null)
      assert.deepEqual(Object.keys(body), ['data'])
      const ids: string[] = body.data.map(({ _id }: { _id: string }) => _id)
      assert.deepEqual(ids, [...new Set(ids)].toSorted())
      for (const id of ids) assert.match(id, /^[0-9a-hjkmnp-tv-z]{26}$/)
      assert.deepEqual(
        body.data.map(({ n, text }: (typeof sent)[0]) => ({ n, text })),
        sent,
      )
      const list = (await ask('GET', 'many?limit=1000&sort=createdAt')).body
      assert.equal(list.total, 1000)
      assert.deepEqual(list.data, body.data)
      const one = await ask('GET', `many/${ids[7]}`)
      assert.equal(one.headers.get('etag'), '"1"')
      assert.deepEqual(one.body, body.data[7])
    })

    test('holds documents of as many levels as one may have alone', async () => {
      const ofLevels = (levels: number): string => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`
      assert.equal((await create(ofLevels(64))).status, 201)
      assert.equal((await create(` [${ofLevels(64)}]`)).status, 201)
      assert.equal((await create(`[${ofLevels(65)}]`)).status, 400)
    })

    test('is created whole or not at all', async () => {
      const refused = await create('[{"a":1},{"b":{"$c":1}}]', 'none')
      assert.deepEqual([refused.status, issueOf(refused).path], [400, '/body/1/b/$c'])
      const large = `[{"a":1},{"b":[${Array(49_000).fill('1e20').join()}]}]`
      const tooLarge = await create(large, 'none')
      assert.equal(tooLarge.status, 413)
      assert.match(tooLarge.body.error.message, /\/body\/1 /)
      for (const raw of ['[]', '[1]', '[[]]', '[{},null]', `[${Array(1001).fill('{}').join()}]`])
        assert.equal((await create(raw, 'none')).status, 400, raw.slice(0, 20))
      assert.equal((await create(`[{"a":"${'x'.repeat(1_048_576)}"}]`, 'none')).status, 413)
      assert.equal((await ask('GET', 'none')).body.total, 0)
    })

    test('is created once under an Idempotency-Key, also after a crash', async () => {
      const headers = { 'idempotency-key': 'many-once' }
      const order = () => ask('POST', 'orders', { body: [{ item: 'lamp' }, { item: 'table' }], headers })
      const first = await order()
      assert.equal(first.status, 201)
      assert.equal((await order()).text, first.text)
      const { db } = app.app
      for (const lost of [[], [sql`delete from store_documents where collection = 'orders'`]]) {
        await db.batch([sql`update sixwire_idempotency set answer = null where key = 'many-once'`, ...lost])
        app.clock.advance(60_000)
        assert.equal((await order()).text, first.text)
        assert.equal((await ask('GET', 'orders')).body.total, 2)
      }
    })
  })

  describe('fields', () => {
    const DOCUMENT =
      '{"7":0,"title":"Momo","author":{"name":"Ende","born":{"year":1929,"place":"G"}},' +
      '"tags":["a",{"x":1,"y":2},[{"x":3,"z":4},5],null],"empty":{},"":1,"a b":2}'
    let id: string
    before(async () => {
      id = await created(DOCUMENT)
    })

    for (const [fields, expected] of [
      ['title', '{"title":"Momo"}'],
      ['author,title', '{"title":"Momo","author":{"name":"Ende","born":{"year":1929,"place":"G"}}}'],
      ['author.born.year,7', '{"7":0,"author":{"born":{"year":1929}}}'],
      ['tags.x', '{"tags":[{"x":1},[{"x":3}]]}'],
      ['tags.0,tags.y', '{"tags":[{"y":2},[{}]]}'],
      ['title.x,empty.x,nothing', '{"empty":{}}'],
      ['_id,a b', '{"a b":2}'],
      ['-author,-tags,-empty,-a b', '{"7":0,"title":"Momo","":1}'],
      [
        '-author.born.place,-author.name,-tags.x,-7,-empty.x',
        '{"title":"Momo","author":{"born":{"year":1929}},"tags":["a",{"y":2},[{"z":4},5],null],"empty":{},"":1,"a b":2}',
      ],
    ] as const)
      test(`fields=${fields}`, async () => {
        const one = await ask('GET', `things/${id}?fields=${encodeURIComponent(fields)}`)
        assert.equal(one.status, 200, one.text)
        assert.equal(own(one.text).replace(/,}$/, '}'), expected)
        assert.equal(one.body._id, id)
        assert.equal('createdAt' in one.body, fields.startsWith('-'))
        const filter = encodeURIComponent('{"title":"Momo"}')
        const list = await ask('GET', `things?filter=${filter}&fields=${encodeURIComponent(fields)}`)
        assert.equal(list.text.slice(0, one.text.length + 10), `{"data":[${one.text}]`)
        assert.equal(list.body.total, 1)
      })

    test('what is answered fits the schema of /openapi.json', async () => {
      const { paths } = resolved((await app.request('GET', '/openapi.json')).body)
      const ajv = new Ajv({ strict: false, validateFormats: false })
      for (const [path, described] of [
        [`things/${id}`, '/store/{collection}/{id}'],
        ['things', '/store/{collection}'],
      ] as const) {
        const { schema } = paths[described].get.responses['200'].content['application/json']
        const fits = ajv.compile(schema)
        for (const query of ['', '?fields=title', '?fields=-updatedAt', '?fields=nothing']) {
          const { status, body } = await ask('GET', `${path}${query}`)
          assert.equal(status, 200)
          assert.ok(fits(body), `${path}${query}: ${JSON.stringify(fits.errors)}`)
        }
        const page = { data: [{ title: 'Momo' }], total: 1, limit: 20, offset: 0 }
        assert.ok(!fits(path === 'things' ? page : page.data[0]), 'a document without an _id')
      }
    })

    test('a parameter of one document that is not known is refused', async () => {
      for (const [refused, path] of [
        [await ask('GET', `things/${id}?field=title`), '/query/field'],
        [await ask('PUT', `things/${id}?replaced=true`, { raw: '{"a":1}' }), '/query/replaced'],
      ] as const)
        assert.deepEqual([refused.status, issueOf(refused).path], [400, path], refused.text)
    })

    test('times are fields like others', async () => {
      const { body } = await ask('GET', `things/${id}?fields=createdAt,_id`)
      assert.deepEqual(Object.keys(body), ['_id', 'createdAt'])
      const { body: others } = await ask('GET', `things/${id}?fields=-createdAt`)
      assert.deepEqual(
        ['_id', 'createdAt', 'updatedAt'].filter((name) => name in others),
        ['_id', 'updatedAt'],
      )
    })

    test('a page is sorted and followed by fields that are not answered', async () => {
      for (const n of [3, 1, 2]) await create(`{"n":${n},"hidden":${n}}`, 'sorted')
      let cursor = ''
      for (const n of [1, 2, 3]) {
        const { body } = await ask('GET', `sorted?limit=1&sort=hidden&fields=n${cursor}`)
        assert.deepEqual(Object.keys(body.data[0]), ['_id', 'n'])
        assert.equal(body.data[0].n, n)
        cursor = `&cursor=${body.nextCursor}`
      }
    })

    for (const fields of ['a,-b', '-a,b', '-_id', 'a,a', 'a,a.b', 'a.b,a', '-a.b,-a.b.c', 'a.$', ''])
      test(`fields=${fields} is refused`, async () => {
        for (const path of [`things/${id}`, 'things']) {
          const refused = await ask('GET', `${path}?fields=${encodeURIComponent(fields)}`)
          assert.deepEqual([refused.status, issueOf(refused).path], [400, '/query/fields'], refused.text)
        }
      })
  })
})
