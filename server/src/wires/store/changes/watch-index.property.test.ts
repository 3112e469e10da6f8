import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allRows } from '../../../base/row-filter.ts'
import { matchingRows } from '../documents/language/rules/rule.ts'
import fc from 'fast-check'

import { isLongRun } from '../../../testing/long-run.ts'
import { anyDocument, anyFilter } from '../documents/language/query/filters.fixture.ts'
import type { Json } from '../documents/language/query/filter.ts'
import { parseFilter } from '../documents/language/query/parse-filter.ts'
import { matches } from '../documents/language/query/reference.fixture.ts'
import type { LoggedChange, State } from './logged-change.ts'
import { eventFor, watchOf } from './watch.ts'
import { WatchIndex } from './watch-index.ts'

type Asked = {
  /** None: all documents. */
  rule: { owner: string | undefined; filters: readonly Filter[] } | undefined
  filter: Filter
}
type Filter = Parameters<typeof matches>[1]
type Stored = { owner: string; document: Parameters<typeof matches>[0] }

const anyOwner = fc.constantFrom('ada', 'bob', '')

/** Filters that an index finds, and any others. */
const anyQuestion: fc.Arbitrary<Filter> = fc.oneof(
  { weight: 1, arbitrary: anyFilter },
  {
    weight: 2,
    arbitrary: fc
      .tuple(
        fc.constantFrom('a', 'b', 'a.a', 'a.b', 'b.0', 'a.0.a', 'a.toString'),
        fc.constantFrom('a', 'ab', '0', 0, 1, 1.0, -0, true, null, 2 ** 53, ''),
        fc.boolean(),
      )
      .map(([path, value, isList]): Filter => ({ [path]: isList ? { $in: [value, 'b'] } : value })),
  },
)

const anyAsked: fc.Arbitrary<Asked> = fc.record({
  rule: fc.option(
    fc.record({
      owner: fc.option(anyOwner, { nil: undefined }),
      filters: fc.array(anyQuestion, { maxLength: 3 }),
    }),
    { nil: undefined },
  ),
  filter: fc.oneof(anyQuestion, fc.constant({})),
})

const anyStored: fc.Arbitrary<Stored> = fc.record({ owner: anyOwner, document: anyDocument })

const anyChange = fc.record({
  before: fc.array(anyStored, { maxLength: 3 }),
  now: fc.option(anyStored, { nil: undefined }),
})

const parsed = (filter: Filter) => parseFilter(JSON.stringify(filter))

const watchFor = ({ rule, filter }: Asked) =>
  watchOf('books', {
    rowFilter: rule ? matchingRows(rule.filters.map(parsed), rule.owner) : allRows,
    filter: parsed(filter),
    view: undefined,
    projection: undefined,
  })

/** What the rules of the query language say. */
const isIn = ({ rule, filter }: Asked, { owner, document }: Stored): boolean =>
  (!rule || rule.owner === owner || rule.filters.some((one) => matches(document, one))) &&
  matches(document, filter)

function changeOf({ before, now }: { before: readonly Stored[]; now: Stored | undefined }): LoggedChange {
  const stateOf = ({ owner, document }: Stored): State => {
    const json = JSON.parse(JSON.stringify(document)) as Json
    return { owner, json: () => json }
  }
  const position = { xid: 0, seq: 1, at: 0 }
  return {
    collection: 'books',
    id: 'a',
    at: 0,
    generation: '',
    after: position,
    position,
    until: position,
    seenAt: position,
    before: before.map(stateOf),
    now: now && { ...stateOf(now), body: JSON.stringify(now.document), version: 1 },
  }
}

test('a change has the events that the model has, and the index finds their watches', () => {
  fc.assert(
    fc.property(
      fc.array(anyAsked, { minLength: 1, maxLength: 20, size: 'max' }),
      fc.array(anyChange, { minLength: 1, maxLength: 20, size: 'max' }),
      fc.array(fc.nat({ max: 19 }), { maxLength: 10 }),
      (asked, changes, left) => {
        const index = new WatchIndex<number>()
        const watches = asked.map(watchFor)
        for (const [number, watch] of watches.entries()) index.add(watch, number)
        for (const number of left) if (watches[number]) index.remove(watches[number], number)
        for (const one of changes) {
          const change = changeOf(one)
          const told = new Map<number, string>()
          for (const { watch, members } of index.near(change)) {
            const event = eventFor(watch, change)?.event
            if (event) for (const number of members) told.set(number, event)
          }
          const expected = asked.flatMap((watch, number): [number, string][] => {
            if (left.includes(number)) return []
            if (one.now && isIn(watch, one.now)) return [[number, 'put']]
            return one.before.some((state) => isIn(watch, state)) ? [[number, 'gone']] : []
          })
          assert.deepEqual(
            [...told].toSorted(([a], [b]) => a - b),
            expected,
            JSON.stringify({ asked, one }),
          )
        }
        for (const [number, watch] of watches.entries()) index.remove(watch, number)
        assert.deepEqual([...index.collections()], [])
      },
    ),
    { numRuns: isLongRun ? 20_000 : 300 },
  )
})
