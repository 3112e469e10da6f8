// A search finds what a model says that is written apart from it, on both engines, in the model's order.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'

import fc from 'fast-check'

import { startApp, type TestApp } from '../../../../../testing/app.ts'
import { eachEngine, endOfSuite } from '../../../../../testing/engines.ts'
import { isLongRun } from '../../../../../testing/long-run.ts'
import { compileMatcher } from '../../language/query/matcher.ts'
import { parseFilter } from '../../language/query/parse-filter.ts'
import type { Json } from '../../language/query/filter.ts'
import { scoreOfTexts, textsOf, written, type Search } from './search.fixture.ts'

const DOCUMENTS = 60
const QUERIES = isLongRun ? 20_000 : 100
const FIELDS = ['title', 'tags', 'lines.note', 'text', 'more']

const WORDS = [
  'momo Momo MÖMO mo a the Krabat Straße STRASSE été ete ﬁnd find naïve İstanbul istanbul 🙂 … _ x_y *',
  'Ἑλλάς ελλας Ёлка елка מִלָּה كِتَاب كتاب हिन्दी हिन 東京 東京都 京 トウキョウ とうきょう 한국어 한국 ภาษาไทย 𝔘nicode 2026 20 ½',
  "foo-bar foo bar C++ c a@b.com b.com https://six.example/a?b=c example don't '; NEAR(a AND OR NOT ^a a:b \\",
  'z'.repeat(70),
].flatMap((words) => words.split(' '))
const anyWord = fc.constantFrom(...WORDS)
const anyText = fc.array(anyWord, { maxLength: 6 }).map((words) => words.join(' '))
const anyDocument = fc.record(
  {
    title: fc.oneof(anyText, fc.constantFrom(null, 5, true)),
    tags: fc.array(fc.oneof(anyText, fc.constant(7)), { maxLength: 3 }),
    lines: fc.oneof(
      fc.array(fc.record({ note: anyText }), { maxLength: 2 }),
      fc.record({ note: fc.array(anyText, { maxLength: 2 }) }),
    ),
    text: anyText,
    more: anyText,
    kind: fc.constantFrom('a', 'b', 'c'),
  },
  { requiredKeys: ['kind'] },
)
const anySearch: fc.Arbitrary<Search> = fc.record({
  terms: fc.array(
    fc.record({
      words: fc.oneof(
        { weight: 3, arbitrary: anyWord.filter((word) => !/["\s]/.test(word) && !/^-|\*$/.test(word)) },
        {
          weight: 1,
          arbitrary: fc.array(anyWord, { minLength: 2, maxLength: 3 }).map((words) => words.join(' ')),
        },
      ),
      isPrefix: fc.oneof({ weight: 3, arbitrary: fc.constant(false) }, fc.constant(true)),
      isUnwanted: fc.oneof({ weight: 3, arbitrary: fc.constant(false) }, fc.constant(true)),
    }),
    { maxLength: 3 },
  ),
})

type Row = { [field: string]: Json } & { _id: string }

eachEngine((engine) => {
  const ending = endOfSuite()
  let app: TestApp
  let token: string
  before(async () => {
    app = await startApp(ending, engine, {
      config: { store: { collections: { books: { read: 'user', create: 'user', search: FIELDS } } } },
    })
    ;({ token } = await app.register())
  })

  test(`${QUERIES} searches find what the model says, in its order`, async () => {
    const seed = Math.floor(Math.random() * 2 ** 31)
    const sample = <T>(one: fc.Arbitrary<T>, numRuns: number): T[] => fc.sample(one, { seed, numRuns })
    const documents = sample(anyDocument, DOCUMENTS)
    const created = await app.request('POST', '/store/books', { token, body: documents })
    assert.equal(created.status, 201, created.text)
    const rows = (created.body.data as Row[]).toSorted((a, b) => (a._id < b._id ? 1 : -1))
    for (const search of sample(anySearch, QUERIES)) {
      const text = written(search)
      const filter = text.length % 3 === 0 ? '{"kind":{"$in":["a","b"]}}' : '{}'
      const matches = compileMatcher(parseFilter(filter))
      const found = rows
        .filter(matches)
        .flatMap((row) => {
          const texts = FIELDS.map((field) => textsOf(row, field.split('.')))
          const score = scoreOfTexts(search, texts)
          return score === undefined ? [] : [{ id: row._id, score }]
        })
        .toSorted((a, b) => b.score - a.score)
      const query = new URLSearchParams({ search: text, filter, fields: '_id', limit: '100' })
      const { status, body } = await app.request('GET', `/store/books?${query.toString()}`, { token })
      const about = `seed ${seed}: ${text} ${filter}`
      assert.equal(status, 200, about)
      assert.equal(body.total, found.length, about)
      assert.deepEqual(
        body.data.map(({ _id }: Row) => _id),
        found.map(({ id }) => id),
        about,
      )
    }
  })
})
