import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { send } from '../../../../testing/auth.ts'
import { startApp } from '../../../../testing/app.ts'
import { anyEngine } from '../../../../testing/engines.ts'
import { createRelyingParty, type RelyingPartyOptions } from './relying-party.ts'

type Addresses = { appUrl?: string; publicUrl?: string; production?: boolean }

const relyingParty = (
  { appUrl = 'https://app.example.com/start', publicUrl = appUrl, production = true }: Addresses,
  options: RelyingPartyOptions = {},
) => createRelyingParty({ settings: { name: 'shop', appUrl, publicUrl, production } }, options)

describe('the relying party', () => {
  test('is the host of APP_URL, with pages of PUBLIC_URL if they are below it', () => {
    const one = relyingParty({ appUrl: 'https://example.com/app', publicUrl: 'https://api.example.com' })!
    assert.deepEqual([one.id, one.name], ['example.com', 'shop'])
    for (const origin of ['https://example.com', 'https://api.example.com']) assert.ok(one.accepts(origin))
    for (const origin of [
      'https://www.example.com',
      'https://example.com.evil.example',
      'https://example.com:8443',
      'http://example.com',
      'http://localhost:5173',
    ])
      assert.ok(!one.accepts(origin), origin)
    const other = relyingParty({ publicUrl: 'https://api.example.com' })!
    assert.deepEqual([other.id, other.accepts('https://api.example.com')], ['app.example.com', false])
  })

  test('is localhost on this machine, outside production at any port', () => {
    for (const appUrl of ['http://localhost:3000', 'http://127.0.0.1:3000', 'http://[::1]:3000']) {
      const one = relyingParty({ appUrl, production: false })!
      assert.equal(one.id, 'localhost')
      for (const port of [':3000', ':5173', '']) assert.ok(one.accepts(`http://localhost${port}`))
      for (const origin of ['https://localhost', 'http://127.0.0.1:3000', 'http://localhost.evil.example'])
        assert.ok(!one.accepts(origin), origin)
    }
    const production = relyingParty({ appUrl: 'http://localhost:3000' })!
    assert.deepEqual(
      [production.accepts('http://localhost:3000'), production.accepts('http://localhost:5173')],
      [true, false],
    )
  })

  test('is what the configuration says, with apps of Android', () => {
    const app = `android:apk-key-hash:${'A'.repeat(43)}`
    const origins = ['https://shop.example.com', 'https://example.com:8443', app]
    const one = relyingParty({}, { rpId: 'example.com', origins })!
    assert.deepEqual(
      [...origins, 'https://app.example.com'].map((origin) => one.accepts(origin)),
      [true, true, true, false],
    )
    assert.ok(relyingParty({}, { rpId: 'example.com' })!.accepts('https://app.example.com'))
  })

  test('cannot be an address, or have pages without https in production', () => {
    assert.equal(relyingParty({ appUrl: 'https://192.0.2.7' }), undefined)
    assert.equal(relyingParty({ appUrl: 'http://app.example.com' }), undefined)
    assert.ok(relyingParty({ appUrl: 'http://app.example.com', production: false }))
  })

  test('stops the start if the configuration cannot work', () => {
    const faults: [RegExp, RelyingPartyOptions][] = [
      [
        /^auth\.passkeys\.rpId: "https:\/\/example\.com" is not a domain name/,
        { rpId: 'https://example.com' },
      ],
      [/^auth\.passkeys\.rpId: "192\.0\.2\.7" is not a domain name/, { rpId: '192.0.2.7' }],
      [
        /^auth\.passkeys\.rpId: neither APP_URL nor PUBLIC_URL can use "other\.example"/,
        { rpId: 'other.example' },
      ],
      [
        /^auth\.passkeys\.origins: "https:\/\/a\.example\/" is not an origin/,
        { origins: ['https://a.example/'] },
      ],
      [
        /^auth\.passkeys\.origins: "https:\/\/a\.example" is not within "app\.example\.com"/,
        { origins: ['https://a.example'] },
      ],
      [
        /^auth\.passkeys\.origins: "http:\/\/app\.example\.com" must be https/,
        { origins: ['http://app.example.com'] },
      ],
    ]
    for (const [message, options] of faults)
      assert.throws(() => relyingParty({}, options), { name: 'StartError', message })
  })

  anyEngine((engine) => {
    test('is missing at a bare address: then a call says what to set', async (t) => {
      const app = await startApp(t, engine, { environment: { APP_URL: 'http://192.0.2.7:8080' } })
      const { token } = await app.register()
      for (const route of ['/auth/passkeys/sign-in-options', '/auth/passkeys/options']) {
        const answered = await send(app, `POST ${route}`, { token, body: {} })
        assert.deepEqual([answered.status, answered.code], [400, 'PROVIDER_NOT_CONFIGURED'])
        assert.match(answered.body.error.message, /set APP_URL to the https address of your pages/)
      }
    })
  })
})
