import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import pg from 'pg'

import { sql } from '../../../db/sql.ts'
import { eachEngine, endOfSuite, someEngine } from '../../../testing/engines.ts'
import { RETURN_URLS, startTill, URLS, type Till } from '../pay.fixture.ts'

describe('a checkout', () => {
  eachEngine((engine) => {
    test('is pending until the provider has the money, and then completed', async (t) => {
      const till = await startTill(t, engine)
      const answered = await till.call('POST /pay/cardpay/checkout', {
        items: [
          { name: 'Momo', amount: 1250, currency: 'eur', quantity: 2 },
          { name: 'Postage', amount: 300, currency: 'EUR' },
        ],
        ...URLS,
      })
      assert.equal(answered.status, 200, answered.text)
      const { sessionId, url, transactionId } = answered.body
      assert.equal(url, `https://bank.example/${sessionId}`)
      const pending = await till.transaction(transactionId)
      assert.deepEqual(
        [pending.provider, pending.status, pending.amount, pending.displayAmount, pending.currency],
        ['cardpay', 'pending', 2800, '28.00', 'EUR'],
      )
      assert.equal(pending.reference, sessionId)
      till.pay(sessionId)
      const [event] = till.card.outgoing
      await till.deliver()
      const completed = await till.transaction(transactionId)
      assert.equal(completed.status, 'completed')
      assert.deepEqual(
        completed.history.map(({ status, cause }) => [status, cause]),
        [
          ['pending', pending.history[0]!.cause],
          ['completed', `event ${event!.id}`],
        ],
      )
      assert.match(pending.history[0]!.cause, /^request [\w-]+$/)
    })

    test('completes by reconciliation if every webhook is lost', async (t) => {
      const till = await startTill(t, engine)
      const { _id, reference } = await till.checkout()
      till.pay(reference)
      till.card.outgoing.length = 0
      await till.reconcile()
      const { status, history } = await till.transaction(_id)
      assert.equal(status, 'completed')
      assert.equal(history[1]!.cause, 'reconciliation')
    })

    if (engine.name === 'postgres')
      test('is not forgotten by a stalled process while another one makes its call again', async (t) => {
        const databaseUrl = await engine.migratedUrl()
        const till = await startTill(t, engine, { databaseUrl })
        const claimed = new pg.Client({ connectionString: databaseUrl })
        await claimed.connect()
        t.after(() => claimed.end())
        till.card.faults = ['refused']
        till.card.hold = async () => {
          till.card.hold = async () => undefined
          await claimed.query('begin')
          await claimed.query("update pay_calls set lease_until = lease_until + 1, process = 'other'")
        }
        const answered = till.call('POST /pay/cardpay/checkout', {
          items: [{ name: 'Tea', amount: 500, currency: 'eur' }],
          ...URLS,
        })
        const waits =
          "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
        while ((await claimed.query(waits)).rowCount === 0) await delay(5)
        await claimed.query('commit')
        assert.equal((await answered).status, 502)
        assert.equal((await till.call('GET /pay/transactions')).body.total, 1)
      })

    test('whose creation is never known expires, and is rechecked no more', async (t) => {
      const till = await startTill(t, engine)
      const body = { amount: 5, currency: 'EUR', ...RETURN_URLS }
      const create = () => till.call('POST /pay/walletpay/order', body, { key: 'one' })
      till.wallet.lastingFault = 'dropped'
      const timer = setInterval(() => till.app.clock.advance(500), 2)
      assert.equal((await create()).status, 502)
      clearInterval(timer)
      till.app.clock.advance(4 * 3_600_000)
      await till.reconcile()
      const { transactions } = (await till.call('GET /pay/transactions')).body
      assert.deepEqual(
        transactions.map(({ status }: { status: string }) => status),
        ['expired'],
      )
      const { db } = till.app.app
      const unsettled = await db.all(sql`select id from pay_transactions where is_settled = 0`)
      const underWay = await db.all(sql`select id from pay_calls where status in ('running', 'unknown')`)
      assert.deepEqual([unsettled, underWay], [[], []])
      till.wallet.lastingFault = undefined
      const again = await create()
      assert.deepEqual([again.status, again.body.error.code], [502, 'PROVIDER_ERROR'], again.text)
      assert.match(again.body.error.message, /new Idempotency-Key/)
      assert.equal(till.wallet.sessions.size, 0)
    })
  })

  someEngine((engine) => {
    for (const [fault, status] of [
      ['lost', 200],
      ['dropped', 200],
      ['unsent', 502],
      ['refused', 502],
    ] as const)
      test(`whose call is ${fault} is answered ${status}, and creates one session at most`, async (t) => {
        const till = await startTill(t, engine)
        till.card.faults = [fault]
        const create = () =>
          till.call(
            'POST /pay/cardpay/checkout',
            { items: [{ name: 'Book', amount: 500, currency: 'eur' }], ...URLS },
            { key: 'once' },
          )
        const answered = await till.app.clock.through(create())
        assert.equal(answered.status, status, answered.text)
        if (status === 502) {
          assert.equal(answered.body.error.code, 'PROVIDER_ERROR')
          const { total } = (await till.call('GET /pay/transactions')).body
          assert.equal(total, 0)
          assert.equal(till.card.sessions.size, 0)
          // Nothing was done, so the same key may do it.
          assert.equal((await create()).status, 200)
          assert.equal(till.card.sessions.size, 1)
          return
        }
        assert.equal(till.card.sessions.size, 1)
        const [session] = till.card.sessions.values()
        assert.equal(answered.body.sessionId, session!.reference)
        assert.equal(answered.body.transactionId, session!.transactionId)
      })

    test('of unknown outcome is the same checkout when it is called again, and stays known meanwhile', async (t) => {
      const till = await startTill(t, engine)
      const body = { items: [{ name: 'Book', amount: 500, currency: 'eur' }], ...URLS }
      const call = () =>
        till.app.clock.through(till.call('POST /pay/cardpay/checkout', body, { key: 'again' }))
      till.card.faults = ['lost', 'dropped', 'dropped', 'dropped', 'dropped', 'dropped', 'dropped', 'dropped']
      till.card.retrieveFaults = Array.from({ length: 40 }, () => 'unknown' as const)
      const unknown = await call()
      assert.equal(unknown.status, 502)
      const { transactionId } = unknown.body.error.details
      assert.match(unknown.body.error.message, new RegExp(` GET /pay/transactions/${transactionId} shows `))
      assert.equal((await till.transaction(transactionId)).status, 'pending')
      assert.equal((await till.call('GET /pay/transactions')).body.total, 1)
      till.card.faults = ['unsent']
      till.app.clock.advance(30_000)
      assert.equal((await call()).status, 502)
      assert.equal((await till.call('GET /pay/transactions')).body.total, 1)
      till.card.faults = []
      till.card.retrieveFaults = []
      const { status, body: answered } = await call()
      assert.equal(status, 200)
      const [session, ...others] = till.card.sessions.values()
      assert.deepEqual([answered.sessionId, others.length], [session!.reference, 0])
      assert.equal((await till.call('GET /pay/transactions')).body.total, 1)
    })

    test('that the provider never answers ends after a call of 10 s and a request of 15 s', async (t) => {
      const till = await startTill(t, engine)
      const { clock } = till.app
      const held = Promise.withResolvers<void>()
      till.card.hold = () => held.promise
      const start = clock.now()
      const calling = till.call('POST /pay/cardpay/checkout', {
        items: [{ name: 'Book', amount: 500, currency: 'eur' }],
        ...URLS,
      })
      const { counts } = till.card
      const { status, body, text } = await clock.through(calling, () => counts.create + counts.retrieve)
      const seconds = (clock.now() - start) / 1000
      held.resolve()
      assert.deepEqual([status, body.error.code], [502, 'PROVIDER_ERROR'], text)
      assert.ok(seconds >= 10 && seconds < 17, `answered after ${seconds} s`)
    })

    test('with the same Idempotency-Key is the same checkout', async (t) => {
      const till = await startTill(t, engine)
      const body = { items: [{ name: 'Book', amount: 500, currency: 'eur' }], ...URLS }
      const first = await till.call('POST /pay/cardpay/checkout', body, { key: 'one' })
      const second = await till.call('POST /pay/cardpay/checkout', body, { key: 'one' })
      assert.deepEqual(second.body, first.body)
      assert.equal(second.headers.get('idempotency-replayed'), 'true')
      assert.equal(till.card.sessions.size, 1)
    })

    test('that expires is expired, and a declined card changes nothing', async (t) => {
      const till = await startTill(t, engine)
      const { _id, reference } = await till.checkout()
      till.card.act(reference, () => undefined, 'charge.failed')
      await till.deliver()
      assert.equal((await till.transaction(_id)).status, 'pending')
      till.card.act(reference, (session) => (session.status = 'expired'), 'checkout.expired')
      await till.deliver()
      assert.equal((await till.transaction(_id)).status, 'expired')
    })

    test('that is paid with another amount stays pending, and says so', async (t) => {
      const till = await startTill(t, engine)
      const { _id, reference } = await till.checkout()
      till.card.sessions.get(reference)!.amount = 1n
      till.pay(reference)
      await till.deliver()
      const { status, history } = await till.transaction(_id)
      assert.equal(status, 'pending')
      assert.equal(history.length, 2)
      assert.match(history[1]!.cause, /: the provider shows 0\.01 EUR instead of 10\.00 EUR$/)
      assert.match(till.app.log(), /"level":50.*a payment is of another amount or currency/)
    })
  })
})

