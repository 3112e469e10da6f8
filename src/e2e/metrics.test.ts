// What GET /metrics says of sign-ins, messages, payments, chains, jobs and backups.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Type } from '../base/schema.ts'
import { sql } from '../db/sql.ts'
import { defineWire } from '../kernel/wire.ts'
import { testClock } from '../testing/app.ts'
import { refused } from '../testing/assemble.ts'
import { eachEngine } from '../testing/engines.ts'
import { freePort } from '../testing/free-port.ts'
import { startMailServer } from '../testing/mail-server.ts'
import { startTestNode } from '../testing/node.ts'
import { until } from '../testing/until.ts'
import { startTill } from '../wires/pay/pay.fixture.ts'

/** A wire with a counter, a gauge that fails, and a job that does. */
const shop = defineWire({
  name: 'shop',
  setup({ metrics, jobs }) {
    const count = metrics.counter({ name: 'shop_orders_total', help: 'Orders', labels: ['size'] })
    metrics.gauge({ name: 'shop_stock_books', help: 'Books', labels: [] }, async () => {
      throw new Error('nobody knows')
    })
    const fail = jobs.define(
      'shop.fail',
      { payload: Type.Null(), retry: { firstMs: 10, maxMs: 10, attempts: 1 } },
      async () => {
        throw new Error('it fails')
      },
    )
    return {
      routes: [],
      service: undefined,
      async start() {
        count({ size: 'small' })
        count({ size: 'small' })
        await fail.enqueue(null)
      },
    }
  },
})

describe('GET /metrics', () => {
  eachEngine((engine) => {
    test('has what the wires count, and what a scrape reads from the database and the chains', async (t) => {
      const clock = testClock()
      const mail = await startMailServer(t)
      const node = await startTestNode(t)
      const till = await startTill(t, engine, {
        clock,
        config: {
          wires: [shop()],
          onchain: {
            chains: {
              ethereum: { rpcUrls: [node.url] },
              base: { rpcUrls: [`http://127.0.0.1:${await freePort()}`] },
            },
          },
        },
        environment: { SMTP_URL: `smtp://127.0.0.1:${mail.port}`, MAIL_FROM: 'shop@shop.example' },
      })
      const { app } = till
      const { email, password, token } = await app.register()
      await app.request('POST', '/auth/login', { body: { email, password } })
      await app.request('POST', '/auth/login', { body: { email, password: 'a wrong passphrase' } })
      const sent = await app.request('POST', '/messaging/email', {
        token,
        body: { to: 'ada@example.com', subject: 'Hello', body: '<p>Hello</p>' },
      })
      assert.equal(sent.status, 200, sent.text)
      await till.paid()
      assert.equal((await till.call('POST /store/backup')).status, 201)
      clock.advance(7_000)

      /** The value of a sample; undefined if there is none. */
      const scrape = async () => {
        const { status, text } = await app.request('GET', '/metrics')
        assert.equal(status, 200)
        const values = new Map(
          text
            .split('\n')
            .filter((line) => line !== '' && !line.startsWith('#'))
            .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
        )
        return (sample: string): number | undefined => values.get(sample)
      }
      await until(async () => (await scrape())('sixwire_jobs{kind="shop.fail",state="failed"}') === 1)
      // The other one verifies the address of the account.
      await until(
        async () => (await scrape())('sixwire_messages_total{channel="email",outcome="sent"}') === 2,
      )
      const value = await scrape()
      assert.equal(value('sixwire_sign_ins_total{method="password",outcome="success"}'), 1)
      assert.equal(value('sixwire_sign_ins_total{method="password",outcome="password"}'), 1)
      assert.equal(value('sixwire_events_total{event="account-created"}'), 1)
      assert.equal(value('sixwire_payments_total{provider="cardpay",status="completed"}'), 1)
      assert.equal(value('sixwire_chain_healthy{chain="ethereum"}'), 1)
      assert.equal(value('sixwire_chain_healthy{chain="base"}'), 0)
      assert.ok(value('sixwire_chain_head_age_seconds{chain="ethereum"}')! >= 0)
      assert.equal(value('sixwire_chain_head_age_seconds{chain="base"}'), undefined)
      assert.ok(value('sixwire_backup_age_seconds')! >= 7)
      assert.equal(value('shop_orders_total{size="small"}'), 2)
      assert.equal(value('shop_stock_books'), undefined, 'a gauge that fails is left out')

      const now = clock.now()
      await app.app.db.write(sql`
        insert into sixwire_jobs (id, kind, payload, state, run_at, attempts, created_at)
        values ('late', 'gone', 'null', 'ready', ${now - 90_000}, 0, ${now})`)
      const age = (await scrape())('sixwire_jobs_oldest_due_seconds{kind="gone"}')!
      assert.ok(age >= 90 && age < 200, String(age))
    })
  })

  for (const [name, line] of [
    ['shop_orders', /"shop_orders" can't be the name of a counter/],
    ['Orders_total', /"Orders_total" can't be the name of a counter/],
    ['sixwire_messages_total', /two metrics are called "sixwire_messages_total"/],
    [
      'process_cpu_seconds_total',
      /"process_cpu_seconds_total" begins like the metrics of requests or of Node/,
    ],
  ] as const)
    test(`a counter called ${name} stops the start`, async (t) => {
      const wire = defineWire({
        name: 'wrong',
        setup({ metrics }) {
          metrics.counter({ name, help: '', labels: [] })
          return { routes: [], service: undefined }
        },
      })
      await refused(t, line, { config: { wires: [wire()] } })
    })
})
