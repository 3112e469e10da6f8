import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'

import { login } from '../../testing/auth.ts'
import { eachEngine } from '../../testing/engines.ts'
import { searchable } from '../../wires/store/documents/storage/search/search.fixture.ts'
import {
  documentedWords,
  emptyApplication,
  oldHash,
  OLD_PASSWORD,
  reportOf,
  rowsOf,
} from '../imports.fixture.ts'

const ADA = '507f1f77bcf86cd799439011'
const BOB = '507f1f77bcf86cd799439012'
const BOOK = '65a0c0de0000000000000001'

// As mongoexport writes them: canonical, and relaxed in an array.
const USERS = (hash: string) => [
  { _id: { $oid: ADA }, email: 'ada@example.com', hash, name: 'Ada', checked: true, plan: 'pro' },
  {
    _id: { $oid: BOB },
    email: 'bob@example.com',
    hash,
    createdAt: { $date: { $numberLong: '1600000000000' } },
  },
  { _id: { $oid: '507f1f77bcf86cd799439013' }, hash },
]
const BOOKS = [
  {
    _id: { $oid: BOOK },
    title: 'Momo',
    slug: 'momo',
    price: { $numberDecimal: '12.50' },
    sold: { $numberLong: '9007199254740993' },
    at: { $date: '2026-01-02T03:04:05Z' },
    by: { $oid: ADA },
    tags: ['a', 'b'],
    size: { w: 1, h: 2.5 },
    device: { $binary: { base64: 'xc7/sOJPSOa8dIPVcb9A2w==', subType: '04' } },
    __v: 0,
  },
  { _id: 7, title: null, by: { $oid: BOB }, slug: 'seven', size: { w: 2 } },
  {
    _id: { $oid: '65a0c0de0000000000000003' },
    title: 'Bytes',
    slug: 'b',
    raw: { $binary: { base64: 'AA==', subType: '00' } },
  },
  { _id: { $oid: '65a0c0de0000000000000004' }, title: 'Twice', slug: 'momo' },
  { _id: { a: 1 }, title: 'Compound' },
  { _id: 8, title: 'Mine', $owner: ADA },
]
const METADATA = {
  indexes: [
    { v: { $numberInt: '2' }, key: { _id: { $numberInt: '1' } }, name: '_id_' },
    { v: 2, unique: true, key: { slug: 1 }, name: 'slug_1' },
    {
      v: 2,
      unique: true,
      key: { title: 1, by: 1 },
      name: 'both',
      collation: { locale: 'en', strength: { $numberInt: '2' } },
    },
    { v: 2, unique: true, key: { by: 1 }, name: 'part', partialFilterExpression: { by: { $exists: true } } },
    { v: 2, key: { at: 1 }, name: 'ttl', expireAfterSeconds: 60 },
    { v: 2, key: { _fts: 'text', _ftsx: 1 }, weights: { title: 1 }, name: 'words' },
  ],
  options: { validator: { $jsonSchema: {} } },
}

