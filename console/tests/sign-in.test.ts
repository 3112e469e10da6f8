// Every way into the console, and out of it.
import assert from 'node:assert/strict'
import { before, beforeEach, describe, test } from 'node:test'

import type { Page } from 'playwright-core'

import { startApp, type TestApp } from '../../server/src/testing/app.ts'
import { login, PASSWORD } from '../../server/src/testing/auth.ts'
import { withoutChromium } from '../../server/src/testing/chromium.ts'
import { checkLooks, openConsole } from '../../server/src/testing/console.ts'
import { endOfSuite, someEngine } from '../../server/src/testing/engines.ts'
import { addAuthenticator } from '../../server/src/testing/second-factor.ts'
import { until } from '../../server/src/testing/until.ts'

describe('signing in to the console', { skip: withoutChromium }, () => {
  someEngine((engine) => {
    const ending = endOfSuite()
    let app: TestApp
    let page: Page
    before(async () => {
      app = await startApp(ending, engine, { sandbox: true })
      ;({ page } = await openConsole(ending, app, { as: undefined, url: app.app.settings.publicUrl }))
    })

    beforeEach(async () => {
      await page.goto(`${app.app.settings.publicUrl}/console`)
    })

    let people = 0
    async function account(role?: 'admin' | 'viewer') {
      const email = `person${++people}@example.com`
      await app.app.service('auth').users.create({ email, password: PASSWORD, ...(role && { role }) })
      return email
    }
    const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true })
    const isIn = () => page.getByRole('navigation', { name: 'Screens' }).waitFor()
    async function enter(email: string, password = PASSWORD): Promise<void> {
      await page.getByLabel('Email address').fill(email)
      await page.getByLabel('Password', { exact: true }).fill(password)
      await button('Sign in').click()
    }
    async function leave(): Promise<void> {
      await button('Sign out').click()
      await button('Sign in').waitFor()
    }

    test('creates the first administrator while there is no account', async () => {
      await page.getByText('Create the first administrator').waitFor()
      await checkLooks(page, 'the first run')
      await page.getByLabel('Email address').fill('first@example.com')
      await page.getByLabel('Password').fill('short')
      await button('Create the account').click()
      await page
        .getByText(/at least/)
        .first()
        .waitFor()
      assert.equal(await page.getByLabel('Email address').inputValue(), 'first@example.com')
      await page.getByLabel('Password').fill(PASSWORD)
      await button('Create the account').click()
      await isIn()
      assert.deepEqual(
        await app.app
          .service('auth')
          .users.find('first@example.com')
          .then((one) => one?.role),
        'admin',
      )
      await leave()
    })

    test('with a password, after a wrong one, and it goes on in a new tab until signing out', async () => {
      const email = await account('admin')
      await checkLooks(page, 'the sign-in')
      await enter(email, 'wrong')
      await page
        .getByRole('alert')
        .getByText(/incorrect|wrong|not match/i)
        .waitFor()
      assert.equal(await page.getByLabel('Email address').inputValue(), email)
      await enter(email)
      await isIn()
      // No script finds a token: neither in a storage nor in a cookie.
      const found = await page.evaluate<string[]>(
        `[localStorage, sessionStorage].flatMap((storage) => Object.entries(storage).map(String)).concat(document.cookie)`,
      )
      assert.ok(found.includes('sixwire console: signed in,yes'), found.join('\n'))
      for (const text of found) assert.doesNotMatch(text, /[\w-]{20,}|token/i)
      const tab = await page.context().newPage()
      await tab.goto(`${app.app.settings.publicUrl}/console`)
      await tab.getByRole('navigation', { name: 'Screens' }).waitFor()
      await tab.close()
      await leave()
      await page.reload()
      await button('Sign in').waitFor()
    })

    test('is refused to an account that is neither administrator nor viewer', async () => {
      await enter(await account())
      await page
        .getByRole('alert')
        .getByText(/administrator/)
        .waitFor()
    })

    test('not by a link of a stranger, which has the session of the stranger in it', async () => {
      const { token, refreshToken } = (await login(app, await account('admin'))).body
      const link = new URLSearchParams({ token, refreshToken })
      await page.goto('about:blank')
      await page.goto(`${app.app.settings.publicUrl}/console#/sign-in?${link.toString()}`)
      await page
        .getByRole('alert')
        .getByText(/did not begin in this tab/)
        .waitFor()
      assert.ok(!page.url().includes(token))
      await button('Sign in').waitFor()
    })

    test('with a code by mail', async () => {
      const email = await account('viewer')
      await button('Email me a code instead').click()
      await page.getByLabel('Email address').fill(email)
      await button('Send a code').click()
      let code: string | undefined
      await until(async () => {
        const { body } = await app.request('GET', `/sandbox/api/mail?to=${encodeURIComponent(email)}`)
        const [mail] = (body as { messages: { text: string }[] }).messages
        code = /^\d{3} \d{3}$/m.exec(mail?.text ?? '')?.[0]
        return code !== undefined
      })
      await page.getByLabel('Code', { exact: true }).fill(code!)
      await button('Sign in').click()
      await isIn()
      await page.getByText('Read-only: your role is viewer').waitFor()
      await leave()
    })

    test('with a second factor', async () => {
      const email = await account('admin')
      const authenticator = await addAuthenticator(app, (await login(app, email)).body.token)
      await enter(email)
      await page.getByLabel('Code of the authenticator app').fill('000000')
      await button('Continue').click()
      await page.getByRole('alert').waitFor()
      await page.getByLabel('Code of the authenticator app').fill(authenticator.code())
      await button('Continue').click()
      await isIn()
      await leave()
    })

    test('with a passkey that was added here', async () => {
      const devtools = await page.context().newCDPSession(page)
      await devtools.send('WebAuthn.enable')
      await devtools.send('WebAuthn.addVirtualAuthenticator', {
        options: {
          protocol: 'ctap2',
          transport: 'internal',
          hasResidentKey: true,
          hasUserVerification: true,
          isUserVerified: true,
        },
      })
      await enter(await account('admin'))
      await isIn()
      await page.goto(`${app.app.settings.publicUrl}/console#/account/factors`)
      await button('Add a passkey').click()
      await button('I have stored them').click()
      await page.getByText('Passkey', { exact: true }).waitFor()
      await leave()
      await button('Use a passkey').click()
      await isIn()
      await leave()
    })

    test('at an identity provider, and back', async () => {
      await page.getByRole('link', { name: 'Sign in with Provider A' }).click()
      await page.getByRole('button', { name: /Ada/ }).click()
      // The account is new and has no role.
      await page
        .getByRole('alert')
        .getByText(/administrator/)
        .waitFor()

      // "idpa" of the API is shown with the name that people know.
      const { users } = app.app.service('auth')
      const [ada] = (await users.list({ limit: 1 })).accounts
      await users.promote({ id: ada!.id })
      await page.getByRole('link', { name: 'Sign in with Provider A' }).click()
      await page.getByRole('button', { name: /Ada/ }).click()
      await isIn()
      const console = `${app.app.settings.publicUrl}/console`
      await page.goto(`${console}#/audit?action=session.created`)
      await page
        .getByRole('link', { name: /session.created/ })
        .first()
        .click()
      await page.getByRole('cell', { name: 'idpa Provider A' }).waitFor()
      await page.goto(`${console}#/users/${ada!.id}`)
      await page.getByText(/^localhost:\d+, as /).waitFor()
      await leave()
    })

    test('continues with the first administrator as soon as the address is verified, under guarded', async () => {
      const guarded = await startApp(ending, engine, {
        sandbox: true,
        config: { policy: 'guarded' },
      })
      const url = guarded.app.settings.publicUrl
      const { page } = await openConsole(ending, guarded, { as: undefined, url })
      await page.getByLabel('Email address').fill('first@example.com')
      await page.getByLabel('Password').fill(PASSWORD)
      await page.getByRole('button', { name: 'Create the account' }).click()
      await page.getByRole('heading', { name: 'Verify your email address' }).waitFor()
      await checkLooks(page, 'an address that is not verified')
      await page.reload()
      await page.getByRole('button', { name: 'Send the email again' }).click()
      await page.getByText('An email with a link to verify it is sent to first@example.com.').waitFor()

      const inbox = page.waitForEvent('popup')
      await page.getByRole('link', { name: 'inbox of the sandbox' }).click()
      const sandbox = await inbox
      const mails = sandbox.locator('#inbox-list').getByText('Confirm your email address')
      await mails.nth(1).waitFor()
      await mails.first().click()
      const link = sandbox.locator('.links').getByRole('link').first()
      await sandbox.goto((await link.getAttribute('href'))!)
      await page.bringToFront()
      await page.getByRole('navigation', { name: 'Screens' }).waitFor()
      assert.equal(await page.getByRole('alert').count(), 0)

      // The finding about others leads to where an administrator verifies them.
      const { email } = await guarded.register()
      await page.reload()
      await page.getByRole('link', { name: 'Show these users' }).click()
      await page.getByRole('link', { name: email }).click()
      await page.getByRole('button', { name: 'Mark as verified' }).waitFor()
    })
  })
})