describe('bad input of a checkout', () => {
  someEngine((engine) => {
    const end = endOfSuite()
    let starting: Promise<Till> | undefined
    const till = () => (starting ??= startTill(end, engine))
    const item = { name: 'Book', amount: 500, currency: 'eur' }
    const of = (change: object) => ({ items: [{ ...item, ...change }], ...URLS })

    for (const [what, input, path] of [
      ['an amount of 0', of({ amount: 0 }), '/body/items/0/amount'],
      ['a negative amount', of({ amount: -1 }), '/body/items/0/amount'],
      ['a fraction of a minor unit', of({ amount: 1.005 }), '/body/items/0/amount'],
      ['1e21', of({ amount: 1e21 }), '/body/items/0/amount'],
      ['an amount as text', of({ amount: '10' }), '/body/items/0/amount'],
      ['no amount', of({ amount: undefined }), '/body/items/0/amount'],
      ['an unknown currency', of({ currency: 'xyz' }), '/body/items/0/currency'],
      ['a currency of an object', of({ currency: 'constructor' }), '/body/items/0/currency'],
      ['KWD with a last digit', of({ currency: 'kwd', amount: 1001 }), '/body/items/0/amount'],
      ['two currencies', { items: [item, { ...item, currency: 'usd' }], ...URLS }, '/body/items/1/currency'],
      ['no items', { items: [], ...URLS }, '/body/items'],
      ['101 items', { items: Array.from({ length: 101 }, () => item), ...URLS }, '/body/items'],
      ['a name of a million characters', of({ name: 'x'.repeat(1_000_000) }), '/body/items/0/name'],
      ['a name with NUL', of({ name: 'a\0b' }), '/body/items/0/name'],
      ['a name with a lone surrogate', of({ name: 'a\ud800' }), undefined],
      ['an empty name', of({ name: '' }), '/body/items/0/name'],
      ['a quantity of 0', of({ quantity: 0 }), '/body/items/0/quantity'],
      ['half a piece', of({ quantity: 1.5 }), '/body/items/0/quantity'],
      ['a sum beyond all money', of({ amount: 999_999_999_999, quantity: 2 }), '/body/items'],
      ['a relative URL', { ...of({}), successUrl: '/paid' }, '/body/successUrl'],
      ['a javascript: URL', { ...of({}), successUrl: 'javascript:alert(1)' }, '/body/successUrl'],
      ['a URL with credentials', { ...of({}), cancelUrl: 'https://a:b@shop.example/' }, '/body/cancelUrl'],
      ['a URL with a line break', { ...of({}), cancelUrl: 'https://shop.example/\r\nx' }, '/body/cancelUrl'],
      ['no URL', { items: [item] }, '/body/successUrl'],
    ] as [string, object, string | undefined][])
      test(`${what} is answered 400, and calls nobody`, async () => {
        const one = await till()
        const { status, body, text } = await one.call('POST /pay/cardpay/checkout', input)
        assert.equal(status, 400, text)
        assert.equal(body.error.code, 'VALIDATION_ERROR')
        if (path !== undefined)
          assert.ok(
            body.error.details.issues.some((issue: { path: string }) => issue.path.startsWith(path)),
            text,
          )
        assert.equal(one.card.counts.create, 0)
        assert.equal((await one.call('GET /pay/transactions')).body.total, 0)
      })
  })
})

