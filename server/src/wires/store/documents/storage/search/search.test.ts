import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import fc from 'fast-check'

import type { Config } from '../../../../../app.ts'
import { deriveKey } from '../../../../../base/crypto.ts'
import { allRows, ownRows } from '../../../../../base/row-filter.ts'
import { matchingRows } from '../../language/rules/rule.ts'
import { startApp, type TestApp } from '../../../../../testing/app.ts'
import { anyEngine, eachEngine, endOfSuite } from '../../../../../testing/engines.ts'
import { isLongRun } from '../../../../../testing/long-run.ts'
import { createLists } from '../../lists/list.ts'
import { parseFilter } from '../../language/query/parse-filter.ts'
import { assertWords } from './search.fixture.ts'

const config = {
  store: {
    indexes: { notes: ['n', 'members'] },
    collections: {
      books: {
        read: 'user',
        create: 'user',
        update: 'user',
        delete: 'user',
        search: ['title', 'authors.name', 'text'],
        relations: { part: { to: 'books', onDelete: 'cascade' } },
      },
      pages: { read: 'user', create: 'user', search: ['title', 'text'] },
      notes: {
        read: ['owner', { members: '$$user._id' }],
        create: 'user',
        hidden: ['secret'],
        search: ['title', 'text'],
      },
      diary: { read: 'owner', create: 'user', search: ['title', 'text'] },
      plain: 'shared',
      hooked: {
        read: 'user',
        create: 'user',
        search: ['words'],
        hooks: { beforeCreate: ({ next }) => ({ ...next, words: `${String(next['title'])} hooked` }) },
      },
    },
  },
} satisfies Config

type Person = Awaited<ReturnType<TestApp['register']>>
type Query = { readonly [name: string]: string | number }
type Row = { _id: string; title: string }

const TEXTS = isLongRun ? 200 : 60
const PUNCTUATION = `"'-*()^:+&|!<>~\\{}[]@#$%_=,.;?/\` \t…“”·–🙂`

