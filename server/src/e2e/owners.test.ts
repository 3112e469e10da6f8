// Operators find what a user owns by the email address, in each list that takes an id.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { eachEngine } from '../testing/engines.ts'
import { startTill, URLS } from '../wires/pay/pay.fixture.ts'

/** Lists of records, and the field of their answer. */
const LISTS = {
  '/pay/transactions?owner=': 'transactions',
  '/messaging/logs?owner=': 'logs',
  '/store/files?owner=': 'files',
  '/onchain/wallets?owner=': 'wallets',
  '/onchain/transactions?owner=': 'transactions',
  '/auth/audit?actor=': 'entries',
} as const

const FILE =
  '--b\r\ncontent-disposition: form-data; name="file"; filename="notes.txt"\r\ncontent-type: text/plain\r\n\r\nHello\r\n--b--\r\n'

describe('lists of what a user owns', () => {
  eachEngine((engine) => {
    test('take an address in any case, find nothing by an unknown one, and tell nobody else who exists', async (t) => {
      const till = await startTill(t, engine, { sandbox: true })
      const { app } = till
      await app.register('administrator@example.com')
      const stranger = await app.register('stranger@example.com')
      const { token, _id } = await app.register('carol@example.com')
      const create = async (route: string, body: unknown) =>
        assert.ok((await till.call(route, body, { token })).status < 300, route)
      await create('POST /pay/cardpay/checkout', {
        items: [{ name: 'Book', amount: 1_000, currency: 'eur' }],
        ...URLS,
      })
      await create('POST /messaging/email', { to: 'dan@example.com', subject: 'Hello', body: 'Hello' })
      await create('POST /onchain/wallets', { name: 'savings' })
      const headers = { 'content-type': 'multipart/form-data; boundary=b' }
      const uploaded = await app.request('POST', '/store/upload', { token, raw: FILE, headers })
      assert.equal(uploaded.status, 201, uploaded.text)

      for (const [path, field] of Object.entries(LISTS)) {
        const found = async (owner: string): Promise<{ _id: string }[]> => {
          const { status, body, text } = await till.call(`GET ${path}${encodeURIComponent(owner)}`)
          assert.equal(status, 200, text)
          return body[field]
        }
        const ids = (await found(_id)).map((one) => one._id)
        assert.equal(ids.length > 0, path !== '/onchain/transactions?owner=', path)
        assert.deepEqual(
          (await found('Carol@Example.com')).map((one) => one._id),
          ids,
          path,
        )
        assert.deepEqual(await found('nobody@example.com'), [], path)
        for (const owner of [_id, 'carol@example.com', 'nobody@example.com']) {
          const { status } = await till.call(`GET ${path}${owner}`, undefined, { token: stranger.token })
          assert.equal(status, 403, `${path}${owner}`)
        }
      }

      // The addresses of a page of ids are asked for in one call.
      const { body } = await till.call(
        `GET /auth/users?ids=${_id},${stranger._id},01arz3ndektsv4rrffq69g5fav`,
      )
      assert.deepEqual(
        body.users.map(({ email }: { email: string }) => email),
        ['carol@example.com', 'stranger@example.com'],
      )
      const many = Array.from({ length: 101 }, () => _id).join()
      assert.equal((await till.call(`GET /auth/users?ids=${many}`)).status, 400)
    })
  })
})
