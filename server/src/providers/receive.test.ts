import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { errors, invalid } from '../base/errors.ts'
import { receiveByOneOf, receiveErrors, type Receiver, type WebhookRequest } from './receive.ts'

const request: WebhookRequest = {
  headers: {},
  bytes: Buffer.from('{}'),
  contentType: 'application/json',
  url: '/',
  publicUrl: 'https://a.example/',
}
const knows = (...events: string[]): Receiver<string> => ({ receive: async () => events })
const throws = (error: unknown): Receiver<string> => ({
  receive: async () => {
    throw error
  },
})
const forged = throws(receiveErrors.invalid_signature())
const away = throws(errors.unavailable({ message: 'The certificates cannot be fetched now.' }))

describe('a request to several receivers', () => {
  for (const [what, receivers, expected] of [
    ['is read by the first that knows it', [forged, away, knows('a'), knows('b')], ['a']],
    ['tells of nothing if the receiver uses nothing of it', [knows(), knows('b')], []],
  ] as const)
    test(what, async () => assert.deepEqual(await receiveByOneOf(receivers, request), expected))

  for (const [what, receivers, status, code] of [
    ['nobody knows', [forged, forged], 400, 'INVALID_SIGNATURE'],
    ['is for nobody', [], 400, 'INVALID_SIGNATURE'],
    ['cannot be checked now by one', [forged, away, forged], 503, 'UNAVAILABLE'],
    ['breaks a receiver', [forged, throws(new TypeError('a bug'))], 503, 'UNAVAILABLE'],
    ['is read as what is no list', [{ receive: async () => 'x' as never }], 503, 'UNAVAILABLE'],
    [
      'is verified and not valid',
      [throws(invalid({ path: '/body', message: 'is not JSON' })), knows('b')],
      400,
      'VALIDATION_ERROR',
    ],
  ] as [string, Receiver<string>[], number, string][])
    test(`is ${status} if it ${what}`, () =>
      assert.rejects(receiveByOneOf(receivers, request), { status, code }))
})
