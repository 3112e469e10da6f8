import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { eachEngine } from '../../../../../testing/engines.ts'
import { isLongRun } from '../../../../../testing/long-run.ts'
import { openDocuments, type Documents } from './documents.fixture.ts'
import { anyDocument, anyFilter } from './filters.fixture.ts'
import { compileMatcher } from './matcher.ts'
import { parseFilter } from './parse-filter.ts'
import { matches } from './reference.fixture.ts'

const documentsAndFilters = (filters: number) =>
  [
    fc.array(anyDocument, { minLength: 1, maxLength: 24, size: 'max' }),
    fc.array(anyFilter, { minLength: 1, maxLength: filters, size: 'max' }),
  ] as const

test('the matcher finds for thousands of random filters what the rules say', () => {
  fc.assert(
    fc.property(...documentsAndFilters(24), (rows, filters) => {
      const stored = JSON.parse(JSON.stringify(rows)) as unknown[]
      for (const filter of filters) {
        const text = JSON.stringify(filter)
        const matcher = compileMatcher(parseFilter(text))
        assert.deepEqual(
          stored.map(matcher),
          rows.map((row) => matches(row, filter)),
          text,
        )
      }
    }),
    { numRuns: isLongRun ? 20_000 : 300 },
  )
})

eachEngine((engine) => {
  let documents: Documents
  before(async () => {
    documents = await openDocuments(engine)
  })
  after(() => documents.close())

  test('a list finds for a thousand random filters what the rules say', async () => {
    await fc.assert(
      fc.asyncProperty(...documentsAndFilters(40), async (rows, filters) => {
        const collection = await documents.collection(rows)
        const found = await documents.matchingEach(collection, filters)
        for (const [i, filter] of filters.entries()) {
          const expected = rows.flatMap((row, number) => (matches(row, filter) ? [number] : []))
          assert.deepEqual(found[i], expected, JSON.stringify(filter))
        }
      }),
      { numRuns: isLongRun ? 2000 : 60 },
    )
  })
})
