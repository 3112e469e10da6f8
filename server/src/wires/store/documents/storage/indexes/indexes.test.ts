// Indexes as applications see them: declared, built while documents are written, unique; and that their entries are those of
// the documents, whatever happened.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { startApp, type RequestOptions, type TestApp } from '../../../../../testing/app.ts'
import { eachEngine, endOfSuite } from '../../../../../testing/engines.ts'
import { declaredIndexes } from '../entries/index-definition.ts'
import { assertEntries, indexesOf, readyIndexes } from './indexes.fixture.ts'

const INDEXES = {
  books: ['year,-title', { fields: 'isbn', unique: true }, 'author.name'],
  tagged: ['tags,name', { fields: 'codes', unique: true }, 'parts.no,-parts.size', 'a,b'],
}

eachEngine((engine) => {
  const ending = endOfSuite()
  let app: TestApp
  let token: string
  before(async () => {
    app = await startApp(ending, engine, {
      config: { store: { indexes: INDEXES, collections: { tagged: 'shared' } } },
      // So that the entries of books carry their owner.
      environment: { SIXWIRE_POLICY: 'guarded' },
    })
    token = (await app.register()).token
    await readyIndexes(app)
  })

  const ask = (method: string, path: string, options: RequestOptions = {}) =>
    app.request(method, `/store/${path}`, { token, ...options })
  const create = async (collection: string, body: unknown): Promise<string> => {
    const made = await ask('POST', collection, { body })
    assert.equal(made.status, 201, made.text)
    return made.body._id
  }

  test('are declared in the configuration, and ready when they are built', async () => {
    assert.deepEqual(
      (await indexesOf(app)).map(({ collection, names, isUnique, state }) => [
        collection,
        names,
        isUnique,
        state,
      ]),
      [
        ['books', 'year,-title', false, 'ready'],
        ['books', 'isbn', true, 'ready'],
        ['books', 'author.name', false, 'ready'],
        ['tagged', 'tags,name', false, 'ready'],
        ['tagged', 'codes', true, 'ready'],
        ['tagged', 'parts.no,-parts.size', false, 'ready'],
        ['tagged', 'a,b', false, 'ready'],
      ],
    )
  })

  test('have the entries of documents that are created, changed and deleted', async () => {
    const momo = await create('books', { isbn: 1, title: 'Momo', year: 1973, author: { name: 'Ende' } })
    await create('books', { isbn: 2, title: 'x'.repeat(5000) })
    await create('tagged', {
      codes: 1,
      tags: ['b', 'a', 'b', null],
      name: 'lamp',
      parts: [{ no: 1, size: 2 }, 3, {}],
    })
    await create('tagged', { tags: [], codes: ['x', 'y'], parts: [] })
    await assertEntries(app)
    await ask('PUT', `books/${momo}`, { body: { year: [1973, 1974], title: null } })
    await assertEntries(app)
    await ask('DELETE', `books/${momo}`)
    await assertEntries(app)
  })

  describe('a unique one', () => {
    test('refuses a second document with the same values, and names the fields', async () => {
      await create('books', { isbn: 'a' })
      const twice = await ask('POST', 'books', { body: { isbn: 'a' } })
      assert.equal(twice.status, 409)
      assert.deepEqual(twice.body.error, {
        code: 'CONFLICT',
        message: 'Another document has the same isbn.',
        details: { fields: ['isbn'] },
      })
      const other = await create('books', { isbn: 'b' })
      assert.equal((await ask('PUT', `books/${other}`, { body: { isbn: 'a' } })).status, 409)
      assert.equal((await ask('PUT', `books/${other}`, { body: { isbn: 'b', title: 'B' } })).status, 200)
      await assertEntries(app)
    })

    test('refuses all but one of many at once, and takes the values of a deleted document', async () => {
      const answers = await Promise.all(
        Array.from({ length: 10 }, () => ask('POST', 'books', { body: { isbn: 'once' } })),
      )
      assert.equal(answers.filter(({ status }) => status === 409).length, 9)
      const { body } = answers.find(({ status }) => status === 201)!
      await ask('DELETE', `books/${body._id}`)
      await create('books', { isbn: 'once' })
      await assertEntries(app)
    })

    test('refuses one of many at once, and no other', async () => {
      await create('books', { isbn: 'group 3' })
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, i) => ask('POST', 'books', { body: { isbn: `group ${i}` } })),
      )
      assert.deepEqual(
        answers.flatMap(({ status }, i) => (status === 201 ? [] : [`${i} ${status}`])),
        ['3 409'],
      )
      await assertEntries(app)
    })

    test('compares each element of an array, long texts to the end, and a missing field as null', async () => {
      const long = 'x'.repeat(3000)
      await create('tagged', { codes: ['p', 'p', 'q', `${long}1`] })
      await create('tagged', { codes: `${long}2` })
      for (const codes of [['r', 'q'], `${long}1`])
        assert.equal((await ask('POST', 'tagged', { body: { codes } })).status, 409)
      await create('tagged', { codes: null })
      assert.equal((await ask('POST', 'tagged', { body: { name: 'no codes' } })).status, 409)
      await assertEntries(app)
    })
  })

  test('refuse a document in which two of their fields are arrays', async () => {
    const document = { codes: 'z', a: [1], b: [2] }
    for (const [path, body] of [
      ['/body', document],
      ['/body/0', [document]],
      ['/body/1', [{ codes: 'y' }, document]],
    ] as const) {
      const refused = await ask('POST', 'tagged', { body })
      assert.equal(refused.status, 400)
      assert.deepEqual(refused.body.error.details.issues, [
        { path, message: 'the index of a,b cannot hold this document: a and b are in two arrays' },
      ])
    }
    await create('tagged', { codes: 'z', a: [1], b: 2 })
  })

  test('a call that is repeated answers the document that it made', async () => {
    const headers = { 'idempotency-key': 'again' }
    const body = { isbn: 'again' }
    const [first, second] = [
      await ask('POST', 'books', { body, headers }),
      await ask('POST', 'books', { body, headers }),
    ]
    assert.deepEqual([first.status, second.text], [201, first.text])
  })

  test('hold for documents that are created together, and for patches', async () => {
    const { body } = await ask('POST', 'books', { body: [{ isbn: 'g' }, { isbn: 'h', year: [1, 2] }] })
    for (const sent of [
      [{ isbn: 'i' }, { isbn: 'h' }],
      [{ isbn: 'j' }, { isbn: 'j' }],
    ])
      assert.equal((await ask('POST', 'books', { body: sent })).body.error.details.fields[0], 'isbn')
    const [g, h] = body.data
    assert.equal((await ask('PATCH', `books/${g._id}`, { body: { isbn: 'h' } })).status, 409)
    assert.equal((await ask('PATCH', `books/${h._id}`, { body: { isbn: 'i', year: null } })).status, 200)
    await assertEntries(app)
    const headers = { 'if-match': '"1","2"' }
    assert.equal((await ask('DELETE', `books/${h._id}`, { headers })).status, 200)
    await assertEntries(app)
  })

  test('have the entries of the restored documents as soon as a backup is restored', async () => {
    const kept = await create('books', { isbn: 'kept', title: 'old' })
    const backup = await ask('POST', 'backup')
    assert.equal(backup.status, 201, backup.text)
    await ask('PUT', `books/${kept}`, { body: { title: 'new' } })
    await create('books', { isbn: 'later' })
    const restored = await ask('POST', `backup/${backup.body._id}/restore`)
    assert.equal(restored.status, 200, restored.text)
    await assertEntries(app)
    assert.equal((await ask('POST', 'books', { body: { isbn: 'kept' } })).status, 409)
    await create('books', { isbn: 'later' })
    assert.equal((await indexesOf(app)).filter(({ state }) => state === 'ready').length, 7)
    await assertEntries(app)
  })

  test('fail with a reason if they cannot hold one of many documents', async () => {
    const documents = Array.from({ length: 300 }, (_, year) => ({ year, tags: [year], name: 'x' }))
    const { body } = await ask('POST', 'many', { body: [...documents, { year: [1, 2], tags: [1, 2] }] })
    const bad = body.data[300]._id
    await app.app
      .service('store')
      .indexes.declare(declaredIndexes({ many: ['year,tags', 'name,tags'] }, () => true))
    await readyIndexes(app)
    assert.deepEqual(
      (await indexesOf(app)).map(({ state, reason }) => [state, reason]),
      [
        ['failed', `in the document ${bad} year and tags are in two arrays`],
        ['ready', null],
      ],
    )
    await assertEntries(app)
  })

  test('fail with a reason if documents that are there have the same values, also after a restore', async () => {
    const first = await create('coins', { year: 1 })
    const second = await create('coins', { year: [2, 1] })
    const backup = await ask('POST', 'backup')
    // What a start does.
    const declare = async (...others: string[]) => {
      const definitions = declaredIndexes(
        { coins: [{ fields: 'year', unique: true }, ...others] },
        () => true,
      )
      await app.app.service('store').indexes.declare(definitions)
      await readyIndexes(app)
    }
    const stateOf = async () => (await indexesOf(app)).map(({ state, reason }) => [state, reason])
    const reason = `the documents ${first} and ${second} have the same year`

    await declare()
    assert.deepEqual(await stateOf(), [['failed', reason]])
    assert.ok(app.log().includes(`an index failed: ${reason}`))
    await assertEntries(app)

    await ask('DELETE', `coins/${second}`)
    await declare('year,value')
    const ready = ['ready', null]
    assert.deepEqual(await stateOf(), [ready, ready])
    assert.equal((await indexesOf(app))[1]!.hasArrays, false)
    assert.equal((await ask('POST', 'coins', { body: { year: 1 } })).status, 409)
    const restored = await ask('POST', `backup/${backup.body._id}/restore`)
    assert.equal(restored.status, 200, restored.text)
    await readyIndexes(app)
    assert.deepEqual(await stateOf(), [['failed', reason], ready])
    assert.equal((await indexesOf(app))[1]!.hasArrays, true)
    await assertEntries(app)
    await create('coins', { year: 1 })
  })
})
