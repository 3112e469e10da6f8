// What a merchant keeps with a payment, whose it is, and when it ends.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { eachEngine, endOfSuite, someEngine } from '../../../testing/engines.ts'
import { RETURN_URLS, startTill, URLS, type Till } from '../pay.fixture.ts'

const ITEMS = [{ name: 'Book', amount: 500, currency: 'eur' }]
const CHECKOUT = 'POST /pay/cardpay/checkout'
const ORDER = 'POST /pay/walletpay/order'
const bodyOf = {
  [CHECKOUT]: { items: ITEMS, ...URLS },
  [ORDER]: { amount: 5, currency: 'EUR', ...RETURN_URLS },
}
const ROUTES = [CHECKOUT, ORDER] as const
const HOUR_MS = 3_600_000

describe('what a merchant gives with a payment', () => {
  eachEngine((engine) => {
    for (const route of ROUTES)
      test(`${route} keeps it, finds payments by it, and gives the provider what it needs`, async (t) => {
        const till = await startTill(t, engine)
        const expiresAt = new Date(till.app.clock.now() + HOUR_MS).toISOString()
        const given = {
          merchantReference: 'order-1042',
          metadata: { cart: '7', note: 'quote " and €', __proto__x: '' },
          email: 'Ada@Example.com',
          expiresAt,
        }
        const { status, body, text } = await till.call(route, { ...bodyOf[route], ...given })
        assert.equal(status, 200, text)
        await till.call(route, bodyOf[route])
        const transaction = await till.transaction(body.transactionId)
        for (const [name, value] of Object.entries(given))
          assert.deepEqual(transaction[name as keyof typeof transaction], value)
        const bank = route === CHECKOUT ? till.card : till.wallet
        const [session] = bank.sessions.values()
        assert.equal(session!.transactionId, body.transactionId)
        for (const query of ['merchantReference=order-1042', 'email=ADA@example.com']) {
          const { transactions, total } = (await till.call(`GET /pay/transactions?${query}`)).body
          assert.deepEqual([total, transactions[0]._id], [1, body.transactionId], query)
          assert.deepEqual(transactions[0].metadata, given.metadata)
        }
        assert.equal((await till.call('GET /pay/transactions?merchantReference=order-1')).body.total, 0)
      })
  })

  someEngine((engine) => {
    const end = endOfSuite()
    let starting: Promise<Till> | undefined
    /** One of all tests that create nothing. */
    const idle = () => (starting ??= startTill(end, engine))

    test('reaches the provider: the address, the reference and the end', async (t) => {
      const till = await startTill(t, engine)
      const expiresAt = till.app.clock.now() + HOUR_MS
      for (const [route, bank] of [
        [CHECKOUT, till.card],
        [ORDER, till.wallet],
      ] as const) {
        await till.call(route, {
          ...bodyOf[route],
          email: 'ada@example.com',
          merchantReference: 'order-1',
          expiresAt: new Date(expiresAt).toISOString(),
          metadata: { secret: 'of the shop' },
        })
        const { email, merchantReference, expiresAt: ends } = bank.ordered!
        assert.deepEqual([email, merchantReference, ends], ['ada@example.com', 'order-1', expiresAt])
        assert.doesNotMatch(
          JSON.stringify(bank.ordered, (_, one: unknown) => String(one)),
          /of the shop/,
        )
      }
    })

    for (const [what, body, path] of [
      [
        '51 names',
        { metadata: Object.fromEntries(Array.from({ length: 51 }, (_, at) => [`k${at}`, ''])) },
        '/body/metadata',
      ],
      ['a name of 41 characters', { metadata: { ['k'.repeat(41)]: '' } }, '/body/metadata'],
      ['a text of 501 characters', { metadata: { k: 'v'.repeat(501) } }, '/body/metadata/k'],
      ['one under a name of two lines', { metadata: { 'a\nb': 'v'.repeat(501) } }, '/body/metadata'],
      ['a number in metadata', { metadata: { k: 1 } }, '/body/metadata/k'],
      ['two addresses', { email: 'a@example.com,b@example.com' }, '/body/email'],
      ['a reference of two lines', { merchantReference: 'a\nb' }, '/body/merchantReference'],
      ['a time without a zone', { expiresAt: '2026-01-31T00:00:00' }, '/body/expiresAt'],
      ['a time that is over', { expiresAt: '2020-01-31T00:00:00Z' }, '/body/expiresAt'],
      ['a time in 4 days', { expiresAt: 96 }, '/body/expiresAt'],
    ] as const)
      test(`is answered 400 for ${what}`, async () => {
        const till = await idle()
        const given =
          'expiresAt' in body && typeof body.expiresAt === 'number'
            ? { expiresAt: new Date(till.app.clock.now() + body.expiresAt * HOUR_MS).toISOString() }
            : body
        for (const route of ROUTES) {
          const answered = await till.call(route, { ...bodyOf[route], ...given })
          assert.equal(answered.status, 400, answered.text)
          assert.ok(answered.body.error.details.issues[0].path.startsWith(path), answered.text)
        }
        assert.equal((await till.call('GET /pay/transactions')).body.total, 0)
      })

    test('is taken again with the same key when its time is nearer than at first', async (t) => {
      const till = await startTill(t, engine)
      const expiresAt = new Date(till.app.clock.now() + 40 * 60_000).toISOString()
      const create = () => till.call(CHECKOUT, { ...bodyOf[CHECKOUT], expiresAt }, { key: 'one' })
      till.card.lastingFault = 'dropped'
      till.card.retrieveFaults = Array.from({ length: 40 }, () => 'unknown' as const)
      assert.equal((await till.app.clock.through(create())).status, 502)
      till.card.lastingFault = undefined
      till.card.retrieveFaults = []
      till.app.clock.advance(20 * 60_000)
      const { status, text } = await till.app.clock.through(create())
      assert.equal(status, 200, text)
    })

    test('is of the user whom a service key names, who sees and captures it under guarded', async (t) => {
      const till = await startTill(t, engine, {
        environment: { SIXWIRE_POLICY: 'guarded', SIXWIRE_ADMINS: 'boss@example.com' },
      })
      const [ada, eve] = [await till.app.register(), await till.app.register()]
      for (const route of ROUTES) {
        const { status, body, text } = await till.call(route, { ...bodyOf[route], userId: ada._id })
        assert.equal(status, 200, text)
        const path = `GET /pay/transactions/${body.transactionId}`
        const own = await till.call(path, undefined, { token: ada.token })
        assert.deepEqual([own.status, own.body.userId], [200, ada._id])
        assert.equal((await till.call(path, undefined, { token: eve.token })).status, 404)
        const list = (token: string, query = '') =>
          till.call(`GET /pay/transactions?provider=${own.body.provider}${query}`, undefined, { token })
        assert.equal((await list(ada.token)).body.total, 1)
        assert.equal((await list(eve.token, `&userId=${ada._id}`)).body.total, 0)
        assert.equal(
          (await till.call(`GET /pay/transactions?userId=${ada._id}&provider=${own.body.provider}`)).body
            .total,
          1,
        )
        const forged = await till.call(route, { ...bodyOf[route], userId: ada._id }, { token: eve.token })
        assert.deepEqual([forged.status, forged.body.error.code], [403, 'FORBIDDEN'])
        assert.equal(
          (await till.call(route, { ...bodyOf[route], userId: eve._id }, { token: eve.token })).status,
          200,
        )
      }
      const { transactions } = (await till.call('GET /pay/transactions?limit=10')).body
      assert.deepEqual(
        new Set(transactions.map(({ userId }: { userId: string }) => userId)),
        new Set([ada._id, eve._id]),
      )
    })
  })
})
