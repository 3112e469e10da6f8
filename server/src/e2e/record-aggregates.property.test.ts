// Groups of payments, messages and accounts: any of them are those that the same rows make in memory.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import fc from 'fast-check'

import { leastIdOf } from '../base/ids.ts'
import { sql, type Sql } from '../db/sql.ts'
import { startApp, type TestApp } from '../testing/app.ts'
import { eachEngine, endOfSuite } from '../testing/engines.ts'
import { isLongRun } from '../testing/long-run.ts'
import { groupsOf } from '../wires/store/documents/aggregates/group.fixture.ts'

type Value = string | number | boolean | null
/** A record as its aggregates know it. Amounts are smallest units and their decimal places. */
type Stored = {
  fields: Record<string, Value>
  amounts: Record<string, readonly [units: string, places: number]>
}
type Query = Readonly<Record<string, string | undefined>>

const NOTHING_BEFORE = '2029-01-01T00:00:00.000Z'
const time = fc
  .date({ min: new Date('2029-06-01'), max: new Date('2033-01-01'), noInvalidDate: true })
  .map((one) => one.getTime())
const timeZone = fc.constantFrom('UTC', 'Europe/Berlin', 'Asia/Kolkata')
const units = fc.oneof(
  fc.bigInt({ min: 0n, max: 10n ** 4n }),
  fc.bigInt({ min: 0n, max: 10n ** 13n }),
  fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
)
const places = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(0, 2, 3) },
  { weight: 1, arbitrary: fc.constantFrom(6, 7, 18, 77) },
)
const isoOf = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString())

type Kind = {
  path: string
  rows: fc.Arbitrary<(id: string) => { stored: Stored; steps: Sql[] }>
  clear: Sql
  query: fc.Arbitrary<Query>
}

const some = (names: readonly string[], most = 3) =>
  fc
    .option(
      fc.uniqueArray(fc.constantFrom(...names), {
        minLength: 1,
        maxLength: most,
        selector: (one) => one.split(':')[0]!,
      }),
      { nil: undefined },
    )
    .map((list) => list?.join())
const times = (name: string) => ['hour', 'day', 'week', 'month'].map((slot) => `${name}:${slot}`)
const sort = fc.constantFrom('by', '-by', 'count', '-count')

