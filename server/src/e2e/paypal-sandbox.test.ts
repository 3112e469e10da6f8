// The PayPal provider at the sandbox's wallet provider: two readings of PayPal's API, written apart from each other.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'

import { newId } from '../base/ids.ts'
import { startWallet, type WalletServer } from '../../../sandbox/src/walletpay/walletpay.fixture.ts'
import { someEngine, type Engine } from '../testing/engines.ts'
import type { LedgerEntry, Outcome, ProviderEvent, PaymentSnapshot } from '../wires/pay/providers/provider.ts'
import { paypal } from '../wires/pay/providers/paypal.ts'

const LIMIT_MS = 10_000

const brief = ({ kind, status, amount }: LedgerEntry): string => `${kind} ${status} ${amount}`

function accept<T extends object>(outcome: Outcome<T>): T {
  if (outcome.kind !== 'accepted') assert.fail(`${outcome.kind}: ${outcome.reason}`)
  return outcome
}
const refusal = (outcome: Outcome): unknown[] =>
  outcome.kind === 'refused' ? [outcome.kind, outcome.code] : [outcome.kind]

/** A shop: the provider with an order, and what its buyer and its operator do at the sandbox. */
async function startShop(t: TestContext, engine: Engine) {
  const wallet = await startWallet(t, engine)
  const { clientId, clientSecret, webhookId } = await wallet.state()
  const provider = paypal({ clientId, clientSecret, webhookId, apiBase: wallet.address }, wallet.clock)
  const transactionId = newId()
  const { reference, url } = accept(
    await provider.create(
      {
        id: transactionId,
        createdAt: wallet.clock.now(),
        amount: 1230n,
        currency: 'EUR',
        description: 'Two mugs',
        successUrl: 'https://shop.example/thanks',
        cancelUrl: 'https://shop.example/basket',
      },
      LIMIT_MS,
    ),
  )
  const capture = (id = newId()) => provider.capture({ id, transactionId, reference }, LIMIT_MS)
  const drive = async (path: string, body: object = {}): Promise<void> => {
    const { status, text } = await wallet.drive('POST', `/walletpay/${path}`, body)
    assert.equal(status, 200, text)
  }
  return {
    wallet,
    provider,
    transactionId,
    reference,
    url,
    capture,
    drive,
    /** Approves the order with a kind of funding, and captures it. */
    async pay(funding = 'balance'): Promise<PaymentSnapshot & { paymentId: string }> {
      await drive(`orders/${reference}/approve`, { funding })
      const { snapshot } = accept(await capture())
      return { ...snapshot, paymentId: snapshot.paymentId! }
    },
    refund: (paymentId: string, amount: bigint, id = newId()) =>
      provider.refund({ id, transactionId, reference, paymentId, amount, currency: 'EUR' }, LIMIT_MS),
    async look(subject: object = { reference }): Promise<PaymentSnapshot> {
      return accept(await provider.retrieve({ ...subject, since: 0 }, LIMIT_MS)).snapshot
    },
    /** Receives webhooks until one has the type. */
    async webhook(type: string): Promise<ProviderEvent> {
      for (let count = 1; ; count++) {
        const { headers, text } = (await wallet.webhooks(count))[count - 1]!
        const [event] = await receive(provider, headers, text)
        if (event?.type === type) return event
      }
    },
  }
}

const receive = (
  provider: ReturnType<typeof paypal>,
  headers: WalletServer['received'][number]['headers'],
  text: string,
): Promise<readonly ProviderEvent[]> => {
  provider.authorize(headers)
  return provider.receive({
    headers,
    bytes: Buffer.from(text),
    contentType: 'application/json',
    url: '/pay/walletpay/webhook',
    publicUrl: 'https://shop.example/pay/walletpay/webhook',
  })
}

