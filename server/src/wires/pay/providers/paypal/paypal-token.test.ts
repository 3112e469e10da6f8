import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { testClock } from '../../../../testing/clock.ts'
import {
  account,
  CLIENT_ID,
  CLIENT_SECRET,
  json,
  open,
  order,
  PATIENCE,
  problem,
  serve,
  TOKEN,
} from '../paypal.fixture.ts'

describe('the access token', () => {
  test('is fetched once for many callers, and kept', async (t) => {
    const { apiBase, tokens } = await serve(t, account())
    const provider = open({ apiBase })
    await Promise.all(Array.from({ length: 20 }, () => provider.create(order(), PATIENCE)))
    await provider.create(order(), PATIENCE)
    assert.equal(tokens.length, 1)
    assert.equal(
      tokens[0]?.headers['authorization'],
      `Basic ${Buffer.from(`${CLIENT_ID}:${CLIENT_SECRET}`).toString('base64')}`,
    )
    assert.equal(tokens[0]?.body, 'grant_type=client_credentials')
  })

  test('is fetched again shortly before it expires', async (t) => {
    const clock = testClock()
    const { apiBase, tokens } = await serve(t, account(), (_asked, response) =>
      json(response, 200, { access_token: TOKEN, expires_in: 600 }),
    )
    const provider = open({ apiBase }, clock)
    for (const [seconds, fetched] of [
      [0, 1],
      [500, 1],
      [45, 2],
    ] as const) {
      clock.advance(seconds * 1000)
      assert.equal((await provider.create(order(), PATIENCE)).kind, 'accepted')
      assert.equal(tokens.length, fetched)
    }
  })

  test('that PayPal revoked is replaced, and the call made once more', async (t) => {
    let count = 0
    const valid = new Set<string>()
    const { apiBase, asked } = await serve(
      t,
      (one, response) =>
        valid.has(one.headers['authorization']!)
          ? account()(one, response)
          : json(response, 401, problem('AUTHENTICATION_FAILURE')),
      (_asked, response) => {
        const token = `token-${++count}`
        valid.clear()
        valid.add(`Bearer ${token}`)
        json(response, 200, { access_token: token, expires_in: 32_400 })
      },
    )
    const provider = open({ apiBase })
    assert.equal((await provider.create(order(), PATIENCE)).kind, 'accepted')
    valid.clear()
    assert.equal((await provider.create(order(), PATIENCE)).kind, 'accepted')
    assert.equal(count, 2)
    assert.equal(asked.length, 3)
  })

  test('that cannot be had now is asked for again by the next call', async (t) => {
    let isDown = true
    const { apiBase } = await serve(t, account(), (_asked, response) =>
      isDown
        ? response.writeHead(503).end()
        : json(response, 200, { access_token: TOKEN, expires_in: 32_400 }),
    )
    const provider = open({ apiBase })
    assert.equal((await provider.create(order(), PATIENCE)).kind, 'retry')
    isDown = false
    assert.equal((await provider.create(order(), PATIENCE)).kind, 'accepted')
  })
})
