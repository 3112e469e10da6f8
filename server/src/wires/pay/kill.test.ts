// The real server is killed while it takes money and gives it back; another one on the same database finishes the work.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { sql } from '../../db/sql.ts'
import { startApp, type TestApp } from '../../testing/app.ts'
import { someEngine, temporaryFolder } from '../../testing/engines.ts'
import { isLongRun } from '../../testing/long-run.ts'
import { startProgram } from '../../testing/program.ts'
import { RETURN_URLS, URLS } from './pay.fixture.ts'
import { assertEqualBooks, readSandbox } from './sandbox-books.fixture.ts'

const ROUNDS = isLongRun ? 20 : 2
const CLIENTS = 6
const MOST_MS = 1_500
/** Minor units: all refunds of a payment are less than it. */
const REFUND = 50

type Answer = Record<'transactionId' | 'sessionId' | 'orderId', string>
/** A request that changes something, and the key under which it is repeated if its answer does not come. */
type Request = { path: string; body: object; key: string }

const random = (below: number): number => Math.floor(Math.random() * below)

someEngine((engine) => {
  test('a server killed between any two steps of a payment leaves equal books', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    // Its sandbox is the provider of all; what the killed servers leave, it finishes.
    const survivor = await startApp(t, engine, { databaseUrl, sandbox: true })
    const { key: token } = await survivor.app.service('auth').keys.create('test', ['*'])
    const { cardpay, walletpay } = (await survivor.request('GET', '/sandbox/api')).body
    const unanswered: Request[] = []
    /** How many refunds of each transaction were asked for. */
    const refundsOf = new Map<string, number>()

    async function send(url: string, { path, body, key }: Request): Promise<Answer> {
      const response = await fetch(url + path, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'idempotency-key': key,
        },
        body: JSON.stringify(body),
      })
      const text = await response.text()
      assert.equal(response.status, 200, text)
      return JSON.parse(text) as Answer
    }

    /** Sells and gives money back, until the server is gone. */
    async function shop(url: string): Promise<void> {
      const post = async (path: string, body: object = {}): Promise<Answer> => {
        const request = { path, body, key: randomUUID() }
        unanswered.push(request)
        const answer = await send(url, request)
        unanswered.splice(unanswered.indexOf(request), 1)
        return answer
      }
      const act = async (path: string, body: object = {}): Promise<void> => {
        const { status, text } = await survivor.request('POST', `/sandbox/api/${path}`, { body })
        assert.equal(status, 200, text)
      }
      for (;;) {
        const isCard = random(2) === 0
        let id: string
        if (isCard) {
          const items = [{ name: 'Book', amount: 1000, currency: 'eur' }]
          const { sessionId, transactionId } = await post('/pay/cardpay/checkout', { items, ...URLS })
          await act(`cardpay/sessions/${sessionId}/pay`)
          id = transactionId
        } else {
          const order = { amount: 10, currency: 'EUR', ...RETURN_URLS }
          const { orderId, transactionId } = await post('/pay/walletpay/order', order)
          await act(`walletpay/orders/${orderId}/approve`)
          await post(`/pay/walletpay/capture/${orderId}`)
          id = transactionId
        }
        while (!(await isPaid(survivor, id))) await delay(5)
        for (let count = 1 + random(4); count > 0; count--) {
          const amount = isCard ? REFUND : REFUND / 100
          refundsOf.set(id, (refundsOf.get(id) ?? 0) + 1)
          await post(`/pay/${isCard ? 'cardpay' : 'walletpay'}/refund`, { transactionId: id, amount })
        }
      }
    }

    for (let round = 1; round <= ROUNDS; round++) {
      const folder = await temporaryFolder(t)
      const server = startProgram(t, ['start'], {
        folder,
        environment: {
          ...cardpay.variables,
          ...walletpay.variables,
          DATABASE_URL: databaseUrl,
          DATA_DIR: folder,
          SIXWIRE_SECRET: 'a secret of the tests that is long enough',
          SIXWIRE_SANDBOX: 'off',
          LOG_LEVEL: 'warn',
        },
      })
      const url = await server.url()
      const clients = Array.from({ length: CLIENTS }, () => shop(url))
      // A client that fails before the server is gone has found a fault.
      await Promise.race([delay(300 + random(MOST_MS)), Promise.all(clients)])
      await server.kill()
      for (const one of await Promise.allSettled(clients))
        if (one.status === 'rejected' && !(one.reason instanceof TypeError)) throw one.reason as Error
    }

    // Past every lease: the callers repeat what was not answered, while reconciliation does the same work.
    survivor.clock.advance(120_000)
    assert.ok(unanswered.length > 0)
    await Promise.all(unanswered.map((request) => survivor.clock.through(send(survivor.url, request))))
    await assertEqualBooks(survivor, token)

    const { payments, orders } = await readSandbox(survivor)
    const atProvider = new Map<string, number>()
    for (const { id, refunds: made } of [...payments, ...orders]) atProvider.set(id, made.length)
    const { db } = survivor.app
    const rows = await db.all<{ id: string; reference: string; refunded: string; reserved: string }>(
      sql`select id, reference, refunded, reserved from pay_transactions`,
    )
    for (const { id, reference, refunded, reserved } of rows) {
      assert.equal(atProvider.get(reference), refundsOf.get(id) ?? 0, 'each refund is made once')
      assert.equal(refunded, reserved)
    }
    assert.deepEqual(await db.all(sql`select id from pay_calls where status in ('running', 'unknown')`), [])
    await survivor.stop()
  })
})

async function isPaid(app: TestApp, id: string): Promise<boolean> {
  const row = await app.app.db.get<{ captured: string }>(
    sql`select captured from pay_transactions where id = ${id}`,
  )
  return row!.captured !== '0'
}
