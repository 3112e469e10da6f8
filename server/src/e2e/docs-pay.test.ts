// The examples of docs/pay.md run.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'

import { loadConfig } from '../app.ts'
import { startApp } from '../testing/app.ts'
import { someEngine } from '../testing/engines.ts'
import { applicationFolder, blocksOf, shell } from '../testing/examples.ts'
import { until } from '../testing/until.ts'

/** The service that the provider of docs/pay.md calls, with one payment. */
async function startAcme(t: TestContext) {
  type Payment = { refunds: { id: string }[] } & Record<string, unknown>
  const service: { url: string; keys: unknown[]; payment?: Payment } = { url: '', keys: [] }
  const answers: Record<string, (body: object) => unknown> = {
    '/payments': (body) =>
      (service.payment = {
        id: 'p-1',
        state: 'open',
        url: 'https://acme.example/pay/p-1',
        refunds: [],
        ...body,
      }),
    '/payments/p-1': () => service.payment,
    '/refunds'(body) {
      const refund = { id: 'r-1', state: 'completed', ...body }
      service.payment!.refunds.push(refund)
      return refund
    },
    '/events': () => ({ events: [], until: 0 }),
    '/account': () => ({}),
  }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const key = request.headers['idempotency-key']
      if (key !== undefined) service.keys.push(key)
      const body = chunks.length === 0 ? {} : JSON.parse(Buffer.concat(chunks).toString())
      const answer = answers[request.url!.split('?', 1)[0]!]
      response.statusCode = answer ? 200 : 404
      response.end(JSON.stringify(answer?.(body) ?? {}))
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => void server.close())
  service.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return service
}

