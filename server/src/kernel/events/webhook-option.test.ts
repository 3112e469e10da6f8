import assert from 'node:assert/strict'
import { test } from 'node:test'

import { refused } from '../../testing/assemble.ts'
import { webhookSecret } from '../../testing/webhook-receiver.ts'
import { checkWebhooks, type WebhookOption } from './webhook-option.ts'

const DEVELOPMENT = { production: false, sandbox: true, sandboxUrl: 'http://shop.internal:3000/sandbox' }
const PRODUCTION = { ...DEVELOPMENT, production: true, sandbox: false }
const GOOD: WebhookOption = { url: 'https://shop.example/hooks', secret: webhookSecret(), events: ['pay.*'] }
const LOCAL = { ...GOOD, url: 'http://localhost:4000/hooks' }

for (const [name, option, line, settings = DEVELOPMENT] of [
  ['no list', GOOD, /^webhooks: write a list/],
  ['no object', ['https://shop.example'], /^webhooks\[0\]: write an object/],
  [
    'an unknown key',
    [{ ...GOOD, secrets: [] }],
    /^webhooks\[0\]: there is no field "secrets": did you mean secret\?$/,
  ],
  ['no address', [{ ...GOOD, url: 'shop' }], /^webhooks\[0\]\.url: it is not an address like https/],
  ['another protocol', [{ ...GOOD, url: 'ftp://shop.example' }], /^webhooks\[0\]\.url: it is not an address/],
  ['credentials', [{ ...GOOD, url: 'https://a:b@shop.example' }], /^webhooks\[0\]\.url: leave out the cred/],
  [
    'a fragment',
    [{ ...GOOD, url: 'https://shop.example/#a' }],
    /^webhooks\[0\]\.url: leave out what is behind #/,
  ],
  [
    'http',
    [{ ...GOOD, url: 'http://shop.example' }],
    /^webhooks\[0\]\.url: it must start with https:\/\/: http/,
  ],
  [
    'http to this machine in production',
    [LOCAL],
    /^webhooks\[0\]\.url: it must start with https:\/\/$/,
    PRODUCTION,
  ],
  ['no secret', [GOOD, { ...LOCAL, secret: undefined }], /^webhooks\[1\]\.secret: it is not set$/],
  [
    'a secret of another form',
    [{ ...GOOD, secret: 'abc' }],
    /^webhooks\[0\]\.secret: it takes whsec_ and base64/,
  ],
  ['a short secret', [{ ...GOOD, secret: `whsec_${btoa('a'.repeat(23))}` }], /\.secret: it takes whsec_ and/],
  ['a long secret', [{ ...GOOD, secret: `whsec_${btoa('a'.repeat(65))}` }], /\.secret: it takes whsec_ and/],
  [
    'no second secret',
    [{ ...GOOD, secret: [webhookSecret(), ''] }],
    /^webhooks\[0\]\.secret: it is not set$/,
  ],
  [
    'no events',
    [{ ...GOOD, events: [] }],
    /^webhooks\[0\]: events can't be this list: it takes a list of texts/,
  ],
  [
    'a blank',
    [{ ...GOOD, events: ['pay *'] }],
    /^webhooks\[0\]\.events: "pay \*" can't be the type of an event/,
  ],
  ['a name', [{ ...GOOD, name: 'My shop' }], /^webhooks\[0\]\.name: "My shop" can't be a name/],
  ['the same url', [GOOD, { ...GOOD, name: 'b' }], /^webhooks\[1\]: another one has the same url/],
  [
    'the same name',
    [GOOD, { ...GOOD, url: 'https://shop.example/b' }],
    /^webhooks\[1\]: another one is called "shop\.example"/,
  ],
] as const)
  test(`a webhook is refused for ${name}`, () => {
    assert.throws(() => checkWebhooks(option, settings), { name: 'StartError', message: line })
  })

test('a webhook has the name of its host, and is of this machine or not', () => {
  const own = { ...GOOD, url: 'http://shop.internal:3000/sandbox/webhook-receiver' }
  assert.deepEqual(
    checkWebhooks([GOOD, LOCAL, own, { ...GOOD, name: 'v6', url: 'https://[::1]:8443/' }], DEVELOPMENT).map(
      ({ name, isLocal }) => [name, isLocal],
    ),
    [
      ['shop.example', false],
      ['localhost-4000', true],
      ['shop.internal-3000', true],
      ['v6', true],
    ],
  )
})

for (const [pattern, line] of [
  [
    'pay.transactions.*',
    /^webhooks\[0\]\.events: there is no event "pay\.transactions\.\*": did you mean pay\.transaction\.\*\?$/,
  ],
  ['auth.user.create', /there is no event "auth\.user\.create": did you mean auth\.user\.created\?$/],
  ['orders.*', /there is no event "orders\.\*": there are .*auth\.user\.\*.*pay\.transaction\.\*/],
  ['store.books.changed', /there is no event "store\.books\.changed"/],
] as const)
  test(`a webhook is refused for the events ${pattern}`, (t) =>
    refused(t, line, { config: { webhooks: [{ ...GOOD, events: ['auth.user.*', pattern] }] } }))

test('a webhook may take the events of wires that are not loaded, of all collections, and of one', (t) =>
  refused(t, /nothing\.at\.all/, {
    environment: { SIXWIRE_WIRES: 'core,messaging,auth,store' },
    config: {
      webhooks: [
        {
          ...GOOD,
          events: ['*', 'pay.*', 'store.*', 'store.*.deleted', 'store.books.created', 'nothing.at.all'],
        },
      ],
    },
  }))
