import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import fc from 'fast-check'

import { timeOfId } from '../../../../base/ids.ts'
import { sql } from '../../../../db/sql.ts'
import { startApp, type TestAnswer, type RequestOptions, type TestApp } from '../../../../testing/app.ts'
import { appForAll } from '../../../../testing/auth.ts'
import { eachEngine, endOfSuite, someEngine, type Engine } from '../../../../testing/engines.ts'
import { anyCharacter } from '../../../../testing/any-text.ts'

const MIB = 1_048_576
const UNKNOWN_ID = '0'.repeat(26)

/** A document as it is answered, without what the service adds before the client's fields. */
const ownFields = (text: string): string =>
  text.replace(/^\{"_id":"\w{26}","createdAt":"[^"]{24}","updatedAt":"[^"]{24}",?/, '{')

/** JSON of exactly so many bytes. */
const ofBytes = (bytes: number): string => `{"text":"${'x'.repeat(bytes - 11)}"}`

/** JSON with so many levels of objects. */
const ofLevels = (levels: number): string => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`

const statuses = (answers: readonly TestAnswer[]): Record<number, number> => {
  const counts: Record<number, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index))

type Server = ReturnType<typeof setUp>

/** One server for all tests of a suite, with a user of it. */
function setUp(engine: Engine) {
  const app = appForAll(engine)
  let token: string
  before(async () => {
    token = (await app().register()).token
  })
  const ask = (method: string, path: string, options: RequestOptions = {}) =>
    app().request(method, `/store/${path}`, { token, ...options })
  const create = (body: unknown, collection = 'things') => ask('POST', collection, { body })
  const put = (id: string, body: unknown, headers: Record<string, string> = {}) =>
    ask('PUT', `things/${id}`, { body, headers })
  const created = async (body: unknown): Promise<string> => (await create(body)).body._id
  const read = (id: string) => ask('GET', `things/${id}`)
  return { app, token: () => token, ask, create, put, created, read }
}

/** Changes a document so many times at once. */
async function changeAtOnce({ created, put, read }: Server, count: number): Promise<void> {
  const id = await created({})
  const answers = await Promise.all(times(count, (n) => put(id, { [`f${n}`]: n })))
  assert.deepEqual(statuses(answers), { 200: count })
  const versions = answers.map(({ headers }) => Number(headers.get('etag')!.slice(1, -1)))
  assert.deepEqual(
    versions.toSorted((a, b) => a - b),
    times(count, (n) => n + 2),
  )
  for (const [n, { body }] of answers.entries()) assert.equal(body[`f${n}`], n)
  const { body, headers } = await read(id)
  assert.equal(headers.get('etag'), `"${count + 1}"`)
  for (let n = 0; n < count; n++) assert.equal(body[`f${n}`], n)
}

eachEngine((engine) => {
  const server = setUp(engine)
  const { app, token, ask, create, put, created, read } = server

  describe('a new document', () => {
    test('is answered with its id, its times and its first version', async () => {
      const { status, body, headers } = await create({ name: 'lamp' })
      assert.equal(status, 201)
      assert.equal(headers.get('etag'), '"1"')
      assert.deepEqual(Object.keys(body), ['_id', 'createdAt', 'updatedAt', 'name'])
      assert.equal(body.createdAt, new Date(timeOfId(body._id)).toISOString())
      assert.equal(body.updatedAt, body.createdAt)
      assert.ok(Math.abs(Date.parse(body.createdAt) - app().clock.now()) < 60_000)
    })

    test('is read as it was answered', async () => {
      const answer = await create({ name: 'lamp' })
      const { status, text, headers } = await read(answer.body._id)
      assert.equal(status, 200)
      assert.equal(text, answer.text)
      assert.equal(headers.get('etag'), '"1"')
    })

    test('has the id and times of the service, whatever was sent for them', async () => {
      const sent = { _id: 'mine', createdAt: 1, updatedAt: null, inner: { _id: 'kept', createdAt: 2 } }
      const { body } = await create(sent)
      assert.match(body._id, /^[0-9a-z]{26}$/)
      assert.equal(body.createdAt, new Date(timeOfId(body._id)).toISOString())
      assert.equal(body.updatedAt, body.createdAt)
      assert.deepEqual(body.inner, sent.inner)
    })

    test('may have no fields at all', async () => {
      const { status, text } = await create({})
      assert.equal(status, 201)
      assert.equal(ownFields(text), '{}')
    })

    test('is found by the typed client', async () => {
      const params = { collection: 'things' }
      const document = await app().client.call('POST /store/:collection', {
        params,
        body: { n: 7 },
        token: token(),
      })
      const stored = await app().client.call('GET /store/:collection/:id', {
        params: { ...params, id: document._id },
        token: token(),
      })
      assert.deepEqual(stored, document)
    })
  })

  describe('fields come back byte for byte, in their order', () => {
    for (const [what, sent] of [
      ['keys out of order', '{"z":1,"a":{"y":2,"b":3},"m":4}'],
      ['characters of every length', '{"é":"ß漢字😀","😀":"\u200d\u2028\ufeff\uffff"}'],
      ['escapes', String.raw`{"a\"b\\c":"\b\f\n\r\t\u0001\"\\/"}`],
      ['characters that two encodings have', '{"\u00c5":"A\u030a","A\u030a":"\u00c5"}'],
      ['empty keys', '{"":{"":[{"":""}]}}'],
      ['nested empties', '{"a":{},"b":[],"c":[{},[],[[]]],"d":""}'],
      ['fractions', '{"a":0.1,"b":-1.5e-7,"c":5e-324,"d":1.7976931348623157e+308}'],
      ['large and small integers', '{"a":9007199254740991,"b":-9007199254740991,"c":1e+21,"d":0}'],
      ['keys that mean something to programs', '{"toString":1,"hasOwnProperty":2,"length":3,"toJSON":4}'],
      ['keys that mean something to SQL', `{"a'b":1,"a.b":2,"a->b":3,"%":4,"?":5,"--":6}`],
      ['values that look like operators', '{"a":"$gt","b":["$where"],"c":"\\\\$set"}'],
      ['every literal', '{"a":null,"b":true,"c":false,"d":[null,true,false]}'],
    ] as const)
      test(what, async () => {
        const answer = await ask('POST', 'things', { raw: sent })
        assert.equal(answer.status, 201, answer.text)
        assert.equal(ownFields(answer.text), sent)
        assert.equal((await read(answer.body._id)).text, answer.text)
        assert.ok((await ask('GET', 'things?limit=1')).text.includes(answer.text))
      })

    // What a JSON parser takes for the same value is written in one way.
    for (const [what, sent, kept] of [
      ['blanks go', ' { "a" : [ 1 , 2 ] } ', '{"a":[1,2]}'],
      [
        'numbers are written in their shortest form',
        '{"a":1.0,"b":1E2,"c":1e20}',
        '{"a":1,"b":100,"c":100000000000000000000}',
      ],
      ['zero has no sign', '{"a":-0,"b":-0.0}', '{"a":0,"b":0}'],
      ['escapes that are not needed go', String.raw`{"\u0061":"\u00e9\ud83d\ude00\/"}`, '{"a":"é😀/"}'],
    ] as const)
      test(`but ${what}`, async () => {
        const answer = await ask('POST', 'things', { raw: sent })
        assert.equal(answer.status, 201, answer.text)
        assert.equal(ownFields(answer.text), kept)
      })

    // ECMAScript orders keys so; see OrdinaryOwnPropertyKeys.
    test('but keys that are whole numbers come first, from the lowest', async () => {
      const { body, text } = await ask('POST', 'things', {
        raw: '{"b":{"x":0,"10":1,"9":2},"7":3,"-1":4,"01":5}',
      })
      assert.deepEqual(body.b, { x: 0, 10: 1, 9: 2 })
      const { _id, createdAt } = body
      assert.equal(
        text,
        `{"_id":"${_id}","createdAt":"${createdAt}","updatedAt":"${createdAt}",` +
          '"7":3,"b":{"9":2,"10":1,"x":0},"-1":4,"01":5}',
      )
      assert.equal((await read(_id)).text, text)
    })

    test('whatever the fields are', async () => {
      const json = fc.jsonValue({ maxDepth: 4, stringUnit: anyCharacter }).filter(isAllowed)
      const key = fc.string({ unit: 'grapheme', maxLength: 8 }).filter((name) => isAllowed({ [name]: 0 }))
      await fc.assert(
        fc.asyncProperty(fc.dictionary(key, json, { noNullPrototype: true }), async (fields) => {
          const sent = JSON.stringify(fields)
          const answer = await ask('POST', 'random', { raw: sent })
          assert.equal(answer.status, 201, answer.text)
          const { _id, createdAt, updatedAt, ...own } = answer.body
          assert.equal(JSON.stringify(own), sent)
          assert.equal((await ask('GET', `random/${_id}`)).text, answer.text)
        }),
        { numRuns: 50 },
      )
    })
  })

  describe('an update', () => {
    test('sets the top-level fields given and keeps the others in their place', async () => {
      const id = await created({ a: { x: 1, y: 2 }, b: [1, 2], c: 3 })
      const { status, text, headers } = await put(id, { d: 4, a: { z: 9 }, c: null })
      assert.equal(status, 200)
      assert.equal(ownFields(text), '{"a":{"z":9},"b":[1,2],"c":null,"d":4}')
      assert.equal(headers.get('etag'), '"2"')
      assert.equal((await read(id)).text, text)
    })

    test('with replace makes the fields those given, in their order', async () => {
      const id = await created({ a: { x: 1, y: 2 }, b: [1, 2], 'c.d': 3, '': 4 })
      const replace = (body: unknown, headers = {}) =>
        ask('PUT', `things/${id}?replace=true`, { body, headers })
      const { text, headers } = await replace(
        { '': null, b: { n: null }, a: { y: 2 } },
        { 'if-match': '"1"' },
      )
      assert.equal(ownFields(text), '{"":null,"b":{"n":null},"a":{"y":2}}')
      assert.equal(headers.get('etag'), '"2"')
      assert.equal((await read(id)).text, text)
      assert.equal((await replace({}, { 'if-match': '"1"' })).status, 412)
      assert.equal(ownFields((await replace({})).text), '{}')
    })

    test('changes updatedAt and nothing else that the service sets', async () => {
      const { body: before } = await create({ a: 1 })
      app().clock.advance(1500)
      const sent = { _id: UNKNOWN_ID, createdAt: 'never', updatedAt: 'never', a: 2 }
      const { body: after } = await put(before._id, sent)
      assert.deepEqual(after, { ...before, updatedAt: after.updatedAt, a: 2 })
      assert.ok(Date.parse(after.updatedAt) >= Date.parse(before.updatedAt) + 1500, after.updatedAt)
    })

    test('of nothing is a version of its own', async () => {
      const id = await created({ a: 1 })
      const { text, headers } = await put(id, {})
      assert.equal(ownFields(text), '{"a":1}')
      assert.equal(headers.get('etag'), '"2"')
    })

    test('is refused whole where a part of it is', async () => {
      const { text, body } = await create({ a: 1 })
      assert.equal((await put(body._id, { a: 2, b: { $c: 3 } })).status, 400)
      assert.equal((await read(body._id)).text, text)
    })

    test('is not lost among 50 at once', () => changeAtOnce(server, 50))

    test('meets a deletion at the same moment whole or not at all', async () => {
      const id = await created({})
      const [gone, ...answers] = await Promise.all([
        ask('DELETE', `things/${id}`),
        ...times(20, (n) => put(id, { n })),
      ])
      assert.equal(gone.status, 200)
      for (const { status } of answers) assert.ok(status === 200 || status === 404, String(status))
      assert.equal((await read(id)).status, 404)
    })
  })

  describe('If-Match', () => {
    for (const [what, tag] of [
      ['the ETag that was answered', '"2"'],
      ['the same one, weakened on the way', 'W/"2"'],
      ['any version', '*'],
      ['blanks around it', ' "2" '],
    ] as const)
      test(`${what} lets a change and a deletion through`, async () => {
        const id = await created({})
        await put(id, {})
        const { status, headers } = await put(id, { a: 1 }, { 'if-match': tag })
        assert.equal(status, 200)
        assert.equal(headers.get('etag'), '"3"')
        const gone = await ask('DELETE', `things/${id}`, { headers: { 'if-match': tag.replace('2', '3') } })
        assert.equal(gone.status, 200)
      })

    test('of a document that is not there is a 404', async () => {
      for (const method of ['PUT', 'DELETE']) {
        const body = method === 'PUT' ? {} : undefined
        const headers = { 'if-match': '"1"' }
        assert.equal((await ask(method, `things/${UNKNOWN_ID}`, { body, headers })).status, 404)
      }
    })

    test('of one version, sent by many at once, lets one of them through', async () => {
      const id = await created({})
      const answers = await Promise.all(times(20, (n) => put(id, { [`f${n}`]: n }, { 'if-match': '"1"' })))
      assert.deepEqual(statuses(answers), { 200: 1, 412: 19 })
      const { _id, createdAt, updatedAt, ...own } = (await read(id)).body
      assert.equal(Object.keys(own).length, 1)
    })
  })

  describe('a deletion', () => {
    test('answers a message, and the document is gone', async () => {
      const id = await created({})
      const { status, body } = await ask('DELETE', `things/${id}`)
      assert.equal(status, 200)
      assert.match(body.message, new RegExp(id))
      for (const method of ['GET', 'DELETE']) assert.equal((await ask(method, `things/${id}`)).status, 404)
    })

    test('sent by many at once is done once', async () => {
      const id = await created({})
      const answers = await Promise.all(times(10, () => ask('DELETE', `things/${id}`)))
      assert.deepEqual(statuses(answers), { 200: 1, 404: 9 })
    })
  })

  describe('a document of', () => {
    test('1 MiB is kept, one byte more is refused', async () => {
      const largest = await ask('POST', 'things', { raw: ofBytes(MIB) })
      assert.equal(largest.status, 201, largest.text.slice(0, 200))
      assert.equal((await read(largest.body._id)).body.text.length, MIB - 11)
      const { status, body } = await ask('POST', 'things', { raw: ofBytes(MIB + 1) })
      assert.equal(status, 413)
      assert.equal(body.error.code, 'PAYLOAD_TOO_LARGE')
    })
  })

  test('a call that died between the write and the answer makes no second document when it is repeated', async () => {
    const headers = { 'idempotency-key': 'died' }
    const order = () => ask('POST', 'orders', { body: { item: 'lamp' }, headers })
    const first = await order()
    // As the process leaves it when it dies after the write.
    await app().app.db.write(sql`update sixwire_idempotency set answer = null where key = 'died'`)

    const early = await order()
    assert.equal(early.status, 409)
    assert.equal(early.body.error.code, 'IDEMPOTENCY_CONFLICT')
    assert.equal(early.headers.get('retry-after'), '1')

    app().clock.advance(60_000)
    const [second, third] = [await order(), await order()]
    for (const again of [second, third]) {
      assert.equal(again.status, 201)
      assert.equal(again.text, first.text)
      assert.equal(again.headers.get('etag'), '"1"')
    }
    assert.equal(third.headers.get('idempotency-replayed'), 'true')
    assert.equal((await ask('GET', 'orders')).body.total, 1)
  })

  test('a call that died before the write is made when it is repeated', async () => {
    const headers = { 'idempotency-key': 'died-early' }
    const order = () => ask('POST', 'early', { body: { item: 'lamp' }, headers })
    const first = await order()
    await app().app.db.batch([
      sql`update sixwire_idempotency set answer = null where key = 'died-early'`,
      sql`delete from store_documents where collection = 'early'`,
    ])
    app().clock.advance(60_000)
    assert.equal((await order()).text, first.text)
    assert.equal((await ask('GET', 'early')).body.total, 1)
  })

  describe('on two replicas at once', () => {
    const ending = endOfSuite()
    let replica: TestApp
    before(async () => {
      replica = await startApp(ending, engine, {
        databaseUrl: app().app.settings.databaseUrl,
        clock: app().clock,
      })
    })
    /** Sends so many changes, each to the other replica than the one before. */
    const changes = (id: string, count: number, headers = {}) =>
      Promise.all(
        times(count, (n) =>
          (n % 2 ? app() : replica).request('PUT', `/store/things/${id}`, {
            token: token(),
            body: { [`f${n}`]: n },
            headers,
          }),
        ),
      )

    test('changes are all kept', async () => {
      const id = await created({})
      assert.deepEqual(statuses(await changes(id, 40)), { 200: 40 })
      const { body, headers } = await read(id)
      for (let n = 0; n < 40; n++) assert.equal(body[`f${n}`], n)
      assert.equal(headers.get('etag'), '"41"')
    })

    test('of changes to one version one is made', async () => {
      for (let round = 0; round < 20; round++) {
        const id = await created({})
        const answers = await changes(id, 4, { 'if-match': '"1"' })
        assert.deepEqual(statuses(answers), { 200: 1, 412: 3 })
      }
    })
  })
})

someEngine((engine) => {
  const server = setUp(engine)
  const { ask, create, put, created, read } = server

  describe('a document that is not there is a 404', () => {
    for (const [method, body] of [['GET'], ['PUT', {}], ['DELETE']] as const)
      test(method, async () => {
        const elsewhere = (await create({}, 'elsewhere')).body._id
        for (const id of [UNKNOWN_ID, elsewhere]) {
          const answer = await ask(method, `things/${id}`, { body })
          assert.equal(answer.status, 404)
          assert.equal(answer.body.error.code, 'NOT_FOUND')
        }
        assert.equal((await ask('GET', `elsewhere/${elsewhere}`)).status, 200)
      })

    test('an id of another form', async () => {
      for (const id of ['1', 'x'.repeat(26).toUpperCase(), `${UNKNOWN_ID}0`, "' or 1=1 --"]) {
        const { status, body } = await read(encodeURIComponent(id))
        assert.equal(status, 404, id)
        assert.equal(body.error.code, 'NOT_FOUND')
      }
    })
  })

  test('an update is not lost among 300 at once', () => changeAtOnce(server, 300))

  describe('If-Match', () => {
    for (const tag of [
      '"1"',
      '"3"',
      '2',
      '',
      '""',
      '"2',
      'W/2',
      '"-2"',
      '"2.0"',
      '"02x"',
      '**',
      '"99999999999999999999"',
    ])
      test(`${JSON.stringify(tag)} on version 2 is a 412 that changes nothing`, async () => {
        const id = await created({ a: 1 })
        const { text } = await put(id, { a: 2 })
        for (const method of ['PUT', 'DELETE']) {
          const body = method === 'PUT' ? { a: 3 } : undefined
          const answer = await ask(method, `things/${id}`, { body, headers: { 'if-match': tag } })
          assert.equal(answer.status, 412)
          assert.equal(answer.body.error.code, 'PRECONDITION_FAILED')
        }
        assert.equal((await read(id)).text, text)
      })
  })

  describe('a document of', () => {
    test('1 MiB can be reached by updates, one byte more cannot', async () => {
      const id = await created({ more: '' })
      const room = MIB - '{"more":"","text":""}'.length
      assert.equal((await put(id, { text: 'x'.repeat(room) })).status, 200)
      const full = await read(id)
      const { status, body } = await put(id, { more: 'y' })
      assert.equal(status, 413)
      assert.equal(body.error.code, 'PAYLOAD_TOO_LARGE')
      assert.equal((await read(id)).text, full.text)
      assert.equal((await put(id, { more: 'y', text: '' })).status, 200)
    })

    test('numbers that are longer when they are written out is measured as it is kept', async () => {
      const raw = `{"a":[${'1e20,'.repeat(100_000)}0]}`
      assert.ok(raw.length < MIB)
      assert.equal((await ask('POST', 'things', { raw })).status, 413)
    })

    test('64 levels is kept, one of 65 is refused with the path', async () => {
      const deepest = await ask('POST', 'things', { raw: ofLevels(64) })
      assert.equal(deepest.status, 201)
      assert.equal(ownFields(deepest.text), ofLevels(64))
      const id = deepest.body._id
      for (const [method, path] of [
        ['POST', 'things'],
        ['PUT', `things/${id}`],
      ] as const) {
        const { status, body } = await ask(method, path, { raw: ofLevels(65) })
        assert.equal(status, 400)
        assert.equal(body.error.details.issues[0].path, `/body${'/a'.repeat(64)}`)
      }
      assert.equal((await put(id, { more: 1 })).status, 200)
    })
  })

  describe('a field name', () => {
    for (const [body, path] of [
      [{ $a: 1 }, '/body/$a'],
      [{ a: { b: { $c: 1 } } }, '/body/a/b/$c'],
      [{ a: [0, [{ $set: 1 }]] }, '/body/a/1/0/$set'],
      [{ 'a/b~c': { $d: 1 } }, '/body/a~1b~0c/$d'],
      [{ $: 1 }, '/body/$'],
    ] as const)
      test(`that begins with $ is refused at ${path}`, async () => {
        const id = await created({})
        for (const answer of [await create(body), await put(id, body)]) {
          assert.equal(answer.status, 400)
          assert.equal(answer.body.error.code, 'VALIDATION_ERROR')
          assert.equal(answer.body.error.details.issues[0].path, path)
        }
      })

    test('may have a $ elsewhere', async () => {
      assert.equal((await create({ a$: 1, b$c: { 'd.$': '$' } })).status, 201)
    })

    test('that is very long makes no long refusal', async () => {
      const { status, text } = await create({ ['k'.repeat(500_000)]: { $a: 1 } })
      assert.equal(status, 400)
      assert.ok(text.length < 5000, `${text.length} characters`)
    })
  })

  test('health is 200 while documents can be kept, and 503 while they cannot', async (t) => {
    const other = await startApp(t, engine)
    const healthy = await other.request('GET', '/store/health')
    assert.equal(healthy.status, 200)
    assert.deepEqual(healthy.body, {
      status: 'healthy',
      uploads: { provider: 'local', status: 'connected' },
      backup: { enabled: false, lastBackup: null },
    })
    await other.app.db.close()
    const unhealthy = await other.request('GET', '/store/health')
    assert.equal(unhealthy.status, 503)
    assert.deepEqual(unhealthy.body, { ...healthy.body, status: 'unhealthy' })
  })
})

/** Whether the value may stand in a document: no name that is refused, and nothing that is written otherwise. */
function isAllowed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0')
  if (typeof value === 'number')
    return !Object.is(value, -0) && !(Math.abs(value) > Number.MAX_SAFE_INTEGER && Math.abs(value) < 1e21)
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).every(
    ([name, inner]) =>
      !/^(?:\$.*|__proto__|constructor|_id|createdAt|updatedAt)$/su.test(name) &&
      isAllowed(name) &&
      isAllowed(inner),
  )
}
