import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, test } from 'node:test'

import fc from 'fast-check'
import official from 'twilio'

import { ADA, TOKEN } from './twilio.fixture.ts'
import { isSigned } from './twilio-signature.ts'

describe('a signature', () => {
  const URL_ = 'https://shop.example/messaging/twilio/status?id=m1'
  const PARAMS = { MessageSid: 'SM1', MessageStatus: 'delivered', To: ADA, Body: 'Grüße' }
  const signed = (url: string, params: Record<string, string>, token = TOKEN): string =>
    official.getExpectedTwilioSignature(token, url, params)

  test("is Twilio's own example's", () => {
    // https://www.twilio.com/docs/usage/security#explore-the-algorithm-yourself
    const params = {
      Digits: '1234',
      To: '+18005551212',
      From: '+14158675310',
      Caller: '+14158675310',
      CallSid: 'CA1234567890ABCDE',
    }
    const url = 'https://example.com/myapp.php?foo=1&bar=2'
    assert.ok(isSigned('12345', url, params, signed(url, params, '12345')))
  })

  test('is as the official package makes it', () => {
    const value = fc.string({ unit: 'grapheme' })
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), value),
        fc.webUrl({ withQueryParameters: true }),
        (given, url) => {
          const params = { ...given }
          const signature = signed(url, params)
          assert.ok(isSigned(TOKEN, url, params, signature))
          assert.ok(official.validateRequest(TOKEN, signature, url, params))
        },
      ),
      { numRuns: 30 },
    )
  })

  test('holds with the standard port and without it', () => {
    const ported = URL_.replace('shop.example', 'shop.example:443')
    for (const [asked, signedFor] of [
      [URL_, ported],
      [ported, URL_],
      ['http://shop.example/x', 'http://shop.example:80/x'],
      ['https://shop.example:8443/x', 'https://shop.example/x'],
    ] as const)
      assert.ok(isSigned(TOKEN, asked, PARAMS, signed(signedFor, PARAMS)), asked)
  })

  test('does not hold for anything else', () => {
    const signature = signed(URL_, PARAMS)
    assert.ok(isSigned(TOKEN, URL_, PARAMS, signature))
    assert.ok(!isSigned(TOKEN, URL_.replace('m1', 'm2'), PARAMS, signature))
    assert.ok(!isSigned(TOKEN, URL_.replace('shop', 'evil'), PARAMS, signature))
    assert.ok(!isSigned(TOKEN, URL_, { ...PARAMS, MessageStatus: 'failed' }, signature))
    assert.ok(!isSigned(TOKEN, URL_, { ...PARAMS, More: '' }, signature))
    assert.ok(!isSigned(`${TOKEN}x`, URL_, PARAMS, signature))
    assert.ok(!isSigned(TOKEN, URL_, PARAMS, signature.toLowerCase()))
    for (const wrong of ['', ' ', 'x', `${signature} `, signature.slice(1), 'é'.repeat(14)])
      assert.ok(!isSigned(TOKEN, URL_, PARAMS, wrong))
  })

  test('of a token that is not set never holds', () => {
    const blank = createHmac('sha1', '').update(URL_).digest('base64')
    assert.ok(!isSigned('', URL_, {}, blank))
  })
})
