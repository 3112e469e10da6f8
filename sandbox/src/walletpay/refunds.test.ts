import assert from 'node:assert/strict'
import { test } from 'node:test'

import { someEngine } from '../../../server/src/testing/engines.ts'
import { issuesOf, newKey, orderBody, pay, refund, walletForAll, type Json } from './walletpay.fixture.ts'

someEngine((engine) => {
  const empty = walletForAll(engine)

  test('a capture is refunded in parts, and never more than was captured', async () => {
    const wallet = await empty()
    const { captureId } = await pay(wallet)
    const part = await refund(wallet, captureId, '2.30')
    assert.deepEqual([part.status, part.body.status, part.body.amount.value], [201, 'COMPLETED', '2.30'])
    const up = part.body.links.find((one: Json) => one.rel === 'up').href
    assert.equal(up, `${wallet.address}/v2/payments/captures/${captureId}`)
    const statusOf = async () => (await wallet.call('GET', `/v2/payments/captures/${captureId}`)).body.status
    assert.equal(await statusOf(), 'PARTIALLY_REFUNDED')
    const over = await refund(wallet, captureId, '10.01')
    assert.deepEqual([over.status, issuesOf(over)], [422, ['REFUND_AMOUNT_EXCEEDED']])
    const rest = await refund(wallet, captureId)
    assert.equal(rest.body.amount.value, '10.00')
    assert.equal(await statusOf(), 'REFUNDED')
    assert.deepEqual(issuesOf(await refund(wallet, captureId, '0.01')), ['CAPTURE_FULLY_REFUNDED'])
    assert.deepEqual(
      (await wallet.call('GET', `/v2/payments/refunds/${part.body.id}`)).body.links,
      part.body.links,
    )
    // The fee is not given back.
    assert.deepEqual((await wallet.state()).balance, { EUR: { available: '-0.36', onHold: '0.00' } })
  })

  test('30 refunds at once succeed until the money of the capture is used up', async () => {
    const wallet = await empty()
    const { id, captureId } = await pay(wallet, 'balance', orderBody('10.00'))
    const keys = Array.from({ length: 15 }, newKey)
    const replies = await Promise.all([...keys, ...keys].map((key) => refund(wallet, captureId, '1.00', key)))
    const made = replies.filter(({ status }) => status === 201)
    assert.equal(new Set(made.map(({ body }) => body.id)).size, 10)
    assert.ok(replies.filter(({ status }) => status !== 201).every(({ status }) => status === 422))
    const { body: order } = await wallet.call('GET', `/v2/checkout/orders/${id}`)
    assert.equal(order.purchase_units[0].payments.refunds.length, 10)
    assert.equal(order.purchase_units[0].payments.captures[0].status, 'REFUNDED')
  })

  test('refunds of a bank payment are pending; one that fails can be made again', async () => {
    const wallet = await empty()
    const { captureId } = await pay(wallet, 'pending')
    assert.deepEqual(issuesOf(await refund(wallet, captureId)), ['PENDING_CAPTURE'])
    await wallet.drive('POST', `/walletpay/captures/${captureId}/settle`, { status: 'completed' })
    const first = await refund(wallet, captureId)
    assert.equal(first.body.status, 'PENDING')
    assert.deepEqual(issuesOf(await refund(wallet, captureId, '0.01')), ['CAPTURE_FULLY_REFUNDED'])
    const settle = (id: string, status: string) =>
      wallet.drive('POST', `/walletpay/refunds/${id}/settle`, { status })
    const failed = await settle(first.body.id, 'failed')
    assert.equal(failed.body.purchase_units[0].payments.refunds[0].status, 'FAILED')
    assert.equal((await wallet.state()).balance.EUR.available, '11.94')
    const second = await refund(wallet, captureId)
    assert.equal((await settle(second.body.id, 'completed')).status, 200)
    assert.equal((await settle(second.body.id, 'failed')).status, 409)
    const { body } = await wallet.call('GET', `/v2/payments/refunds/${second.body.id}`)
    assert.equal(body.status, 'COMPLETED')
    assert.equal((await wallet.state()).balance.EUR.available, '-0.36')
  })

  test('a denied capture, another currency and other bad refunds are refused', async () => {
    const wallet = await empty()
    const { captureId: denied } = await pay(wallet, 'pending')
    await wallet.drive('POST', `/walletpay/captures/${denied}/settle`, { status: 'denied' })
    assert.deepEqual(issuesOf(await refund(wallet, denied)), ['REFUND_NOT_ALLOWED'])
    const { id, captureId } = await pay(wallet)
    const cases: [string, string, string][] = [
      ['1.00', 'USD', 'REFUND_CAPTURE_CURRENCY_MISMATCH'],
      ['1.005', 'EUR', 'DECIMAL_PRECISION'],
      ['0.00', 'EUR', 'CANNOT_BE_ZERO_OR_NEGATIVE'],
      ['-1.00', 'EUR', 'CANNOT_BE_ZERO_OR_NEGATIVE'],
      ['1e3', 'EUR', 'INVALID_PARAMETER_SYNTAX'],
      ['1.00', 'XXX', 'INVALID_CURRENCY_CODE'],
    ]
    for (const [value, currency, issue] of cases)
      assert.deepEqual(issuesOf(await refund(wallet, captureId, value, newKey(), currency)), [issue], value)
    assert.equal((await refund(wallet, 'NOTHING')).status, 404)
    assert.equal((await refund(wallet, id)).status, 404)
    assert.equal((await wallet.state()).balance.EUR.available, '11.94')
  })

  test('a refund from the dashboard and a reversal are shown; nothing is left after a reversal', async () => {
    const wallet = await empty()
    const { id, captureId } = await pay(wallet)
    const act = (what: string, body?: unknown) =>
      wallet.drive('POST', `/walletpay/orders/${id}/${what}`, body)
    assert.equal((await act('refund', { amount: '12.31' })).status, 400)
    assert.equal((await act('refund', { amount: '2.30' })).status, 200)
    const [listed] = (await wallet.drive('GET', '/walletpay')).body.orders
    assert.deepEqual(
      [listed.id, listed.amount, listed.refunded, listed.funding, listed.approvalUrl, listed.description],
      [id, '12.30', '2.30', 'balance', null, 'A hat'],
    )
    assert.equal((await act('reverse')).status, 200)
    assert.equal((await act('reverse')).status, 409)
    assert.deepEqual(issuesOf(await refund(wallet, captureId)), ['REFUND_NOT_PERMITTED_DUE_TO_CHARGEBACK'])
    assert.equal((await wallet.state()).balance.EUR.available, '-0.36')
    const reversed = (await wallet.webhooks(5)).find(
      ({ event }) => event.event_type === 'PAYMENT.CAPTURE.REVERSED',
    )!.event.resource
    assert.equal(reversed.amount.value, '10.00')
    const shown = await wallet.call('GET', `/v2/payments/refunds/${reversed.id}`)
    assert.equal(shown.body.amount.value, '10.00')
  })

  for (const [outcome, code, available] of [
    ['won', 'RESOLVED_SELLER_FAVOUR', '11.94'],
    ['lost', 'RESOLVED_BUYER_FAVOUR', '-0.36'],
    ['accepted', 'ACCEPTED', '-0.36'],
  ] as const)
    test(`a dispute holds the money until it is ${outcome}`, async () => {
      const wallet = await empty()
      const { id, captureId } = await pay(wallet)
      const list = async () =>
        (await wallet.call('GET', `/v1/customer/disputes?disputed_transaction_id=${captureId}`)).body.items
      assert.equal(await list(), undefined)
      const reason = 'UNAUTHORISED'
      await wallet.drive('POST', `/walletpay/orders/${id}/dispute`, { reason })
      const [{ dispute_id: disputeId, status }] = await list()
      assert.equal(status, 'WAITING_FOR_SELLER_RESPONSE')
      assert.deepEqual((await wallet.state()).balance.EUR, { available: '-0.36', onHold: '12.30' })
      assert.deepEqual(issuesOf(await refund(wallet, captureId, '1.00')), ['TRANSACTION_DISPUTED'])
      await wallet.drive('POST', `/walletpay/disputes/${disputeId}/review`)
      const path = `/v1/customer/disputes/${disputeId}`
      const { body: before } = await wallet.call('GET', path)
      assert.deepEqual([before.status, before.reason], ['UNDER_REVIEW', reason])
      assert.equal(before.disputed_transactions[0].seller_transaction_id, captureId)
      if (outcome === 'accepted') await wallet.call('POST', `${path}/accept-claim`, { note: 'Sorry' })
      else await wallet.drive('POST', `/walletpay/disputes/${disputeId}/close`, { outcome })
      const { body: after } = await wallet.call('GET', path)
      assert.deepEqual([after.status, after.dispute_outcome.outcome_code], ['RESOLVED', code])
      assert.ok(after.update_time > before.update_time)
      assert.deepEqual((await wallet.state()).balance.EUR, { available, onHold: '0.00' })
      const close = (by: string) =>
        wallet.drive('POST', `/walletpay/disputes/${disputeId}/close`, { outcome: by })
      assert.equal((await close('lost')).status, 409)
      if (outcome !== 'won') {
        assert.equal((await refund(wallet, captureId, '1.00')).status, 422)
        // An appeal gives the money back.
        assert.equal((await close('won')).status, 200)
      }
      assert.equal((await close('won')).status, 409)
      assert.equal((await refund(wallet, captureId, '1.00')).status, 201)
    })

  test('a dispute about a part leaves the rest, which is refunded as a whole while it is open', async () => {
    const wallet = await empty()
    const { id, captureId } = await pay(wallet)
    const dispute = (amount: string) => wallet.drive('POST', `/walletpay/orders/${id}/dispute`, { amount })
    assert.equal((await dispute('12.31')).status, 400)
    assert.equal((await dispute('2.30')).status, 200)
    const list = `/v1/customer/disputes?disputed_transaction_id=${captureId}`
    const [{ dispute_id: disputeId, dispute_amount: money }] = (await wallet.call('GET', list)).body.items
    assert.equal(money.value, '2.30')
    assert.deepEqual(issuesOf(await refund(wallet, captureId, '1.00')), [
      'CAPTURE_DISPUTED_PARTIAL_REFUND_NOT_ALLOWED',
    ])
    assert.deepEqual(issuesOf(await refund(wallet, captureId, '10.01')), ['REFUND_AMOUNT_EXCEEDED'])
    await wallet.drive('POST', `/walletpay/disputes/${disputeId}/close`, { outcome: 'lost' })
    assert.equal((await refund(wallet, captureId, '1.00')).status, 201)
    assert.deepEqual(issuesOf(await refund(wallet, captureId, '9.01')), ['REFUND_AMOUNT_EXCEEDED'])
    assert.equal((await refund(wallet, captureId, '9.00')).status, 201)
  })
})