describe('bad input of an order', () => {
  someEngine((engine) => {
    const end = endOfSuite()
    let starting: Promise<Till> | undefined
    const till = () => (starting ??= startTill(end, engine))
    const of = (change: object) => ({ amount: 12.3, currency: 'EUR', ...RETURN_URLS, ...change })

    for (const [what, input, path] of [
      ['an amount of 0', of({ amount: 0 }), '/body/amount'],
      ['a negative amount', of({ amount: -1 }), '/body/amount'],
      ['more digits than cents', of({ amount: 1.005 }), '/body/amount'],
      ['a sum that a double cannot hold', of({ amount: 0.1 + 0.2 }), '/body/amount'],
      ['1e21', of({ amount: 1e21 }), '/body/amount'],
      ['more than a payment may have', of({ amount: 1e15 }), '/body/amount'],
      ['an amount as text', of({ amount: '10' }), '/body/amount'],
      ['no amount', of({ amount: undefined }), '/body/amount'],
      ['yen with cents', of({ amount: 10.5, currency: 'JPY' }), '/body/amount'],
      ['an unknown currency', of({ currency: 'xyz' }), '/body/currency'],
      ['a currency that PayPal does not take', of({ amount: 1, currency: 'KWD' }), '/body/currency'],
      ['a currency of an object', of({ currency: '__proto__' }), '/body/currency'],
      ['a description with a line break', of({ description: 'a\nb' }), '/body/description'],
      ['a description of 128 characters', of({ description: 'x'.repeat(128) }), '/body/description'],
      ['a description with NUL', of({ description: 'a\0b' }), '/body/description'],
      ['a description with a lone surrogate', of({ description: 'a\ud800' }), '/body/description'],
      ['a relative URL', of({ returnUrl: '/paid' }), '/body/returnUrl'],
      ['a URL without a scheme', of({ returnUrl: '//evil.example' }), '/body/returnUrl'],
      ['a javascript: URL', of({ cancelUrl: 'javascript:alert(1)' }), '/body/cancelUrl'],
      ['a URL with credentials', of({ cancelUrl: 'https://a:b@shop.example/' }), '/body/cancelUrl'],
      ['no URL', of({ returnUrl: undefined }), '/body/returnUrl'],
    ] as [string, object, string][])
      test(`${what} is answered 400, and calls nobody`, async () => {
        const one = await till()
        const { status, body, text } = await one.call('POST /pay/walletpay/order', input)
        assert.equal(status, 400, text)
        assert.deepEqual([body.error.code, body.error.details.issues[0].path], ['VALIDATION_ERROR', path])
        assert.equal(one.wallet.counts.create, 0)
        assert.equal((await one.call('GET /pay/transactions')).body.total, 0)
      })
  })
})
