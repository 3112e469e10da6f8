// The forms are those that the documentation of Firebase, its libraries and the exporting tools describe.
import assert from 'node:assert/strict'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'

import { login, PASSWORD } from '../../testing/auth.ts'
import { eachEngine } from '../../testing/engines.ts'
import { documentedWords, emptyApplication, reportOf, rowsOf } from '../imports.fixture.ts'

const ADA = 'aXk3vQ9pL0d2fHsT7wYzB1cN5mE2'
const COVER =
  'https://firebasestorage.googleapis.com/v0/b/shop.appspot.com/o/users%2FaXk3vQ9pL0d2fHsT7wYzB1cN5mE2%2Fcaf%C3%A9.gif?alt=media&token=1'
const NAME = 'projects/shop/databases/(default)/documents'

const json = (value: unknown): string => JSON.stringify(value)
const lines = (values: readonly unknown[]): string => values.map((one) => `${json(one)}\n`).join('')

// https://github.com/firebase/scrypt
const HASH_CONFIG = `hash_config {
  algorithm: SCRYPT,
  base64_signer_key: jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==,
  base64_salt_separator: Bw==,
  rounds: 8,
  mem_cost: 14,
}`

const USERS = [
  {
    localId: ADA,
    email: 'ada@example.com',
    emailVerified: true,
    passwordHash: 'lSrfV15cpx95_sZS2W9c9Kp6i_LVgQNDNC_qzrCnh1SAyZvqmZqAjTdn3aoItz-VHjoZilo78198JAdRuid5lQ==',
    salt: '42xEC-ixf3L2lw==',
    displayName: 'Ada',
    photoUrl: 'https://x.example/ada.png',
    lastSignedInAt: '1714644000000',
    createdAt: '1714557600123',
    customAttributes: '{"plan":"pro"}',
    providerUserInfo: [
      { providerId: 'google.com', rawId: '107', email: 'ada@example.com' },
      { providerId: 'facebook.com', rawId: 'f-1' },
      { providerId: 'password', rawId: 'ada@example.com' },
    ],
  },
  {
    localId: 'bob',
    email: 'bob@example.com',
    disabled: true,
    createdAt: '1714557600000',
    providerUserInfo: [],
  },
  { localId: 'phone', phoneNumber: '+4915112345678', createdAt: '1714557600000', providerUserInfo: [] },
  { localId: 'anonymous', createdAt: '1714557600000', providerUserInfo: [] },
]

const TIMESTAMP = { __datatype__: 'timestamp', value: { _seconds: 1714557600, _nanoseconds: 123000000 } }
const FILES: Readonly<Record<string, string>> = {
  'users.json': json({ users: USERS }),
  'hash_config.txt': HASH_CONFIG,
  'storage/users/aXk3vQ9pL0d2fHsT7wYzB1cN5mE2/café.gif': 'GIF89a......',
  // As a tool exports all collections.
  'firestore/all.json': json({
    __collections__: {
      users: {
        [ADA]: {
          nick: 'ada',
          __collections__: {
            notes: { n1: { text: 'Hi', parent: 'x', at: { _seconds: 1, _nanoseconds: 0 } } },
          },
        },
        ghost: { __collections__: { notes: { n2: { text: 'Boo' } } } },
      },
      books: {
        b1: {
          title: 'Momo',
          createdAt: TIMESTAMP,
          updatedAt: 'yesterday',
          place: { __datatype__: 'geopoint', value: { _latitude: 47.3, _longitude: 8.5 } },
          author: { __datatype__: 'documentReference', value: 'authors/a@b.example' },
          deep: { cover: COVER, other: 'https://x.example/cover.gif' },
          editor: ADA,
        },
      },
      nothing: null,
    },
  }),
  // As the REST API answers.
  'firestore/authors.ndjson': lines([
    {
      name: `${NAME}/authors/a@b.example`,
      createTime: '2024-05-01T10:00:00.123456Z',
      updateTime: '2024-05-02T10:00:00.000001Z',
      fields: {
        name: { stringValue: 'Ende' },
        born: { integerValue: '1929' },
        height: { doubleValue: 1.75 },
        alive: { booleanValue: false },
        nothing: { nullValue: null },
        at: { timestampValue: '2024-05-01T10:00:00.5Z' },
        raw: { bytesValue: 'AQI=' },
        place: { geoPointValue: { latitude: 1, longitude: 2 } },
        books: { arrayValue: { values: [{ referenceValue: `${NAME}/books/b1` }] } },
        more: {
          mapValue: {
            fields: {
              cover: { stringValue: 'gs://shop.appspot.com/users/aXk3vQ9pL0d2fHsT7wYzB1cN5mE2/café.gif' },
            },
          },
        },
      },
    },
    { name: `${NAME}/authors/bad`, fields: { n: { integerValue: '9007199254740993' } } },
  ]),
  // Of one collection, as scripts write it.
  'firestore/tags.json': json([{ id: 'red', n: 1 }, { n: 2 }]),
  'firestore/empty.json': '{"e1": {}, "e2": {}, "e3": 1}',
  'firestore/colours.json': '{"blue": {"n": 1, "$owner": "bob"}, "green": {"n": 9007199254740993}}',
}

