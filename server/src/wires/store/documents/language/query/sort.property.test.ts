import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { eachEngine } from '../../../../../testing/engines.ts'
import { isLongRun } from '../../../../../testing/long-run.ts'
import { NoKeyError } from './document-keys.ts'
import { openDocuments, type Documents } from './documents.fixture.ts'
import { keyOf } from './key.ts'
import { parseSort } from './sort.ts'
import { document, sort, sorted } from './sort.fixture.ts'

const documentList = fc.array(document, { minLength: 1, maxLength: 12 })

test('any documents compare by their keys as the rules say', () => {
  fc.assert(
    fc.property(document, document, sort, (one, other, sort) => {
      const expected = sorted([one, other], sort)
      const { keys } = parseSort(sort)
      const key = (document: typeof one): readonly Buffer[] | undefined => {
        try {
          return keyOf(document, keys)
        } catch (error) {
          if (error instanceof NoKeyError) return undefined
          throw error
        }
      }
      const [a, b] = [key(one), key(other)]
      if (expected === 'refused') return assert.ok(!a || !b, 'is not refused')
      assert.ok(a && b, 'is refused')
      const order = keys.reduce(
        (so_far, { descending }, i) => so_far || (descending ? -1 : 1) * Buffer.compare(a[i]!, b[i]!),
        0,
      )
      assert.deepEqual(order <= 0 && (order < 0 || !keys[0]!.descending) ? [0, 1] : [1, 0], expected)
    }),
    { numRuns: isLongRun ? 10_000 : 1_000 },
  )
})

eachEngine((engine) => {
  let documents: Documents
  before(async () => {
    documents = await openDocuments(engine)
  })
  after(() => documents.close())

  test('any sort, walked by cursors in pages of any size, gives every document once and in order', async () => {
    await fc.assert(
      fc.asyncProperty(
        documentList,
        fc.array(sort, { minLength: 1, maxLength: 6 }),
        fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1 }),
        async (rows, sorts, sizes) => {
          const collection = await documents.collection(rows)
          for (const sort of sorts) {
            const expected = sorted(rows, sort)
            if (expected === 'refused') {
              await assert.rejects(documents.page(collection, { sort }), { code: 'VALIDATION_ERROR' })
              continue
            }
            const walked: number[] = []
            for (let cursor: string | undefined, turn = 0; walked.length < expected.length; turn++) {
              const page = await documents.page(collection, { sort, cursor }, sizes[turn % sizes.length])
              assert.notEqual(page.cursor, undefined, `ends after ${walked.join()}`)
              walked.push(...page.numbers)
              cursor = page.cursor
            }
            assert.deepEqual(walked, expected, sort)
          }
        },
      ),
      { numRuns: 50 },
    )
  })
})