someEngine((engine) => {
  test('the payments of docs/pay.md are made and refunded', async (t) => {
    const app = await startApp(t, engine, { sandbox: true })
    const { token: TOKEN } = await app.register()
    const examples = await blocksOf('docs/pay.md', 'sh')
    const [backend, checkout, pay, read, order, approve, capture, cancel, refund, list, ...ours] =
      examples.filter((one) => !/onchain|chains|pay sweep/.test(one))
    const { _id: USER, token: buyer } = await app.register()
    const { key: KEY } = await app.app.service('auth').keys.create('shop', ['pay'])
    const sold = JSON.parse(await shell(backend!, app, { KEY, USER }))
    const own = await app.request('GET', `/pay/transactions/${sold.transactionId}`, { token: buyer })
    assert.deepEqual(
      [own.body.userId, own.body.merchantReference, own.body.displayAmount],
      [USER, 'order-1042', '12.50'],
    )

    const { sessionId, url, transactionId } = JSON.parse(await shell(checkout!, app, { TOKEN }))
    assert.equal((await fetch(url)).status, 200)
    await shell(pay!, app, { SESSION: sessionId })
    const environment = { TOKEN, TRANSACTION: transactionId }
    // The webhook comes after the payment.
    const path = `/pay/transactions/${transactionId}`
    await until(async () => (await app.request('GET', path, { token: TOKEN })).body.status !== 'pending')
    const paid = JSON.parse(await shell(read!, app, environment))
    assert.deepEqual([paid.status, paid.displayAmount], ['completed', '25.00'])

    const { orderId } = JSON.parse(await shell(order!, app, { TOKEN }))
    await shell(approve!, app, { ORDER: orderId })
    const captured = JSON.parse(await shell(capture!, app, { TOKEN, ORDER: orderId }))
    assert.equal(captured.status, 'COMPLETED')

    const { transactionId: unpaid } = JSON.parse(await shell(checkout!, app, { TOKEN }))
    const cancelled = JSON.parse(await shell(cancel!, app, { TOKEN, TRANSACTION: unpaid }))
    assert.equal(cancelled.status, 'cancelled')

    for (const round of ['first', 'repeated']) {
      const { status, amount } = JSON.parse(await shell(refund!, app, environment))
      assert.deepEqual([status, amount], ['completed', 1000], round)
    }
    const { transactions, total } = JSON.parse(await shell(list!, app, { TOKEN }))
    assert.deepEqual([total, transactions[0].refundedAmount], [1, 1000])

    const [timeline, summary, aggregate, events, replay] = ours
    const { entries } = JSON.parse(await shell(timeline!, app, environment))
    const states = entries.filter(({ kind }: { kind: string }) => kind === 'status')
    assert.equal(states.at(-1).status, 'partially_refunded')
    const { sums } = JSON.parse(await shell(summary!, app, { TOKEN }))
    const refunded = sums.find(({ status }: { status: string }) => status === 'partially_refunded')
    assert.deepEqual([refunded.captured, refunded.refunded, refunded.exponent], ['2500', '1000', 2])
    const { data } = JSON.parse(await shell(aggregate!, app, { TOKEN }))
    const euros = data.find(({ by }: { by: { currency: string } }) => by.currency === 'EUR')
    assert.equal(euros.sum.refundedAmount, '10.00')
    const inbox = `/pay/events?transactionId=${transactionId}`
    await until(async () => (await app.request('GET', inbox, { token: TOKEN })).body.events.length > 0)
    const stored = JSON.parse(await shell(events!, app, environment)).events
    const replayed = JSON.parse(await shell(replay!, app, { TOKEN, EVENT: stored[0]._id }))
    assert.equal(replayed.transactionId, transactionId)
  })

  test('the provider of docs/pay.md takes a payment, and its webhook', async (t) => {
    const service = await startAcme(t)
    const [, provider] = await blocksOf('docs/pay.md', 'ts')
    const folder = await applicationFolder(t, {
      'acme.ts': provider!,
      'sixwire.config.ts': `
        import { defineConfig } from 'sixwire'
        import { acme } from './acme.ts'
        export default defineConfig({ pay: { cardpay: acme({ url: '${service.url}', token: 'a token' }) } })`,
    })
    const app = await startApp(t, engine, { config: await loadConfig(folder) })
    const { token } = await app.register()
    const health = await app.request('GET', '/pay/health')
    assert.equal(health.body.providers.cardpay, 'connected')
    const items = [{ name: 'Momo', amount: 1250, currency: 'eur' }]
    const body = { items, successUrl: 'https://shop.example/', cancelUrl: 'https://shop.example/' }
    const { transactionId, url } = (await app.request('POST', '/pay/cardpay/checkout', { token, body })).body
    assert.equal(url, 'https://acme.example/pay/p-1')

    service.payment!.state = 'paid'
    const event = (secret: string) => {
      const raw = JSON.stringify({ id: 'e-1', type: 'paid', payment: 'p-1' })
      const signature = createHmac('sha256', secret).update(raw).digest('hex')
      return app.request('POST', '/pay/cardpay/webhook', { raw, headers: { 'x-acme-signature': signature } })
    }
    assert.deepEqual([(await event('x')).status, (await event('a token')).status], [400, 200])
    const read = async () => (await app.request('GET', `/pay/transactions/${transactionId}`, { token })).body
    // The event is handled after the answer.
    while ((await read()).status === 'pending') await setImmediate()
    assert.equal((await read()).history[1].cause, 'event e-1')

    const refund = { token, body: { transactionId, amount: 250 } }
    const { status, amount, refundId } = (await app.request('POST', '/pay/cardpay/refund', refund)).body
    assert.deepEqual([status, amount], ['completed', 250])
    assert.equal((await read()).status, 'partially_refunded')
    assert.deepEqual(service.keys, [transactionId, refundId])
    await app.app.service('pay').retrieve(transactionId)
    assert.equal((await read()).refunds.length, 1)
  })

  test('the configuration of docs/pay.md starts a server', async (t) => {
    const [block] = await blocksOf('docs/pay.md', 'ts')
    // Nothing is to be asked of Stripe and PayPal themselves.
    const away = block!.replaceAll(/(secretKey|clientId): '/g, "apiBase: 'http://127.0.0.1:9', $&")
    const folder = await applicationFolder(t, {
      'sixwire.config.ts': `import { defineConfig } from 'sixwire'\n${away}`,
    })
    const app = await startApp(t, engine, { config: await loadConfig(folder) })
    const { status, body } = await app.request('GET', '/pay/health')
    assert.equal(status, 200)
    assert.deepEqual(body.providers, { cardpay: 'error', walletpay: 'error', onchain: 'not_configured' })
  })
})
