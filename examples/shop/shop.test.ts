import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { createClient, loadConfig, type Api, type ApiOf, type Client } from 'sixwire'

import { startApp, type TestApp } from '../../server/src/testing/app.ts'
import { codesIn, resolved } from '../../server/src/testing/description.ts'
import { eachEngine, endOfSuite, temporaryFolder } from '../../server/src/testing/engines.ts'
import { startProgram } from '../../server/src/testing/program.ts'
import type { loyalty } from './loyalty/index.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))

eachEngine((engine) => {
  describe('the shop', () => {
    let app: TestApp
    let api: Client<Api & ApiOf<typeof loyalty>>
    let admin: string
    const ending = endOfSuite()
    before(async () => {
      const config = await loadConfig(folder)
      app = await startApp(ending, engine, { config: { ...config, policy: 'guarded' } })
      api = createClient(app.url)
      // Outside production the first account is the administrator.
      admin = (await app.register('owner@example.com')).token
    })
    const balance = async (token: string) => (await api.call('GET /loyalty/balance', { token })).points

    test('requires longer passwords than the default', async () => {
      const body = { email: 'short@example.com', password: 'nine chars'.slice(1) }
      const { status } = await app.request('POST', '/auth/register', { body })
      assert.equal(status, 400)
    })

    test('starts every customer with points, and subtracts what they spend', async () => {
      const { token } = await app.register()
      assert.equal(await balance(token), 100)
      assert.deepEqual(await api.call('POST /loyalty/redeem', { token, body: { points: 30 } }), {
        points: 70,
      })
      assert.equal(await balance(token), 70)
      await assert.rejects(api.call('POST /loyalty/redeem', { token, body: { points: 71 } }), {
        status: 409,
        code: 'NOT_ENOUGH_POINTS',
      })
      for (const points of [0, -5, 1.5, '5', 1_000_001])
        await assert.rejects(
          api.call('POST /loyalty/redeem', { token, body: { points: points as number } }),
          { status: 400 },
          String(points),
        )
      assert.equal(await balance(token), 70)
      await assert.rejects(api.call('GET /loyalty/balance'), { status: 401 })
    })

    test('lets only administrators and service keys grant points', async () => {
      const { token, email } = await app.register()
      const grant = (as: string, to = email) =>
        api.call('POST /loyalty/grants', { token: as, body: { email: to, points: 50 } })
      await assert.rejects(grant(token), { status: 403, code: 'FORBIDDEN' })
      assert.equal(await balance(token), 100)
      assert.deepEqual(await grant(admin), { points: 150 })
      assert.equal(await balance(token), 150)
      await assert.rejects(grant(admin, 'nobody@example.com'), { status: 404 })
      const { key } = await app.app.service('auth').keys.create('till', ['loyalty'])
      assert.deepEqual(await grant(key), { points: 200 })
    })

    test('grants and spends once per Idempotency-Key', async () => {
      const { token, email } = await app.register()
      const headers = { 'idempotency-key': 'birthday' }
      for (const attempt of [1, 2, 3])
        assert.deepEqual(
          await api.call('POST /loyalty/grants', { token: admin, headers, body: { email, points: 50 } }),
          { points: 150 },
          `attempt ${attempt}`,
        )
      for (const attempt of [1, 2, 3])
        assert.deepEqual(
          await api.call('POST /loyalty/redeem', { token, headers, body: { points: 20 } }),
          { points: 130 },
          `attempt ${attempt}`,
        )
      assert.equal(await balance(token), 130)
    })

    test('keeps the balance from becoming negative when many spend concurrently', async () => {
      const { token } = await app.register()
      const spent = await Promise.all(
        Array.from({ length: 20 }, () =>
          app.request('POST', '/loyalty/redeem', { token, body: { points: 10 } }),
        ),
      )
      const statuses = spent.map(({ status }) => status).toSorted((a, b) => a - b)
      assert.deepEqual(statuses, [...Array(10).fill(200), ...Array(10).fill(409)])
      assert.equal(await balance(token), 0)
    })

    test('declares a screen of the console', async () => {
      const { token, email } = await app.register()
      await api.call('POST /loyalty/redeem', { token, body: { points: 30 } })
      const { accounts } = await api.call('GET /loyalty/accounts', { token: admin })
      const account = accounts.find((one) => one.email === email)
      assert.deepEqual([account?.points, account?.bookings], [70, 1])
      const { status, body } = await app.request('GET', '/core/screens', { token: admin })
      assert.equal(status, 200)
      const [screen] = body.screens
      assert.deepEqual(
        [screen.wire, screen.name, screen.list, screen.rows, screen.key, screen.isPaged],
        ['loyalty', 'points', 'GET /loyalty/accounts', 'accounts', 'email', true],
      )
      assert.deepEqual(screen.columns, [
        { field: 'email', title: 'Email', kind: 'email' },
        { field: 'points', title: 'Points', kind: 'number' },
        { field: 'bookings', title: 'Bookings', kind: 'number' },
      ])
      const [grant] = screen.actions
      assert.deepEqual(grant.from, { email: 'email' })
      assert.deepEqual([grant.danger, grant.isOfRecord, grant.isIdempotent], ['confirm', true, true])
      assert.deepEqual(grant.fields.at(-1), {
        name: 'points',
        in: 'body',
        title: 'Points',
        kind: 'number',
        isRequired: true,
        minimum: 1,
        maximum: 1_000_000,
      })
    })

    test('describes its routes in /openapi.json', async () => {
      const { body } = await app.request('GET', '/openapi.json')
      const { paths, tags } = resolved(body)
      assert.deepEqual(
        Object.keys(paths).filter((path) => path.startsWith('/loyalty')),
        ['/loyalty/balance', '/loyalty/accounts', '/loyalty/grants', '/loyalty/redeem'],
      )
      assert.deepEqual(paths['/loyalty/redeem'].post.tags, ['loyalty'])
      assert.deepEqual(paths['/loyalty/redeem'].post.operationId, 'loyaltyRedeem')
      const tag = tags.find(({ name }: { name: string }) => name === 'loyalty')
      assert.match(tag.description, /^Points /)
      const conflict = paths['/loyalty/redeem'].post.responses['409']
      assert.deepEqual(codesIn(conflict.content['application/json'].schema), [
        'IDEMPOTENCY_CONFLICT',
        'NOT_ENOUGH_POINTS',
      ])
      assert.deepEqual(
        body.paths['/loyalty/balance'].get.responses['200'].content['application/json'].schema,
        { $ref: '#/components/schemas/Balance' },
      )
    })

    describe('its collections', () => {
      const status = async (method: string, path: string, token?: string, body?: unknown) =>
        (await app.request(method, path, { token, ...(body !== undefined && { body }) })).status
      const make = async (collection: string, token: string) => {
        const made = await app.request('POST', `/store/${collection}`, { token, body: { n: 1 } })
        assert.equal(made.status, 201, made.text)
        return `/store/${collection}/${made.body._id}`
      }

      test('products: everybody reads, the owner changes', async () => {
        const [ada, eve] = [await app.register(), await app.register()]
        const product = await make('products', ada.token)
        assert.equal(await status('GET', '/store/products'), 200)
        assert.equal(await status('GET', product), 200)
        assert.equal(await status('POST', '/store/products', undefined, {}), 401)
        assert.equal(await status('PUT', product, eve.token, { n: 2 }), 403)
        assert.equal(await status('DELETE', product, eve.token), 403)
        assert.equal(await status('PUT', product, ada.token, { n: 2 }), 200)
        assert.equal(await status('PUT', product, admin, { n: 3 }), 200)
      })

      test('reviews: everybody reads, signed-in users create and change their own', async () => {
        const [ada, eve] = [await app.register(), await app.register()]
        const review = await make('reviews', ada.token)
        assert.equal(await status('GET', review), 200)
        assert.equal(await status('PUT', review, eve.token, { n: 2 }), 403)
        assert.equal(await status('DELETE', review, ada.token), 200)
      })

      test('prices: administrators only', async () => {
        const { token } = await app.register()
        const price = await make('prices', admin)
        for (const as of [undefined, token]) {
          const expected = as === undefined ? 401 : 403
          assert.equal(await status('GET', price, as), expected)
          assert.equal(await status('GET', '/store/prices', as), expected)
          assert.equal(await status('PUT', price, as, { n: 2 }), expected)
          assert.equal(await status('DELETE', price, as), expected)
        }
        assert.equal(await status('POST', '/store/prices', token, {}), 403)
        assert.equal(await status('GET', price, admin), 200)
      })

      test('other collections: each user their own', async () => {
        const [ada, eve] = [await app.register(), await app.register()]
        const note = await make('notes', ada.token)
        assert.equal(await status('GET', note, ada.token), 200)
        assert.equal(await status('GET', note, eve.token), 404)
        assert.equal(await status('GET', note), 401)
      })
    })
  })
})

test('`sixwire start` in this folder runs the shop', async (t) => {
  const program = startProgram(t, ['start'], {
    folder,
    environment: { DATA_DIR: await temporaryFolder(t), SIXWIRE_SANDBOX: 'off' },
  })
  const url = await program.url()
  assert.match(program.output(), /^ {2}shop 1\.0\.0 runs at /m)
  assert.match(program.output(), /^ {2}wires +core, messaging, onchain, auth, pay, store, loyalty$/m)
  assert.equal((await fetch(`${url}/loyalty/balance`)).status, 401)
  program.signal('SIGTERM')
  assert.equal(await program.ended, 0)
})
