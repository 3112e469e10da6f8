import assert from 'node:assert/strict'
import { before, test } from 'node:test'

import fc from 'fast-check'

import { startApp, type TestApp } from '../../../../testing/app.ts'
import { eachEngine, endOfSuite } from '../../../../testing/engines.ts'
import { isLongRun } from '../../../../testing/long-run.ts'
import { anyDocument } from '../language/query/filters.fixture.ts'
import type { JsonObject } from '../language/query/filter.ts'
import { groupsOf, type GroupQuery } from './group.fixture.ts'

// Numbers with more digits than these are added as doubles, which differ in the last one.
const number = fc.oneof(
  fc.integer({ min: -100, max: 100 }),
  fc.integer({ min: -10_000, max: 10_000 }).map((cents) => cents / 100),
  fc.constantFrom(
    0.1,
    0.2,
    0.3,
    1e9,
    999_999_999.999999,
    2 ** 53,
    2 ** 53 + 2,
    2 ** 60,
    -(2 ** 63),
    1e20,
    1.5e-8,
    1 / 3,
  ),
  fc.double({ min: -1e20, max: 1e20, noNaN: true }).filter((one) => Math.abs(one) > 1e-6 || one === 0),
)
const zones = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'Asia/Kolkata',
  'America/Sao_Paulo',
]
const time = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .date({ min: new Date('1971-01-01'), max: new Date('2037-01-01'), noInvalidDate: true })
      .map((one) => one.toISOString()),
  },
  // About changes of daylight saving time.
  {
    weight: 6,
    arbitrary: fc
      .integer({ min: -600, max: 60 })
      .map((n) => new Date(Date.UTC(2026, 2, 29, 1, n)).toISOString()),
  },
  {
    weight: 6,
    arbitrary: fc
      .integer({ min: -600, max: 60 })
      .map((n) => new Date(Date.UTC(2018, 10, 4, 3, n)).toISOString()),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      '2026-10-25',
      '2026-02-30',
      '2026-10-25T02:30+02:00',
      '2026-10-25t02:30:59.123456789+01:00',
      '2026-05-31T23:59:59.9999999999-11:00',
      '2026-05-31T23:59:59+15:00',
      '2026-05-31T23:59Z ',
      '2026-05-31T23:59+01:00Z',
      '2026-05-31 23:59Z',
      '2026-05-31T23:59:Z',
      '2026-05-31T23:59+1:00',
      '20260531',
      '9999-12-31T10:00:00Z',
      '0001-12-31',
      '2026-02-31t00:00-00:30',
      '٢026-05-31',
      '2024-02-29T23:59:60Z',
      '2026-13-01',
      '2026-01-01T24:00:00Z',
      'x',
      '2026-01-01T00:00',
      '0000-01-01',
      '2026-01-01T00:00:00.Z',
    ),
  },
)
const document: fc.Arbitrary<JsonObject> = fc
  .tuple(
    anyDocument,
    fc.record(
      {
        n: number,
        t: fc.oneof({ weight: 9, arbitrary: time }, { weight: 1, arbitrary: number }),
        s: fc.constantFrom('x', 'y', null),
      },
      { requiredKeys: [], noNullPrototype: true },
    ),
  )
  .map(([any, own]) => ({ ...any, ...own }))

const field = fc.constantFrom('a', 'b', 'n', 's', 'a.b', 'a.0', 'a.a.b')
const fields = fc
  .option(fc.uniqueArray(field, { minLength: 1, maxLength: 2 }), { nil: undefined })
  .map((names) => names?.join())
const numbers = fc.option(fc.constantFrom('n', 'n,t', 's'), { nil: undefined })
const grouping = fc.oneof(field, fc.constantFrom('t:hour', 't:day', 't:week', 't:month'))
const query: fc.Arbitrary<GroupQuery> = fc
  .record({
    by: fc.option(
      fc.uniqueArray(grouping, { minLength: 1, maxLength: 3, selector: (one) => one.split(':')[0]! }),
      { nil: undefined },
    ),
    sum: numbers,
    average: numbers,
    min: fields,
    max: fields,
    distinct: fields,
    timeZone: fc.constantFrom(...zones),
    sort: fc.constantFrom('by', '-by', 'count', '-count'),
  })
  .map(({ by, ...others }) => ({ ...others, by: by?.join() }))

eachEngine((engine) => {
  let app: TestApp
  let token: string
  let collections = 0
  const ending = endOfSuite()
  before(async () => {
    app = await startApp(ending, engine)
    token = (await app.register()).token
  })

  test('any groups of any documents are those of $group', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(document, { minLength: 1, maxLength: 12 }),
        fc.array(query, { minLength: 1, maxLength: 6 }),
        async (documents, queries) => {
          const name = `c${collections++}`
          const made = await app.request('POST', `/store/${name}`, { token, body: documents })
          assert.equal(made.status, 201, made.text)
          for (const one of queries) {
            const given = Object.entries(one).filter(([, value]) => value !== undefined)
            const answer = await app.request(
              'GET',
              `/store/${name}/aggregate?${new URLSearchParams(given).toString()}`,
              { token },
            )
            assert.equal(answer.status, 200, answer.text)
            const stored = JSON.parse(JSON.stringify(documents)) as JsonObject[]
            assert.deepEqual(answer.body, { data: groupsOf(stored, one), more: false }, JSON.stringify(one))
          }
        },
      ),
      { numRuns: isLongRun ? 1000 : 60 },
    )
  })
})