const KINDS: Readonly<Record<string, Kind>> = {
  payments: {
    path: '/pay/transactions/aggregate',
    clear: sql`delete from pay_transactions`,
    rows: fc
      .record({
        at: time,
        status: fc.constantFrom('pending', 'completed', 'failed'),
        provider: fc.constantFrom('cardpay', 'onchain'),
        currency: fc.constantFrom('EUR', 'HUF'),
        owner: fc.constantFrom('ann', 'bob'),
        email: fc.option(fc.constantFrom('a@example.com', 'b@example.com')),
        amount: units,
        refunded: units,
        places,
      })
      .map((row) => (id) => {
        const { at, status, provider, currency, owner, email, amount, refunded } = row
        return {
          stored: {
            fields: { status, provider, currency, userId: owner, email, createdAt: isoOf(at) },
            amounts: {
              amount: [String(amount), row.places],
              refundedAmount: [String(refunded), row.places],
            },
          },
          steps: [
            sql`
              insert into pay_transactions (id, owner, provider, status, amount, currency, exponent, captured, refunded, reserved,
                is_settled, version, created_at, updated_at, email, email_key)
              values (${leastIdOf(at) + id}, ${owner}, ${provider}, ${status}, ${String(amount)}, ${currency}, ${row.places}, '0',
                ${String(refunded)}, '0', 1, 0, ${at}, ${at}, ${email}, ${email})`,
          ],
        }
      }),
    query: fc.record({
      by: some(['status', 'provider', 'userId', 'email', ...times('createdAt')], 2).map((by) =>
        ['currency', by].filter(Boolean).join(),
      ),
      sum: some(['amount', 'refundedAmount']),
      average: some(['amount', 'refundedAmount']),
      min: some(['amount', 'createdAt']),
      max: some(['refundedAmount', 'createdAt']),
      distinct: some(['email', 'status']),
      timeZone,
      sort,
      status: fc.option(fc.constantFrom('pending', 'completed'), { nil: undefined }),
    }),
  },
  messages: {
    path: '/messaging/logs/aggregate',
    clear: sql`delete from messaging_messages`,
    rows: fc
      .record({
        at: time,
        status: fc.constantFrom('sent', 'failed', 'bounced'),
        channel: fc.constantFrom('email', 'sms'),
        template: fc.option(fc.constantFrom('welcome', 'Über', 'Zebra')),
        attempts: fc.integer({ min: 0, max: 9 }),
      })
      .map(({ at, status, channel, template, attempts }) => (id) => ({
        stored: { fields: { status, channel, template, attempts, createdAt: isoOf(at) }, amounts: {} },
        steps: [
          sql`
            insert into messaging_messages (id, channel, recipient, status, template, attempts, lease_until, created_at, updated_at)
            values (${leastIdOf(at) + id}, ${channel}, 'x', ${status}, ${template}, ${attempts}, 0, ${at}, ${at})`,
        ],
      })),
    query: fc.record({
      by: some(['status', 'channel', 'template', ...times('createdAt')]),
      sum: some(['attempts']),
      average: some(['attempts']),
      min: some(['attempts', 'createdAt']),
      max: some(['attempts', 'createdAt']),
      distinct: some(['template', 'channel']),
      timeZone,
      sort,
      status: fc.option(fc.constantFrom('sent', 'failed'), { nil: undefined }),
    }),
  },
  accounts: {
    path: '/auth/users/aggregate',
    clear: sql`delete from auth_users where id like 'x%'`,
    rows: fc
      .record({
        at: time,
        role: fc.constantFrom('user', 'viewer', 'admin'),
        isVerified: fc.boolean(),
        isDisabled: fc.boolean(),
        lastSignInAt: fc.option(time),
        issuers: fc.uniqueArray(fc.constantFrom('https://a.example', 'https://b.example'), { maxLength: 2 }),
      })
      .map(({ at, role, isVerified, isDisabled, lastSignInAt, issuers }) => (id) => ({
        stored: {
          fields: {
            role,
            emailVerified: isVerified,
            disabled: isDisabled,
            issuer: issuers[0] ?? null,
            createdAt: isoOf(at),
            lastSignInAt: isoOf(lastSignInAt),
          },
          amounts: {},
        },
        steps: [
          sql`
            insert into auth_users (id, email, email_key, metadata, role, is_viewer, credentials_version, email_verified_at, disabled_at,
              created_at, updated_at, last_sign_in_at)
            values (${`x${id}`}, ${id}, ${id}, '{}', ${role === 'admin' ? 'admin' : 'user'}, ${role === 'viewer' ? 1 : 0}, 1,
              ${isVerified ? at : null}, ${isDisabled ? at : null}, ${at}, ${at}, ${lastSignInAt})`,
          ...issuers.map(
            (issuer, n) => sql`
              insert into auth_identities (id, issuer, subject, user_id, created_at)
              values (${`${id} ${n}`}, ${issuer}, ${id}, ${`x${id}`}, ${n})`,
          ),
        ],
      })),
    query: fc.record({
      by: some([
        'role',
        'emailVerified',
        'disabled',
        'issuer',
        ...times('createdAt'),
        ...times('lastSignInAt'),
      ]),
      min: some(['createdAt', 'lastSignInAt']),
      max: some(['createdAt', 'lastSignInAt']),
      distinct: some(['issuer', 'role']),
      timeZone,
      sort,
      role: fc.option(fc.constantFrom('user', 'viewer'), { nil: undefined }),
    }),
  },
}

/** What the same rows make in memory. */
function expectedOf(rows: readonly Stored[], { status, role, ...query }: Query) {
  const isIn = ({ fields }: Stored): boolean =>
    (status === undefined || fields['status'] === status) && (role === undefined || fields['role'] === role)
  const found = rows.filter(isIn)
  const isAmount = (name: string): boolean => /amount$/i.test(name)
  const others = (list: string | undefined) =>
    list
      ?.split(',')
      .filter((name) => !isAmount(name))
      .join() || undefined
  const { by, timeZone: zone = 'UTC', sort: order = 'by' } = query
  const plain = groupsOf(
    found.map(({ fields }) => fields),
    {
      ...(by !== undefined && { by }),
      timeZone: zone,
      sort: order,
      ...Object.fromEntries(
        (['sum', 'average', 'min', 'max', 'distinct'] as const).flatMap((one) => {
          const names = others(query[one])
          return names === undefined ? [] : [[one, names]]
        }),
      ),
    },
  )
  const keyOf = (stored: Stored): string =>
    JSON.stringify(groupsOf([stored.fields], { ...(by !== undefined && { by }), timeZone: zone })[0]!.by)
  return plain.map((group) => {
    const members = found.filter((one) => keyOf(one) === JSON.stringify(group.by))
    const answer: Record<string, unknown> = { ...group }
    for (const one of ['sum', 'average', 'min', 'max'] as const) {
      const names = query[one]?.split(',') ?? []
      if (names.length === 0) continue
      answer[one] = Object.fromEntries(
        names.map((name) => [
          name,
          isAmount(name)
            ? ofAmounts(
                one,
                members.map(({ amounts }) => amounts[name]!),
              )
            : (group as unknown as Record<string, Record<string, unknown>>)[one]![name],
        ]),
      )
    }
    return answer
  })
}

