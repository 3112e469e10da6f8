// Documents as files: what is exported can be imported again, and hostile files do no harm.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'

import fc from 'fast-check'

import type { Config } from '../../../../../app.ts'
import { newId } from '../../../../../base/ids.ts'
import { Type } from '../../../../../base/schema.ts'
import { sql } from '../../../../../db/sql.ts'
import { startApp, type TestAnswer, type TestApp } from '../../../../../testing/app.ts'
import { endOfSuite, someEngine } from '../../../../../testing/engines.ts'
import { readyIndexes } from '../../storage/indexes/indexes.fixture.ts'

const hooksRun: string[] = []
const config = {
  store: {
    collections: {
      authors: 'shared',
      people: {
        schema: Type.Object({
          name: Type.String(),
          zip: Type.Optional(Type.String()),
          code: Type.Optional(Type.Union([Type.String(), Type.Null()])),
          age: Type.Optional(Type.Integer()),
          isMember: Type.Optional(Type.Boolean()),
        }),
      },
      books: {
        schema: Type.Object({ title: Type.String() }),
        unique: ['slug'],
        relations: { author: { to: 'authors' } },
        hooks: {
          beforeCreate: ({ next }) => void hooksRun.push(String(next['title'])),
        },
      },
    },
  },
} satisfies Config

const name = fc
  .string({ minLength: 0, maxLength: 6, unit: fc.constantFrom('a', 'b', '.', '"', '=', '+', '1', ' ', 'é') })
  .filter((text) => text !== '__proto__')
const text = fc.oneof(
  fc.string({ maxLength: 12, unit: 'grapheme' }).filter((value) => !value.includes('\0')),
  fc.constantFrom(
    '',
    '1',
    '-1e3',
    'true',
    'null',
    '"',
    '"x"',
    '[',
    '[1]',
    '{}',
    "'=1",
    '=1+1',
    '@x',
    '-x',
    '\t',
    "'",
    '\r\n',
    '00',
    '1.0',
    '１',
  ),
)
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 2 },
    text,
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => (Object.is(number, -0) ? 0 : number)),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(name, tie('any'), { maxKeys: 3, noNullPrototype: true }),
  ),
})).any
const documents = fc.array(fc.dictionary(name, value, { maxKeys: 5, noNullPrototype: true }), {
  minLength: 1,
  maxLength: 5,
})

type Loose = TestAnswer['body']

