// What GET /metrics says of sign-ins, messages, payments, chains, jobs and backups.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Type } from '../base/schema.ts'
import { sql } from '../db/sql.ts'
import { defineWire, type WireContext } from '../kernel/wire/wire.ts'
import { startApp, testClock, type TestApp } from '../testing/app.ts'
import { refused } from '../testing/assemble.ts'
import { anyEngine, eachEngine } from '../testing/engines.ts'
import { freePort } from '../testing/free-port.ts'
import { startMailServer } from '../testing/mail-server.ts'
import { startTestNode } from '../testing/node.ts'
import { until } from '../testing/until.ts'
import { startTill } from '../wires/pay/pay.fixture.ts'

/** A wire with a counter, a histogram, a gauge that fails, and a job that does. */
const shop = defineWire({
  name: 'shop',
  setup({ metrics, jobs }) {
    const count = metrics.counter({ name: 'shop_orders_total', help: 'Orders', labels: ['size'] })
    metrics.gauge({ name: 'shop_stock_books', help: 'Books', labels: [] }, async () => {
      throw new Error('nobody knows')
    })
    const recordPacking = metrics.histogram({
      name: 'shop_packing_seconds',
      help: 'Time to pack an order',
      labels: ['size'],
      buckets: [60, 300],
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
        recordPacking({ size: 'small' }, 45)
        recordPacking({ size: 'small' }, 95.5)
        await fail.enqueue(null)
      },
    }
  },
})

/** The value of a sample of `GET /metrics`; undefined if there is none. */
async function samplesOf(app: TestApp): Promise<(sample: string) => number | undefined> {
  const { status, text } = await app.request('GET', '/metrics')
  assert.equal(status, 200)
  const values = new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  )
  return (sample) => values.get(sample)
}

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
      // What `increase` of an alert sees of the first dispute or failure.
      const first = await samplesOf(app)
      assert.equal(first('sixwire_payments_total{provider="cardpay",status="disputed"}'), 0)
      assert.equal(first('sixwire_messages_total{channel="email",outcome="failed"}'), 0)
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

      const scrape = () => samplesOf(app)
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
      assert.equal(value('shop_packing_seconds_bucket{le="60",size="small"}'), 1)
      assert.equal(value('shop_packing_seconds_bucket{le="300",size="small"}'), 2)
      assert.equal(value('shop_packing_seconds_sum{size="small"}'), 140.5)
      assert.equal(value('shop_stock_books'), undefined, 'a gauge that fails is left out')

      assert.ok(value('sixwire_data_free_bytes')! > 0)
      assert.ok(value('sixwire_database_size_bytes{part="database"}')! > 0)
      assert.equal(value('sixwire_database_writable'), 1)

      const now = clock.now()
      await app.app.db.write(sql`
        insert into sixwire_jobs (id, kind, payload, state, run_at, attempts, created_at)
        values ('late', 'gone', 'null', 'ready', ${now - 90_000}, 0, ${now})`)
      const age = (await scrape())('sixwire_jobs_oldest_due_seconds{kind="gone"}')!
      assert.ok(age >= 90 && age < 200, String(age))
    })
  })

  anyEngine((engine) => {
    test('has names that promtool takes: those of counters alone end in _total', async (t) => {
      const app = await startApp(t, engine)
      const { text } = await app.request('GET', '/metrics')
      for (const [, name, type] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm))
        assert.equal(name!.endsWith('_total'), type === 'counter', name!)
    })

    test('of two servers in one process each counts its own', async (t) => {
      const [one, other] = [await startApp(t, engine), await startApp(t, engine)]
      await one.register()
      const created = 'sixwire_events_total{event="account-created"}'
      const answered = 'http_request_duration_seconds_count{method="POST",path="/auth/register",status="201"}'
      assert.equal((await samplesOf(one))(created), 1)
      assert.equal((await samplesOf(one))(answered), 1)
      assert.equal((await samplesOf(other))(created), undefined)
      assert.equal((await samplesOf(other))(answered), undefined)
    })
  })

  const counter = (name: string, help = 'Orders', labels: readonly string[] = []) =>
    [name, ({ metrics }: WireContext) => void metrics.counter({ name, help, labels })] as const
  const histogram = (name: string, labels: readonly string[], buckets: readonly number[]) =>
    [
      name,
      ({ metrics }: WireContext) => void metrics.histogram({ name, help: 'Orders', labels, buckets }),
    ] as const
  for (const [[name, declare], line] of [
    [counter('shop_orders'), /"shop_orders" can't be the name of a counter/],
    [counter('Orders_total'), /"Orders_total" can't be the name of a counter/],
    [counter('sixwire_messages_total'), /two metrics are called "sixwire_messages_total"/],
    [
      counter('process_cpu_seconds_total'),
      /"process_cpu_seconds_total" begins like the metrics of requests or of Node/,
    ],
    [counter('shop_silent_total', ' '), /"shop_silent_total" has no help: write what it counts/],
    [counter('shop_sizes_total', 'Orders', ['a size']), /"shop_sizes_total": "a size" can't be a label/],
    [histogram('shop_packing_total', [], [1]), /"shop_packing_total" can't be the name of a histogram/],
    [histogram('shop_packing_seconds', ['le'], [1]), /"shop_packing_seconds": "le" can't be a label/],
    [
      histogram('shop_packing_seconds', [], [60, 60]),
      /"shop_packing_seconds": buckets are numbers, each above/,
    ],
    [
      histogram('http_request_duration_seconds', [], [1]),
      /two metrics are called "http_request_duration_seconds"/,
    ],
  ] as const)
    test(`a metric called ${name} stops the start: ${line.source}`, async (t) => {
      const wire = defineWire({
        name: 'wrong',
        setup(context) {
          declare(context)
          return { routes: [], service: undefined }
        },
      })
      await refused(t, line, { config: { wires: [wire()] } })
    })

  test('a gauge with a name that a histogram has stops the start', async (t) => {
    const wire = defineWire({
      name: 'wrong',
      setup({ metrics }) {
        metrics.histogram({ name: 'shop_packing_seconds', help: 'Orders', labels: [], buckets: [1] })
        metrics.gauge({ name: 'shop_packing_seconds_sum', help: 'Orders', labels: [] }, async () => [])
        return { routes: [], service: undefined }
      },
    })
    await refused(t, /^metrics: two metrics are called "shop_packing_seconds_sum"$/, {
      config: { wires: [wire()] },
    })
  })
})
