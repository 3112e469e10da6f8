// The screens of the console on which an operator sees how the installation is.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { loadConfig } from '../../server/src/app.ts'
import { sql } from '../../server/src/db/sql.ts'
import { Type } from '../../server/src/base/schema.ts'
import { route } from '../../server/src/http/route.ts'
import { defineWire } from '../../server/src/kernel/wire/wire.ts'
import { startApp, type TestApp } from '../../server/src/testing/app.ts'
import { withoutChromium } from '../../server/src/testing/chromium.ts'
import { checkLooks, openConsole, settled, type ConsolePage } from '../../server/src/testing/console.ts'
import { endOfSuite, someEngine } from '../../server/src/testing/engines.ts'
import { until } from '../../server/src/testing/until.ts'
import { startReceiver, webhookSecret } from '../../server/src/testing/webhook-receiver.ts'

const HOSTILE = 'a\u202Egnp.<img src=x onerror=alert(1)>'

/** A wire that fails with what a stranger chose. */
const till = defineWire({
  name: 'till',
  setup: () => ({
    service: undefined,
    routes: [
      route('GET /till', { summary: 'Fail', access: 'public', reply: { 200: Type.String() } }, () => {
        throw new TypeError(`no coin is called ${HOSTILE}`)
      }),
    ],
  }),
})

