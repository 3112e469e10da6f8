import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { test } from 'node:test'

import Stripe from 'stripe'

import { appForAll } from '../../../server/src/testing/auth.ts'
import { stillClock } from '../../../server/src/testing/clock.ts'
import { someEngine } from '../../../server/src/testing/engines.ts'
import { orderOf, paid, startCardpay } from './cardpay.fixture.ts'
import { LATER_MS } from './change.ts'

someEngine((engine) => {
  const app = appForAll(engine, { sandbox: true })

  test('everything survives a restart: objects, stored answers, and what is still to happen', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    // Still: on a slow machine the dispute would be opened before the second server is asked.
    const clock = stillClock()
    const first = await startCardpay(t, engine, { databaseUrl, clock })
    const created = await first.stripe.checkout.sessions.create(orderOf(first), { idempotencyKey: 'order' })
    const { intent } = await paid(first, { card: '4000000000000259' })
    await first.stop()
    const second = await startCardpay(t, engine, { databaseUrl, clock })
    assert.equal((await second.stripe.checkout.sessions.retrieve(created.id)).status, 'open')
    assert.equal((await second.stripe.paymentIntents.retrieve(intent)).status, 'succeeded')
    assert.equal((await second.stripe.disputes.list({ payment_intent: intent })).data.length, 0)
    clock.advance(LATER_MS)
    await second.webhook('charge.dispute.created')
    assert.equal((await second.stripe.disputes.list({ payment_intent: intent })).data.length, 1)
  })

  test('a reset deletes all, also what is still to happen', async (t) => {
    const cardpay = await startCardpay(t, engine)
    await paid(cardpay, { card: '4000000000000259' })
    assert.equal((await cardpay.request('DELETE', '/sandbox/api')).status, 200)
    cardpay.clock.advance(LATER_MS)
    assert.deepEqual(await cardpay.payments(), [])
    assert.deepEqual((await cardpay.stripe.events.list()).data, [])
    assert.deepEqual((await cardpay.stripe.balance.retrieve()).available, [])
    const { cardpay: state } = (await cardpay.request('GET', '/sandbox/api')).body as unknown as {
      cardpay: Record<string, unknown>
    }
    assert.deepEqual([state['sessions'], state['events'], state['webhooksWaiting']], [0, 0, 0])
  })

  test('webhooks are signed with the configured secret, and lost or doubled by a fault, also those of a buyer', async (t) => {
    const webhookSecret = 'whsec_of_the_operator'
    const cardpay = await startCardpay(t, engine, { webhookSecret })
    const setFault = (fault: unknown) => cardpay.request('PUT', '/sandbox/api/faults/cardpay', fault)
    const { stripe, clock } = cardpay
    await setFault({ callback: 'lost' })
    const lost = await paid(cardpay)
    await setFault({ callback: 'doubled' })
    const { session } = await paid(cardpay)
    const { body, signature } = await cardpay.webhook('checkout.session.completed', 2)
    const event = await stripe.webhooks.constructEventAsync(
      body,
      signature,
      webhookSecret,
      300,
      undefined,
      clock.now(),
    )
    const ids = cardpay.received
      .filter((one) => one.event.type === 'checkout.session.completed')
      .map((one) => [one.event.id, (one.event.data.object as { id: string }).id])
    assert.deepEqual(ids, [
      [event.id, session.id],
      [event.id, session.id],
    ])
    const types = (await stripe.events.list({ limit: 100 })).data.filter(
      ({ data }) => (data.object as { id: string }).id === lost.session.id,
    )
    assert.equal(types.length, 1, 'the event is listed, although its webhook is lost')
  })

  test('with nothing configured the application reaches it', async () => {
    const { cardpay } = (await app().request('GET', '/sandbox/api')).body
    assert.equal(cardpay.inUse, true)
    assert.deepEqual(cardpay.variables, {
      STRIPE_API_BASE: `${app().app.settings.sandboxUrl}/cardpay`,
      STRIPE_SECRET_KEY: cardpay.secretKey,
      STRIPE_WEBHOOK_SECRET: cardpay.webhookSecret,
    })
    assert.match(cardpay.secretKey, /^sk_test_\w{24,}$/)
    const health = await app().request('GET', '/pay/health')
    assert.equal(health.body.providers.cardpay, 'connected')
  })

  test('Stripe’s library, which takes no path, reaches it by its host name', async (t) => {
    const { cardpay } = (await app().request('GET', '/sandbox/api')).body
    const agent = new Agent({
      lookup: (_name, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }]),
    })
    t.after(() => agent.destroy())
    const { port } = new URL(app().url)
    const stripe = new Stripe(cardpay.secretKey, {
      host: 'stripe.localhost',
      port,
      protocol: 'http',
      httpAgent: agent,
    })
    const session = await stripe.checkout.sessions.create(orderOf(app()))
    assert.equal((await stripe.checkout.sessions.retrieve(session.id)).status, 'open')
    const elsewhere = await app().request('GET', '/v1/checkout/sessions')
    assert.equal(elsewhere.status, 404)
  })
})
