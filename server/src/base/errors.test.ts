import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError, defineErrors, errors, invalid } from './errors.ts'

test('a table becomes functions that make its errors', () => {
  const { email_taken } = defineErrors({ email_taken: [409, 'This address has an account already.'] })
  assert.deepEqual(
    { code: email_taken.code, status: email_taken.status, message: email_taken.message },
    { code: 'EMAIL_TAKEN', status: 409, message: 'This address has an account already.' },
  )
  const error = email_taken()
  assert.ok(error instanceof ApiError && error instanceof Error)
  assert.deepEqual(
    [error.code, error.status, error.message],
    ['EMAIL_TAKEN', 409, 'This address has an account already.'],
  )
  assert.deepEqual([error.details, error.retryAfter, error.headers], [undefined, undefined, undefined])
  assert.equal('cause' in error, false)
})

test('an error may say more than its table', () => {
  const cause = new Error('underneath')
  const error = errors.unavailable({
    message: 'Not now.',
    details: { channel: 'sms' },
    retryAfter: 5,
    headers: { allow: 'GET' },
    cause,
  })
  assert.deepEqual(
    [error.code, error.status, error.message, error.details, error.retryAfter, error.headers, error.cause],
    ['UNAVAILABLE', 503, 'Not now.', { channel: 'sms' }, 5, { allow: 'GET' }, cause],
  )
})

test('the common errors have the codes and states of the specification', () => {
  const table = Object.fromEntries(Object.values(errors).map(({ code, status }) => [code, status]))
  assert.deepEqual(table, {
    VALIDATION_ERROR: 400,
    PROVIDER_NOT_CONFIGURED: 400,
    UNAUTHORIZED: 401,
    FORBIDDEN: 403,
    EMAIL_NOT_VERIFIED: 403,
    RECENT_SIGN_IN_REQUIRED: 403,
    SECOND_FACTOR_MISSING: 403,
    NOT_FOUND: 404,
    METHOD_NOT_ALLOWED: 405,
    CONFLICT: 409,
    IDEMPOTENCY_CONFLICT: 409,
    PRECONDITION_FAILED: 412,
    PAYLOAD_TOO_LARGE: 413,
    URI_TOO_LONG: 414,
    UNSUPPORTED_MEDIA_TYPE: 415,
    EXPECTATION_FAILED: 417,
    RATE_LIMITED: 429,
    TOO_MANY_CONCURRENT: 429,
    TOO_MANY_STREAMS: 429,
    HEADERS_TOO_LARGE: 431,
    INTERNAL_ERROR: 500,
    NOT_IMPLEMENTED: 501,
    STORAGE_DAMAGED: 500,
    STORAGE_FULL: 507,
    STORAGE_READ_ONLY: 503,
    UNAVAILABLE: 503,
  })
})

test('a request that is not valid names every fault, and the first one in its message', () => {
  const error = invalid(
    { path: '/body/a', message: 'is required' },
    { path: '/body/b', message: 'is too long' },
  )
  assert.deepEqual(
    [error.code, error.status, error.message],
    ['VALIDATION_ERROR', 400, '/body/a: is required'],
  )
  assert.deepEqual(error.details, {
    issues: [
      { path: '/body/a', message: 'is required' },
      { path: '/body/b', message: 'is too long' },
    ],
  })
})
