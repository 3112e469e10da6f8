// Settings in the console: the form for a mail server checks it, saves it, and sends a test mail.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { startApp, type TestApp } from '../../server/src/testing/app.ts'
import { withoutChromium } from '../../server/src/testing/chromium.ts'
import { checkLooks, openConsole, type ConsolePage } from '../../server/src/testing/console.ts'
import { endOfSuite, someEngine } from '../../server/src/testing/engines.ts'
import { startMailServer, type MailServer } from '../../server/src/testing/mail-server.ts'

const PASSWORD = 'a-secret-password'

describe('the screen of settings', { skip: withoutChromium }, () => {
  someEngine((engine) => {
    const ending = endOfSuite()
    let app: TestApp
    let mails: MailServer
    let admin: ConsolePage
    before(async () => {
      mails = await startMailServer(ending, { accounts: { shop: PASSWORD } })
      app = await startApp(ending, engine, { environment: { STRIPE_SECRET_KEY: 'sk_test_1' } })
      admin = await openConsole(ending, app, { at: '#/settings' })
    })
    const field = (name: string) => admin.page.getByLabel(name, { exact: true })
    const button = (name: string) => admin.page.getByRole('button', { name, exact: true })
    const open = async (name: RegExp) => admin.page.getByRole('link', { name }).click()
    const url = (password: string) => `smtp://shop:${password}@127.0.0.1:${mails.port}`

    test('a mail server is tried before it is saved, then sends, and its password is not shown', async () => {
      await open(/^Email not set/)
      await field('URL').fill(url('wrong'))
      await field('From').fill('shop@example.com')
      await button('Check and save').click()
      await admin.page.getByText(/^messaging: email by smtp:/).waitFor()
      await checkLooks(admin.page, 'settings that are refused')
      await field('URL').fill(url(PASSWORD))
      // By keyboard: Enter in a field sends the form.
      await field('URL').press('Enter')
      await admin.page.getByText('Saved, and in force.').waitFor()
      await admin.page.getByRole('link', { name: /^Email set here/ }).waitFor()
      assert.equal(await field('URL').inputValue(), '')
      assert.ok(!(await admin.page.content()).includes(PASSWORD))
      await button('Send a test…').click()
      await button('Send').click()
      await admin.page.getByText('The provider accepted the message.').waitFor()
      assert.equal((await mails.mailTo(admin.user.email)).parsed.from?.address, 'shop@example.com')
    })

    test('what the environment sets is locked, and says by what', async () => {
      await open(/^Stripe set by STRIPE_SECRET_KEY/)
      await admin.page.getByText('Set by STRIPE_SECRET_KEY: change it there.').first().waitFor()
      assert.equal(await button('Check and save').isDisabled(), true)
    })

    test('a choice, a number and a list are set, go back to their defaults, and to an earlier version', async () => {
      await open(/^Sign-up and sessions/)
      await field('Registration').selectOption('closed')
      await field('Session seconds').fill('86400')
      await button('Check and save').click()
      await admin.page.getByRole('link', { name: /^Sign-up and sessions set here/ }).waitFor()
      const register = { email: 'new@example.com', password: 'correct horse battery' }
      assert.equal((await app.request('POST', '/auth/register', { body: register })).status, 403)
      assert.equal(await field('Session seconds').inputValue(), '86400')
      await button('Back to the defaults').click()
      await admin.page.getByRole('link', { name: /^Sign-up and sessions default/ }).waitFor()
      await admin.page.getByText('Versions', { exact: true }).click()
      await admin.page
        .getByRole('listitem')
        .filter({ hasText: /^2 / })
        .getByRole('button', { name: 'Go back' })
        .click()
      await admin.page.getByRole('dialog').getByRole('button', { name: 'Go back' }).click()
      await admin.page.getByRole('link', { name: /^Sign-up and sessions set here/ }).waitFor()
      assert.equal((await app.request('POST', '/auth/register', { body: register })).status, 403)
    })

    test('an identity provider is added though it does not answer, removed, and there again in an earlier version', async () => {
      await admin.go('#/webhooks')
      await admin.go('#/settings')
      await button('Add an identity provider').click()
      const dialog = admin.page.getByRole('dialog')
      await field('Name').last().fill('company')
      await dialog.getByText('/auth/providers/company/callback').waitFor()
      await field('Issuer').last().fill('http://localhost:1')
      await field('Client ID').last().fill('shop')
      await field('Client secret').last().fill(PASSWORD)
      await button('Check and add').click()
      await dialog.getByText(/^auth: sign-in by localhost/).waitFor()
      await checkLooks(admin.page, 'an identity provider that does not answer')
      await button('Save nevertheless').click()
      await admin.page.getByRole('heading', { name: 'company', exact: true }).waitFor()
      assert.equal(await field('Issuer').inputValue(), 'http://localhost:1')
      assert.ok(!(await admin.page.content()).includes(PASSWORD))
      await button('Remove').click()
      await admin.page.getByRole('link', { name: /^company/ }).waitFor({ state: 'detached' })
      await admin.page.getByText('Versions', { exact: true }).click()
      await admin.page.locator('.setting-versions li').nth(1).getByRole('button', { name: 'Go back' }).click()
      await dialog.getByRole('button', { name: 'Go back' }).click()
      await button('Save nevertheless').click()
      await admin.page.getByRole('link', { name: /^company set here/ }).waitFor()
    })

    test('the colour of the application is that of the console at once', async () => {
      await admin.go('#/settings/general')
      await field('Color').fill('#ffdd00')
      await button('Check and save').click()
      await admin.page.getByText('Saved, and in force.').last().waitFor()
      const accent = () =>
        admin.page.evaluate<string>(`document.documentElement.style.getPropertyValue('--accent')`)
      while (!(await accent()).startsWith('light-dark(#')) await admin.page.waitForTimeout(20)
      await checkLooks(admin.page, 'settings in a colour of their own')
    })

    test('a webhook is added, shows its secret once, and is removed', async () => {
      await admin.go('#/webhooks')
      await button('New webhook').click()
      await field('Name').fill('shop')
      await field('Address').fill('http://localhost:1/events')
      await field('Events').fill('auth.user.created, pay.*')
      await button('Add').click()
      await admin.page.getByText(/^whsec_.{44}$/).waitFor()
      await checkLooks(admin.page, 'the secret of a webhook')
      await button('I have stored it').click()
      const pane = admin.page.getByRole('region', { name: 'Details' })
      await pane.getByRole('tab', { name: 'About' }).click()
      await pane.getByText('pay.*', { exact: true }).waitFor()
      await button('Remove…').click()
      await admin.page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
      await admin.page.getByText('shop is removed.').waitFor()
      await admin.page.getByText(/^No webhook yet/).waitFor()
    })

    test('a viewer reads them, and changes nothing; all that is in force is one link away', async () => {
      const viewer = await openConsole(ending, app, { as: 'viewer', at: '#/settings/auth', width: 320 })
      assert.equal(await viewer.page.getByRole('button', { name: 'Check and save' }).isDisabled(), true)
      await viewer.go('#/settings')
      await viewer.page.getByRole('link', { name: 'All settings and where they are from' }).click()
      await viewer.page.getByRole('heading', { name: 'All settings' }).waitFor()
    })
  })
})
