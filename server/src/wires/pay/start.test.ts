// What a start with few or wrong variables does, and what /pay/health says.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { sql } from '../../db/sql.ts'
import { startApp, testClock } from '../../testing/app.ts'
import { refused } from '../../testing/assemble.ts'
import { anyEngine } from '../../testing/engines.ts'
import { until } from '../../testing/until.ts'
import { createBank } from './bank.fixture.ts'
import { startTill } from './pay.fixture.ts'

describe('a server that takes payments', () => {
  anyEngine((engine) => {
    test('without a provider answers PROVIDER_NOT_CONFIGURED, and names its variables', async (t) => {
      const app = await startApp(t, engine)
      const { token } = await app.register()
      const urls = { successUrl: 'https://shop.example/', cancelUrl: 'https://shop.example/' }
      const items = [{ name: 'Tea', amount: 100, currency: 'eur' }]
      for (const [path, body, variable] of [
        ['/pay/cardpay/checkout', { items, ...urls }, /STRIPE_SECRET_KEY/],
        [
          '/pay/walletpay/order',
          { amount: 1, currency: 'EUR', returnUrl: urls.successUrl, ...urls },
          /PAYPAL_CLIENT_ID/,
        ],
      ] as const) {
        const answered = await app.request('POST', path, { token, body })
        assert.deepEqual([answered.status, answered.body.error.code], [400, 'PROVIDER_NOT_CONFIGURED'])
        assert.match(answered.body.error.message, variable)
      }
      const { status, body } = await app.request('GET', '/pay/health')
      const none = 'not_configured'
      assert.equal(status, 200)
      assert.deepEqual(body, {
        status: 'healthy',
        providers: { cardpay: none, walletpay: none, onchain: none },
      })
    })

    test('does not start with half of a provider', async (t) => {
      await refused(t, /STRIPE_SECRET_KEY: it is not set/, {
        environment: { STRIPE_WEBHOOK_SECRET: 'whsec_1', SIXWIRE_SANDBOX: 'off' },
      })
      await refused(t, /PAYPAL_CLIENT_SECRET: it is not set/, {
        environment: { PAYPAL_CLIENT_ID: 'client', SIXWIRE_SANDBOX: 'off' },
      })
    })

    for (const host of ['shop.example:99999', '999.999.999.999', '[:::]'])
      test(`does not start with the return host ${host}`, async (t) => {
        await refused(t, /^PAYMENT_RETURN_HOSTS: ".*" is not a host/, {
          environment: { PAYMENT_RETURN_HOSTS: `shop.example,${host}` },
        })
      })

    for (const [which, environment] of [
      ['a secret key of Stripe', { STRIPE_SECRET_KEY: 'sk_live_1234' }],
      ['a restricted key of Stripe', { STRIPE_SECRET_KEY: 'rk_live_1234' }],
      ['the API of PayPal', { PAYPAL_CLIENT_ID: 'client', PAYPAL_CLIENT_SECRET: 'secret' }],
    ] as const)
      test(`does not start with ${which} that is live under a policy that nobody chose`, async (t) => {
        const live = { SIXWIRE_SANDBOX: 'off', ...environment }
        const hint = /^SIXWIRE_POLICY: .*live credentials of (stripe|paypal).*guarded, or open/
        await refused(t, hint, { environment: live })
        for (const policy of ['guarded', 'open'] as const)
          await startApp(t, engine, { environment: { ...live, SIXWIRE_POLICY: policy } })
        await startApp(t, engine, { environment: live, config: { policy: 'open' } })
      })

    test('starts with keys of test accounts under any policy', async (t) => {
      await startApp(t, engine, {
        environment: {
          SIXWIRE_SANDBOX: 'off',
          STRIPE_SECRET_KEY: 'sk_test_1234',
          PAYPAL_CLIENT_ID: 'client',
          PAYPAL_CLIENT_SECRET: 'secret',
          PAYPAL_API_BASE: 'https://api-m.sandbox.paypal.com',
        },
      })
    })

    test('reports a provider as connected after a call only, and remembers that for ten seconds', async (t) => {
      const clock = testClock()
      const bank = createBank('cardpay', clock)
      let calls = 0
      bank.check = async () => {
        if (calls++ > 0) throw new Error('the key is wrong')
      }
      const till = await startTill(t, engine, { clock, banks: [bank, createBank('walletpay', clock)] })
      const health = async () => {
        const { status, body } = await till.app.request('GET', '/pay/health')
        assert.equal(status, 200)
        return [body.status, body.providers.cardpay, body.providers.walletpay]
      }
      assert.deepEqual(await health(), ['healthy', 'connected', 'connected'])
      assert.deepEqual(await health(), ['healthy', 'connected', 'connected'])
      assert.equal(calls, 1)
      till.app.clock.advance(10_001)
      assert.deepEqual(await health(), ['unhealthy', 'error', 'connected'])
      // A provider that is down is no reason to take the server out of service.
      assert.equal((await till.app.request('GET', '/health')).status, 200)
    })

    test('answers 400 to what the provider refuses of a request, with the provider’s sentence', async (t) => {
      const app = await startApp(t, engine, { sandbox: true })
      const { token } = await app.register()
      const { status, body } = await app.request('POST', '/pay/cardpay/checkout', {
        token,
        body: {
          items: [{ name: 'Tea', amount: 49, currency: 'eur' }],
          successUrl: 'https://shop.example/',
          cancelUrl: 'https://shop.example/',
        },
      })
      assert.deepEqual([status, body.error.code], [400, 'VALIDATION_ERROR'])
      const [issue] = body.error.details.issues
      assert.equal(issue.path, '/body/items')
      assert.match(issue.message, /at least 0\.50 eur/)
      assert.equal((await app.request('GET', '/pay/transactions', { token })).body.total, 0)
    })

    for (const [where, environment, taken, refusedUrls] of [
      [
        'in production to APP_URL only',
        { NODE_ENV: 'production', APP_URL: 'https://shop.example/app' },
        ['https://shop.example/', 'https://SHOP.example/paid?id={CHECKOUT_SESSION_ID}'],
        [
          'http://shop.example/',
          'https://shop.example.evil.example/',
          'https://evil.example/?shop.example',
          'https://www.shop.example/',
          'http://localhost:8080/',
        ],
      ],
      [
        'to the hosts that PAYMENT_RETURN_HOSTS names',
        {
          NODE_ENV: 'production',
          PAYMENT_RETURN_HOSTS:
            'Shop.example,pay.example:8443,localhost,bank.example:443,old.example:80,[::1]:8443',
        },
        [
          'https://shop.example:8443/',
          'https://pay.example:8443/',
          'http://localhost:8080/',
          'https://bank.example/',
          'https://[::1]:8443/',
          'https://shop.example\\@evil.example/',
        ],
        [
          'https://pay.example/',
          'https://evil.example/',
          'https://bank.example:8443/',
          'https://old.example/',
          'https://old.example:8443/',
          'https://[::1]/',
          'https://evil.example\\@shop.example/',
        ],
      ],
      [
        'anywhere by https with PAYMENT_RETURN_HOSTS=*, and to this machine',
        { NODE_ENV: 'production', PAYMENT_RETURN_HOSTS: '*' },
        ['https://any.example/', 'http://localhost:8080/'],
        ['http://any.example/'],
      ],
      ['outside production anywhere', {}, ['http://any.example/'], []],
      [
        'outside production to named hosts',
        { PAYMENT_RETURN_HOSTS: 'a.example' },
        ['http://a.example'],
        ['http://b.example'],
      ],
    ] as const)
      test(`sends a buyer back ${where}`, async (t) => {
        const till = await startTill(t, engine, { environment: { HOST: '127.0.0.1', ...environment } })
        const cancelUrl = taken[0]
        const checkout = (successUrl: string) =>
          till.call('POST /pay/cardpay/checkout', {
            items: [{ name: 'Tea', amount: 500, currency: 'eur' }],
            successUrl,
            cancelUrl,
          })
        const order = (url: string) =>
          till.call('POST /pay/walletpay/order', {
            amount: 5,
            currency: 'EUR',
            returnUrl: cancelUrl,
            cancelUrl: url,
          })
        for (const url of taken)
          for (const { status, text } of [await checkout(url), await order(url)])
            assert.equal(status, 200, text)
        for (const url of refusedUrls)
          for (const [{ status, body }, path] of [
            [await checkout(url), '/body/successUrl'],
            [await order(url), '/body/cancelUrl'],
          ] as const) {
            assert.deepEqual([status, body.error.details.issues[0].path], [400, path], url)
            if (url.startsWith('https:'))
              assert.match(body.error.details.issues[0].message, /PAYMENT_RETURN_HOSTS/)
          }
      })

    test('takes the old name of `reconcile`, with a warning', async (t) => {
      const start = (pay: object) => startTill(t, engine, { config: { pay } })
      const warningsOf = ({ app }: Awaited<ReturnType<typeof start>>) =>
        app.app.warnings.filter((line) => line.startsWith('pay.sweep'))
      assert.deepEqual(warningsOf(await start({ reconcile: { eventsSeconds: 600 } })), [])
      const till = await start({ sweep: { eventsSeconds: 600 } })
      assert.deepEqual(warningsOf(till), ['pay.sweep: this option is called pay.reconcile now'])
      const isListed = sql`select 1 from pay_event_cursors where provider = 'cardpay'`
      await until(async () => (await till.app.app.db.get(isListed)) !== undefined)
      let isListedAgain = false
      till.card.listedUntil = () => {
        isListedAgain = true
        return undefined
      }
      // The default is an hour.
      till.app.clock.advance(601_000)
      await until(() => isListedAgain)
    })
  })
})
