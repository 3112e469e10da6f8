import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { Json } from '../../language/query/filter.ts'
import { EntrySorter } from './entry-sorter.ts'
import { entriesOf } from '../entries/entries.ts'
import { SorterWorker } from './sorter-worker.ts'

const rules = {
  fields: [
    { path: ['tags'], descending: false },
    { path: ['year'], descending: true },
  ],
  isSparse: false,
  ignoreCase: false,
}

type Line = [key: string, id: string, owner: string | null, ends: number]

/** Sorts documents, whose lines come in pieces of so many bytes. */
function sorted(documents: readonly Json[], { byOwner = false, bytes = 7 } = {}) {
  const sorter = new EntrySorter({ ...rules, byOwner })
  const lines = documents.map((document, i) => `${JSON.stringify([`d${i}`, `o${i % 2}`, document])}\n`)
  const all = Buffer.from(lines.join(''))
  for (let at = 0; at < all.length; at += bytes) sorter.add(all.subarray(at, at + bytes))
  const found = sorter.end()
  const batches = []
  for (let batch; (batch = sorter.next());) batches.push(batch)
  return { ...found, batches, entries: batches.flatMap(({ lines: text }) => JSON.parse(text) as Line[]) }
}

test('entries are those of all documents in the order of their keys', () => {
  const documents: Json[] = [
    { tags: ['ü', 'b', 'b'], year: 1 },
    { tags: '\n"\\\u{1f600}', year: [1] },
    {},
    { tags: 'b', year: 1 },
    { tags: [], year: null },
    { tags: -1.5, year: 3 },
  ]
  const expected = documents
    .flatMap((document, i) =>
      entriesOf(document, rules).entries.map(({ key, ends }): Line => [
        key.toString('hex'),
        `d${i}`,
        `o${i % 2}`,
        ends,
      ]),
    )
    .toSorted(([one, a], [other, b]) => (one < other || (one === other && a < b) ? -1 : 1))
  for (const bytes of [1, 7, 10_000]) {
    const { batches, entries, ...found } = sorted(documents, { byOwner: true, bytes })
    assert.deepEqual(found, { hasArrays: true, hasCutKeys: false })
    assert.deepEqual(entries, expected)
    assert.deepEqual(
      batches.map((batch) => batch.documents),
      [documents.length],
    )
  }
  assert.ok(sorted(documents).entries.every(([, , owner]) => owner === null))
})

test('batches are bounded, and count each document once', () => {
  const many = sorted(
    Array.from({ length: 3_000 }, (_, i) => ({ tags: [i % 7, i] })),
    { bytes: 5_000 },
  )
  assert.equal(many.batches.length, 6)
  assert.equal(
    many.batches.reduce((sum, { documents }) => sum + documents, 0),
    3_000,
  )
  const long = sorted(
    Array.from({ length: 1_000 }, (_, i) => ({ tags: `${i} ${'x'.repeat(2_000)}` })),
    { bytes: 100_000 },
  )
  assert.equal(long.hasCutKeys, true)
  assert.equal(long.entries.length, 1_000)
  assert.ok(long.batches.every(({ lines }) => lines.length < 600_000))
})

test('a document that the index cannot hold is named', () => {
  const { refused } = sorted([{ tags: 1 }, { tags: [1], year: [2] }, { tags: [3], year: [4] }])
  assert.equal(refused, 'in the document d1 tags and year are in two arrays')
  assert.deepEqual(sorted([]).batches, [])
})

test('a fault in the thread fails what is asked of it', async () => {
  const sorter = new SorterWorker({ ...rules, byOwner: false })
  await sorter.add(new Uint8Array(Buffer.from('["a","b",{}]\n')))
  await assert.rejects(sorter.add(new Uint8Array(Buffer.from('[\n'))), SyntaxError)
  await assert.rejects(sorter.end(), SyntaxError)
  await sorter.close()
})
