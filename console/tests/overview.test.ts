// The overview: what happened over time, and the plots of a collection.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { sql } from '../../server/src/db/sql.ts'
import { startApp, type TestApp } from '../../server/src/testing/app.ts'
import { registerAs } from '../../server/src/testing/administration.ts'
import { withoutChromium } from '../../server/src/testing/chromium.ts'
import { checkLooks, openConsole, settled, type ConsolePage } from '../../server/src/testing/console.ts'
import { endOfSuite, someEngine } from '../../server/src/testing/engines.ts'
import { addBusyMonth } from './busy-month.fixture.ts'

describe('the overview of the console', { skip: withoutChromium }, () => {
  someEngine((engine) => {
    const ending = endOfSuite()
    let app: TestApp
    let admin: ConsolePage
    before(async () => {
      app = await startApp(ending, engine, { sandbox: true, config: { name: 'shop', version: '1.0.0' } })
      admin = await openConsole(ending, app)
    })
    const tile = (title: string) =>
      admin.page
        .getByRole('list', { name: 'Over time' })
        .getByRole('listitem')
        .filter({ has: admin.page.getByRole('heading', { name: title, exact: true }) })

    test('is kind where nothing has happened yet, and says what to do first', async () => {
      const { page } = admin
      await page.getByRole('heading', { name: 'shop 1.0.0' }).waitFor()
      await settled(page)
      await page.getByRole('heading', { name: 'It is quiet here' }).waitFor()
      await page.getByRole('link', { name: 'Create a collection' }).waitFor()
      await page.getByText('Nothing in this time: Revenue, Refunds, Messages').waitFor()
      assert.equal(await tile('Revenue').count(), 0)
      assert.equal(await tile('Messages').count(), 0)
    })

    test('mends a finding by its button, after a question', async () => {
      const { page } = admin
      const now = app.clock.now()
      await app.app.db.write(sql`
        insert into sixwire_jobs (id, kind, payload, state, attempts, run_at, created_at, last_error)
        values ('j1', 'auth.clean', 'null', 'failed', 10, ${now}, ${now}, 'no')`)
      await page.reload()
      const findings = page.getByRole('region', { name: 'Findings' })
      await findings.getByRole('button', { name: 'Run the failed jobs again' }).click()
      await checkLooks(page, 'the question before a finding is mended')
      await page.getByRole('dialog').getByRole('button', { name: 'Run the failed jobs again' }).click()
      await page.getByText('The jobs run again.').first().waitFor()
      await findings.getByText(/failed for good/).waitFor({ state: 'detached' })
    })

    test('draws each series with its total and change, for the range of the address', async () => {
      const { page } = admin
      await addBusyMonth(app)
      await page.reload()
      const ranges = page.getByRole('navigation', { name: 'Time that is shown' })
      await ranges.getByRole('link', { name: '30 days' }).click()
      await settled(page)
      assert.match(page.url(), /range=30d/)
      const change = tile('Revenue, EUR').getByText(/^[▲▼] \d+ ?%$/)
      await change.waitFor()
      await tile('Revenue, EUR')
        .getByText(/than in the 30 days before/)
        .waitFor({ state: 'attached' })
      const kinds = tile('Messages').getByRole('list', { name: 'Messages by kind' })
      await kinds.getByText('delivered').waitFor()
      await tile('Sign-ups')
        .getByRole('img', { name: /^Sign-ups, 30 days: at most/ })
        .waitFor()
      await tile('Storage').getByRole('img', { name: /MB$/ }).waitFor()
      for (const title of ['Active users', 'Requests', 'Failed requests', 'Refunds, EUR', 'Revenue, USD'])
        assert.equal(await tile(title).count(), 1, title)
      assert.equal(await tile('Blocks behind chains').count(), 0, 'no chain is configured')
      await checkLooks(page, 'the overview of 30 days')
    })

    test('has the numbers of a picture in a table, and leads to the records of that time', async () => {
      const { page } = admin
      const signUps = tile('Sign-ups')
      await signUps.getByText('As a table').click()
      assert.equal(await signUps.locator('tbody tr').count(), 30)
      const numbers = await signUps.locator('tbody td').allInnerTexts()
      const total = numbers.reduce((sum, text) => sum + Number(text.replaceAll(/\D/g, '')), 0)
      assert.equal(total, Number((await signUps.locator('strong').innerText()).replaceAll(/\D/g, '')))
      await tile('Revenue, EUR').getByRole('link').click()
      await page.getByRole('heading', { name: 'Payments' }).first().waitFor()
      assert.match(page.url(), /#\/payments\?from=\d{4}-\d\d-\d\dT/)
      assert.notEqual(await page.getByLabel('Created from').inputValue(), '')
      await page.goBack()
      const reader = { token: (await registerAs(app, 'admin')).token }
      for (const [title, link, route] of [
        ['Sign-ups', 'Sign-ups', '/auth/users'],
        ['Active users', 'Active users', '/auth/users'],
        ['Messages', 'failed', '/messaging/logs'],
      ] as const) {
        const shown =
          title === link
            ? tile(title).locator('strong')
            : tile(title).locator('li', { hasText: link }).locator('b')
        const counted = Number((await shown.innerText()).replaceAll(/\D/g, ''))
        await tile(title).getByRole('link', { name: link, exact: true }).click()
        await page.locator('.records tbody tr').first().waitFor()
        const listed = await app.request('GET', `${route}?${page.url().split('?')[1]}&limit=1`, reader)
        assert.equal(listed.body.total, counted, title)
        await page.goBack()
      }
      await tile('Failed requests').getByRole('link').click()
      await page.waitForURL(/#\/logs\?status=5xx&since=/)
      await page.goBack()
    })

    test('shows three plots of a collection, which stay', async () => {
      const { page } = admin
      const { token } = await app.register()
      for (const [kind, price] of [
        ['tea', 4],
        ['tea', 5],
        ['milk', 1],
      ] as const)
        assert.equal(
          (await app.request('POST', '/store/goods', { token, body: { kind, price } })).status,
          201,
        )
      await admin.go('#/data/goods')
      await page.getByText('More', { exact: true }).click()
      await page.getByRole('button', { name: 'Plots' }).click()
      const dialog = page.getByRole('dialog', { name: 'Plots of goods' })
      async function add(
        measure: string,
        field: string | undefined,
        by: string,
        slot: string,
      ): Promise<void> {
        await dialog.getByLabel('What is shown').selectOption(measure)
        if (field !== undefined) await dialog.getByLabel('Of the field').selectOption(field)
        await dialog.getByLabel('By the field').selectOption(by)
        await dialog.getByLabel('One bar for').selectOption(slot)
        await dialog.getByRole('button', { name: 'Add the plot' }).click()
      }
      await add('sum', 'price', 'kind', '')
      const sums = dialog.getByRole('region', { name: 'Sum of price by kind', exact: true }).first()
      await sums.getByRole('row').first().waitFor()
      assert.deepEqual(await sums.locator('th, .number').allInnerTexts(), ['tea', '9', 'milk', '1'])
      await dialog.getByRole('button', { name: 'Add a plot' }).click()
      await add('count', undefined, 'createdAt', 'day')
      await dialog.getByRole('button', { name: 'Add a plot' }).click()
      await add('average', 'price', 'createdAt', 'month')
      assert.equal(await dialog.getByRole('button', { name: 'Add a plot' }).count(), 0, 'three at most')
      await settled(page)
      await checkLooks(page, 'the plots of a collection')
      await page.reload()
      await page.getByText('More', { exact: true }).click()
      await page.getByRole('button', { name: 'Plots' }).click()
      await dialog.getByRole('img', { name: /^Documents by day of createdAt: at most 3/ }).waitFor()
    })
  })
})
