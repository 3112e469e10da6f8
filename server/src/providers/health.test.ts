import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { stillClock } from '../testing/clock.ts'
import { cached, healthOf, notConfigured } from './health.ts'

const clock = stillClock()
const up = (name: string) => ({ name, check: async () => undefined })
const down = (name: string) => ({
  name,
  check: async () => {
    throw new Error('no')
  },
})
const silent = (name: string) => ({ name, check: () => new Promise<never>(() => undefined) })

describe('the health of providers', () => {
  for (const [what, providers, expected] of [
    ['none', [], { provider: 'none', status: 'not_configured' }],
    ['one that answers', [up('a')], { provider: 'a', status: 'connected' }],
    ['one that does not', [down('a')], { provider: 'a', status: 'error' }],
    ['a second one that answers', [down('a'), up('b'), up('c')], { provider: 'b', status: 'connected' }],
    ['two that do not', [down('a'), down('b')], { provider: 'a', status: 'error' }],
  ] as const)
    test(`of ${what}`, async () => assert.deepEqual(await healthOf(providers, clock), expected))

  test('is error if none answers within 5 seconds', async () => {
    const clock = stillClock()
    const health = healthOf([silent('a')], clock)
    await new Promise(setImmediate)
    clock.advance(5_000)
    assert.deepEqual(await health, { provider: 'a', status: 'error' })
  })
})

describe('a cached answer', () => {
  test('is asked for once in 10 seconds, and once for all who ask at the same time', async () => {
    const clock = stillClock()
    let asked = 0
    const ask = cached(async () => ++asked, clock)
    assert.deepEqual(await Promise.all([ask(), ask()]), [1, 1])
    clock.advance(10_000)
    assert.equal(await ask(), 1)
    clock.advance(1)
    assert.equal(await ask(), 2)
  })

  test('is no rejection', async () => {
    let asked = 0
    const ask = cached(async () => {
      if (++asked === 1) throw new Error('no')
      return asked
    }, clock)
    await assert.rejects(ask())
    assert.equal(await ask(), 2)
  })
})

test('what is not configured names what the operator sets', () => {
  const error = notConfigured({ what: 'sms', variables: 'A and B', details: { channel: 'sms' } })
  assert.deepEqual(
    [error.status, error.code, error.message, error.details],
    [
      400,
      'PROVIDER_NOT_CONFIGURED',
      'No provider for sms is configured: the operator sets A and B.',
      { channel: 'sms', provider: null },
    ],
  )
})