eachEngine((engine) => {
  test('collections of MongoDB are imported, one of them as accounts', async (t) => {
    const { folder, sixwire, start } = await emptyApplication(t, engine)
    const { dryRun, words } = await documentedWords('mongodb')
    await mkdir(join(folder, 'dump/shop'), { recursive: true })
    const lines = USERS(await oldHash()).map((one) => `${JSON.stringify(one)}\n`)
    await writeFile(join(folder, 'dump/shop/users.json'), lines.join(''))
    await writeFile(join(folder, 'dump/shop/books.json'), JSON.stringify(BOOKS))
    await writeFile(join(folder, 'dump/shop/books.metadata.json'), JSON.stringify(METADATA))
    const options = ['--password-field', 'hash', '--verified-field', 'checked', '--json']

    const expected = {
      users: { created: 2, unchanged: 0, refused: 1 },
      collections: [
        { name: 'books', created: 3, present: 0, refused: 3 },
        { name: 'users', created: 3, present: 0, refused: 0 },
      ],
    }
    const checked = await sixwire(...dryRun, ...options)
    // That two of the file have one slug is found when they are written.
    assert.deepEqual(
      reportOf(checked).errors.map(({ of, which, message }) => `${of} ${which}: ${message}`),
      [
        'accounts 507f1f77bcf86cd799439013: email: is required',
        'books line 1: /raw/$binary: $binary: bytes are no value of JSON: upload them as a file, or leave the field out',
        'books line 1: /$owner: is no name of a field',
      ],
    )
    const untouched = await start()
    assert.deepEqual(await rowsOf(untouched), { users: 0, documents: 0, files: 0, indexes: 0 })
    await untouched.stop()

    const imported = await sixwire(...words, ...options)
    const { notes, ...report } = reportOf(imported)
    assert.partialDeepStrictEqual(report, expected)
    assert.match(report.errors.find(({ which }) => which.endsWith('04'))!.message, /slug/)
    assert.deepEqual(notes, [
      'books: the unique index part is of some documents only, and is not translated',
      'books: the index ttl made documents expire: delete them by a schedule',
      'books: the validator is not translated: the schema is that of the documents',
      'books: documents have an _id that none can have here (1): it is in originalId, and _id is made of it',
      'books: by has ObjectIds: declare a relation if they are those of documents',
    ])
    assert.match(
      (await readFile(join(folder, 'collections.mongodb.ts'), 'utf8')).replaceAll(/\s+/g, ' '),
      /title: \{ type: \[ 'string', 'null' \] \}.* at: \{ type: 'string', format: 'date-time' \}.* unique: \[ 'slug', \{ fields: \[ 'title', 'by' \], ignoreCase: true \} \], search: \[ 'title' \]/,
    )

    const server = await start()
    const ada = await login(server, 'ada@example.com', OLD_PASSWORD)
    assert.deepEqual([ada.status, ada.body.user._id], [200, ADA])
    const { token } = ada.body
    assert.equal((await server.request('GET', '/auth/me', { token })).body.user.emailVerified, true)
    assert.deepEqual((await server.request('GET', `/store/books/${BOOK}`, { token })).body, {
      _id: BOOK,
      createdAt: '2024-01-12T04:32:30.000Z',
      updatedAt: '2024-01-12T04:32:30.000Z',
      title: 'Momo',
      slug: 'momo',
      price: 12.5,
      sold: '9007199254740993',
      at: '2026-01-02T03:04:05.000Z',
      by: ADA,
      tags: ['a', 'b'],
      size: { w: 1, h: 2.5 },
      device: 'c5ceffb0-e24f-48e6-bc74-83d571bf40db',
      __v: 0,
    })
    // In production a document is its owner's.
    assert.equal((await server.request('GET', '/store/books/7', { token })).status, 404)
    const bob = (await login(server, 'bob@example.com', OLD_PASSWORD)).body.token
    assert.equal((await server.request('GET', '/store/books/7', { token: bob })).body.slug, 'seven')
    const profile = await server.request('GET', `/store/users/${ADA}`, { token })
    assert.deepEqual([profile.body.plan, profile.body.hash], ['pro', undefined])
    const taken = await server.request('POST', '/store/books', { token, body: { slug: 'momo' } })
    assert.equal(taken.status, 409)
    await searchable(server, 'books', token)
    assert.equal((await server.request('GET', '/store/books?search=momo', { token })).body.total, 1)
    await server.stop()

    const again = reportOf(await sixwire(...words, ...options))
    assert.deepEqual(
      [again.users.created, ...again.collections.map(({ created, present }) => [created, present])],
      [0, [0, 3], [0, 3]],
    )
  })

  test('hashes of passwords that are no accounts are hidden, and files that cannot be read are named', async (t) => {
    const { folder, sixwire, start } = await emptyApplication(t, engine)
    await writeFile(
      join(folder, 'people.json'),
      JSON.stringify([
        { _id: 'p', email: 'a@example.com', secret: await oldHash() },
        { _id: 'q', secret: '' },
      ]),
    )
    const imported = await sixwire('mongodb', 'people.json')
    assert.match(imported.output, /^- people: secret has hashes of passwords and is hidden/m)
    assert.equal(imported.code, 0)
    const server = await start()
    await server.register() // an administrator
    const { token } = await server.register()
    const refused = await server.request('GET', '/store/people?filter={"secret":"x"}', { token })
    assert.equal(refused.status, 400)
    await server.stop()
    await writeFile(join(folder, 'pretty.json'), '{\n  "a": 1\n}')
    await mkdir(join(folder, 'more'))
    await writeFile(join(folder, 'more/people.json'), '')
    for (const [words, fault] of [
      [['pretty.json'], /^sixwire: pretty\.json: .*write each document on one line/m],
      [['more'], /^sixwire: more is no file: name the files in it$/m],
      [['none.json'], /^sixwire: none\.json cannot be read: /m],
      [
        ['people.json', 'more/people.json'],
        /^sixwire: more\/people\.json: two files have the name of people$/m,
      ],
      [['people.json', '--users', 'users'], /^sixwire: --users users: no file has this name$/m],
      [[], /^sixwire import mongodb: FILE… is missing$/m],
    ] as const)
      assert.match((await sixwire('mongodb', ...words)).errors, fault)
  })
})
