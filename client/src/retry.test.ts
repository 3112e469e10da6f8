import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { before, describe, test } from 'node:test'

import { startApp, type TestApp } from '../../server/src/testing/app.ts'
import { anyEngine, endOfSuite, type Ending } from '../../server/src/testing/engines.ts'
import { json, startScriptedServer } from '../../server/src/testing/scripted-http.ts'
import { createClient } from './index.ts'
import { shop, type Known } from './shop.fixture.ts'

type Step = (response: ServerResponse) => void

const drop: Step = (response) => response.destroy()
const answer =
  (status: number, headers: Record<string, string> = {}, body: unknown = {}): Step =>
  (response) =>
    json(response, status, body, headers)

/** A client of a server that takes one step for each request. */
async function scripted(ending: Ending, ...steps: Step[]) {
  const { asked, port } = await startScriptedServer(ending, (_, response) => steps.shift()!(response))
  return { six: createClient<Known>(`http://127.0.0.1:${port}`), asked }
}

const SMS = { body: { to: '+4915112345678', body: 'Hello' } }

describe('a call whose answer is lost', () => {
  for (const [what, step] of [
    ['closes the connection', drop],
    ['answers 502', answer(502)],
    ['answers 503', answer(503)],
    ['answers 504', answer(504)],
  ] as const)
    test(`is repeated if the server ${what} and it only reads`, async (t) => {
      const { six, asked } = await scripted(t, step, answer(200, {}, { ready: true }))
      assert.deepEqual(await six.call('GET /ready'), { ready: true })
      assert.equal(asked.length, 2)
    })

  test('is repeated under one Idempotency-Key if the route takes one', async (t) => {
    const { six, asked } = await scripted(t, drop, answer(502), answer(200))
    await six.call('POST /messaging/sms', SMS)
    const [key, ...others] = asked.map(({ headers }) => headers['idempotency-key'])
    assert.match(String(key), /^[\x21-\x7e]{20,255}$/)
    assert.deepEqual(others, [key, key])
    assert.equal(new Set(asked.map(({ body }) => body)).size, 1)
  })

  test('has another key at each call', async (t) => {
    const { six, asked } = await scripted(t, answer(200), answer(200))
    await six.call('POST /messaging/sms', SMS)
    await six.call('POST /messaging/sms', SMS)
    assert.equal(new Set(asked.map(({ headers }) => headers['idempotency-key'])).size, 2)
  })

  test('is repeated while the first attempt with the key still runs', async (t) => {
    const running = answer(409, { 'retry-after': '0' }, { error: { code: 'IDEMPOTENCY_CONFLICT' } })
    const { six, asked } = await scripted(t, drop, running, answer(200))
    await six.call('POST /messaging/sms', SMS)
    assert.equal(asked.length, 3)
  })

  test('is not repeated if it may have had its effect', async (t) => {
    const { six, asked } = await scripted(t, ...Array<Step>(4).fill(drop))
    const book = { params: { collection: 'books', id: 'a' } }
    await assert.rejects(six.call('POST /auth/login', { body: { email: 'a@b.example', password: 'x' } }))
    await assert.rejects(six.call('PUT /store/:collection/:id', { ...book, body: {} }))
    await assert.rejects(six.call('DELETE /store/:collection/:id', book))
    await assert.rejects(six.call('POST /shop/orders', { body: { count: 1 } }))
    assert.equal(asked.length, 4)
    assert.ok(asked.every(({ headers }) => headers['idempotency-key'] === undefined))
  })

  test('is repeated with a key of the application, or of any route that is given one', async (t) => {
    const { six, asked } = await scripted(t, drop, answer(200), answer(200), drop, answer(202))
    await six.call('POST /messaging/sms', { ...SMS, idempotencyKey: 'order-7' })
    await six.call('POST /messaging/sms', { ...SMS, headers: { 'Idempotency-Key': 'own' } })
    await six.call('POST /shop/orders', { body: { count: 1 }, headers: { 'Idempotency-Key': 'mine' } })
    const keys = asked.map(({ headers }) => headers['idempotency-key'])
    assert.deepEqual(keys, ['order-7', 'order-7', 'own', 'mine', 'mine'])
  })

  test('fails with its last error after two repetitions', async (t) => {
    const { six, asked } = await scripted(t, answer(502), drop, answer(503))
    await assert.rejects(six.call('GET /ready'), { status: 503 })
    assert.equal(asked.length, 3)
  })

  test('waits as long as Retry-After says', async (t) => {
    const { six } = await scripted(t, answer(503, { 'retry-after': '1' }), answer(200))
    const startedAt = performance.now()
    await six.call('GET /ready')
    assert.ok(performance.now() - startedAt >= 990)
  })

  test('is not kept waiting for longer than half a minute', async (t) => {
    const { six, asked } = await scripted(t, answer(503, { 'retry-after': '31' }))
    await assert.rejects(six.call('GET /ready'), { status: 503 })
    assert.equal(asked.length, 1)
  })

  test('waits no longer once it is aborted', async (t) => {
    const { six, asked } = await scripted(t, answer(503, { 'retry-after': '20' }))
    const signal = AbortSignal.timeout(100)
    await assert.rejects(six.call('GET /ready', { signal }), { name: 'TimeoutError' })
    assert.equal(asked.length, 1)
  })
})

anyEngine((engine) => {
  describe('a call whose answer is lost, at the server', () => {
    let app: TestApp
    const ending = endOfSuite()
    before(async () => {
      app = await startApp(ending, engine, { config: { wires: [shop()] } })
    })

    test('has its effect once', async () => {
      const { token } = await app.register()
      let lost = 0
      const six = createClient<Known>(app.url, {
        token,
        fetch: async (url, init) => {
          const response = await fetch(url, init)
          if (init?.method === 'POST' && lost++ === 0) throw new TypeError('reset')
          return response
        },
      })
      const books = six.collection<{ title: string }>('books')
      const made = await books.create({ title: 'Momo' })
      assert.equal(lost, 2)
      assert.deepEqual((await books.list()).data, [made])
    })
  })
})