function ofAmounts(
  one: 'sum' | 'average' | 'min' | 'max',
  amounts: readonly (readonly [string, number])[],
): string | null {
  if (amounts.length === 0) return one === 'sum' ? '0' : null
  const scaled = amounts.map(([text, digits]) => ({
    value: BigInt(text) * 10n ** BigInt(77 - digits),
    digits,
  }))
  const most = Math.max(...scaled.map(({ digits }) => digits))
  const sum = scaled.reduce((total, { value }) => total + value, 0n)
  if (one === 'sum') return textOf(sum, most)
  if (one === 'average') {
    const unit = 10n ** BigInt(77 - most) * BigInt(amounts.length)
    return textOf((sum / unit + ((sum % unit) * 2n >= unit ? 1n : 0n)) * 10n ** BigInt(77 - most), most)
  }
  const ordered = scaled.toSorted((a, b) =>
    a.value === b.value ? (String(a.digits) < String(b.digits) ? -1 : 1) : a.value < b.value ? -1 : 1,
  )
  const { value, digits } = one === 'min' ? ordered[0]! : ordered.at(-1)!
  return textOf(value, digits)
}

function textOf(scaled: bigint, digits: number): string {
  const text = String(scaled).padStart(78, '0')
  return digits === 0 ? text.slice(0, -77) : `${text.slice(0, -77)}.${text.slice(-77).slice(0, digits)}`
}

describe('aggregates of records', () => {
  eachEngine((engine) => {
    let app: TestApp
    let token: string
    const ending = endOfSuite()
    before(async () => {
      app = await startApp(ending, engine, { sandbox: true })
      token = (await app.register()).token
    })
    const ask = (path: string, query: Query) =>
      app.request(
        'GET',
        `${path}?${new URLSearchParams(Object.entries(query).filter((one): one is [string, string] => one[1] !== undefined)).toString()}`,
        { token },
      )

    for (const [name, { path, rows, clear, query }] of Object.entries(KINDS))
      test(`of ${name} are those of the same rows in memory`, async () => {
        await fc.assert(
          fc.asyncProperty(
            fc.array(rows, { maxLength: 10 }),
            fc.array(query, { minLength: 1, maxLength: 5 }),
            async (makers, queries) => {
              const made = makers.map((make, n) => make(String(n).padStart(16, '0')))
              await app.app.db.batch([clear, ...made.flatMap(({ steps }) => steps)])
              for (const one of queries) {
                const time = path.startsWith('/pay') ? { from: NOTHING_BEFORE } : { since: NOTHING_BEFORE }
                const { status, body, text } = await ask(path, { ...one, ...time })
                assert.equal(status, 200, text)
                const expected = expectedOf(
                  made.map(({ stored }) => stored),
                  one,
                )
                assert.deepEqual(body, { data: expected, more: false }, JSON.stringify(one))
              }
            },
          ),
          { numRuns: isLongRun ? 500 : 30 },
        )
      })

    test('say what is wrong with a request', async () => {
      const faults: readonly (readonly [path: string, query: Query, at: string, message: RegExp])[] = [
        [KINDS['payments']!.path, { sum: 'amount' }, '/query/sum', /group by currency, or filter by one/],
        [KINDS['payments']!.path, { by: 'owner' }, '/query/by', /give status, currency/],
        [KINDS['payments']!.path, { by: 'amount' }, '/query/by', /no field of by/],
        [KINDS['messages']!.path, { by: 'createdAt' }, '/query/by', /createdAt:day/],
        [KINDS['messages']!.path, { by: 'status:day' }, '/query/by', /is no time/],
        [KINDS['accounts']!.path, { sum: 'createdAt' }, '/query/sum', /./],
      ]
      for (const [path, query, at, message] of faults) {
        const { status, body } = await ask(path, query)
        assert.equal(status, 400, path)
        assert.equal(body.error.details.issues[0].path, at)
        assert.match(body.error.details.issues[0].message, message)
      }
      const { status, text } = await ask(KINDS['payments']!.path, { sum: 'amount', currency: 'EUR' })
      assert.equal(status, 200, text)
    })
  })
})
