import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eachEngine } from '../../../../../testing/engines.ts'
import { openDocuments, type Document, type Documents } from './documents.fixture.ts'
import type { Json } from './filter.ts'
import { compileMatcher } from './matcher.ts'
import { parseFilter } from './parse-filter.ts'
import { matches } from './reference.fixture.ts'

/** What a filter finds: the numbers of the documents, from 0. */
export type Case = [behaviour: string, documents: Document[], filter: unknown, numbers: number[]]

export const nothing: number[] = []
/** Numbers of all documents. */
export const all = (documents: readonly unknown[]): number[] => documents.map((_, i) => i)
/** Numbers of all documents without these. */
export const but = (documents: readonly unknown[], ...without: number[]): number[] =>
  all(documents).filter((i) => !without.includes(i))

/** Tests that both engines answer the cases, and that the matcher and the rules of reference.fixture.ts do. */
export function testCases(cases: readonly Case[]): void {
  eachEngine((engine) => {
    let documents: Documents
    before(async () => {
      documents = await openDocuments(engine)
    })
    after(() => documents.close())

    const collections = new Map<Document[], Promise<string>>()
    const collectionOf = (rows: Document[]): Promise<string> => {
      const made = collections.get(rows) ?? documents.collection(rows)
      collections.set(rows, made)
      return made
    }

    for (const [behaviour, rows, filter, numbers] of cases) {
      test(behaviour, async () => {
        assert.deepEqual(await documents.matching(await collectionOf(rows), filter), numbers)
      })
    }
  })

  // The rules that random documents are judged by are judged by these.
  for (const [behaviour, rows, filter, numbers] of cases)
    if (!JSON.stringify(filter).includes('_id'))
      test(`the rules say so: ${behaviour}`, () => {
        const stored = JSON.parse(JSON.stringify(rows)) as Json[]
        const matcher = compileMatcher(parseFilter(JSON.stringify(filter)))
        assert.deepEqual(
          stored.flatMap((row, i) => (matches(row, filter as Record<string, Json>) ? [i] : [])),
          numbers,
        )
        assert.deepEqual(
          stored.flatMap((row, i) => (matcher(row) ? [i] : [])),
          numbers,
        )
      })
}
