import assert from 'node:assert/strict'
import { test } from 'node:test'

import { startWatched } from '../testing/loaded-modules.ts'

// Passwords, mail, images, buckets, archives, payments by card, chains, metrics, the pages at /docs and /console.
const ON_DEMAND =
  /\/node_modules\/(@node-rs|nodemailer|html-to-text|htmlparser2|sharp|file-type|@aws-sdk|tar-stream|age-encryption|stripe|viem|@noble|prom-client|@fastify\/swagger-ui|@fastify\/static|@fastify\/ajv-compiler|yaml|rolldown|@rolldown|preact|@preact|codemirror|@codemirror)\//
// What comes with the first mail to the sandbox; its chains need keys and addresses of viem.
const ON_DEMAND_OF_SANDBOX = /\/node_modules\/(smtp-server|postal-mime|nodemailer)\//

test('a start does not load the packages that only some calls need', async (t) => {
  const server = await startWatched(t, {
    SIXWIRE_SANDBOX: 'off',
    SMTP_URL: 'smtp://127.0.0.1:1',
    MAIL_FROM: 'a@example.com',
    STRIPE_SECRET_KEY: 'sk_test_of_the_tests',
    STRIPE_API_BASE: 'http://127.0.0.1:1',
  })
  const loaded = await server.loaded()
  for (const user of [
    '/messaging/rendering/plain-text.ts',
    '/pay/providers/stripe/stripe-client.ts',
    '/onchain/routes/schemas.ts',
    '/content/images/resize.ts',
  ])
    assert.ok(
      loaded.some((url) => url.endsWith(user)),
      user,
    )
  assert.deepEqual(
    loaded.filter((url) => ON_DEMAND.test(url)),
    [],
  )
})

test('a start of the sandbox does not load what reads mail', async (t) => {
  const server = await startWatched(t, {})
  const loaded = await server.loaded()
  assert.ok(loaded.some((url) => url.endsWith('/sandbox/src/mail/smtp.ts')))
  assert.deepEqual(
    loaded.filter((url) => ON_DEMAND_OF_SANDBOX.test(url)),
    [],
  )
})
