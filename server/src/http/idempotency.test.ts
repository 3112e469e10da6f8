import assert from 'node:assert/strict'
import { test } from 'node:test'
import { idempotencyKey, isFinal, refuseUnlessNew } from './idempotency.ts'

test('a key is one to 255 visible ASCII characters', () => {
  for (const key of [
    'a',
    '5c0b2f6e-8d0c-4a57-9d1e-0f6a6f2c1b11',
    '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~',
    'x'.repeat(255),
  ])
    assert.equal(idempotencyKey(key), key)
  assert.equal(idempotencyKey(undefined), undefined)
  for (const key of [
    '',
    ' ',
    'a b',
    'a\t',
    'a\n',
    'a\0',
    'é',
    '😀',
    '\x7f',
    'x'.repeat(256),
    ['a', 'b'],
    ['a'],
  ])
    assert.throws(() => idempotencyKey(key), {
      code: 'VALIDATION_ERROR',
      status: 400,
      message: /idempotency-key/,
    })
})

test('an answer is final unless it says "not now", "not you", "not in this state" or "our fault"', () => {
  const final = [200, 201, 202, 204, 400, 404, 405, 412, 413, 415]
  const passing = [401, 403, 409, 422, 423, 429, 500, 502, 503]
  assert.deepEqual([...final, ...passing].filter(isFinal), final)
})

test('a call that may not run now is refused with what to do', () => {
  refuseUnlessNew({ state: 'new', recordId: 'a', isRepeated: false })
  assert.throws(() => refuseUnlessNew({ state: 'mismatch' }), {
    code: 'IDEMPOTENCY_CONFLICT',
    status: 409,
    message: /use a new key/,
    retryAfter: undefined,
  })
  assert.throws(() => refuseUnlessNew({ state: 'running', retryAfter: 7 }), {
    code: 'IDEMPOTENCY_CONFLICT',
    status: 409,
    message: /still running/,
    retryAfter: 7,
  })
})
