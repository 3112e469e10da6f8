import assert from 'node:assert/strict'
import { verify, X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'

import { someEngine } from '../../../server/src/testing/engines.ts'
import {
  pay,
  refund,
  startWallet,
  walletForAll,
  type Json,
  type Received,
  type WalletServer,
} from './walletpay.fixture.ts'

const typesOf = (received: readonly Received[]): string[] =>
  received.map(({ event }) => event.event_type as string).toSorted()

const verification = ({ headers, event }: Received, webhookId: string): Json => ({
  auth_algo: headers['paypal-auth-algo'],
  cert_url: headers['paypal-cert-url'],
  transmission_id: headers['paypal-transmission-id'],
  transmission_sig: headers['paypal-transmission-sig'],
  transmission_time: headers['paypal-transmission-time'],
  webhook_id: webhookId,
  webhook_event: event,
})

const statusOf = async (wallet: WalletServer, body: Json): Promise<string> =>
  (await wallet.call('POST', '/v1/notifications/verify-webhook-signature', body)).body.verification_status

someEngine((engine) => {
  const empty = walletForAll(engine)

  test('webhooks are signed for the configured webhook, and their certificate proves it', async (t) => {
    const webhookId = '8PT597110X687430LKGECATA'
    const wallet = await startWallet(t, engine, { webhookId })
    await pay(wallet)
    const received = await wallet.webhooks(3)
    assert.deepEqual(typesOf(received), [
      'CHECKOUT.ORDER.APPROVED',
      'CHECKOUT.ORDER.COMPLETED',
      'PAYMENT.CAPTURE.COMPLETED',
    ])
    for (const { headers, text } of received) {
      const [id, time] = [headers['paypal-transmission-id'], headers['paypal-transmission-time']]
      const answered = await fetch(headers['paypal-cert-url']!)
      const { publicKey, validTo } = new X509Certificate(await answered.text())
      assert.equal(headers['paypal-auth-algo'], 'SHA256withRSA')
      assert.ok(new Date(validTo) > new Date())
      const signature = Buffer.from(headers['paypal-transmission-sig']!, 'base64')
      const signed = (body: string) => Buffer.from(`${id}|${time}|${webhookId}|${crc32(body)}`)
      assert.ok(verify('sha256', signed(text), publicKey, signature))
      assert.ok(!verify('sha256', signed(`${text} `), publicKey, signature))
    }
    assert.equal((await wallet.state()).webhookId, webhookId)
    const [webhook] = (await wallet.call('GET', '/v1/notifications/webhooks')).body.webhooks
    assert.deepEqual([webhook.id, webhook.url], [webhookId, `${wallet.url}/pay/walletpay/webhook`])
  })

  test('verify-webhook-signature succeeds for what was sent, and for nothing else', async () => {
    const wallet = await empty()
    await pay(wallet)
    const [one, other] = (await wallet.webhooks(3)) as [Received, Received]
    const { webhookId } = await wallet.state()
    const right = verification(one, webhookId)
    assert.equal(await statusOf(wallet, right), 'SUCCESS')
    for (const change of [
      { webhook_event: { ...one.event, summary: 'Another' } },
      { webhook_event: other.event },
      { webhook_id: 'ANOTHER' },
      { transmission_id: other.headers['paypal-transmission-id'] },
      { transmission_time: '2026-01-01T00:00:00Z' },
      { transmission_sig: other.headers['paypal-transmission-sig'] },
      { transmission_sig: 'garbage' },
      { cert_url: 'https://api.paypal.com/v1/notifications/certs/CERT-1' },
      { auth_algo: 'SHA1withRSA' },
    ])
      assert.equal(await statusOf(wallet, { ...right, ...change }), 'FAILURE', JSON.stringify(change))
    const { transmission_sig: _, ...unsigned } = right
    const refused = await wallet.call('POST', '/v1/notifications/verify-webhook-signature', unsigned)
    assert.equal(refused.status, 400)
  })

  test('every change of a payment is an event', async () => {
    const wallet = await empty()
    const drive = (path: string, body?: unknown) => wallet.drive('POST', `/walletpay/${path}`, body)
    const { captureId } = await pay(wallet, 'pending')
    await drive(`captures/${captureId}/settle`, { status: 'completed' })
    for (const status of ['failed', 'completed']) {
      const { body } = await refund(wallet, captureId, '1.00')
      await drive(`refunds/${body.id}/settle`, { status })
    }
    const { captureId: denied } = await pay(wallet, 'pending')
    await drive(`captures/${denied}/settle`, { status: 'denied' })
    const { id: disputed } = await pay(wallet)
    const opened = (await drive(`orders/${disputed}/dispute`)).body
    const [listed] = (await wallet.drive('GET', '/walletpay')).body.orders
    assert.equal(listed.id, opened.id)
    await drive(`disputes/${listed.dispute.id}/review`)
    await drive(`disputes/${listed.dispute.id}/close`, { outcome: 'lost' })
    const received = await wallet.webhooks(18)
    const counts = Object.entries(
      Object.groupBy(typesOf(received), (type) => type) as Record<string, string[]>,
    ).map(([type, all]) => `${type} ${all.length}`)
    assert.deepEqual(counts, [
      'CHECKOUT.ORDER.APPROVED 3',
      'CHECKOUT.ORDER.COMPLETED 3',
      'CUSTOMER.DISPUTE.CREATED 1',
      'CUSTOMER.DISPUTE.RESOLVED 1',
      'CUSTOMER.DISPUTE.UPDATED 1',
      'PAYMENT.CAPTURE.COMPLETED 2',
      'PAYMENT.CAPTURE.DENIED 1',
      'PAYMENT.CAPTURE.PENDING 2',
      'PAYMENT.CAPTURE.REFUNDED 1',
      'PAYMENT.REFUND.FAILED 1',
      'PAYMENT.REFUND.PENDING 2',
    ])
    const failed = received.find(({ event }) => event.event_type === 'PAYMENT.REFUND.FAILED')!.event
    assert.equal(failed.resource_type, 'refund')
    const up = failed.resource.links.find((one: Json) => one.rel === 'up').href
    assert.ok(up.endsWith(`/v2/payments/captures/${captureId}`))
    const dispute = received.find(({ event }) => event.event_type === 'CUSTOMER.DISPUTE.RESOLVED')!.event
    assert.equal(dispute.resource.dispute_outcome.outcome_code, 'RESOLVED_BUYER_FAVOUR')
  })

  test('events are listed in pages, by type and time, and sent again', async () => {
    const wallet = await empty()
    await pay(wallet)
    const sent = await wallet.webhooks(3)
    const path = '/v1/notifications/webhooks-events'
    const pages: string[] = []
    let next: string | undefined = `${path}?page_size=2`
    for (let count = 0; next !== undefined && count < 5; count++) {
      const { body } = await wallet.call('GET', next)
      assert.equal(body.count, body.events.length)
      pages.push(...body.events.map((one: Json) => one.id))
      const href = body.links.find((one: Json) => one.rel === 'next')?.href as string | undefined
      next = href?.slice(wallet.address.length)
    }
    assert.deepEqual(pages.toSorted(), sent.map(({ event }) => event.id as string).toSorted())
    const only = await wallet.call('GET', `${path}?event_type=CHECKOUT.ORDER.APPROVED`)
    assert.deepEqual(typesOf(only.body.events.map((event: Json) => ({ event }))), ['CHECKOUT.ORDER.APPROVED'])
    const later = new Date(wallet.clock.now() + 60_000).toISOString()
    assert.equal((await wallet.call('GET', `${path}?start_time=${later}`)).body.count, 0)
    assert.equal((await wallet.call('GET', `${path}?end_time=${later}`)).body.count, 3)

    const { id } = sent[0]!.event
    assert.deepEqual((await wallet.call('GET', `${path}/${id}`)).body, sent[0]!.event)
    const again = await wallet.call('POST', `${path}/${id}/resend`, {})
    assert.equal(again.status, 202)
    const repeated = (await wallet.webhooks(4))[3]!
    assert.equal(repeated.text, sent[0]!.text)
    assert.equal(await statusOf(wallet, verification(repeated, (await wallet.state()).webhookId)), 'SUCCESS')
    wallet.clock.advance(30 * 86_400_000 + 60_000)
    assert.equal((await wallet.call('GET', path)).body.count, 0)
  })

  test('webhooks are lost and doubled by faults, and sent again if they are refused', async () => {
    const wallet = await empty()
    await wallet.drive('PUT', '/faults/walletpay', { callback: 'lost' })
    await pay(wallet)
    assert.equal((await wallet.state()).webhooksWaiting, 0)
    assert.equal((await wallet.call('GET', '/v1/notifications/webhooks-events')).body.count, 3)
    await wallet.drive('PUT', '/faults/walletpay', { callback: 'doubled' })
    const { id } = await pay(wallet)
    const received = await wallet.webhooks(6)
    assert.equal(new Set(received.map(({ text }) => text)).size, 3)
    await wallet.drive('PUT', '/faults/walletpay', {})
    wallet.answers.push(500)
    await wallet.drive('POST', `/walletpay/orders/${id}/refund`, { amount: '1.00' })
    await wallet.webhooks(7)
    await wallet.clock.through(wallet.webhooks(8))
    assert.equal(received[6]!.text, received[7]!.text)
  })

  test('two servers use one key', async (t) => {
    const first = await startWallet(t, engine)
    const second = await startWallet(t, engine, { databaseUrl: first.databaseUrl, clock: first.clock })
    await Promise.all([pay(first), pay(second)])
    while (first.received.length + second.received.length < 6)
      await new Promise((resolve) => setTimeout(resolve, 10))
    const urls = [...first.received, ...second.received].map(({ headers }) =>
      headers['paypal-cert-url']!.split('/').at(-1)!,
    )
    assert.equal(new Set(urls).size, 1)
  })
})
