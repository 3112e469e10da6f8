// What a console shows first of an installation, through HTTP.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { sql } from '../../../db/sql.ts'
import { defineWire } from '../../../kernel/wire/wire.ts'
import { startApp, type TestApp } from '../../../testing/app.ts'
import { login } from '../../../testing/auth.ts'
import { eachEngine, endOfSuite, testOnOne } from '../../../testing/engines.ts'
import { until } from '../../../testing/until.ts'

/** A wire with figures and series of which some can be read, and some can't. */
const desk = defineWire({
  name: 'desk',
  setup: () => ({
    routes: [],
    service: undefined,
    series: [
      {
        name: 'sales',
        title: 'Sales',
        unit: 'count',
        kind: 'sum',
        opens: 'desk',
        read: async (slots) => slots.map((_, slot) => ({ slot, part: '', value: slot })),
      },
      {
        name: 'stock',
        title: 'Stock',
        unit: 'count',
        kind: 'level',
        sample: async () => [{ part: '', value: 3 }],
      },
      {
        name: 'torn',
        title: 'Torn',
        unit: 'count',
        kind: 'sum',
        read: () => Promise.reject(new Error('no')),
      },
    ],
    warnings: ['desk.lamp: it is off'],
    figures: [
      { name: 'orders', title: 'Open orders', kind: 'count', isWarning: true, read: async () => 7 },
      { name: 'broken', title: 'Broken', kind: 'count', read: () => Promise.reject(new Error('no')) },
    ],
  }),
})

eachEngine((engine) => {
  const testOnce = testOnOne(engine)
  describe('an installation', () => {
    let app: TestApp
    let token: string
    const ending = endOfSuite()
    before(async () => {
      app = await startApp(ending, engine, {
        config: { name: 'shop', version: '1.2.3', wires: [desk()] },
        environment: { SMTP_URL: 'smtp://mailer:p4ssw0rd@mail.example:587', MAIL_FROM: 'shop@example.com' },
      })
      token = (await app.register('ada@example.com')).token
    })
    const get = (path: string) => app.request('GET', path, { token })

    test('shows its health, requests, jobs, figures and what is misconfigured', async () => {
      await app.register('eve@example.com')
      for (let i = 0; i < 5; i++) await login(app, 'eve@example.com', 'wrong horse battery')
      await app.app.db.write(sql`
        insert into sixwire_jobs (id, kind, payload, state, attempts, run_at, created_at, last_error)
        values ('j1', 'shop.receipt', 'null', 'failed', 10, ${app.clock.now()}, ${app.clock.now()}, 'no')`)
      const { status, body } = await get('/core/overview')
      assert.equal(status, 200)
      assert.deepEqual(
        [body.name, body.version, body.production, body.policy, body.health.status],
        ['shop', '1.2.3', false, 'open', 'healthy'],
      )
      assert.equal(body.health.wires.desk, 'ready')
      assert.equal(body.requests.length, 24)
      assert.deepEqual(
        body.jobs.filter(({ state }: { state: string }) => state === 'failed'),
        [{ kind: 'shop.receipt', state: 'failed', count: 1 }],
      )
      assert.equal(body.openFaults, 0)
      const figures = Object.fromEntries(
        body.figures.map((one: { wire: string; name: string; value: unknown }) => [
          `${one.wire} ${one.name}`,
          one.value,
        ]),
      )
      assert.deepEqual(figures, {
        'auth accounts': 2,
        'auth unverified-accounts': 2,
        'auth locked-addresses': 1,
        'store last-backup': null,
        'desk orders': 7,
      })
      const problems = body.findings.map(
        ({ check, problem }: Record<string, string>) => `${check}: ${problem}`,
      )
      assert.ok(problems.includes('configuration: desk.lamp: it is off'), problems.join('\n'))
      assert.ok(problems.some((line: string) => line.startsWith('failed jobs: 1 background job')))

      // A finding has the call that mends it.
      await app.app.db.write(sql`update sixwire_jobs set kind = 'auth.clean' where id = 'j1'`)
      const failedJobs = async () =>
        (await get('/core/overview')).body.findings.find(
          ({ check }: { check: string }) => check === 'failed jobs',
        )
      const { mend } = await failedJobs()
      const [method, path] = mend.call.split(' ')
      const mended = await app.request(method, path, { token, body: mend.body })
      assert.deepEqual([mended.status, mended.body], [200, { count: 1 }])
      await until(async () => (await failedJobs()) === undefined)
    })

    test('has the series that its wires declare, without those that cannot be read', async () => {
      const { body } = await get('/core/series?range=7d')
      const own = body.series.filter(({ wire }: { wire: string }) => wire === 'desk')
      // The eighth time is the period before.
      const sales = { part: '', values: ['0', '1', '2', '3', '4', '5', '6'], total: '21', before: '7' }
      const stock = { part: '', values: [null, null, null, null, null, null, '3'], total: '3', before: null }
      const of = { wire: 'desk', unit: 'count' }
      assert.deepEqual(own, [
        { ...of, name: 'sales', title: 'Sales', kind: 'sum', opens: 'desk', parts: [sales] },
        { ...of, name: 'stock', title: 'Stock', kind: 'level', parts: [stock] },
      ])
    })

    testOnce('shows the settings in force and where each is from, without secrets', async () => {
      const { status, body, text } = await get('/core/config')
      assert.equal(status, 200)
      const find = (option: string) => body.settings.find((one: { option: string }) => one.option === option)
      assert.deepEqual(find('name'), {
        option: 'name',
        variable: null,
        value: 'shop',
        source: 'sixwire.config.ts',
      })
      assert.deepEqual(find('port'), { option: 'port', variable: 'PORT', value: 0, source: 'environment' })
      assert.equal(find('policy').source, 'default')
      assert.deepEqual(find('requestLog').value, { days: 7, rows: 200_000, perSecond: 20, slowMs: 1_000 })
      assert.equal(find('messaging.smtp.url').value, 'smtp://***@mail.example:587')
      assert.deepEqual([find('SIXWIRE_SECRET').value, find('SIXWIRE_SECRET').source], ['***', 'environment'])
      assert.equal(text.includes('p4ssw0rd'), false)
    })
  })
})