eachEngine((engine) => {
  test('a project of Firebase comes with its users, documents and files, and again without a change', async (t) => {
    const { folder, sixwire, start } = await emptyApplication(t, engine)
    for (const [path, text] of Object.entries(FILES)) {
      const file = join(folder, 'export', path)
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, text)
    }
    const words = [...(await documentedWords('firebase')).words, '--owner-field', 'editor']
    const before = await readdir(folder, { recursive: true })
    const expected = {
      users: { created: 2, unchanged: 0, refused: 1 },
      files: { stored: 1, present: 0, failed: 0 },
      collections: [
        { name: 'users', created: 1, present: 0, refused: 0 },
        { name: 'users_notes', created: 2, present: 0, refused: 0 },
        { name: 'books', created: 1, present: 0, refused: 0 },
        { name: 'nothing', created: 0, present: 0, refused: 1 },
        { name: 'authors', created: 1, present: 0, refused: 1 },
        { name: 'colours', created: 1, present: 0, refused: 1 },
        { name: 'empty', created: 2, present: 0, refused: 1 },
        { name: 'tags', created: 1, present: 0, refused: 1 },
      ],
    }
    const checked = await sixwire(...words, '--dry-run', '--json')
    assert.partialDeepStrictEqual(reportOf(checked), expected, checked.errors)
    assert.deepEqual(await readdir(folder, { recursive: true }), before)

    const imported = await sixwire(...words)
    assert.equal(imported.code, 1)
    for (const line of [
      /^accounts phone: VALIDATION_ERROR email: /m,
      /^authors line 2: VALIDATION_ERROR .*9007199254740993/m,
      /^colours line 2: VALIDATION_ERROR .*9007199254740993/m,
      /^tags line 2: VALIDATION_ERROR .*has no id/m,
      /^- security rules are not translated/m,
      /^- 1 anonymous users do not come/m,
      /^- 1 custom claims are in the metadata/m,
      /^- 1 sign-ins with facebook\.com do not come/m,
      /^- users_notes: was below the documents of users/m,
    ])
      assert.match(imported.output, line)

    const server = await start()
    assert.equal((await login(server, 'ada@example.com', 'user1password')).status, 200)
    await server.register('admin@example.com')
    await server.app.service('auth').users.promote('admin@example.com')
    const { token } = (await login(server, 'admin@example.com', PASSWORD)).body
    const read = async (path: string) => (await server.request('GET', path, { token })).body
    const ownedOf = async (collection: string) =>
      (await server.request('GET', `/store/${collection}/export?owners=true`, { token })).text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
    assert.partialDeepStrictEqual((await read(`/auth/users/${ADA}`)).user, {
      emailVerified: true,
      name: 'Ada',
      createdAt: '2024-05-01T10:00:00.123Z',
      metadata: { photoUrl: 'https://x.example/ada.png', claims: { plan: 'pro' } },
    })
    assert.equal((await read('/auth/users/bob')).user.disabled, true)

    const { deep, author, $expanded, ...book } = await read('/store/books/b1?expand=author')
    assert.match(author, /^x[0-9a-f]{40}$/)
    assert.deepEqual(book, {
      _id: 'b1',
      createdAt: '2024-05-01T10:00:00.123Z',
      updatedAt: '2024-05-01T10:00:00.123Z',
      title: 'Momo',
      place: { latitude: 47.3, longitude: 8.5 },
      editor: ADA,
      firestoreUpdatedAt: 'yesterday',
    })
    assert.equal(deep.other, 'https://x.example/cover.gif')
    assert.equal((await server.request('GET', deep.cover, { token })).text, 'GIF89a......')
    assert.deepEqual($expanded.author, {
      _id: author,
      createdAt: '2024-05-01T10:00:00.123Z',
      updatedAt: '2024-05-02T10:00:00.000Z',
      firestoreId: 'a@b.example',
      name: 'Ende',
      born: 1929,
      height: 1.75,
      alive: false,
      nothing: null,
      at: '2024-05-01T10:00:00.500Z',
      raw: 'AQI=',
      place: { latitude: 1, longitude: 2 },
      books: ['b1'],
      more: { cover: deep.cover },
    })
    // A field says nothing about whom a document belongs to.
    const [colour] = await ownedOf('colours')
    assert.partialDeepStrictEqual(colour, { $owner: 'system', firestoreOwner: 'bob', n: 1 })
    const notes = await ownedOf('users_notes')
    assert.partialDeepStrictEqual(
      notes.find((one) => one.text === 'Hi'),
      {
        $owner: ADA,
        _id: `${ADA}_n1`,
        parent: ADA,
        firestoreParent: 'x',
        at: '1970-01-01T00:00:01.000Z',
      },
    )
    assert.equal(notes.find((one) => one.text === 'Boo').$owner, 'system')
    await server.stop()

    const again = reportOf(await sixwire(...words, '--json'))
    assert.partialDeepStrictEqual(again, {
      users: { created: 0, unchanged: 2 },
      files: { stored: 0, present: 1 },
      collections: expected.collections.map((one) => ({ ...one, created: 0, present: one.created })),
    })
    const last = await start()
    assert.equal((await rowsOf(last))['documents'], 9)
    const none = await sixwire('firebase', join(folder, 'export/firestore'))
    assert.match(
      none.errors,
      /has neither users\.json, nor JSON in a folder firestore, nor a folder storage$/m,
    )
  })
})
