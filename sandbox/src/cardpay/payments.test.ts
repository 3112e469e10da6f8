import assert from 'node:assert/strict'
import { before, test } from 'node:test'

import Stripe from 'stripe'

import { someEngine, endOfSuite } from '../../../server/src/testing/engines.ts'
import { eventTypes, orderOf, paid, refusal, startCardpay, type Cardpay } from './cardpay.fixture.ts'

someEngine((engine) => {
  const ending = endOfSuite()
  let cardpay: Cardpay
  before(async () => {
    cardpay = await startCardpay(ending, engine)
  })
  const pay = (id: string, body: unknown = {}) =>
    cardpay.request('POST', `/sandbox/api/cardpay/sessions/${id}/pay`, body)

  test('a session is created, paid by card and retrieved with what it leads to', async () => {
    const { stripe } = cardpay
    const created = await stripe.checkout.sessions.create({
      ...orderOf(cardpay, { amount: 1_250, quantity: 2 }),
      expand: ['line_items', 'payment_intent.latest_charge'],
    })
    assert.match(created.id, /^cs_test_/)
    assert.equal(created.status, 'open')
    assert.equal(created.payment_status, 'unpaid')
    assert.equal(created.amount_total, 2_500)
    assert.equal(created.payment_intent, null)
    assert.equal(created.line_items?.data[0]?.quantity, 2)
    assert.equal(created.url, `${cardpay.url}/sandbox/cardpay/pay/${created.id}`)
    assert.equal(created.expires_at - created.created, 86_400)

    const answered = await pay(created.id)
    assert.equal(answered.status, 200)
    assert.equal(answered.body.payment_status, 'paid')
    const session = await stripe.checkout.sessions.retrieve(created.id, {
      expand: ['payment_intent.latest_charge.balance_transaction'],
    })
    assert.equal(session.status, 'complete')
    assert.equal(session.url, null)
    const intent = session.payment_intent as Stripe.PaymentIntent
    assert.equal(intent.status, 'succeeded')
    assert.equal(intent.amount_received, 2_500)
    assert.deepEqual(intent.metadata, { transactionId: 't1' })
    const charge = intent.latest_charge as Stripe.Charge
    assert.equal(charge.status, 'succeeded')
    assert.deepEqual(charge.metadata, { transactionId: 't1' })
    assert.equal((charge.balance_transaction as Stripe.BalanceTransaction).amount, 2_500)
    assert.deepEqual(await eventTypes(cardpay, intent.id), [
      'payment_intent.created',
      'charge.succeeded',
      'payment_intent.succeeded',
      'checkout.session.completed',
      'charge.updated',
    ])
    const found = await stripe.checkout.sessions.list({ payment_intent: intent.id })
    assert.deepEqual(
      found.data.map(({ id }) => id),
      [created.id],
    )
    const again = await pay(created.id)
    assert.equal(again.status, 400)
    assert.match(again.body.error.message, /complete/)
  })

  for (const [card, code, decline] of [
    ['4000000000000002', 'card_declined', 'generic_decline'],
    ['4000000000009995', 'card_declined', 'insufficient_funds'],
    ['4000000000000069', 'expired_card', undefined],
    ['4000000000000127', 'incorrect_cvc', undefined],
  ] as const)
    test(`the card ${card} is declined with ${decline ?? code}, and another one may be tried`, async () => {
      const { stripe } = cardpay
      const { id } = await stripe.checkout.sessions.create(orderOf(cardpay))
      const { status, body } = await pay(id, { card })
      assert.equal(status, 402)
      assert.equal(body.error.type, 'card_error')
      assert.equal(body.error.code, code)
      assert.equal(body.error.decline_code, decline)
      const session = await stripe.checkout.sessions.retrieve(id, {
        expand: ['payment_intent.latest_charge'],
      })
      assert.equal(session.status, 'open')
      const intent = session.payment_intent as Stripe.PaymentIntent
      assert.equal(intent.status, 'requires_payment_method')
      assert.equal(intent.last_payment_error?.code, code)
      assert.equal((intent.latest_charge as Stripe.Charge).failure_code, code)
      assert.equal((await pay(id)).body.payment_status, 'paid')
      assert.deepEqual((await eventTypes(cardpay, intent.id)).slice(0, 3), [
        'payment_intent.created',
        'charge.failed',
        'payment_intent.payment_failed',
      ])
      const charges = await stripe.charges.list({ payment_intent: intent.id })
      assert.deepEqual(
        charges.data.map((one) => one.status),
        ['succeeded', 'failed'],
      )
    })

  test('a bank debit is processing until the bank settles it', async () => {
    const { stripe } = cardpay
    for (const succeeded of [true, false]) {
      const { id } = await stripe.checkout.sessions.create(orderOf(cardpay))
      const { body } = await pay(id, { outcome: 'processing' })
      assert.deepEqual([body.status, body.payment_status], ['complete', 'unpaid'])
      const intent = body.payment_intent
      assert.equal((await stripe.paymentIntents.retrieve(intent)).status, 'processing')
      const early = await refusal(stripe.refunds.create({ payment_intent: intent }))
      assert.equal(early.code, 'payment_intent_unexpected_state')
      const settled = await cardpay.request('POST', `/sandbox/api/cardpay/sessions/${id}/settle`, {
        succeeded,
      })
      assert.equal(settled.body.payment_status, succeeded ? 'paid' : 'unpaid')
      const after = await stripe.paymentIntents.retrieve(intent)
      assert.equal(after.status, succeeded ? 'succeeded' : 'requires_payment_method')
      const types = await eventTypes(cardpay, intent)
      const ends = succeeded ? 'succeeded' : 'failed'
      assert.deepEqual(types.slice(0, 4), [
        'payment_intent.created',
        'charge.pending',
        'payment_intent.processing',
        'checkout.session.completed',
      ])
      assert.ok(types.includes(`checkout.session.async_payment_${ends}`))
      const [payment] = await cardpay.payments()
      assert.equal(payment!.state, succeeded ? 'paid' : 'failed')
      const twice = await cardpay.request('POST', `/sandbox/api/cardpay/sessions/${id}/settle`, { succeeded })
      assert.equal(twice.status, 400)
    }
  })

  test('a session is expired by call, and one whose day is over by itself', async () => {
    const { stripe } = cardpay
    const first = await stripe.checkout.sessions.create(orderOf(cardpay))
    await pay(first.id, { card: '4000000000000002' })
    const ended = await stripe.checkout.sessions.expire(first.id)
    assert.deepEqual([ended.status, ended.url], ['expired', null])
    assert.equal((await stripe.paymentIntents.retrieve(ended.payment_intent as string)).status, 'canceled')
    const twice = await refusal(stripe.checkout.sessions.expire(first.id))
    assert.match(twice.message, /status in \["open"\] can be expired/)
    assert.equal((await pay(first.id)).status, 400)

    const second = await stripe.checkout.sessions.create(orderOf(cardpay))
    cardpay.clock.advance(86_401_000)
    assert.equal((await stripe.checkout.sessions.retrieve(second.id)).status, 'expired')
    const [event] = (await stripe.events.list({ type: 'checkout.session.expired', limit: 1 })).data
    assert.equal((event!.data.object as { id: string }).id, second.id)
    assert.equal((await cardpay.payments()).find(({ id }) => id === second.id)?.state, 'expired')
  })

  test('a canceled payment intent leaves its session open, which cannot be paid', async () => {
    const { stripe } = cardpay
    const { id } = await stripe.checkout.sessions.create(orderOf(cardpay))
    await pay(id, { outcome: 'declined' })
    const { payment_intent: intent } = await stripe.checkout.sessions.retrieve(id)
    const canceled = await stripe.paymentIntents.cancel(intent as string, {
      cancellation_reason: 'abandoned',
    })
    assert.deepEqual([canceled.status, canceled.cancellation_reason], ['canceled', 'abandoned'])
    assert.equal((await stripe.checkout.sessions.retrieve(id)).status, 'open')
    assert.equal((await pay(id)).body.error.code, 'payment_intent_unexpected_state')
    assert.equal((await cardpay.payments())[0]!.state, 'canceled')
    const done = await paid(cardpay)
    const refused = await refusal(stripe.paymentIntents.cancel(done.intent))
    assert.equal(refused.code, 'payment_intent_unexpected_state')
  })

  test('10 payments of a session at once pay it once', async () => {
    const { stripe } = cardpay
    const { id } = await stripe.checkout.sessions.create(orderOf(cardpay))
    const answers = await Promise.all(Array.from({ length: 10 }, () => pay(id)))
    assert.equal(answers.filter(({ status }) => status === 200).length, 1)
    const { payment_intent: intent } = await stripe.checkout.sessions.retrieve(id)
    assert.equal((await stripe.charges.list({ payment_intent: intent as string })).data.length, 1)
  })

  test('webhooks carry the object of their time, and a signature that the official package accepts', async () => {
    const { stripe, webhookSecret } = cardpay
    const { session } = await paid(cardpay)
    const { event } = await cardpay.webhook('checkout.session.completed')
    const own = () =>
      cardpay.received.find(
        (one) =>
          one.event.type === 'checkout.session.completed' &&
          (one.event.data.object as { id: string }).id === session.id,
      )
    while (!own()) await new Promise((resolve) => setTimeout(resolve, 5))
    assert.equal(event.object, 'event')
    const { body, signature } = own()!
    const now = Math.floor(cardpay.clock.now() / 1000)
    const checked = await stripe.webhooks.constructEventAsync(
      body,
      signature,
      webhookSecret,
      300,
      undefined,
      now * 1000,
    )
    const stored = await stripe.events.retrieve(checked.id)
    assert.equal(stored.type, 'checkout.session.completed')
    assert.deepEqual(JSON.parse(JSON.stringify(stored.data.object)), JSON.parse(body).data.object)
    assert.equal(stored.api_version, Stripe.API_VERSION)
    await assert.rejects(
      stripe.webhooks.constructEventAsync(
        body.replace('complete', 'open'),
        signature,
        webhookSecret,
        300,
        undefined,
        now * 1000,
      ),
      Stripe.errors.StripeSignatureVerificationError,
    )
  })
})
