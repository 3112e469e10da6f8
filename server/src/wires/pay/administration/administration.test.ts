// What an operator sees and does of payments, through HTTP and with the providers and chains of the sandbox.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { sql } from '../../../db/sql.ts'
import { startApp, type TestAnswer, type TestApp } from '../../../testing/app.ts'
import { eachEngine, endOfSuite } from '../../../testing/engines.ts'
import { RETURN_URLS, URLS } from '../pay.fixture.ts'

type Json = TestAnswer['body']

describe('payments for operators', () => {
  eachEngine((engine) => {
    const end = endOfSuite()
    let app: TestApp
    /** Of an administrator, and of a user. */
    let token: string
    let admin: Awaited<ReturnType<TestApp['register']>>
    let buyer: { _id: string; token: string }

    async function call(route: string, body?: unknown, options: { token?: string; status?: number } = {}) {
      const [method = '', path = ''] = route.split(' ')
      const answered = await app.request(method, path, { token: options.token ?? token, body })
      assert.equal(answered.status, options.status ?? 200, `${route}: ${answered.text}`)
      return answered.body
    }
    /** Ends the pauses of the server until the condition holds. */
    async function eventually(condition: () => Promise<boolean>): Promise<void> {
      for (let tries = 0; !(await condition()); tries++) {
        assert.ok(tries < 400, `it does not happen: ${condition.toString()}`)
        if (tries % 10 === 9) app.clock.advance(1_000)
        await delay(10)
      }
    }
    const sandbox = (path: string, body: unknown = {}) => call(`POST /sandbox/api/${path}`, body)
    async function checkout(
      amount: number,
      currency = 'eur',
      extra: object = {},
      as = token,
    ): Promise<string> {
      const items = [{ name: 'Book', amount, currency }]
      const { transactionId } = await call(
        'POST /pay/cardpay/checkout',
        { items, ...URLS, ...extra },
        { token: as },
      )
      return transactionId
    }
    const statusOf = async (id: string): Promise<string> => (await call(`GET /pay/transactions/${id}`)).status
    /** Creates a checkout that is paid, and waits for its event. */
    async function paid(amount: number, currency = 'eur', extra: object = {}, as = token): Promise<string> {
      const id = await checkout(amount, currency, extra, as)
      const { reference } = await call(`GET /pay/transactions/${id}`)
      await sandbox(`cardpay/sessions/${reference}/pay`, { card: '4242424242424242' })
      const isDone = async (): Promise<boolean> =>
        (await call(`GET /pay/events?state=done&transactionId=${id}`)).total > 0
      await eventually(async () => (await isDone()) && (await statusOf(id)) === 'completed')
      return id
    }
    const auditOf = (target: string) =>
      app.app.db.all<{ action: string; actor_id: string; new_value: string | null; reason: string | null }>(
        sql`select action, actor_id, new_value, reason from sixwire_audit where target = ${target} order by id`,
      )
    const idsOf = (list: readonly { _id: string }[]): string[] => list.map(({ _id }) => _id)

    before(async () => {
      app = await startApp(end, engine, { sandbox: true })
      // The first account is an administrator.
      admin = await app.register('ada@example.com')
      token = admin.token
      buyer = await app.register('bob@example.com')
    })

    test('are for operators: a user is answered 403, and a request without a token 401', async () => {
      for (const path of ['events', 'summary', 'transactions/01arz3ndektsv4rrffq69g5fav/timeline'])
        for (const [status, as] of [
          [403, buyer.token],
          [401, undefined],
        ] as const)
          assert.equal((await app.request('GET', `/pay/${path}`, { token: as })).status, status, path)
      const replay = '/pay/events/01arz3ndektsv4rrffq69g5fav/replay'
      assert.equal((await app.request('POST', replay, { token: buyer.token })).status, 403)
      for (const list of ['transactions', 'onchain/payment']) {
        const path = `/pay/${list}?owner=${buyer._id}`
        assert.equal((await app.request('GET', path, { token: buyer.token })).status, 403, list)
        assert.equal((await app.request('GET', path, { token })).status, 200, list)
      }
    })

    test('come with what the list filters by: owner, amount, currency', async () => {
      const yen = await checkout(500, 'jpy', {}, buyer.token)
      const dinar = await checkout(1_230, 'kwd', {}, buyer.token)
      const euro = await checkout(1_050, 'eur', {}, buyer.token)
      const all = [euro, dinar, yen]
      for (const [query, expected] of [
        ['', all],
        ['currency=JPY', [yen]],
        ['minAmount=1.23', all],
        ['minAmount=1.231', [euro, yen]],
        ['minAmount=10.50&maxAmount=10.5', [euro]],
        ['maxAmount=10.499', [dinar]],
        ['maxAmount=1.2', []],
        ['minAmount=500.000', [yen]],
        ['minAmount=500.5', []],
      ] as const) {
        const { transactions, total } = await call(
          `GET /pay/transactions?owner=${buyer._id}&total=none&${query}`,
        )
        assert.deepEqual([idsOf(transactions), total], [expected, undefined], query)
      }
      const { error } = await call('GET /pay/transactions?minAmount=1e3', undefined, { status: 400 })
      assert.equal(error.details.issues[0].path, '/query/minAmount')
    })

    test('are summed exactly by currency, status and day', async () => {
      const merchantReference = `sums-${engine.name}`
      const first = await paid(8_200, 'eur', { merchantReference })
      await paid(99_999_999, 'eur', { merchantReference })
      await paid(500, 'jpy', { merchantReference })
      await checkout(1_230, 'kwd', { merchantReference })
      await call('POST /pay/cardpay/refund', { transactionId: first, amount: 1 })
      const { sums, fees, isComplete } = await call(`GET /pay/summary?merchantReference=${merchantReference}`)
      const row = (currency: string, exponent: number, status: string, amount: string, rest: object) => ({
        provider: 'cardpay',
        currency,
        exponent,
        status,
        payments: 1,
        amount,
        captured: amount,
        refunded: '0',
        disputed: '0',
        lost: '0',
        ...rest,
      })
      assert.deepEqual(sums, [
        row('EUR', 2, 'completed', '99999999', {}),
        row('EUR', 2, 'partially_refunded', '8200', { refunded: '1' }),
        row('JPY', 0, 'completed', '500', {}),
        row('KWD', 3, 'pending', '1230', { captured: '0' }),
      ])
      assert.ok(isComplete)
      assert.ok(fees.every(({ fee, net }: Json) => /^\d+$/.test(fee) && /^\d+$/.test(net)))
      const days = await call(
        `GET /pay/summary?by=day&currency=EUR&status=completed&merchantReference=${merchantReference}`,
      )
      const today = new Date(app.clock.now()).toISOString().slice(0, 10)
      assert.deepEqual(
        days.sums.map(({ day, amount, status }: Json) => [day, amount, status]),
        [[today, '99999999', undefined]],
      )
      for (const query of ['from=2020-01-01&to=2022-01-01', 'from=2026-01-02&to=2026-01-01'])
        await call(`GET /pay/summary?${query}`, undefined, { status: 400 })
    })

    test('are revenue when they are captured, and refunds when those are completed', async () => {
      const totals = async (): Promise<bigint[]> => {
        const { series } = await call('GET /core/series?range=24h')
        return ['revenue', 'refunds'].map((name) => {
          const { parts } = series.find((one: Json) => one.name === name)
          return BigInt(parts.find(({ part }: Json) => part === 'KWD')?.total ?? 0)
        })
      }
      assert.deepEqual(await totals(), [0n, 0n])
      const id = await paid(2_500, 'kwd')
      await paid(1_250, 'kwd')
      assert.deepEqual(await totals(), [3_750n, 0n])
      await call('POST /pay/cardpay/refund', { transactionId: id, amount: 1_500 })
      await eventually(async () => (await statusOf(id)) === 'partially_refunded')
      assert.deepEqual(await totals(), [3_750n, 1_500n])
    })

    test('have their provider’s events in an inbox, without what is personal in them', async () => {
      const id = await paid(4_200, 'eur', { email: 'carol@example.com', metadata: { note: 'a secret' } })
      const { events, total } = await call(`GET /pay/events?transactionId=${id}`)
      assert.ok(events.length > 0)
      assert.equal(total, events.length)
      const event = events.find(({ type }: Json) => type === 'checkout.session.completed')
      assert.deepEqual([event.provider, event.state, event.transactionId], ['cardpay', 'done', id])
      const { payload, subject } = await call(`GET /pay/events/${event._id}`)
      assert.equal(payload.id, event.eventId)
      assert.equal(subject.transactionId, id)
      const { object } = payload.data
      assert.deepEqual(
        [object.object, object.amount_total, object.currency, object.payment_status, object.metadata],
        ['checkout.session', 4_200, 'eur', 'paid', { transaction_id: id }],
      )
      assert.doesNotMatch(JSON.stringify(payload), /carol|a secret|https?:/)
      const states = await call(`GET /pay/events?provider=cardpay&state=failed&total=none`)
      assert.deepEqual(states, { events: [], limit: 20, offset: 0 })
      const page = await call('GET /pay/events?limit=1&total=none')
      const next = await call(`GET /pay/events?limit=1&total=none&cursor=${page.nextCursor}`)
      assert.notEqual(page.events[0]._id, next.events[0]._id)
    })

    test('take an event again: the books are as before, and the audit log names who did it', async () => {
      const id = await paid(100)
      const before = await call(`GET /pay/transactions/${id}`)
      const [event] = (await call(`GET /pay/events?transactionId=${id}`)).events
      const replayed = await call(`POST /pay/events/${event._id}/replay`)
      assert.equal(replayed._id, event._id)
      const read = () => call(`GET /pay/events/${event._id}`)
      await eventually(async () => (await read()).state === 'done')
      assert.equal((await read()).attempts, 1)
      assert.deepEqual(await call(`GET /pay/transactions/${id}`), before)
      assert.deepEqual(await auditOf(`payment-event:${event._id}`), [
        { action: 'payment-event.replayed', actor_id: admin._id, new_value: null, reason: null },
      ])
      await call('POST /pay/events/01arz3ndektsv4rrffq69g5fav/replay', undefined, { status: 404 })
    })

    test('have a timeline of calls, events, objects and states, each with its time', async () => {
      const { orderId, transactionId } = await call('POST /pay/walletpay/order', {
        amount: 12.3,
        currency: 'EUR',
        ...RETURN_URLS,
      })
      await sandbox(`walletpay/orders/${orderId}/approve`)
      await call(`POST /pay/walletpay/capture/${orderId}`)
      await call('POST /pay/walletpay/refund', { transactionId, amount: 2.3, reason: 'Torn' })
      const read = async (): Promise<Json[]> =>
        (await call(`GET /pay/transactions/${transactionId}/timeline`)).entries
      await eventually(async () => (await read()).some(({ kind }) => kind === 'event'))
      const entries = await read()
      assert.deepEqual(
        entries.filter(({ kind }) => kind === 'status').map(({ status }) => status),
        ['pending', 'completed', 'partially_refunded'],
      )
      const refund = entries.find(({ kind, call: name }) => kind === 'call' && name === 'refund')
      assert.deepEqual([refund.state, refund.amount, refund.refundReason], ['accepted', '2.30', 'Torn'])
      const seen = entries.find(({ kind, object }) => kind === 'object' && object === 'refund')
      assert.deepEqual([seen.state, seen.amount, seen.currency], ['completed', '2.30', 'EUR'])
      assert.ok(entries.every(({ at }, nth) => nth === 0 || entries[nth - 1].at <= at))
      const { displayRefundable, paymentId, exponent } = await call(`GET /pay/transactions/${transactionId}`)
      assert.deepEqual([displayRefundable, exponent, typeof paymentId], ['10.00', 2, 'string'])
    })

    test('are refunded once however often the same refund is sent, with one entry in the audit log', async () => {
      const transactionId = await paid(1_000)
      const body = { transactionId, amount: 250, reason: 'Damaged' }
      const headers = { 'idempotency-key': `refund-${transactionId}` }
      const answers = await Promise.all(
        [1, 2, 3].map(() => app.request('POST', '/pay/cardpay/refund', { token, body, headers })),
      )
      for (const { status } of answers) assert.ok(status === 200 || status === 409, String(status))
      assert.equal((await call(`GET /pay/transactions/${transactionId}`)).displayRefundable, '7.50')
      const [entry, ...others] = await auditOf(`payment:${transactionId}`)
      assert.deepEqual(
        [entry?.action, entry?.actor_id, entry?.reason],
        ['payment.refunded', admin._id, 'Damaged'],
      )
      assert.equal(JSON.parse(entry!.new_value!).amount, '2.50 EUR')
      assert.deepEqual(others, [])
    })

    test('that were cancelled or exported by an administrator are in the audit log', async () => {
      const id = await checkout(900)
      await call(`POST /pay/transactions/${id}/cancel`)
      assert.equal((await app.request('GET', '/pay/transactions.csv?status=lost', { token })).status, 200)
      const actions = [...(await auditOf(`payment:${id}`)), ...(await auditOf('payments'))]
      assert.deepEqual(
        actions.map(({ action, new_value }) => [action, new_value]),
        [
          ['payment.cancelled', null],
          ['payments.exported', '{"filters":["status"]}'],
        ],
      )
    })

    test('on chains are listed with what arrived, and filtered by what the chain shows', async () => {
      const request = async (amount: string, token: string, as = buyer.token): Promise<string> =>
        (await call('POST /pay/onchain/payment', { amount, token, chain: 'arbitrum' }, { token: as }))._id
      const [usdc, eth] = [await request('12.5', 'USDC'), await request('0.5', 'ETH')]
      await call(`POST /sandbox/api/chains/requests/${usdc}/pay`)
      const listed = async (query: string, as = token): Promise<Json[]> =>
        (await call(`GET /pay/onchain/payment?total=none&${query}`, undefined, { token: as })).requests
      await eventually(async () => (await statusOf(usdc)) === 'completed')
      const [confirmed] = await listed('status=confirmed')
      assert.deepEqual(
        [confirmed._id, confirmed.receivedAmount, confirmed.exponent, confirmed.userId],
        [usdc, '12500000', 6, buyer._id],
      )
      assert.equal(confirmed.transactionHashes.length, 1)
      assert.deepEqual(idsOf(await listed('status=pending')), [eth])
      assert.deepEqual(idsOf(await listed(`owner=${buyer._id}&token=ETH`)), [eth])
      assert.deepEqual(idsOf(await listed(`address=${confirmed.receiverAddress.toLowerCase()}`)), [usdc])
      const page = await call('GET /pay/onchain/payment?limit=1')
      assert.deepEqual([idsOf(page.requests), page.total], [[eth], 2])
      const next = await call(`GET /pay/onchain/payment?limit=1&cursor=${page.nextCursor}`)
      assert.deepEqual([idsOf(next.requests), next.nextCursor], [[usdc], undefined])
      const { sums } = await call('GET /pay/summary?provider=onchain&currency=USDC')
      assert.deepEqual([sums[0].exponent, sums[0].captured, sums[0].payments], [6, '12500000', 1])
      const timeline: Json[] = (await call(`GET /pay/transactions/${usdc}/timeline`)).entries
      const receipt = timeline.find(({ kind }) => kind === 'receipt')
      assert.deepEqual(
        [receipt.chain, receipt.units, receipt.hash],
        ['arbitrum', '12500000', confirmed.transactionHashes[0]],
      )
    })

    test('need the password of the last 10 minutes to be refunded from the console', async () => {
      const transactionId = await paid(700)
      const { refreshToken } = await call('POST /auth/login', {
        email: admin.email,
        password: admin.password,
      })
      const sameOrigin = { 'sec-fetch-site': 'same-origin' }
      const open = (body: object, cookie = '') =>
        app.request('POST', '/console/session', { body, headers: { ...sameOrigin, cookie } })
      const opened = await open({ refreshToken })
      app.clock.advance(11 * 60_000)
      const renewed = await open({}, opened.headers.get('set-cookie')!.split(';')[0])
      const inConsole = { token: renewed.body.token as string }
      const refused = await call('POST /pay/cardpay/refund', { transactionId }, { ...inConsole, status: 403 })
      assert.equal(refused.error.code, 'RECENT_SIGN_IN_REQUIRED')
      await call('POST /auth/confirm', { password: admin.password }, inConsole)
      await call('POST /pay/cardpay/refund', { transactionId }, inConsole)
      assert.equal(await statusOf(transactionId), 'refunded')
    })
  })
})
