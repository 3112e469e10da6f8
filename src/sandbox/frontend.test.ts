import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import type { Browser, Page } from 'playwright-core'

import { startApp } from '../testing/app.ts'
import { launchChromium, withoutChromium } from '../testing/chromium.ts'
import { anyEngine, type Ending, type Engine } from '../testing/engines.ts'

const HOUR_MS = 3_600_000
const TEN_MINUTES_MS = 600_000

describe('the stand-in of the frontend', { skip: withoutChromium }, () => {
  let browser: Browser
  before(async () => {
    browser = await launchChromium()
  })

  async function visit(t: Ending, engine: Engine) {
    const app = await startApp(t, engine, { sandbox: true })
    const context = await browser.newContext()
    t.after(() => context.close())
    context.setDefaultTimeout(20_000)
    const page = await context.newPage()
    return { app, page, home: app.app.settings.appUrl }
  }

  const stored = (page: Page, name: string) =>
    page.evaluate<string | null>(`localStorage.getItem('sixwire-sandbox-' + ${JSON.stringify(name)})`)

  const status = (page: Page, text: string) => page.getByRole('status').filter({ hasText: text }).waitFor()

  async function makeAccount(page: Page, home: string, email: string): Promise<void> {
    await page.goto(home)
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('Password', { exact: true }).fill('a long passphrase')
    await page.getByRole('button', { name: 'Create an account' }).click()
    await page.getByText(`Signed in as ${email}`).waitFor()
  }

  anyEngine((engine) => {
    test('a link with somebody else’s tokens signs nobody in', async (t) => {
      const { app, page, home } = await visit(t, engine)
      const mallory = await app.register('mallory@example.com')
      const tokens = new URLSearchParams({ token: mallory.token, refreshToken: mallory.refreshToken })
      const trap = `${home}/auth/callback#${tokens.toString()}`
      await page.goto(trap)
      await status(page, 'was not started in this tab')
      assert.equal(new URL(page.url()).hash, '', 'the tokens are gone from the address line')
      await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
      assert.equal(await stored(page, 'token'), null)

      await makeAccount(page, home, 'ada@example.com')
      await page.goto(trap)
      await status(page, 'was not started in this tab')
      await page.getByText('Signed in as ada@example.com').waitFor()
    })

    test('a sign-in that was begun is good for one answer', async (t) => {
      const { app, page, home } = await visit(t, engine)
      await page.goto(home)
      await page.getByRole('link', { name: 'Continue with provider A' }).click()
      await page.getByRole('button', { name: 'Deny' }).click()
      await status(page, 'You were not signed in: access_denied.')
      const { token, refreshToken } = await app.register('mallory@example.com')
      const trap = `${home}/auth/callback#${new URLSearchParams({ token, refreshToken }).toString()}`
      await page.goto(trap)
      await status(page, 'was not started in this tab')

      await page.getByRole('link', { name: 'Continue with provider A' }).click()
      await page.getByRole('button', { name: 'Deny' }).waitFor()
      await page.clock.setFixedTime(Date.now() + TEN_MINUTES_MS + 1000)
      await page.goto(trap)
      await status(page, 'was not started in this tab within the last ten minutes')
      assert.equal(await stored(page, 'token'), null)
    })

    test('the link in a mail arrives signed in, in a tab of its own, and a sign-out is one in every tab', async (t) => {
      const { app, page, home } = await visit(t, engine)
      await makeAccount(page, home, 'ada@example.com')
      let mail: { links: string[] } | undefined
      while (!mail) [mail] = (await app.request('GET', '/sandbox/api/mail')).body.messages
      app.clock.advance(HOUR_MS)
      const other = await page.context().newPage()
      const [asked] = await Promise.all([
        other.waitForRequest((one) => one.url().endsWith('/auth/verify-email')),
        other.goto(mail.links[0]!),
      ])
      await other.getByText('This address is verified.').waitFor()
      assert.equal(asked.headers()['authorization'], `Bearer ${await stored(other, 'token')}`)
      await other.getByRole('button', { name: 'Sign out' }).click()
      await status(page, 'You were signed out in another tab.')
      await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
    })

    test('under another name of this machine it goes on under the public one, with what the link says', async (t) => {
      const { page, home } = await visit(t, engine)
      const other = new URL(home)
      other.hostname = other.hostname === 'localhost' ? '127.0.0.1' : 'localhost'
      await page.goto(other.href)
      await page.waitForURL(home)
      await page.getByRole('link', { name: 'Continue with provider A' }).click()
      await page.getByRole('button', { name: 'Deny' }).click()
      await status(page, 'You were not signed in: access_denied.')
      await page.goto(`${other.href}/auth/reset#token=x`)
      await page.waitForURL(`${home}/auth/reset`)
      await page.getByLabel('New password').waitFor()
    })

    test('a token that has run out is refreshed, and who has no session any more is told', async (t) => {
      const { app, page, home } = await visit(t, engine)
      await makeAccount(page, home, 'ada@example.com')
      const before = [await stored(page, 'token'), await stored(page, 'refresh-token')]
      app.clock.advance(HOUR_MS)
      await page.reload()
      await page.getByText('Signed in as ada@example.com').waitFor()
      const next = [await stored(page, 'token'), await stored(page, 'refresh-token')]
      assert.ok(next.every((one, at) => one !== null && one !== before[at]))

      app.clock.advance(HOUR_MS)
      await page.evaluate("localStorage.setItem('sixwire-sandbox-refresh-token', 'no longer good')")
      await page.getByRole('button', { name: 'Send the verification mail again' }).click()
      await status(page, 'Your session has ended: sign in again.')
      await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
      assert.equal(await stored(page, 'token'), null)
    })
  })
})
