// Backups in the console: made, checked, downloaded, restored and deleted.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import type { Page } from 'playwright-core'

import { startApp, type TestApp } from '../../server/src/testing/app.ts'
import { PASSWORD } from '../../server/src/testing/auth.ts'
import { withoutChromium } from '../../server/src/testing/chromium.ts'
import { checkLooks, openConsole, type ConsolePage } from '../../server/src/testing/console.ts'
import { endOfSuite, someEngine } from '../../server/src/testing/engines.ts'

const MINUTE_MS = 60_000

describe('backups in the console', { skip: withoutChromium }, () => {
  someEngine((engine) => {
    const ending = endOfSuite()
    let app: TestApp
    let admin: ConsolePage
    let page: Page
    let token: string
    before(async () => {
      app = await startApp(ending, engine)
      token = (await app.register()).token
      admin = await openConsole(ending, app, { at: '#/backups' })
      page = admin.page
    })
    const button = (name: string) => page.getByRole('button', { name, exact: true })
    const create = (n: number) => app.request('POST', '/store/books', { token, body: { n } })
    const total = async () => (await app.request('GET', '/store/books', { token })).body.total

    test('say what to do if there are none, and are made', async () => {
      await page.getByText('No backups yet.').waitFor()
      await create(1)
      await button('Make a backup').click()
      await page.locator('.toasts').getByText('Backup completed.').waitFor()
      await page.locator('.table a.open').click()
      await page.getByText('1 document in 1 collection, 0 files').waitFor()
    })

    test('are restored after a check, with the name of the installation and the password', async () => {
      await create(2)
      await button('Check and compare').click()
      await page.getByText('The archive is whole').waitFor()
      const row = page.getByRole('row', { name: 'books' })
      assert.deepEqual(await row.getByRole('cell').allInnerTexts(), ['1', '2'])
      await checkLooks(page, 'a backup beside what is stored')
      assert.equal(await total(), 2)

      // The sign-in is too long ago for a restore.
      app.clock.advance(11 * MINUTE_MS)
      await button('Restore…').click()
      const dialog = page.getByRole('dialog', { name: 'Restore this backup?' })
      await dialog.getByText('All 2 documents and 0 files of').waitFor()
      const name = await dialog.locator('label strong').innerText()
      const submit = dialog.getByRole('button', { name: 'Restore' })
      assert.ok(await submit.isDisabled())
      await dialog.getByRole('textbox').fill(name)
      await submit.click()
      const proof = page.getByRole('dialog', { name: 'Confirm that it is you' })
      await proof.getByLabel('Password').fill(PASSWORD)
      await proof.getByRole('button', { name: 'Confirm' }).click()
      await page.locator('.toasts').getByText('Restored.').waitFor()
      assert.equal(await total(), 1)
      await page.getByRole('definition').getByText('safety').waitFor()
    })

    test('are downloaded, and deleted', async () => {
      const waiting = page.waitForEvent('download')
      await button('Download').click()
      assert.match((await waiting).suggestedFilename(), /^\w{26}\.tar\.zst$/)
      await button('Delete').click()
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
      await page.locator('.toasts').getByText('Backup deleted.').waitFor()
      assert.equal((await app.request('GET', '/store/backups', { token })).body.total, 1)
    })

    test('tell how far they are while they are made, and why they failed', async () => {
      const one = { _id: '01arz3ndektsv4rrffq69g5fav', kind: 'manual', createdAt: '2026-01-01T00:00:00.000Z' }
      const running = { ...one, status: 'running', progress: { done: 250, total: 1000 } }
      const failed = { ...one, status: 'failed', error: 'The disk is full.' }
      const answers = [running, running, failed]
      await page.route('**/store/backup', (route) => route.fulfill({ status: 202, json: running }))
      await page.route(`**/store/backups/${one._id}`, (route) =>
        route.fulfill({ json: answers.shift() ?? failed }),
      )
      await button('Make a backup').click()
      const bar = page.getByRole('progressbar', { name: 'Progress of the backup' })
      await bar.and(page.locator('[value="250"]')).waitFor()
      await page.locator('.toasts').getByText('The backup failed: The disk is full.').waitFor()
      await admin.go(`#/backups/${one._id}`)
      await page.getByRole('alert').getByText('The disk is full.').waitFor()
      assert.ok(await button('Check and compare').isDisabled())
    })
  })
})