eachEngine((engine) => {
  const ending = endOfSuite()
  let app: TestApp
  let [admin, ann, bob]: Person[] = []
  before(async () => {
    app = await startApp(ending, engine, { config })
    admin = await app.register()
    ann = await app.register()
    bob = await app.register()
  })

  const ask = (who: Person | undefined, collection: string, query: Query) => {
    const parameters = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    return app.request('GET', `/store/${collection}?${parameters.join('&')}`, { token: who?.token })
  }
  const send = async (method: string, path: string, body?: unknown, who = ann) => {
    const answered = await app.request(method, `/store/${path}`, { token: who!.token, body })
    assert.ok(answered.status < 300, answered.text)
    return answered.body
  }
  /** The titles of what is found, and how many there are in all. */
  async function found(who: Person | undefined, collection: string, search: string, more: Query = {}) {
    const { status, body, text } = await ask(who, collection, { search, ...more })
    assert.equal(status, 200, text)
    const titles: string[] = body.data.map(({ title }: Row) => title)
    return [titles.join(', '), body.total as number] as const
  }

  describe('a search', () => {
    const BOOKS = [
      { title: 'Momo', text: 'A girl and the grey gentlemen', year: 1973 },
      { title: 'The Neverending Story', authors: [{ name: 'Michael Ende' }], year: 1979 },
      {
        title: 'Jim Button',
        authors: { name: 'Michael Ende' },
        text: 'On Morrowland, without Momo',
        year: 1960,
      },
      { title: 'Ende gut', text: ['Nothing', 'grey: gentlemen'], year: 2001 },
      { title: 'Crème brûlée', text: 'cooking with C++ and foo-bar, see https://six.example/a', year: 2020 },
      { title: '東京物語', text: 'Tōkyō Monogatari', year: 1953 },
      { title: 5, text: null, authors: [7, { name: [] }], year: 0 },
    ]
    before(async () => {
      for (const book of BOOKS) await send('POST', 'books', book)
    })

    for (const [search, titles, query] of [
      ['momo', 'Momo, Jim Button'],
      ['MOMO michael', 'Jim Button'],
      ['ende', 'Ende gut, Jim Button, The Neverending Story'],
      ['"grey gentlemen"', 'Ende gut, Momo'],
      ['grey gentlemen', 'Ende gut, Momo'],
      ['"nothing grey"', ''],
      ['momo -jim', 'Momo'],
      ['-"grey gentlemen" -michael -creme -5 year -東', ''],
      ['-ende -momo', '5, 東京物語, Crème brûlée'],
      ['mo*', 'Momo, 東京物語, Jim Button'],
      ['"grey gent"*', 'Ende gut, Momo'],
      ['creme BRULEE', 'Crème brûlée'],
      ['c++', 'Crème brûlée'],
      ['foo-bar', 'Crème brûlée'],
      ['bar-foo', ''],
      ['six.example/a', 'Crème brûlée'],
      ['京物', '東京物語'],
      ['物京', ''],
      ['tokyo', '東京物語'],
      ['5', ''],
      ['ende', 'The Neverending Story, Jim Button', { filter: '{"year":{"$lt":2000}}', sort: '-year' }],
      ['ende', 'Jim Button, The Neverending Story, Ende gut', { sort: 'year' }],
      ['ende', 'The Neverending Story, Jim Button, Ende gut', { sort: 'createdAt' }],
      ['ende', 'Jim Button', { limit: 1, offset: 1 }],
      ['', '5, 東京物語', { limit: 2 }],
      ['?!', '5, 東京物語', { limit: 2, sort: '$score' }],
    ] as [string, string, Query?][])
      test(`${JSON.stringify(search)} ${query ? JSON.stringify(query) : ''} finds ${titles || 'nothing'}`, async () => {
        const [shown, total] = await found(ann, 'books', search, query)
        assert.equal(shown, titles)
        if (!query) assert.equal(total, titles === '' ? 0 : titles.split(', ').length)
      })

    test('it answers fields, expands, and is explained', async () => {
      const { body } = await ask(ann, 'books', { search: 'brulee', fields: 'year' })
      assert.deepEqual(Object.keys(body.data[0]), ['_id', 'year'])
      const explained = await ask(admin, 'books/explain', { search: 'ende', filter: '{"year":1979}' })
      const { plan, index, examined, total } = explained.body
      assert.deepEqual(
        [plan, index, examined, total],
        ['search', 'title,authors.name,text', { entries: 3, documents: 3 }, 1],
      )
    })

    for (const [collection, query, path, message] of [
      [
        'plain',
        { search: 'a' },
        '/query/search',
        /^plain cannot be searched: store\.collections\.plain\.search/,
      ],
      ['plain', { search: '' }, '/query/search', /^plain cannot be searched/],
      ['books', { sort: '$score' }, '/query/sort', /^\$score orders the results of a search/],
      ['books', { search: 'a', sort: '-$score' }, '/query/sort', /^\$score orders the results of a search/],
      [
        'books',
        { search: 'a', sort: 'title,$score' },
        '/query/sort',
        /^\$score orders the results of a search/,
      ],
      ['books', { search: 'a'.repeat(1001) }, '/query/search', /at most 1000 characters/],
    ] as [string, Query, string, RegExp][])
      test(`${collection} ${JSON.stringify(query).slice(0, 60)} is refused at ${path}`, async () => {
        const { status, body } = await ask(ann, collection, query)
        assert.equal(status, 400)
        const [issue] = body.error.details.issues
        assert.equal(issue.path, path)
        assert.match(issue.message, message)
      })

    test(`no text is an error: ${TEXTS} of punctuation, and of words of both query languages`, async (t) => {
      const seed = Math.floor(Math.random() * 2 ** 31)
      t.diagnostic(`seed ${seed}`)
      const piece = fc.oneof(
        { weight: 4, arbitrary: fc.constantFrom(...Array.from(PUNCTUATION)) },
        fc.constantFrom(
          'AND',
          'OR',
          'NOT',
          'NEAR(a, 5)',
          'place0 :',
          '{place0}:',
          'a <-> b',
          ':*A',
          'ä',
          '漢',
          '\u0301',
        ),
        fc.string({ unit: 'grapheme', maxLength: 3 }),
      )
      const texts = fc.sample(fc.array(piece, { maxLength: 30, size: 'max' }), { seed, numRuns: TEXTS })
      for (let i = 0; i < texts.length; i += 20)
        await Promise.all(
          texts.slice(i, i + 20).map(async (pieces) => {
            const search = pieces.join('')
            if (!search.isWellFormed()) return
            const { status, text } = await ask(ann, 'books', { search, limit: 1 })
            assert.equal(status, 200, `seed ${seed} ${JSON.stringify(search)} ${text}`)
          }),
        )
    })

    test('cursors lead through all hits once, whatever the order', async () => {
      const pages = Array.from({ length: 60 }, (_, i) => ({
        title: i % 3 === 0 ? `apple ${i}` : `pear ${i}`,
        text: i % 2 === 0 ? 'an apple' : 'a pear',
        n: i % 7,
      }))
      await send('POST', 'pages', pages)
      for (const more of [
        {},
        { sort: 'n' },
        { sort: '-createdAt' },
        { filter: '{"n":{"$gt":1}}' },
      ] as Query[]) {
        const whole = await ask(ann, 'pages', { search: 'apple', limit: 100, ...more })
        const all = whole.body.data.map(({ _id }: Row) => _id)
        const readIds: string[] = []
        for (let query: Query = { search: 'apple', limit: 7, ...more }; ;) {
          const { status, body, text } = await ask(ann, 'pages', query)
          assert.equal(status, 200, text)
          assert.equal(body.total, all.length)
          readIds.push(...body.data.map(({ _id }: Row) => _id))
          if (body.nextCursor === undefined) break
          query = { ...query, cursor: body.nextCursor }
        }
        assert.deepEqual(readIds, all)
      }
      const [first, total] = await found(ann, 'pages', 'apple', { limit: 3 })
      assert.deepEqual([first, total], ['apple 57, apple 54, apple 51', 40])
      const { body } = await ask(ann, 'pages', { search: 'apple', limit: 1 })
      const other = await ask(ann, 'pages', { search: 'pear', limit: 1, cursor: body.nextCursor })
      assert.equal(other.body.error.details.issues[0].path, '/query/cursor')
    })
  })

  describe('a write', () => {
    test('moves the hits of a document', async () => {
      const { _id } = await send('POST', 'books', { title: 'walrus', n: 1 })
      const expect = async (search: string, total: number) =>
        assert.equal((await found(ann, 'books', search))[1], total, search)
      await expect('walrus', 1)
      await send('PUT', `books/${_id}`, { title: 'otter' })
      await expect('walrus', 0)
      await expect('otter', 1)
      await send('PATCH', `books/${_id}`, { $set: { text: 'seal' }, $inc: { n: 1 } })
      await expect('otter seal', 1)
      await send('PATCH', `books/${_id}`, { $push: { authors: { name: 'penguin' } } })
      await expect('penguin', 1)
      await send('PATCH', `books/${_id}`, { title: null })
      await expect('otter', 0)
      await expect('seal penguin', 1)
      const child = await send('POST', 'books', { title: 'pup', part: _id })
      await expect('pup', 1)
      await send('DELETE', `books/${_id}`)
      await expect('seal', 0)
      await expect('pup', 0)
      assert.ok(child._id)
      await assertWords(app)
    })

    test('has the words of what hooks make of it', async () => {
      await send('POST', 'hooked', { title: 'crab' })
      assert.deepEqual(await found(ann, 'hooked', 'hooked crab'), ['crab', 1])
    })

    test('of all documents of a collection leaves no words', async () => {
      const { total } = (await ask(ann, 'hooked', {})).body
      await send('DELETE', `hooked?documents=${total}`, undefined, admin)
      assert.deepEqual(await found(ann, 'hooked', 'hooked'), ['', 0])
      await assertWords(app)
    })
  })

  describe('what a caller cannot read', () => {
    before(async () => {
      await send('POST', 'notes', { title: 'fox', text: 'dog' }, ann)
      await send('POST', 'notes', { title: 'owl', secret: 'cat' }, admin)
      await send('POST', 'notes', { title: 'dog', text: 'fox', members: [bob!._id] }, ann)
      await send('POST', 'notes', { title: 'fox', text: 'mine' }, bob)
    })

    test('is no hit and counts in no total, and is none in a hidden field', async () => {
      assert.deepEqual(await found(ann, 'notes', 'fox'), ['fox, dog', 2])
      assert.deepEqual(await found(bob, 'notes', 'fox'), ['fox, dog', 2])
      assert.deepEqual(await found(bob, 'notes', 'mine'), ['fox', 1])
      assert.deepEqual(await found(ann, 'notes', 'mine'), ['', 0])
      assert.deepEqual(await found(bob, 'notes', '-dog'), ['fox', 1])
      assert.deepEqual(await found(admin, 'notes', 'cat'), ['', 0])
      assert.equal((await ask(undefined, 'notes', { search: 'fox' })).status, 401)
    })

    test('changes no order, however much it is', async () => {
      const answerOf = async (search: string) => (await ask(bob, 'notes', { search, limit: 50 })).text
      const searches = ['fox', 'dog fox', 'fox*', '-mine']
      const before = await Promise.all(searches.map(answerOf))
      const others = Array.from({ length: 300 }, (_, i) => ({
        title: 'fox',
        text: i % 2 ? 'dog' : 'mine',
        n: i % 9,
      }))
      await send('POST', 'notes', others, admin)
      assert.deepEqual(await Promise.all(searches.map(answerOf)), before)
    })

    test('makes no search slow where few documents can be read: it is asked of these', async () => {
      const many = Array.from({ length: 150 }, (_, i) => ({
        title: 'elk',
        text: i % 2 ? 'moose' : '',
        n: i % 50,
      }))
      await send('POST', 'diary', many, admin)
      await send('POST', 'diary', [...many.slice(0, 3), { title: 'moose' }], bob)
      await send('POST', 'notes', many, ann)
      await send('POST', 'notes', { title: 'elk', members: [bob!._id], n: 1 }, admin)
      await send('POST', 'notes', { title: 'moose', text: 'elk', n: 1 }, bob)
      for (const [who, collection, search, filter, shown] of [
        [bob, 'diary', 'elk', '{}', ['elk, elk, elk', 3]],
        [bob, 'diary', 'moose', '{}', ['moose, elk', 2]],
        [bob, 'diary', '-moose', '{}', ['elk, elk', 2]],
        [bob, 'notes', 'elk', '{}', ['elk, moose', 2]],
        [bob, 'notes', 'elk', '{"n":1}', ['elk, moose', 2]],
        [admin, 'notes', 'elk -moose', '{"n":2}', ['elk, elk, elk', 3]],
      ] as const)
        assert.deepEqual(await found(who, collection, search, { filter }), shown, `${collection} ${search}`)

      const { documents, indexes, automaticIndexes } = app.app.service('store')
      const searchFieldsOf = () => [['title'], ['text']]
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
      const members = parseFilter(JSON.stringify({ members: bob!._id }))
      for (const [collection, rowFilter, filter, entries] of [
        ['diary', ownRows(bob!._id), '{}', 4],
        ['notes', matchingRows([members], bob!._id), '{}', 4],
        ['notes', matchingRows([members]), '{}', 2],
        ['notes', allRows, '{"n":2}', 37],
      ] as const) {
        const parameters = { search: 'elk', filter, limit: 20, offset: 0 }
        const access = { rowFilter, view: undefined }
        const explained = await lists.explain({ collection, access, parameters })
        assert.equal(explained.examined.entries, entries, `${collection} ${filter}`)
      }
    })
  })
})

anyEngine((engine) => {
  for (const [option, name] of [
    [{ search: ['secret'], hidden: ['secret'] }, 'search[0]: secret is in hidden or showTo'],
    [{ search: ['a', 'b'], hidden: ['b.c'] }, 'search[1]: b.c is in hidden or showTo'],
    [{ search: ['phone.home'], showTo: { phone: 'owner' } }, 'search[0]: phone is in hidden or showTo'],
    [{ search: ['a', 'a'] }, 'search[1]: a is in the list already'],
    [{ search: ['a.0'] }, 'search[0]: a.0 has a numeric part'],
    [{ search: ['_id'] }, 'search[0]: _id is set by the server'],
  ] as const)
    test(`a start is refused: ${name}`, async (t) => {
      await assert.rejects(
        startApp(t, engine, { config: { store: { collections: { books: { ...option } } } } }),
        (error: Error) =>
          error.name === 'StartError' && error.message.startsWith(`store.collections.books.${name}`),
      )
    })
})
