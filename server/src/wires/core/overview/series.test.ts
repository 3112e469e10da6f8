// What happened over time, through HTTP: in a time zone whose clocks were set forward on the 28th of March 2027.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { leastIdOf } from '../../../base/ids.ts'
import { sql } from '../../../db/sql.ts'
import { startApp, testClock, type TestApp } from '../../../testing/app.ts'
import { login, PASSWORD } from '../../../testing/auth.ts'
import { eachEngine, endOfSuite } from '../../../testing/engines.ts'
import { until } from '../../../testing/until.ts'

const NOW = Date.parse('2027-03-30T10:30:00Z')
const HOUR_MS = 3_600_000

type ShownPart = {
  part: string
  exponent?: number
  values: (string | null)[]
  total: string
  before: string | null
}

describe('what happened over time', () => {
  eachEngine((engine) => {
    const ending = endOfSuite()
    let app: TestApp
    let token: string
    const write = (statement: ReturnType<typeof sql>) => app.app.db.write(statement)

    /** An account of a time, without a session. */
    async function account(at: string): Promise<string> {
      const email = `${at.replaceAll(/\D/g, '')}@example.com`
      const { id } = await app.app.service('auth').users.create({ email, password: PASSWORD })
      await write(sql`update auth_users set created_at = ${Date.parse(at)} where id = ${id}`)
      return id
    }
    let sessions = 0
    /** A session of the application, or of the console, in which the user was active at a time. */
    async function active(user: string, at: string, kind: string | null = null): Promise<void> {
      const ms = Date.parse(at)
      await write(sql`
        insert into auth_sessions (id, user_id, created_at, last_used_at, expires_at, ip, user_agent, kind)
        values (${`session-${++sessions}`}, ${user}, ${ms}, ${ms}, ${NOW + HOUR_MS}, '::1', 'node', ${kind})`)
    }
    async function read(query: string): Promise<{ slots: string[]; parts: (name: string) => ShownPart[] }> {
      const { status, body, text } = await app.request('GET', `/core/series?${query}`, { token })
      assert.equal(status, 200, text)
      return {
        slots: body.slots,
        parts: (name) => body.series.find((one: { name: string }) => one.name === name)?.parts,
      }
    }
    const berlin = 'range=7d&timeZone=Europe/Berlin'

    before(async () => {
      const clock = testClock()
      clock.advance(NOW - clock.now())
      app = await startApp(ending, engine, { clock, sandbox: true })
      const { id } = await app.app
        .service('auth')
        .users.create({ email: 'ada@example.com', password: PASSWORD, role: 'admin' })
      // The week before ends at the same time of its last day: at 11:30 UTC.
      await account('2027-03-23T11:29:00Z')
      await account('2027-03-23T11:31:00Z')
      await account('2027-03-27T22:59:59.999Z')
      const [first, second] = [
        await account('2027-03-27T23:00:00Z'),
        await account('2027-03-28T21:59:59.999Z'),
      ]
      await account('2027-03-28T22:00:00Z')
      await active(first, '2027-03-20T09:00:00Z')
      await active(first, '2027-03-28T10:00:00Z')
      await active(first, '2027-03-28T12:00:00Z')
      await active(first, '2027-03-29T09:00:00Z')
      await active(second, '2027-03-29T09:10:00Z')
      await active(second, '2027-03-30T08:00:00Z', 'console')
      token = (await login(app, 'ada@example.com')).body.token
      assert.ok(id)
    })

    test('is counted by the days of a zone, one of which has 23 hours, beside the days before', async () => {
      const { slots, parts } = await read(berlin)
      assert.deepEqual(slots.slice(-4), [
        '2027-03-27T00:00:00+01:00',
        '2027-03-28T00:00:00+01:00',
        '2027-03-29T00:00:00+02:00',
        '2027-03-30T00:00:00+02:00',
      ])
      assert.equal(slots.length, 7)
      assert.deepEqual(parts('sign-ups'), [
        { part: '', values: ['0', '0', '0', '1', '2', '1', '1'], total: '5', before: '1' },
      ])
    })

    test('has users who were active on several days once in the whole, and not those of the console', async () => {
      const { parts } = await read(berlin)
      assert.deepEqual(parts('active-users'), [
        { part: '', values: ['0', '0', '0', '0', '1', '2', '1'], total: '3', before: '1' },
      ])
    })

    test('goes on when a session is refreshed in a later hour', async () => {
      const { email, refreshToken } = await app.register('late@example.com')
      assert.equal(email, 'late@example.com')
      const hours = async () =>
        app.app.db.all<{ hour: number }>(sql`
          select hour from auth_active_hours where user_id =
            (select id from auth_users where email = 'late@example.com') order by hour`)
      assert.equal((await hours()).length, 1)
      await write(sql`
        update auth_sessions set last_used_at = last_used_at - ${2 * HOUR_MS}
        where user_id = (select id from auth_users where email = 'late@example.com')`)
      await write(sql`delete from auth_active_hours where user_id =
        (select id from auth_users where email = 'late@example.com')`)
      const refreshed = await app.request('POST', '/auth/refresh', { body: { refreshToken } })
      assert.equal(refreshed.status, 200, refreshed.text)
      assert.deepEqual(await hours(), [{ hour: Math.floor(app.clock.now() / HOUR_MS) }])
    })

    test('has revenue and refunds by currency, exactly however large', async () => {
      const sum = (
        kind: string,
        at: string,
        currency: string,
        exponent: number,
        limb: number,
        amount: number,
      ) =>
        write(sql`
          insert into pay_sums (kind, quarter, currency, exponent, limb, writer, amount)
          values (${kind}, ${Math.floor(Date.parse(at) / 900_000)}, ${currency}, ${exponent}, ${limb}, 0, ${amount})`)
      await sum('revenue', '2027-03-28T21:45:00Z', 'EUR', 2, 0, 12_345)
      await sum('revenue', '2027-03-28T22:00:00Z', 'EUR', 2, 0, 5)
      await sum('revenue', '2027-03-29T12:00:00Z', 'ETH', 18, 0, 1)
      await sum('revenue', '2027-03-29T12:00:00Z', 'ETH', 18, 1, 9_000_000)
      await sum('revenue', '2027-03-29T12:15:00Z', 'ETH', 18, 1, 9_000_000)
      await sum('refunds', '2027-03-22T12:00:00Z', 'EUR', 2, 0, 700)
      const { parts } = await read(berlin)
      assert.deepEqual(
        parts('revenue').toSorted((a, b) => (a.part < b.part ? -1 : 1)),
        [
          {
            part: 'ETH',
            exponent: 18,
            values: ['0', '0', '0', '0', '0', '18000000000000000001', '0'],
            total: '18000000000000000001',
            before: '0',
          },
          {
            part: 'EUR',
            exponent: 2,
            values: ['0', '0', '0', '0', '12345', '5', '0'],
            total: '12350',
            before: '0',
          },
        ],
      )
      assert.deepEqual(parts('refunds'), [
        { part: 'EUR', exponent: 2, values: Array(7).fill('0'), total: '0', before: '700' },
      ])
    })

    test('has messages by their state', async () => {
      for (const [at, status] of [
        ['2027-03-29T21:59:59.999Z', 'delivered'],
        ['2027-03-29T22:00:00Z', 'delivered'],
        ['2027-03-30T01:00:00Z', 'failed'],
      ] as const)
        await write(sql`
          insert into messaging_messages
            (id, channel, recipient, status, attempts, lease_until, created_at, updated_at)
          values (${`${leastIdOf(Date.parse(at))}0000000000000000`}, 'email', 'eve@example.com', ${status}, 1, 0,
            ${Date.parse(at)}, ${Date.parse(at)})`)
      const { parts } = await read(`${berlin}&name=messages`)
      const totals = Object.fromEntries(parts('messages').map(({ part, values }) => [part, values.slice(-2)]))
      assert.deepEqual(totals['delivered'], ['1', '1'])
      assert.deepEqual(totals['failed'], ['0', '1'])
    })

    test('is for operators, and only in zones that there are', async () => {
      const { token: ofUser } = await app.register()
      assert.equal((await app.request('GET', '/core/series', { token: ofUser })).status, 403)
      const refused = await app.request('GET', '/core/series?timeZone=Mars/Base', { token })
      assert.equal(refused.status, 400)
      assert.equal(refused.body.error.details.issues[0].path, '/query/timeZone')
    })

    test('has hours of a zone that begin at half past, and requests in them', async () => {
      await until(async () => {
        app.clock.advance(1_000)
        return Number((await read('range=24h&name=requests')).parts('requests')[0]?.total) > 0
      })
      const { slots, parts } = await read('range=24h&timeZone=Asia/Kolkata')
      assert.equal(slots.length, 24)
      assert.equal(slots.at(-1), '2027-03-30T16:00:00+05:30')
      assert.equal(parts('sign-ups')[0]!.values.length, 24)
      const { routes } = (await app.request('GET', '/core/logs/routes', { token })).body
      assert.ok(
        routes.some(
          ({ route, requests }: { route: string; requests: number }) =>
            route === '/auth/login' && requests > 0,
        ),
        JSON.stringify(routes),
      )
    })

    test('has what there is now, and keeps samples of it', async () => {
      await app.request('POST', '/store/notes', { token, body: { text: 'Milk' } })
      const documents = (await read('range=24h'))
        .parts('stored-bytes')
        .find(({ part }) => part === 'documents')!
      assert.ok(Number(documents.total) > 0)
      assert.equal(documents.values.at(-1), documents.total)
      assert.deepEqual([documents.values[0], documents.before], [null, null], 'nothing was sampled yet')
      await until(async () => {
        app.clock.advance(600_000)
        const [row] = await app.app.db.all<{ value: number }>(sql`
          select value from sixwire_levels where series = 'store stored-bytes' and part = 'documents'`)
        return row !== undefined && String(row.value) === documents.total
      })
    })

    test('forgets sums of payments that no series has any more', async () => {
      const quarterOf = (days: number) => Math.floor((app.clock.now() - days * 24 * HOUR_MS) / 900_000)
      const [old, shown] = [quarterOf(182), quarterOf(180)]
      for (const quarter of [old, shown])
        await write(sql`
          insert into pay_sums (kind, quarter, currency, exponent, limb, writer, amount)
          values ('refunds', ${quarter}, 'JPY', 0, 0, 0, 1)`)
      app.clock.advance(HOUR_MS)
      const quarters = () => app.app.db.all(sql`select quarter from pay_sums where currency = 'JPY'`)
      await until(async () => (await quarters()).length === 1)
      assert.deepEqual(await quarters(), [{ quarter: shown }])
    })
  })
})