someEngine((engine) => {
  test('PayPal at the sandbox: an order is approved, captured once and refunded in part', async (t) => {
    const shop = await startShop(t, engine)
    await shop.provider.check()
    assert.deepEqual((await shop.look()).entries, [])
    assert.deepEqual(refusal(await shop.capture()), ['refused', 'not_approved'])
    const key = newId()
    await shop.drive(`orders/${shop.reference}/approve`)
    const { snapshot } = accept(await shop.capture(key))
    assert.deepEqual(snapshot.entries.map(brief), ['charge completed 1230'])
    assert.equal(snapshot.transactionId, shop.transactionId)
    assert.deepEqual(accept(await shop.capture(key)).snapshot, snapshot)
    assert.deepEqual(refusal(await shop.capture()), ['unknown'])

    const paymentId = snapshot.paymentId!
    const refundKey = newId()
    const { entry } = accept(await shop.refund(paymentId, 615n, refundKey))
    assert.deepEqual([brief(entry), entry.callId], ['refund completed 615', refundKey])
    assert.deepEqual(accept(await shop.refund(paymentId, 615n, refundKey)).entry, entry)
    assert.deepEqual(refusal(await shop.refund(paymentId, 616n)), ['refused', 'state'])
    const looked = await shop.look()
    assert.deepEqual(looked.entries.map(brief), ['charge completed 1230', 'refund completed 615'])
    assert.equal(looked.entries[1]?.callId, refundKey)
    assert.deepEqual(await shop.look({ paymentId }), looked)
  })

  test('PayPal at the sandbox: a decline tells where to pay otherwise; then it is paid', async (t) => {
    const shop = await startShop(t, engine)
    await shop.drive(`orders/${shop.reference}/approve`, { funding: 'declined' })
    const declined = await shop.capture()
    assert.deepEqual(refusal(declined), ['refused', 'declined'])
    assert.match((declined.kind === 'refused' && declined.details?.['url']) || '', /^http/)
    assert.deepEqual((await shop.look()).entries, [])
    assert.deepEqual((await shop.pay()).entries.map(brief), ['charge completed 1230'])
  })

  test('PayPal at the sandbox: a pending capture ends, and its webhook names it', async (t) => {
    const shop = await startShop(t, engine)
    const { paymentId, entries } = await shop.pay('pending')
    assert.deepEqual(entries.map(brief), ['charge pending 1230'])
    assert.deepEqual(refusal(await shop.refund(paymentId, 1n)), ['refused', 'state'])
    await shop.drive(`captures/${paymentId}/settle`, { status: 'denied' })
    const { subject } = await shop.webhook('PAYMENT.CAPTURE.DENIED')
    assert.deepEqual(subject, { paymentId, reference: shop.reference, transactionId: shop.transactionId })
    assert.deepEqual((await shop.look(subject)).entries.map(brief), ['charge failed 1230'])
  })

  test('PayPal at the sandbox: disputes and reversals are found by their webhooks', async (t) => {
    const disputed = await startShop(t, engine)
    const { paymentId } = await disputed.pay()
    await disputed.drive(`orders/${disputed.reference}/dispute`)
    const opened = await disputed.webhook('CUSTOMER.DISPUTE.CREATED')
    assert.equal(opened.subject?.paymentId, paymentId)
    assert.deepEqual((await disputed.look(opened.subject)).entries.map(brief), [
      'charge completed 1230',
      'dispute open 1230',
    ])
    assert.deepEqual(refusal(await disputed.refund(paymentId, 1n)), ['refused', 'state'])
    await disputed.drive(`disputes/${opened.subject?.objects?.[0]?.id}/close`, { outcome: 'lost' })
    const lost = await disputed.webhook('CUSTOMER.DISPUTE.RESOLVED')
    assert.equal((await disputed.look(lost.subject)).entries[1]?.status, 'lost')

    const reversed = await startShop(t, engine)
    await reversed.pay()
    await reversed.drive(`orders/${reversed.reference}/reverse`)
    const { subject } = await reversed.webhook('PAYMENT.CAPTURE.REVERSED')
    assert.deepEqual((await reversed.look(subject)).entries.map(brief), [
      'charge completed 1230',
      'reversal completed 1230',
    ])
  })

  test('PayPal at the sandbox: webhooks are verified, listed, and refused if altered', async (t) => {
    const shop = await startShop(t, engine)
    await shop.pay()
    const { payload, ...event } = await shop.webhook('PAYMENT.CAPTURE.COMPLETED')
    assert.ok(payload, 'a webhook has what it says, a list has not')
    const { clock, received } = shop.wallet
    clock.advance(120_000)
    const listed = accept(await shop.provider.events(clock.now() - 3_600_000, LIMIT_MS))
    assert.deepEqual(
      listed.events.find(({ id }) => id === event.id),
      event,
    )
    const { headers, text } = received[0]!
    await assert.rejects(receive(shop.provider, headers, text.replace('{', '{ ')), {
      code: 'INVALID_SIGNATURE',
    })
  })
})
