// Ten minutes with a new installation: from the first account to a restore, with the keyboard alone.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import type { Page } from 'playwright-core'

import { sql } from '../../server/src/db/sql.ts'
import { login, PASSWORD } from '../../server/src/testing/auth.ts'
import { withoutChromium } from '../../server/src/testing/chromium.ts'
import { openConsole } from '../../server/src/testing/console.ts'
import { eachEngine } from '../../server/src/testing/engines.ts'
import { startMailServer } from '../../server/src/testing/mail-server.ts'
import { until } from '../../server/src/testing/until.ts'
import { startTill } from '../../server/src/wires/pay/pay.fixture.ts'
import { choose, open, type } from './keyboard.fixture.ts'

/** A desktop, and a small phone. */
const WIDTHS = { sqlite: 1280, postgres: 320 }

const toast = (page: Page, text: string | RegExp) => page.locator('.toasts').getByText(text).last().waitFor()

describe('the first ten minutes with the console', { skip: withoutChromium }, () => {
  eachEngine((engine) => {
    test('are done with the keyboard alone: account, lock, document, refund, message, restore', async (t) => {
      const mail = await startMailServer(t)
      const till = await startTill(t, engine, {
        config: { name: 'shop' },
        environment: { SMTP_URL: mail.url, MAIL_FROM: 'shop@example.com' },
      })
      const { app } = till
      const { page } = await openConsole(t, app, { as: undefined, width: WIDTHS[engine.name] })

      // The first account is an administrator.
      await page.getByRole('form', { name: 'First administrator' }).waitFor()
      await type(page, 'Email address', 'ada@example.com')
      await type(page, 'Password', PASSWORD)
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: /^shop/, level: 1 }).waitFor()
      await page.getByText('healthy').waitFor()

      // A user of the application.
      const { token, _id: bob } = await app.register('bob@example.com')
      const book = (await app.request('POST', '/store/books', { token, body: { title: 'Momo' } })).body
      const { _id: payment } = await till.paid(1_000)
      // The next mail is not one that greets the new accounts.
      for (const to of ['ada@example.com', 'bob@example.com']) await mail.mailTo(to)
      mail.next({ recipient: 550 })
      const body = { to: 'carol@example.com', subject: 'Hello', body: '<p>Hello</p>' }
      await till.call('POST /messaging/email', body)
      const statusOfMail = async () => (await till.call('GET /messaging/logs')).body.logs[0].status
      await until(async () => (await statusOfMail()) === 'failed')

      // Find a user and lock the account, and let the user in again.
      await open(page, 'u', 'Users')
      await page.keyboard.press('/')
      await page.keyboard.type('bob')
      await page.getByRole('link', { name: 'ada@example.com' }).waitFor({ state: 'detached' })
      await choose(page, 'bob@example.com')
      await page.getByRole('button', { name: 'Disable' }).waitFor()
      await choose(page, 'Disable')
      await page.getByRole('dialog').waitFor()
      await choose(page, 'Disable')
      await page.getByRole('button', { name: 'Enable' }).waitFor()
      const { status: refused } = await login(app, 'bob@example.com')
      assert.ok(refused >= 400, String(refused))
      await choose(page, 'Enable')
      await page.getByRole('button', { name: 'Disable' }).waitFor()

      // Edit a document.
      await open(page, 'd', 'Data')
      await choose(page, 'books')
      const row = `…${book._id.slice(-8)}`
      await page.getByRole('link', { name: row }).waitFor()
      await choose(page, row)
      await page.getByLabel('Value of title').waitFor()
      await type(page, 'Value of title', 'Momo, second edition')
      await page.keyboard.press('Control+s')
      await toast(page, 'Saved.')
      const titleOf = async () => (await till.call(`GET /store/books/${book._id}`)).body.title
      assert.equal(await titleOf(), 'Momo, second edition')

      // Refund a part of a payment.
      await open(page, 'p', 'Payments')
      await page.getByRole('link', { name: '10.00 EUR' }).waitFor()
      await choose(page, '10.00 EUR')
      await page.getByRole('button', { name: 'Refund…' }).waitFor()
      await choose(page, 'Refund…')
      await page.getByRole('dialog').waitFor()
      await type(page, 'Amount in EUR', '2.50')
      await page.keyboard.press('Enter')
      await toast(page, '2.50 EUR refunded.')
      assert.equal((await till.transaction(payment)).refundedAmount, 250)

      // Send a message again that its provider had refused.
      await open(page, 'm', 'Messages')
      await page.getByRole('link', { name: 'carol@example.com' }).waitFor()
      await choose(page, 'carol@example.com')
      await page.getByRole('button', { name: 'Send again' }).waitFor()
      await choose(page, 'Send again')
      await page.getByRole('dialog').waitFor()
      await choose(page, 'Send again')
      await toast(page, 'The message is queued.')
      await until(async () => (await statusOfMail()) === 'sent')

      // Make a backup, and restore it after a document was deleted.
      await open(page, 'b', 'Backups')
      await choose(page, 'Make a backup')
      await toast(page, 'Backup completed.')
      assert.equal((await till.call(`DELETE /store/books/${book._id}`)).status, 200)
      await page.evaluate('document.activeElement?.blur()')
      await page.locator('.table a.open').waitFor()
      await page.keyboard.press('j')
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: 'Check and compare' }).waitFor()
      await choose(page, 'Check and compare')
      await page.getByText('The archive is whole').waitFor()
      await choose(page, 'Restore…')
      await page.getByRole('dialog').waitFor()
      await type(page, 'Type shop to continue', 'shop')
      await page.keyboard.press('Enter')
      await toast(page, /^Restored\./)
      assert.equal(await titleOf(), 'Momo, second edition')

      // Who did what is in the audit log.
      const entries = await app.app.db.all<{ action: string; target: string | null }>(
        sql`select action, target from sixwire_audit where actor_role = 'admin' order by id`,
      )
      const targets = new Map(entries.map(({ action, target }) => [action, target]))
      assert.equal(targets.get('payment.refunded'), `payment:${payment}`)
      assert.equal(targets.get('user.enabled'), `user:${bob}`)
      for (const action of ['user.disabled', 'message.resent', 'backup.restored'])
        assert.ok(targets.has(action), `${action} is not among ${[...targets.keys()].join(', ')}`)
    })
  })
})
