import assert from 'node:assert/strict'
import { test } from 'node:test'

import { someEngine } from '../../../server/src/testing/engines.ts'
import {
  capture,
  createOrder,
  issuesOf,
  newKey,
  orderBody,
  pay,
  REPRESENTATION,
  startWallet,
  walletForAll,
  type Json,
} from './walletpay.fixture.ts'

const linkOf = (order: Json, rel: string): string | undefined =>
  order.links.find((one: Json) => one.rel === rel)?.href

const withContext = (): Json => {
  const { payment_source, ...body } = orderBody()
  return { ...body, application_context: payment_source.paypal.experience_context }
}

someEngine((engine) => {
  const empty = walletForAll(engine)

  test('an order is created, approved and captured, and the books add up', async () => {
    const wallet = await empty()
    const order = await createOrder(wallet)
    assert.match(order.id, /^[0-9A-Z]{17}$/)
    assert.equal(order.status, 'PAYER_ACTION_REQUIRED')
    assert.equal(linkOf(order, 'payer-action'), `${wallet.address}/approve?token=${order.id}`)
    assert.deepEqual(issuesOf(await capture(wallet, order.id)), ['ORDER_NOT_APPROVED'])

    const approved = await wallet.drive('POST', `/walletpay/orders/${order.id}/approve`)
    assert.equal(approved.body.status, 'APPROVED')
    const captured = await capture(wallet, order.id)
    assert.equal(captured.status, 201)
    assert.equal(captured.body.status, 'COMPLETED')
    const [one] = captured.body.purchase_units[0].payments.captures
    assert.deepEqual([one.status, one.amount], ['COMPLETED', { currency_code: 'EUR', value: '12.30' }])
    assert.deepEqual(issuesOf(await capture(wallet, order.id)), ['ORDER_ALREADY_CAPTURED'])

    const shown = await wallet.call('GET', `/v2/payments/captures/${one.id}`)
    assert.equal(shown.body.supplementary_data.related_ids.order_id, order.id)
    const { net_amount } = shown.body.seller_receivable_breakdown
    assert.equal(net_amount.value, '11.94')
    assert.deepEqual((await wallet.state()).balance, { EUR: { available: '11.94', onHold: '0.00' } })
    assert.deepEqual((await wallet.call('GET', `/v2/checkout/orders/${order.id}`)).body, captured.body)
  })

  test('an order with an application context is CREATED and has the link approve', async () => {
    const wallet = await empty()
    const { status, body } = await wallet.call('POST', '/v2/checkout/orders', withContext())
    assert.deepEqual([status, body.status], [201, 'CREATED'])
    assert.equal(linkOf(body, 'approve'), `${wallet.address}/approve?token=${body.id}`)
    assert.deepEqual(Object.keys(body), ['id', 'status', 'links'])
    const refused = await wallet.call('POST', '/v2/checkout/orders', orderBody())
    assert.deepEqual(issuesOf(refused), ['PAYPAL_REQUEST_ID_REQUIRED'])
  })

  test('10 captures at once capture once, and a repeated one gets the first answer', async () => {
    const wallet = await empty()
    const { id } = await createOrder(wallet)
    await wallet.drive('POST', `/walletpay/orders/${id}/approve`)
    const keys = Array.from({ length: 10 }, newKey)
    const replies = await Promise.all(keys.map((key) => capture(wallet, id, key)))
    assert.deepEqual(replies.map(({ status }) => String(status)).toSorted(), [
      '201',
      ...Array<string>(9).fill('422'),
    ])
    const first = replies.findIndex(({ status }) => status === 201)
    const again = await capture(wallet, id, keys[first])
    assert.equal(again.status, 200)
    assert.deepEqual(again.body, replies[first]!.body)
    assert.match(again.headers.get('paypal-debug-id')!, /^[0-9a-f]{13}$/)
  })

  test('the same PayPal-Request-Id creates one order, and is refused with another body', async () => {
    const wallet = await empty()
    const create = (body: Json) =>
      wallet.call('POST', '/v2/checkout/orders', body, { 'paypal-request-id': 'same' })
    const replies = await Promise.all(Array.from({ length: 5 }, () => create(orderBody())))
    assert.equal(new Set(replies.map(({ body }) => body.id)).size, 1)
    assert.deepEqual(replies.map(({ status }) => String(status)).toSorted(), [
      '200',
      '200',
      '200',
      '200',
      '201',
    ])
    const other = await create(orderBody('12.31'))
    assert.deepEqual([other.status, issuesOf(other)], [422, ['DUPLICATE_REQUEST_ID']])
    wallet.clock.advance(6 * 3_600_000)
    assert.equal((await create(orderBody('12.31'))).status, 201)
  })

  test('a declined way to pay leaves the order open for another one', async () => {
    const wallet = await empty()
    for (const [body, status, issue] of [
      [orderBody(), 'PAYER_ACTION_REQUIRED', 'PAYER_ACTION_REQUIRED'],
      [withContext(), 'APPROVED', 'INSTRUMENT_DECLINED'],
    ] as const) {
      const { id } = await createOrder(wallet, body)
      await wallet.drive('POST', `/walletpay/orders/${id}/approve`, { funding: 'declined' })
      const key = newKey()
      const declined = await capture(wallet, id, key)
      assert.deepEqual([declined.status, issuesOf(declined)], [422, ['INSTRUMENT_DECLINED']])
      assert.equal(linkOf(declined.body, 'redirect'), `${wallet.address}/approve?token=${id}`)
      assert.equal((await wallet.call('GET', `/v2/checkout/orders/${id}`)).body.status, status)
      assert.deepEqual(issuesOf(await capture(wallet, id)), [issue])

      await wallet.drive('POST', `/walletpay/orders/${id}/approve`)
      assert.deepEqual(issuesOf(await capture(wallet, id, key)), ['INSTRUMENT_DECLINED'])
      assert.equal((await capture(wallet, id)).body.status, 'COMPLETED')
    }
  })

  test('a pending capture completes the order, and is completed or denied later', async () => {
    const wallet = await empty()
    for (const [status, expected] of [
      ['completed', 'COMPLETED'],
      ['denied', 'DECLINED'],
    ] as const) {
      const { id, order, captureId } = await pay(wallet, 'pending')
      const [pending] = order.purchase_units[0].payments.captures
      assert.deepEqual(
        [order.status, pending.status, pending.status_details],
        ['COMPLETED', 'PENDING', { reason: 'ECHECK' }],
      )
      const settled = await wallet.drive('POST', `/walletpay/captures/${captureId}/settle`, { status })
      assert.equal(settled.body.purchase_units[0].payments.captures[0].status, expected)
      assert.equal(settled.body.id, id)
      const again = await wallet.drive('POST', `/walletpay/captures/${captureId}/settle`, { status })
      assert.equal(again.status, 409)
    }
    assert.equal((await wallet.state()).balance.EUR.available, '11.94')
  })

  test('orders that nobody approves are forgotten after 3 hours, approved ones after 72, paid ones never', async () => {
    const wallet = await empty()
    const { id: paid } = await pay(wallet)
    const { id: approved } = await createOrder(wallet)
    const { id: open } = await createOrder(wallet)
    await wallet.drive('POST', `/walletpay/orders/${approved}/approve`)
    const statusOf = async (id: string) => (await wallet.call('GET', `/v2/checkout/orders/${id}`)).status
    wallet.clock.advance(3 * 3_600_000)
    assert.deepEqual([await statusOf(open), await statusOf(approved), await statusOf(paid)], [404, 200, 200])
    const missing = await capture(wallet, open)
    assert.deepEqual([missing.body.name, issuesOf(missing)], ['RESOURCE_NOT_FOUND', ['INVALID_RESOURCE_ID']])
    const listed = (await wallet.drive('GET', '/walletpay')).body.orders
    assert.deepEqual(
      listed.map((one: Json) => one.id),
      [approved, paid],
    )
    wallet.clock.advance(69 * 3_600_000)
    assert.deepEqual([await statusOf(approved), await statusOf(paid)], [404, 200])
  })

  test('an invoice id is captured once', async () => {
    const wallet = await empty()
    const body = () => orderBody('5.00', 'EUR', { invoice_id: 'invoice-1' })
    await pay(wallet, 'balance', body())
    const { id } = await createOrder(wallet, body())
    await wallet.drive('POST', `/walletpay/orders/${id}/approve`)
    assert.deepEqual(issuesOf(await capture(wallet, id)), ['DUPLICATE_INVOICE_ID'])
    assert.equal((await wallet.call('GET', `/v2/checkout/orders/${id}`)).body.status, 'APPROVED')
  })

  test('a voided order cannot be paid', async () => {
    const wallet = await empty()
    const { id } = await createOrder(wallet)
    assert.equal(
      (await wallet.drive('POST', `/walletpay/orders/${id}/cancel`)).body.status,
      'PAYER_ACTION_REQUIRED',
    )
    assert.equal((await wallet.drive('POST', `/walletpay/orders/${id}/void`)).body.status, 'VOIDED')
    assert.equal((await wallet.drive('POST', `/walletpay/orders/${id}/approve`)).status, 409)
    assert.deepEqual(issuesOf(await capture(wallet, id)), ['ORDER_NOT_APPROVED'])
  })

  test('tokens expire, and nothing is answered without one', async () => {
    const wallet = await empty()
    const { id } = await createOrder(wallet)
    const path = '/sandbox/walletpay/v1/oauth2/token'
    const { PAYPAL_CLIENT_ID, PAYPAL_CLIENT_SECRET } = (await wallet.state()).variables
    const issued = await wallet.request('POST', path, {
      raw: 'grant_type=client_credentials',
      headers: {
        authorization: `Basic ${btoa(`${PAYPAL_CLIENT_ID}:${PAYPAL_CLIENT_SECRET}`)}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
    })
    const authorization = `Bearer ${issued.body.access_token}`
    const ask = () => wallet.call('GET', '/v1/notifications/webhooks', undefined, { authorization })
    assert.equal((await ask()).status, 200)
    wallet.clock.advance(issued.body.expires_in * 1_000)
    const expired = await ask()
    assert.deepEqual([expired.status, expired.body.name], [401, 'AUTHENTICATION_FAILURE'])
    const headers = {
      authorization: 'Basic d3Jvbmc6d3Jvbmc=',
      'content-type': 'application/x-www-form-urlencoded',
    }
    const wrong = await wallet.request('POST', path, { raw: 'grant_type=client_credentials', headers })
    assert.deepEqual([wrong.status, wrong.body.error], [401, 'invalid_client'])
    const forged = await wallet.call('GET', `/v2/checkout/orders/${id}`, undefined, {
      authorization: `Bearer A21AA${Date.now() + 9e9}.x`,
    })
    assert.equal(forged.status, 401)
  })

  test('orders, events and keys survive a restart; a reset deletes them', async (t) => {
    const first = await startWallet(t, engine)
    const { id, captureId } = await pay(first)
    await first.webhooks(3)
    const before = await first.call('GET', '/v1/notifications/webhooks-events')
    const { 'paypal-cert-url': certUrl } = first.received[0]!.headers
    await first.stop()

    const { databaseUrl, port, clock } = first
    const second = await startWallet(t, engine, { databaseUrl, port, clock })
    assert.equal((await second.call('GET', `/v2/payments/captures/${captureId}`)).body.status, 'COMPLETED')
    assert.deepEqual((await second.call('GET', '/v1/notifications/webhooks-events')).body, before.body)
    assert.equal((await fetch(certUrl!)).status, 200)
    assert.equal((await second.request('DELETE', '/sandbox/api')).status, 200)
    assert.equal((await second.call('GET', `/v2/checkout/orders/${id}`)).status, 404)
    const { orders, balance } = await second.state()
    assert.deepEqual([orders, balance], [0, {}])
    assert.equal((await second.call('GET', '/v1/notifications/webhooks-events')).body.count, 0)
  })

  test('faults delay, refuse, and lose answers', async () => {
    const wallet = await empty()
    await createOrder(wallet)
    const set = (fault: Json) => wallet.drive('PUT', '/faults/walletpay', fault)
    await set({ error: 503, times: 1 })
    const refused = await wallet.call('POST', '/v2/checkout/orders', orderBody(), {
      'paypal-request-id': 'a',
    })
    assert.deepEqual([refused.status, refused.body.name], [503, 'SERVICE_UNAVAILABLE'])
    await set({ loseAnswer: true, times: 1 })
    const key = { 'paypal-request-id': newKey(), ...REPRESENTATION }
    await assert.rejects(wallet.call('POST', '/v2/checkout/orders', orderBody(), key))
    assert.equal((await wallet.state()).orders, 2)
    assert.equal((await wallet.call('POST', '/v2/checkout/orders', orderBody(), key)).status, 200)
    assert.equal((await wallet.state()).orders, 2)
  })
})