someEngine((engine) => {
  const ending = endOfSuite()
  let app: TestApp
  let [admin, ann]: { _id: string; token: string }[] = []
  before(async () => {
    app = await startApp(ending, engine, { config })
    admin = await app.register()
    ann = await app.register()
    await readyIndexes(app)
  })
  const ask = (method: string, path: string, body?: unknown, token = admin!.token) =>
    app.request(method, `/store/${path}`, { token, body })
  const exported = (path: string, token?: string): Promise<TestAnswer> => ask('GET', path, undefined, token)
  async function imported(path: string, content: string | Buffer, token = admin!.token): Promise<TestAnswer> {
    const head = '--b\r\ncontent-disposition: form-data; name="file"; filename="x"\r\n\r\n'
    return app.request('POST', `/store/${path}`, {
      token,
      raw: Buffer.concat([Buffer.from(head), Buffer.from(content), Buffer.from('\r\n--b--\r\n')]),
      headers: { 'content-type': 'multipart/form-data; boundary=b' },
    })
  }
  const all = async (collection: string): Promise<Loose[]> =>
    (await ask('GET', `${collection}?sort=_id&limit=1000`)).body.data
  const lines = (...values: unknown[]) => values.map((one) => `${JSON.stringify(one)}\n`).join('')
  async function create(collection: string, body: unknown, token = admin!.token): Promise<Loose> {
    const answered = await ask('POST', collection, body, token)
    assert.equal(answered.status, 201, answered.text)
    return answered.body
  }
  let collections = 0

  for (const format of ['ndjson', 'csv'])
    test(`what is exported as ${format} is imported as it was`, async () => {
      await fc.assert(
        fc.asyncProperty(documents, async (list) => {
          const [from, to] = [`from${++collections}`, `to${collections}`]
          await create(from, list)
          const out = await exported(`${from}/export?format=${format}&owners=true`)
          assert.equal(out.status, 200, out.text)
          const { status, body, text } = await imported(`${to}/import?format=${format}`, out.text)
          assert.deepEqual([status, body?.created, body?.errors], [200, list.length, []], text + out.text)
          assert.deepEqual(await all(to), await all(from))
        }),
        { numRuns: 15 },
      )
    })

  test('an export has what the filter finds, in its order, with the fields that are asked for', async () => {
    await create('films', [
      { t: 'a', n: 1, of: { x: 1, y: 2 } },
      { t: 'b', n: 2 },
      { t: 'c', n: 3 },
    ])
    const own = await create('films', { t: 'd', n: 4 }, ann!.token)
    const filter = encodeURIComponent('{"n":{"$gt":1}}')
    const { text, headers } = await exported(`films/export?filter=${filter}&sort=-n&fields=t`)
    assert.equal(headers.get('content-type'), 'application/x-ndjson')
    assert.deepEqual(
      text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).t),
      ['d', 'c', 'b'],
    )
    const table = await exported('films/export?format=csv&fields=t,of.x&sort=n')
    assert.deepEqual(
      table.text.split('\r\n').map((line) => line.split(',').slice(1).join()),
      ['t,of.x', 'a,1', 'b,', 'c,', 'd,', ''],
    )
    const of = await exported(`films/export?owner=${ann!._id}&owners=true`)
    assert.deepEqual(JSON.parse(of.text), { $owner: ann!._id, ...own })
    assert.equal((await exported('films/export', ann!.token)).status, 403)
    for (const query of ['filter={', 'sort=a..', 'fields=$a', 'format=xml', 'filtre={}'])
      assert.equal((await exported(`films/export?${query}`)).status, 400, query)
    const [entry] = await app.app.db.all<{ actor_id: string; target: string; new_value: string }>(
      sql`select actor_id, target, new_value from sixwire_audit where action = 'documents.exported' and target = 'collection:films' order by id`,
    )
    assert.deepEqual([entry!.actor_id, JSON.parse(entry!.new_value).sort], [admin!._id, '-n'])
  })

  test('text that a spreadsheet would run has an apostrophe in CSV', async () => {
    await create('formulas', { a: '=cmd()', b: '+1x', c: '-x', d: '@x', e: -5, f: '\n=1' })
    const { text } = await exported('formulas/export?format=csv&fields=a,b,c,d,e,f')
    // Without it, a spreadsheet takes the file for one in the code page of its system.
    assert.ok(text.startsWith('\ufeff'))
    assert.match(text, /,'=cmd\(\),'\+1x,'-x,'@x,-5,"'\n=1"\r\n$/)
  })

  test('an export of many documents is complete, in one piece after the other', async () => {
    await Promise.all(
      Array.from({ length: 5 }, (_, part) =>
        create(
          'many',
          Array.from({ length: 1000 }, (_, i) => ({ n: part * 1000 + i, text: 'x'.repeat(200) })),
        ),
      ),
    )
    const { text } = await exported('many/export?sort=n')
    const found = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).n)
    assert.deepEqual(
      found,
      Array.from({ length: 5000 }, (_, i) => i),
    )
  })

  test('each line is checked as a create, and one that is refused keeps none out', async () => {
    const author = await create('authors', { name: 'Ende' })
    hooksRun.length = 0
    const file =
      lines({ title: 'Momo', slug: 'm', author: author._id }, { title: 1 }, { title: 'Momo 2', slug: 'm' }) +
      '\n{"title": \n' +
      lines(
        { title: 'Lost', author: newId() },
        { title: 'x', $set: 1 },
        [1],
        { _id: 'x y', title: 'y' },
        { title: 'Jim' },
      )
    const dry = await imported('books/import?dryRun=true', file)
    assert.deepEqual([dry.status, hooksRun, await all('books')], [200, [], []])
    const { status, body } = await imported('books/import', file)
    assert.equal(status, 200)
    assert.deepEqual(
      body.errors.map(({ line, code }: Loose) => [line, code]).toSorted(([a]: Loose, [b]: Loose) => a - b),
      [
        [2, 'VALIDATION_ERROR'],
        [3, 'CONFLICT'],
        [5, 'VALIDATION_ERROR'],
        [6, 'VALIDATION_ERROR'],
        [7, 'VALIDATION_ERROR'],
        [8, 'VALIDATION_ERROR'],
        [9, 'VALIDATION_ERROR'],
      ],
    )
    assert.deepEqual([body.created, body.failed], [2, 7])
    assert.deepEqual(
      (await all('books')).map(({ title }) => title),
      ['Momo', 'Jim'],
    )
    assert.ok(hooksRun.includes('Momo') && hooksRun.includes('Jim'))
    // A dry run tells the same, but for unique values of lines that it did not write.
    assert.equal(dry.body.created + dry.body.failed, 9)
  })

  test('lines with the _id of a document are passed over, replace it, or are refused', async () => {
    const document = await create('kept', { a: 1, b: 2 })
    const file = lines({ _id: document._id, a: 3 }, { a: 4 })
    const counts = async (path: string) => {
      const { status, body, text } = await imported(`kept/import?${path}`, file)
      assert.equal(status, 200, text)
      return [body.created, body.replaced, body.skipped, body.failed]
    }
    assert.deepEqual(await counts('conflict=fail&dryRun=true'), [1, 0, 0, 1])
    assert.deepEqual(await counts('conflict=fail'), [1, 0, 0, 1])
    assert.deepEqual(await counts('conflict=skip'), [1, 0, 1, 0])
    assert.equal((await ask('GET', `kept/${document._id}`)).body.a, 1)
    assert.deepEqual(await counts('conflict=replace&dryRun=true'), [1, 1, 0, 0])
    assert.deepEqual(await counts('conflict=replace'), [1, 1, 0, 0])
    const { createdAt, updatedAt, ...fields } = (await ask('GET', `kept/${document._id}`)).body
    assert.deepEqual([createdAt, fields], [document.createdAt, { _id: document._id, a: 3 }])
    assert.deepEqual(await counts('ids=new'), [2, 0, 0, 0])
    assert.equal((await all('kept')).length, 6)
  })

  test('the headings say what separates cells', async () => {
    for (const [i, [separator, file]] of [
      [',', 'Name,Ort;Land\r\nMüller,Köln;D\r\n'],
      [';', '\ufeffName;"Ort,Kreis,Land";PLZ\r\n"Müller; Sohn";Köln;1,50\r\n'],
      ['\t', 'Name\tOrt\nMüller\tKöln\n'],
    ].entries()) {
      const { body } = await imported(`separated${i}/import?format=csv`, file!)
      assert.deepEqual([body.created, body.errors, body.separator], [1, [], separator])
    }
    const fields = (document: Loose) => Object.values(document).slice(3)
    assert.deepEqual(fields((await all('separated0'))[0]), ['Müller', 'Köln;D'])
    assert.deepEqual(fields((await all('separated1'))[0]), ['Müller; Sohn', 'Köln', '1,50'])
    assert.deepEqual(fields((await all('separated2'))[0]), ['Müller', 'Köln'])
  })

  test('the schema decides about the type of a cell; without one, digits that would come back otherwise are text', async () => {
    const people = await imported(
      'people/import?format=csv',
      'name,zip,code,age,isMember\nAda,50667,1E5,"36",TRUE\nBob,01067,null,41,false\n',
    )
    assert.deepEqual([people.body.created, people.body.errors], [2, []])
    const [{ _id, createdAt, updatedAt, ...ada }, bob] = await all('people')
    assert.deepEqual(ada, { name: 'Ada', zip: '50667', code: '1E5', age: 36, isMember: true })
    assert.deepEqual([bob.zip, bob.code, bob.age, bob.isMember], ['01067', null, 41, false])

    const free = await imported(
      'free/import?format=csv',
      'a,b,c,d,e,f,g\n1E5,1.10,01067,12345678901234567890,"50667",7,-1.5\n',
    )
    assert.deepEqual(free.body.errors, [])
    assert.deepEqual(Object.values((await all('free'))[0]).slice(3), [
      '1E5',
      '1.10',
      '01067',
      '12345678901234567890',
      '50667',
      7,
      -1.5,
    ])
  })

  test('a file of another format is refused before anything is written', async () => {
    for (const file of ['a,b\n1,2\n{"a":1}\n', '{\n"a": 1\n}\n']) {
      const { status, text } = await imported('others/import', file)
      assert.equal(status, 400, text)
      assert.match(text, /write each document on one line, .* or send format=csv for a table/)
    }
    assert.deepEqual(await all('others'), [])
  })

  test('an array is imported as its documents would be, one for itself', async () => {
    const array = '\ufeff\n [\n  {"_id": "a", "n": 1},\n  {"n": tru},{"n": "]}\\","}\n, 7\n]\n'
    const { status, body, text } = await imported('arrays/import', array)
    assert.equal(status, 200, text)
    assert.deepEqual([body.created, body.errors.map(({ line }: Loose) => line)], [2, [4, 5]])
    assert.deepEqual(new Set((await all('arrays')).map(({ n }) => n)), new Set([1, ']}",']))
    assert.equal((await imported('arrays/import', '[]')).body.created, 0)
    for (const [file, reason] of [
      ['[{"n":1},\n{"n":2}', /Line 2: the file ends, and its array does not/],
      ['[{"n":1}]\n{"n":2}', /Line 2: the array of the file has ended, and more comes behind it/],
    ] as const) {
      const refused = await imported('arrays/import', file)
      assert.equal(refused.status, 400)
      assert.match(refused.text, reason)
    }
    assert.equal((await imported('arrays/import', `[{"text":"${'x'.repeat(5_000_000)}"}]`)).status, 413)
  })

  test('values of MongoDB Extended JSON become values of JSON, or are refused with the reason', async () => {
    const values: [extended: unknown, plain: unknown][] = [
      [{ $oid: '507f1f77bcf86cd799439011' }, '507f1f77bcf86cd799439011'],
      [{ $uuid: '8f14e45f-ceea-467f-a83d-0242ac120002' }, '8f14e45f-ceea-467f-a83d-0242ac120002'],
      [{ $date: '2026-01-01T01:00:00+01:00' }, '2026-01-01T00:00:00.000Z'],
      [{ $date: { $numberLong: '-1' } }, '1969-12-31T23:59:59.999Z'],
      [{ $date: 0 }, '1970-01-01T00:00:00.000Z'],
      [{ $numberInt: '-7' }, -7],
      [{ $numberLong: '9007199254740991' }, 9007199254740991],
      [{ $numberLong: '9007199254740993' }, '9007199254740993'],
      [{ $numberDouble: '0.1' }, 0.1],
      [{ $numberDouble: '1.0E+300' }, 1e300],
      [{ $numberDecimal: '19.90' }, 19.9],
      [{ $numberDecimal: '-0.000' }, 0],
      [{ $numberDecimal: '12345678901234567.89' }, '12345678901234567.89'],
      [{ a: [{ $oid: '507f1f77bcf86cd799439011' }] }, { a: ['507f1f77bcf86cd799439011'] }],
    ]
    const { body } = await imported('extended/import', lines(...values.map(([v], n) => ({ n, v }))))
    assert.deepEqual(body.errors, [])
    const stored = await ask('GET', 'extended?sort=n&limit=100')
    assert.deepEqual(
      stored.body.data.map(({ v }: Loose) => v),
      values.map(([, plain]) => plain),
    )
    const refused: [value: unknown, path: string, reason: RegExp][] = [
      [{ $binary: { base64: 'AA==', subType: '00' } }, '/v/$binary', /upload them as a file/],
      [{ $regularExpression: { pattern: 'a', options: '' } }, '/v/$regularExpression', /send its pattern/],
      [{ $timestamp: { t: 1, i: 1 } }, '/v/$timestamp', /replication/],
      [{ $ref: 'users', $id: { $oid: '507f1f77bcf86cd799439011' } }, '/v/$ref', /declare a relation/],
      [{ $minKey: 1 }, '/v/$minKey', /no value of JSON/],
      [{ $oid: 'x' }, '/v/$oid', /is no \$oid/],
      [{ $date: 'soon' }, '/v/$date', /is no \$date/],
      [{ $date: null }, '/v/$date', /is no \$date/],
      [{ $numberDecimal: 'NaN' }, '/v/$numberDecimal', /is no \$numberDecimal/],
      [{ $numberDouble: 'Infinity' }, '/v/$numberDouble', /is no \$numberDouble/],
      [{ $numberInt: '' }, '/v/$numberInt', /is no \$numberInt/],
      [{ $oid: '507f1f77bcf86cd799439011', a: 1 }, '/v/$oid', /is not read|must not begin/],
      [{ $other: 1 }, '/v/$other', /must not begin with \$/],
    ]
    const report = (await imported('extended/import', lines(...refused.map(([v]) => ({ v }))))).body
    const errors = report.errors.toSorted((a: Loose, b: Loose) => a.line - b.line)
    for (const [i, [, path, reason]] of refused.entries()) {
      assert.equal(errors[i].line, i + 1)
      assert.ok(errors[i].message.startsWith(`${path}: `), errors[i].message)
      assert.match(errors[i].message, reason)
    }
  })

  test('fields of other names become createdAt, updatedAt and the owner', async () => {
    const oid = '507f1f77bcf86cd799439011'
    const file = lines(
      { _id: { $oid: oid }, made: { $date: '2020-01-01T00:00:00Z' }, user: { $oid: oid } },
      { _id: 'sql', made: '2021-01-01 01:00:00.123456+01', changed: '2021-01-02', user: null },
      { _id: 'number', made: 1_640_995_200_000, changed: null, $owner: ann!._id, user: 'other' },
      { _id: 'none' },
    )
    const path = 'timed/import?createdAt=made&updatedAt=changed&ownerField=user&owner=system'
    const { body } = await imported(path, file)
    assert.deepEqual(
      [body.created, body.errors.map(({ message }: Loose) => message)],
      [
        3,
        [
          '/changed: must be a time in ISO 8601, such as 2026-01-01T00:00:00.000Z, or milliseconds since 1970',
        ],
      ],
    )
    const again = await imported(
      path,
      lines({ _id: 'sql', made: '2021-01-01 01:00:00.123456+01', user: null }),
    )
    assert.equal(again.body.created, 1)
    const exportedLines = (await exported('timed/export?owners=true&sort=createdAt')).text.trim().split('\n')
    const [mongo, sqlLine, number, none] = exportedLines.map((line) => JSON.parse(line))
    const at = '2020-01-01T00:00:00.000Z'
    assert.deepEqual(mongo, { $owner: oid, _id: oid, createdAt: at, updatedAt: at, user: oid })
    assert.deepEqual([sqlLine.createdAt, sqlLine.$owner], ['2021-01-01T00:00:00.123Z', 'system'])
    assert.deepEqual(
      [number.createdAt, number.updatedAt, number.$owner, number.user],
      ['2022-01-01T00:00:00.000Z', '2022-01-01T00:00:00.000Z', ann!._id, 'other'],
    )
    assert.equal(none._id, 'none')
    const objectId = await imported('aged/import?createdAt=_id', lines({ _id: { $oid: oid } }, { _id: 'x' }))
    assert.deepEqual([objectId.body.created, objectId.body.failed], [1, 1])
    assert.equal((await ask('GET', `aged/${oid}`)).body.createdAt, '2012-10-17T21:13:27.000Z')
    // With new ids, only the times that are asked for are kept.
    await imported('anew/import?ids=new&createdAt=made', file)
    assert.equal((await ask('GET', 'anew?sort=createdAt')).body.data[0].createdAt, at)
    for (const query of ['owner=a b', 'owner=', 'ownerField=', 'createdAt='])
      assert.equal((await imported(`timed/import?${query}`, file)).status, 400, query)
  })

  test('a table brings nothing that a request could not', async () => {
    for (const file of [
      'a.__proto__.polluted\n1\n',
      'a.constructor.prototype.polluted\n1\n',
      '__proto__\n1\n',
      'a\nx\0y\n',
      `${'a.'.repeat(100)}a\n1\n`,
    ]) {
      const { body } = await imported('tables/import?format=csv', file)
      assert.deepEqual([body.created, body.failed, body.errors[0].code], [0, 1, 'VALIDATION_ERROR'], file)
    }
    assert.equal('polluted' in {}, false)
  })

  test('an owner is the id of a user, never a piece of JSON', async () => {
    const owners = ['x","role":"admin', '', 'a\u0000b', ann!._id]
    const { body } = await imported('owned/import', lines(...owners.map(($owner) => ({ $owner }))))
    assert.deepEqual([body.created, body.failed], [1, 3])
    assert.equal(JSON.parse((await exported('owned/export?owners=true')).text).$owner, ann!._id)
    assert.equal((await ask('GET', 'owned')).body.total, 1)
  })

  test('a file that cannot be read is refused, and a stranger to the role', async () => {
    for (const [path, file, status] of [
      ['odd/import?format=csv', 'a,a\n1,2', 400],
      ['odd/import?format=csv', 'a,a.b\n1,2', 400],
      ['odd/import?format=csv', 'a\n"1', 400],
      ['odd/import?format=csv', Buffer.from([0x61, 0x0a, 0xff]), 400],
      ['odd/import', 'x'.repeat(5_000_000), 413],
    ] as const)
      assert.equal((await imported(path, file)).status, status, String(file).slice(0, 20))
    const { body } = await imported('odd/import', Buffer.from([0x7b, 0xff, 0x0a]))
    assert.equal(body.failed, 1)
    assert.equal((await imported('odd/import', '{}', ann!.token)).status, 403)
    // It would write.
    assert.equal((await imported('odd/import?dryrun=true', '{}')).status, 400)
    assert.equal((await all('odd')).length, 0)
  })
})
