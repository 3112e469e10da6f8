import assert from 'node:assert/strict'
import { before, test } from 'node:test'

import { someEngine, endOfSuite } from '../../../server/src/testing/engines.ts'
import { eventTypes, orderOf, paid, refusal, startCardpay, type Cardpay } from './cardpay.fixture.ts'
import { LATER_MS } from './change.ts'

someEngine((engine) => {
  const ending = endOfSuite()
  let cardpay: Cardpay
  before(async () => {
    cardpay = await startCardpay(ending, engine)
  })
  const act = (path: string, body?: unknown) => cardpay.request('POST', `/sandbox/api/cardpay/${path}`, body)
  const available = async (currency: string): Promise<number> =>
    (await cardpay.stripe.balance.retrieve()).available.find((one) => one.currency === currency)?.amount ?? 0

  /** Sets the clock to after what follows by itself, and waits for its last webhook. */
  async function later(type: string, count: number): Promise<void> {
    cardpay.clock.advance(LATER_MS)
    await cardpay.webhook(type, count)
  }
  const countOf = (type: string): number => cardpay.received.filter(({ event }) => event.type === type).length

  test('a payment is refunded in parts, and never by more than is left', async () => {
    const { stripe } = cardpay
    const { intent, charge } = await paid(cardpay)
    const first = await stripe.refunds.create({
      payment_intent: intent,
      amount: 400,
      reason: 'requested_by_customer',
      metadata: { refund_id: 'r1' },
    })
    assert.deepEqual([first.status, first.amount, first.metadata], ['succeeded', 400, { refund_id: 'r1' }])
    const partly = await stripe.charges.retrieve(charge, { expand: ['refunds'] })
    assert.deepEqual([partly.amount_refunded, partly.refunded, partly.refunds?.data.length], [400, false, 1])
    const over = await refusal(stripe.refunds.create({ payment_intent: intent, amount: 601 }))
    assert.deepEqual([over.statusCode, over.param, over.code], [400, 'amount', undefined])
    assert.match(over.message, /6\.01 eur.*6\.00 eur/)
    const rest = await stripe.refunds.create({ charge })
    assert.equal(rest.amount, 600)
    assert.equal((await stripe.charges.retrieve(charge)).refunded, true)
    const none = await refusal(stripe.refunds.create({ payment_intent: intent }))
    assert.equal(none.code, 'charge_already_refunded')
    const listed = await stripe.refunds.list({ payment_intent: intent })
    assert.deepEqual(
      listed.data.map(({ id }) => id),
      [rest.id, first.id],
    )
    assert.deepEqual((await eventTypes(cardpay, intent)).slice(-4), [
      'refund.created',
      'charge.refunded',
      'refund.created',
      'charge.refunded',
    ])
  })

  test('20 refunds at once succeed until the money is used up', async () => {
    const { stripe } = cardpay
    const { intent, charge } = await paid(cardpay, { amount: 1_000 })
    const answers = await Promise.allSettled(
      Array.from({ length: 20 }, () => stripe.refunds.create({ payment_intent: intent, amount: 300 })),
    )
    assert.equal(answers.filter(({ status }) => status === 'fulfilled').length, 3)
    assert.equal((await stripe.charges.retrieve(charge)).amount_refunded, 900)
  })

  test('a refund that is not possible is refused with the parameter', async () => {
    const { stripe } = cardpay
    const { intent, charge } = await paid(cardpay, { amount: 5_000, currency: 'kwd' })
    for (const [params, param, code] of [
      [{}, 'payment_intent', 'parameter_missing'],
      [{ payment_intent: 'pi_none' }, 'payment_intent', 'resource_missing'],
      [{ charge: 'ch_none' }, 'charge', 'resource_missing'],
      [{ payment_intent: intent, charge }, 'charge', 'parameters_exclusive'],
      [{ payment_intent: intent, amount: 0 }, 'amount', 'parameter_invalid_integer'],
      [{ payment_intent: intent, amount: -5 }, 'amount', 'parameter_invalid_integer'],
      [{ payment_intent: intent, amount: 1.5 }, 'amount', 'parameter_invalid_integer'],
      [{ payment_intent: intent, amount: 1_001 }, 'amount', 'parameter_invalid_integer'],
      [{ payment_intent: intent, reason: 'other' }, 'reason', undefined],
      [{ payment_intent: intent, colour: 'red' } as object, 'colour', 'parameter_unknown'],
    ] as const) {
      const error = await refusal(stripe.refunds.create(params))
      assert.deepEqual([error.param, error.code], [param, code], JSON.stringify(params))
    }
    assert.equal((await stripe.charges.retrieve(charge)).amount_refunded, 0)
  })

  test('a refund fails after it succeeded, by its card or by hand, and the money is back', async () => {
    const { stripe } = cardpay
    const { intent, charge } = await paid(cardpay, { card: '4000000000005126', currency: 'chf' })
    const failed = countOf('refund.failed')
    const { id, status } = await stripe.refunds.create({ payment_intent: intent, amount: 700 })
    assert.equal(status, 'succeeded')
    assert.equal(await available('chf'), 300)
    await later('refund.failed', failed + 1)
    const after = await stripe.refunds.retrieve(id)
    assert.deepEqual([after.status, after.failure_reason], ['failed', 'expired_or_canceled_card'])
    assert.equal((await stripe.charges.retrieve(charge)).amount_refunded, 0)
    assert.equal(await available('chf'), 1_000)

    const other = await stripe.refunds.create({
      payment_intent: (await paid(cardpay, { currency: 'chf' })).intent,
    })
    const ended = await act(`refunds/${other.id}/settle`, { status: 'failed' })
    assert.equal(ended.body.status, 'failed')
    assert.equal(await available('chf'), 2_000)
    assert.equal((await act(`refunds/${other.id}/settle`, { status: 'succeeded' })).status, 400)
  })

  test('a refund is pending and succeeds later, unless it is canceled', async () => {
    const { stripe } = cardpay
    const { intent, charge } = await paid(cardpay, { card: '4000000000007726' })
    const updated = countOf('charge.refund.updated')
    const refund = await stripe.refunds.create({ payment_intent: intent, amount: 100 })
    assert.equal(refund.status, 'pending')
    await later('charge.refund.updated', updated + 1)
    assert.equal((await stripe.refunds.retrieve(refund.id)).status, 'succeeded')
    const second = await stripe.refunds.create({ payment_intent: intent, amount: 100 })
    assert.equal((await stripe.refunds.cancel(second.id)).status, 'canceled')
    assert.equal((await stripe.charges.retrieve(charge)).amount_refunded, 100)
    assert.equal((await refusal(stripe.refunds.cancel(refund.id))).code, 'refund_unexpected_state')
  })

  for (const [evidence, status, balance] of [
    ['winning_evidence', 'won', 1_000],
    ['losing_evidence', 'lost', 0],
  ] as const)
    test(`a disputed card is ${status} by ${evidence}, and the balance says so`, async () => {
      const { stripe } = cardpay
      const currency = status === 'won' ? 'sek' : 'nok'
      const created = countOf('charge.dispute.funds_withdrawn')
      const { intent, charge } = await paid(cardpay, { card: '4000000000000259', currency })
      await later('charge.dispute.funds_withdrawn', created + 1)
      const { data } = await stripe.disputes.list({ payment_intent: intent })
      const [dispute] = data
      assert.deepEqual(
        [dispute!.reason, dispute!.status, dispute!.amount],
        ['fraudulent', 'needs_response', 1_000],
      )
      assert.equal(dispute!.balance_transactions.length, 1)
      assert.equal((await stripe.charges.retrieve(charge)).disputed, true)
      assert.equal(await available(currency), 0)
      const refused = await refusal(stripe.refunds.create({ payment_intent: intent }))
      assert.equal(refused.code, 'charge_disputed')
      const ended = await stripe.disputes.update(dispute!.id, { evidence: { uncategorized_text: evidence } })
      assert.equal(ended.status, status)
      assert.equal(ended.balance_transactions.length, status === 'won' ? 2 : 1)
      assert.equal(await available(currency), balance)
      assert.equal((await eventTypes(cardpay, intent)).at(-1), 'charge.dispute.closed')
      const again = await refusal(stripe.disputes.close(dispute!.id))
      assert.equal(again.code, 'dispute_unexpected_state')
      const refund = stripe.refunds.create({ payment_intent: intent })
      if (status === 'won') assert.equal((await refund).amount, 1_000)
      else assert.equal((await refusal(refund)).code, 'charge_disputed')
    })

  test('an inquiry moves no money, and a refund of all closes it', async () => {
    const { stripe } = cardpay
    const created = countOf('charge.dispute.created')
    const { intent } = await paid(cardpay, { card: '4000000000001976', currency: 'dkk' })
    await later('charge.dispute.created', created + 1)
    const [inquiry] = (await stripe.disputes.list({ payment_intent: intent })).data
    assert.equal(inquiry!.status, 'warning_needs_response')
    assert.equal(await available('dkk'), 1_000)
    await stripe.refunds.create({ payment_intent: intent })
    assert.equal((await stripe.disputes.retrieve(inquiry!.id)).status, 'warning_closed')
  })

  test('an inquiry that escalates withdraws what is left', async () => {
    const { stripe } = cardpay
    const created = countOf('charge.dispute.created')
    const { intent } = await paid(cardpay, { card: '4000000000001976', currency: 'pln' })
    await later('charge.dispute.created', created + 1)
    await stripe.refunds.create({ payment_intent: intent, amount: 400 })
    const [inquiry] = (await stripe.disputes.list({ payment_intent: intent })).data
    const staged = await stripe.disputes.update(inquiry!.id, {
      evidence: { uncategorized_text: 'escalate_inquiry_evidence' },
      submit: false,
    })
    assert.deepEqual([staged.status, staged.evidence_details.submission_count], ['warning_needs_response', 0])
    const escalated = await stripe.disputes.update(inquiry!.id, { submit: true })
    assert.deepEqual([escalated.status, escalated.amount], ['needs_response', 600])
    assert.equal(await available('pln'), 0)
    assert.equal((await stripe.disputes.close(inquiry!.id)).status, 'lost')
    assert.equal(await available('pln'), 0)
  })

  test('a dispute about a part leaves the rest to refund, and may be won after it was lost', async () => {
    const { stripe } = cardpay
    const { session, charge } = await paid(cardpay, { amount: 900 })
    assert.equal((await act(`sessions/${session.id}/dispute`, { amount: 901 })).status, 400)
    const { body: dispute } = await act(`sessions/${session.id}/dispute`, { amount: 100 })
    assert.equal(dispute.amount, 100)
    const over = await refusal(stripe.refunds.create({ charge, amount: 801 }))
    assert.equal(over.param, 'amount')
    assert.equal((await stripe.refunds.create({ charge, amount: 300 })).amount, 300)
    await act(`disputes/${dispute.id}/close`, { outcome: 'lost' })
    assert.equal((await stripe.refunds.create({ charge })).amount, 500)
    assert.equal((await refusal(stripe.refunds.create({ charge }))).code, 'charge_disputed')
    const reinstated = countOf('charge.dispute.funds_reinstated')
    const won = await act(`disputes/${dispute.id}/close`, { outcome: 'won' })
    assert.equal(won.body.status, 'won')
    assert.equal((await stripe.disputes.retrieve(dispute.id)).balance_transactions.length, 2)
    await later('charge.dispute.funds_reinstated', reinstated + 1)
    assert.equal((await act(`disputes/${dispute.id}/close`, { outcome: 'lost' })).status, 400)
    assert.equal((await stripe.refunds.create({ charge })).amount, 100)
  })

  test('the merchant refunds and the bank disputes by the routes of the sandbox', async () => {
    const { session } = await paid(cardpay, { amount: 900 })
    const refunded = await act(`sessions/${session.id}/refund`, { amount: 300 })
    assert.deepEqual([refunded.status, refunded.body.amount], [200, 300])
    const disputed = await act(`sessions/${session.id}/dispute`, { reason: 'duplicate' })
    assert.deepEqual([disputed.body.amount, disputed.body.reason], [600, 'duplicate'])
    const [payment] = await cardpay.payments()
    assert.deepEqual(payment, {
      id: session.id,
      paymentIntent: session.payment_intent,
      transactionId: null,
      status: 'complete',
      paymentStatus: 'paid',
      state: 'paid',
      amount: 900,
      currency: 'EUR',
      displayAmount: '9.00',
      description: 'A book',
      url: null,
      refunded: 300,
      refunds: [{ id: refunded.body.id, amount: 300, status: 'succeeded' }],
      dispute: { id: disputed.body.id, status: 'needs_response', reason: 'duplicate', amount: 600 },
      createdAt: payment!.createdAt,
    })
    const won = await act(`disputes/${disputed.body.id}/close`, { outcome: 'won' })
    assert.equal(won.body.status, 'won')
    for (const [path, body, status] of [
      [`sessions/${session.id}/refund`, { amount: 0 }, 400],
      [`sessions/${session.id}/refund`, { amount: 601 }, 400],
      ['sessions/cs_none/refund', {}, 404],
      [`sessions/${session.id}/settle`, {}, 400],
      [`sessions/${session.id}/dispute`, { reason: 'whim' }, 400],
      ['disputes/du_none/close', { outcome: 'won' }, 404],
      [`disputes/${disputed.body.id}/close`, { outcome: 'drawn' }, 400],
      ['refunds/re_none/settle', { status: 'failed' }, 404],
    ] as const)
      assert.equal((await act(path, body)).status, status, `${path} ${JSON.stringify(body)}`)
    const open = await cardpay.stripe.checkout.sessions.create(orderOf(cardpay))
    assert.equal(
      (await act(`sessions/${open.id}/refund`)).body.error.code,
      'checkout_session_unexpected_state',
    )
  })

  test('the balance is the sum of its movements', async () => {
    const { stripe } = cardpay
    const { available: now } = await stripe.balance.retrieve()
    const sums = new Map<string, number>()
    for await (const one of stripe.balanceTransactions.list({ limit: 100 }))
      sums.set(one.currency, (sums.get(one.currency) ?? 0) + one.amount)
    assert.deepEqual(new Map(now.map(({ currency, amount }) => [currency, amount])), sums)
    assert.ok(now.length > 4)
  })
})
