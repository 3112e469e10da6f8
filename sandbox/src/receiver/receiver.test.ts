import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Webhook } from 'standardwebhooks'

import { startApp } from '../../../server/src/testing/app.ts'
import { anyEngine } from '../../../server/src/testing/engines.ts'
import { freePort } from '../../../server/src/testing/free-port.ts'
import { until } from '../../../server/src/testing/until.ts'
import { webhookSecret } from '../../../server/src/testing/webhook-receiver.ts'

type Listed = { type: string; isVerified: boolean; status: number | null; eventId: string; body: string }

anyEngine((engine) => {
  test('the receiver of the sandbox lists events with their signatures, and fails if a fault is set', async (t) => {
    const port = await freePort()
    const url = `http://localhost:${port}/sandbox/receiver`
    const secret = webhookSecret()
    const app = await startApp(t, engine, {
      sandbox: true,
      environment: { PORT: String(port) },
      config: { webhooks: [{ name: 'sandbox', url, secret, events: ['auth.user.*'] }] },
    })
    const list = async (): Promise<Listed[]> =>
      (await app.request('GET', '/sandbox/api/receiver')).body.events
    await app.request('PUT', '/sandbox/api/faults/receiver', { body: { error: 503, times: 1 } })
    await app.register('ada@example.com')
    await until(async () => (await list())[0]?.status === 503)
    app.clock.advance(60_000)
    await until(async () => (await list())[0]?.status === 204)
    const [again, first] = await list()
    assert.deepEqual([first!.isVerified, again!.isVerified], [true, true])
    assert.equal(again!.eventId, first!.eventId)
    assert.equal(JSON.parse(again!.body).data.email, 'ada@example.com')

    // What another sender sends, and what is sent again later.
    const post = (key: string, at: number) => {
      const raw = JSON.stringify({ type: 'auth.user.created' })
      const headers = {
        'webhook-id': 'evt_1',
        'webhook-timestamp': String(at),
        'webhook-signature': new Webhook(key).sign('evt_1', new Date(at * 1000), raw),
      }
      return app.request('POST', '/sandbox/receiver', { raw, headers })
    }
    const now = Math.floor(app.clock.now() / 1000)
    assert.equal((await post(secret, now)).status, 204)
    assert.equal((await post(webhookSecret(9), now)).status, 401)
    assert.equal((await post(secret, now - 301)).status, 401)
    const { body } = await app.request('GET', '/sandbox/api')
    assert.deepEqual([body.receiver.isConfigured, body.receiver.events], [true, 5])
  })
})