describe('the console of an operator', { skip: withoutChromium }, () => {
  someEngine((engine) => {
    let app: TestApp
    let admin: ConsolePage
    let customer: { token: string; email: string }
    const ending = endOfSuite()
    before(async () => {
      const shop = await loadConfig(fileURLToPath(new URL('../../examples/shop', import.meta.url)))
      const receiver = await startReceiver(ending)
      const webhook = {
        name: 'warehouse',
        url: receiver.url,
        secret: webhookSecret(),
        events: ['auth.user.*'],
      }
      app = await startApp(ending, engine, {
        config: { ...shop, wires: [...shop.wires!, till()], webhooks: [webhook] },
        environment: { SMTP_URL: 'smtp://mailer:p4ssw0rd@127.0.0.1:1', MAIL_FROM: 'shop@example.com' },
      })
      admin = await openConsole(ending, app, { at: '#/overview' })
      customer = await app.register('customer@example.com')
      await receiver.arrived(1)
      await app.request('POST', '/loyalty/redeem', { token: customer.token, body: { points: 30 } })
      await app.request('GET', '/till', { headers: { 'x-request-id': 'broken-till' } })
    })
    const show = (address: string): Promise<void> => admin.go(address)
    /** What is waiting is written each second. */
    const written = async (): Promise<void> => {
      app.clock.advance(1_000)
      await until(async () => {
        const row = await app.app.db.get<{ count: number }>(sql`select count(*) as count from sixwire_faults`)
        return row!.count > 0
      })
    }

    test('Overview: health, requests, figures and what is misconfigured, on one page', async () => {
      const { page } = admin
      await written()
      await page.reload()
      await page.getByRole('heading', { name: 'shop 1.0.0' }).waitFor()
      await page.getByRole('listitem').filter({ hasText: 'Open faults' }).getByText('1').waitFor()
      await page.getByRole('img', { name: /^Requests, 24 hours: at most/ }).waitFor()
      const finding = page.getByRole('listitem').filter({ hasText: 'APP_URL: it is not set' })
      assert.equal(
        await finding.getByRole('link', { name: 'Show the settings' }).getAttribute('href'),
        '#/settings',
      )
      const health = page.getByRole('region', { name: 'Health' })
      assert.equal(await health.getByText('ready', { exact: true }).count(), 8)
      await checkLooks(page, 'the overview')
    })

    test('Overview: an error says what the server said, and is tried again', async () => {
      const { page } = admin
      const error = { code: 'UNAVAILABLE', message: 'The database is busy.' }
      let isAway = true
      await page.route('**/core/overview', (call) =>
        isAway ? call.fulfill({ status: 500, json: { error } }) : call.continue(),
      )
      await page.reload()
      await page.getByRole('alert').getByText('The database is busy.').waitFor()
      isAway = false
      await page.getByRole('button', { name: 'Try again' }).click()
      await page.getByRole('heading', { name: 'shop 1.0.0' }).waitFor()
      await page.unroute('**/core/overview')
    })

    test('Logs: a request is found by its path, and what else it logged is beside it', async () => {
      const { page } = admin
      await show('#/logs?q=till&kind=request')
      await page.getByRole('link', { name: 'GET /till' }).click()
      const pane = page.getByRole('region', { name: 'Details' })
      await pane.getByText('broken-till').waitFor()
      await pane.getByText('INTERNAL_ERROR').waitFor()
      await pane.getByRole('link', { name: /^an unexpected error answered 500/ }).waitFor()
      await checkLooks(page, 'an entry of the log')
      await show('#/logs?q=nothing-like-this')
      await page.getByText('Nothing matches these filters.').waitFor()
    })

    test('Logs: the requests of the console are left out, unless they are asked for', async () => {
      const { page } = admin
      await show('#/jobs')
      await page.getByRole('table', { name: 'Jobs' }).getByRole('link').first().waitFor()
      await show('#/logs?q=/core/jobs&console=on')
      const rows = page.getByRole('link', { name: 'GET /core/jobs', exact: true })
      await until(async () => {
        app.clock.advance(1_000)
        await page.getByRole('button', { name: 'Refresh' }).click()
        await settled(page)
        return (await rows.count()) > 0
      })
      await page.getByRole('button', { name: 'With the console' }).click()
      await page.getByText('Nothing matches these filters.').waitFor()
    })

    test('Logs: what comes is followed, and waits while it is paused', async () => {
      const { page } = admin
      await show('#/logs?tail=on&q=tailed')
      await page.getByText('following').waitFor()
      const rows = page.locator('.tail tbody tr')
      const comes = async (path: string, isThere: () => Promise<boolean>): Promise<void> => {
        await app.request('GET', path)
        await until(async () => {
          app.clock.advance(1_000)
          return isThere()
        })
      }
      await comes('/tailed/1', async () => (await rows.count()) === 1)
      await page.getByRole('button', { name: 'Pause' }).click()
      await comes('/tailed/2', async () => page.getByText('Continue (1 new)').isVisible())
      assert.equal(await rows.count(), 1)
      await page.getByRole('button', { name: 'Continue (1 new)' }).click()
      await rows.nth(1).waitFor()
      assert.match(await rows.first().innerText(), /GET \/tailed\/2/)
      await checkLooks(page, 'the log as it comes')
    })

    test('Faults: a fault shows what a stranger sent as text, and is resolved', async () => {
      const { page } = admin
      await show('#/faults')
      await page.getByRole('link', { name: /^TypeError/ }).click()
      const pane = page.getByRole('region', { name: 'Details' })
      await pane.getByText('U+202E').first().waitFor()
      assert.equal(await page.locator('main img').count(), 0)
      await checkLooks(page, 'a fault')
      await pane.getByRole('button', { name: 'Resolve' }).click()
      await pane.getByText('resolved', { exact: true }).waitFor()
      await show('#/faults?state=open')
      await page.getByText('Nothing matches these filters.').waitFor()
    })

    test('Settings: each value says where it is from, and no secret is shown', async () => {
      const { page } = admin
      await show('#/settings/all?q=smtp')
      await page.getByText('smtp://***@127.0.0.1:1').waitFor()
      const row = page.getByRole('row').filter({ hasText: 'messaging.smtp.url' })
      await row.getByText('environment').waitFor()
      await show('#/settings/all?from=default')
      await page.getByRole('link', { name: 'requestLog' }).click()
      await page.getByRole('region', { name: 'Details' }).getByText('SIXWIRE_REQUEST_LOG').first().waitFor()
      assert.equal((await page.content()).includes('p4ssw0rd'), false)
      await checkLooks(page, 'a setting')
    })

    test('Webhooks: one that is off is switched on, and a delivery is sent again', async () => {
      const { page } = admin
      await app.app.db.write(
        sql`update sixwire_webhooks set off_at = ${app.clock.now()}, off_reason = 'it answered 410'`,
      )
      await show('#/webhooks/warehouse?tab=about')
      const pane = page.getByRole('region', { name: 'Details' })
      await pane.getByText('it answered 410').waitFor()
      await pane.getByRole('button', { name: 'Switch on' }).click()
      await pane.getByText('Because').waitFor({ state: 'detached' })
      await pane.getByRole('tab', { name: 'Deliveries' }).click()
      const cards = pane.locator('.cards li').filter({ hasText: 'auth.user.created' })
      await checkLooks(page, 'the deliveries of a webhook')
      await cards
        .first()
        .getByRole('button', { name: /^Send again/ })
        .click()
      await page.getByText('It is sent again.').first().waitFor()
    })

    test('Application: the screen of a wire lists its records, and does what the wire says', async () => {
      const { page } = admin
      await show('#/application')
      await page.getByRole('link', { name: customer.email }).click()
      const pane = page.getByRole('region', { name: 'Details' })
      await pane.getByText('70', { exact: true }).waitFor()
      await pane.getByRole('button', { name: 'Grant points' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText(customer.email).waitFor()
      await dialog.getByLabel('Points').fill('25')
      await checkLooks(page, 'the form of an action')
      await dialog.getByRole('button', { name: 'Grant points' }).click()
      await page
        .getByRole('row')
        .filter({ hasText: customer.email })
        .getByText('95', { exact: true })
        .waitFor()
    })

    test('a viewer sees all of it, and can change none of it', async () => {
      const viewer = await openConsole(ending, app, { as: 'viewer', at: '#/faults' })
      await viewer.page.getByRole('link', { name: /^TypeError/ }).click()
      await app.request('GET', '/till')
      app.clock.advance(1_000)
      const pane = viewer.page.getByRole('region', { name: 'Details' })
      assert.equal(await pane.getByRole('button', { name: 'Resolve' }).isDisabled(), true)
      await viewer.go('#/application')
      await viewer.page.getByRole('link', { name: customer.email }).click()
      assert.equal(await pane.getByRole('button', { name: 'Grant points' }).isDisabled(), true)
    })
  })
})
