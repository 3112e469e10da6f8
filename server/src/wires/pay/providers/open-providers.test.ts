import assert from 'node:assert/strict'
import { test } from 'node:test'

import { systemClock } from '../../../base/clock.ts'
import { openProviders } from './open-providers.ts'

const open = (apiBase: string, production: boolean) =>
  Promise.all([
    openProviders(
      {
        clock: systemClock,
        settings: {
          production,
          policy: 'guarded',
          isPolicySet: false,
        },
      },
      { stripe: { secretKey: 'sk_test_1', apiBase } },
    ),
    openProviders(
      {
        clock: systemClock,
        settings: {
          production,
          policy: 'guarded',
          isPolicySet: false,
        },
      },
      { paypal: { clientId: 'id', clientSecret: 'secret', apiBase } },
    ),
  ])

test('the addresses of the providers are https in production, except on this machine', async () => {
  for (const base of [
    'https://api.example',
    'http://localhost:3000/pay',
    'http://127.0.0.1',
    'http://[::1]:1',
  ])
    await open(base, true)
  await open('http://api.example', false)
  for (const [options, variable] of [
    [{ stripe: { secretKey: 'sk_test_1', apiBase: 'http://api.example/v1' } }, 'STRIPE_API_BASE'],
    [
      { paypal: { clientId: 'id', clientSecret: 'secret', apiBase: 'http://api.example' } },
      'PAYPAL_API_BASE',
    ],
  ] as const)
    await assert.rejects(
      openProviders(
        {
          clock: systemClock,
          settings: {
            production: true,
            policy: 'guarded',
            isPolicySet: false,
          },
        },
        options,
      ),
      {
        name: 'StartError',
        message: `${variable}: "http://api.example" must be https in production`,
      },
    )
})
