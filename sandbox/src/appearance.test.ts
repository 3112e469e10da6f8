// Whether the pages of the sandbox can be read and used, by day and by night, and without a mouse.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { createTransport } from 'nodemailer'
import type { Browser, Page } from 'playwright-core'

import { startApp, type TestApp } from '../../server/src/testing/app.ts'
import { launchChromium, withoutChromium } from '../../server/src/testing/chromium.ts'
import { anyEngine } from '../../server/src/testing/engines.ts'
import { groundLightness, hardToReach, hardToRead } from '../../server/src/testing/legibility.ts'
import { isLongRun } from '../../server/src/testing/long-run.ts'

const PASSWORD = 'a long passphrase'
const NUMBER = '+4915123456789'

/** Looks at what a page shows now. */
type Look = (scene: string) => Promise<void>

describe('the pages of the sandbox', { skip: withoutChromium }, () => {
  let browser: Browser
  before(async () => {
    browser = await launchChromium()
  })

  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

  async function showInbox(app: TestApp, page: Page, look: Look): Promise<void> {
    const { publicUrl } = app.app.settings
    await page.goto(`${publicUrl}/sandbox`)
    await page.getByText('No mail yet').waitFor()
    await look('the empty inbox')

    await app.register('ada@example.com')
    const { mail } = (await app.request('GET', '/sandbox/api')).body
    const mailer = createTransport(mail.variables.SMTP_URL)
    await mailer.sendMail({
      from: 'shop@example.com',
      to: 'ada@example.com',
      subject: 'Pictures',
      text: `See ${publicUrl}/health`,
      html: `<p>See <a href="${publicUrl}/health">this</a></p><img src="https://example.com/a.png" alt="">`,
      attachments: [{ filename: 'a.txt', content: 'text' }],
    })
    mailer.close()
    await page.getByRole('link', { name: 'Confirm your email address' }).click()
    await page.frameLocator('iframe').getByText('Confirm my address').waitFor()
    await look('a mail of the service')
    await page.getByRole('link', { name: 'Pictures' }).click()
    await page.getByText('Pictures from other servers').waitFor()
    await page.frameLocator('iframe').getByText('See this').waitFor()
    await look('a mail with remote pictures')
    for (const name of ['Text', 'HTML', 'Headers']) {
      await page.getByRole('tab', { name }).click()
      await look(`${name} of a mail`)
    }
    await page.locator('#inbox-filter').fill('nothing of the sort')
    await page.getByText('No mail matches.').waitFor()
    await look('a filter that nothing matches')
  }

  async function showPhone(app: TestApp, page: Page, look: Look): Promise<void> {
    await page.goto(`${app.app.settings.publicUrl}/sandbox#phone`)
    await page.getByText('No messages yet').waitFor()
    await look('the empty phone')
    const { token } = await app.register()
    const body = { to: NUMBER, body: 'See https://example.com' }
    for (const channel of ['sms', 'whatsapp'])
      await app.request('POST', `/messaging/${channel}`, { token, body })
    await page.reload()
    await page.getByRole('link', { name: NUMBER }).click()
    await page.getByText('WhatsApp').waitFor()
    await look('a conversation')
  }

  async function showAuthenticator(app: TestApp, page: Page, look: Look): Promise<void> {
    await page.goto(`${app.app.settings.publicUrl}/sandbox#authenticator`)
    await page.getByText('No accounts yet.').waitFor()
    await page.getByLabel('Address or secret').fill('1')
    await button(page, 'Add').click()
    await page.locator('.fault').waitFor()
    await look('the empty authenticator')
    await page
      .getByLabel('Address or secret')
      .fill('otpauth://totp/Shop:ada@example.com?secret=GEZDGNBV&issuer=Shop')
    await button(page, 'Add').click()
    await page.getByText(/s left$/).waitFor()
    await look('the authenticator with an account')
  }

  async function showPeople(app: TestApp, page: Page, look: Look): Promise<void> {
    await page.goto(`${app.app.settings.publicUrl}/sandbox#people`)
    await page.getByLabel('Name').fill('Edith')
    await page.getByLabel('Email address').fill('edith@nowhere')
    await button(page, 'Add').click()
    await page.getByText('after the @').waitFor()
    await look('the people')
    await page.route('**/sandbox/api/**', (route) => route.abort())
    await page.reload()
    await page.getByText('The server does not answer').waitFor()
    await look('a server that does not answer')
    await page.unroute('**/sandbox/api/**')
  }

  async function showChains(app: TestApp, page: Page, look: Look): Promise<void> {
    await page.goto(`${app.app.settings.publicUrl}/sandbox#chains`)
    await page.getByText('Local chains').waitFor()
    await look('the chains')
    await page.getByRole('link', { name: /base/ }).click()
    await page.getByText('a new contract').first().waitFor()
    await button(page, 'Private key of account 0').click()
    await page.getByLabel('Depth').fill('1000')
    await button(page, 'Reorganise').click()
    await page.locator('.fault').waitFor()
    await look('a chain')

    const { token } = await app.register()
    const body = { amount: '12.5', token: 'USDC', chain: 'base' }
    await app.request('POST', '/pay/onchain/payment', { token, body })
    await page.reload()
    await page.getByRole('link', { name: '12.5 USDC' }).click()
    await button(page, 'Pay this request').waitFor()
    await look('a payment request')
  }

  async function showProviders(app: TestApp, page: Page, look: Look): Promise<void> {
    await app.request('PUT', '/sandbox/api/faults/phone', { body: { error: 503, times: 2 } })
    await page.goto(`${app.app.settings.publicUrl}/sandbox#providers`)
    await page.getByText('In force').waitFor()
    await page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    await look('the providers')
    await button(page, 'Reset the sandbox').click()
    await page.getByRole('dialog').waitFor()
    await look('the question whether to reset')
  }

  async function showConsent(app: TestApp, page: Page, look: Look): Promise<void> {
    const { appUrl } = app.app.settings
    for (const provider of ['A', 'B']) {
      await page.goto(appUrl)
      await page.getByRole('link', { name: `Continue with provider ${provider}` }).click()
      await page.getByText('Add a person').click()
      await page.getByLabel('Email address').fill('edith@nowhere')
      await button(page, 'Sign in as this person').click()
      await page.getByRole('alert').waitFor()
      await look(`the consent page of provider ${provider}`)
      const asked = new URL(page.url())
      asked.searchParams.set('client_id', 'nobody')
      await page.goto(asked.href)
      await page.getByRole('alert').waitFor()
      await look(`what provider ${provider} cannot answer`)
    }
  }

  async function showFrontend(app: TestApp, page: Page, look: Look): Promise<void> {
    const { appUrl } = app.app.settings
    await page.goto(appUrl)
    await page.getByLabel('Email').fill('newcomer@example.com')
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await button(page, 'Sign in').click()
    await page.locator('.note.bad:visible').waitFor()
    await look('the frontend')
    await page.goto(`${appUrl}/auth/reset#token=x`)
    await page.getByLabel('New password').waitFor()
    await look('the frontend’s page for another password')
    await page.goto(appUrl)
    await page.getByLabel('Email').fill('newcomer@example.com')
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await button(page, 'Create an account').click()
    await page.getByText('This address is not verified yet').waitFor()
    await look('the frontend for somebody who is signed in')
  }

  const ALL = [
    showInbox,
    showPhone,
    showAuthenticator,
    showPeople,
    showChains,
    showProviders,
    showConsent,
    showFrontend,
  ]
  // In their order: the first ones expect that nothing has happened.
  const sample = new Set(ALL.toSorted(() => Math.random() - 0.5).slice(0, 3))
  const PAGES = isLongRun ? ALL : ALL.filter((show) => sample.has(show))

  anyEngine((engine) => {
    test('are legible in light and dark mode, and work with the Tab key', { timeout: 180_000 }, async (t) => {
      const app = await startApp(t, engine, { sandbox: true })
      const context = await browser.newContext({
        reducedMotion: 'reduce',
        viewport: { width: 1280, height: 800 },
      })
      t.after(() => context.close())
      context.setDefaultTimeout(20_000)
      const page = await context.newPage()
      const faults: string[] = []
      const look: Look = async (scene) => {
        for (const one of (await hardToReach(page)).faults) faults.push(`${scene}: ${one}`)
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme })
          const lightness = await groundLightness(page)
          if (colorScheme === 'dark' ? lightness > 0.05 : lightness < 0.8)
            faults.push(`${scene}: is not ${colorScheme}`)
          // A mail is in a frame.
          for (const frame of page.frames()) {
            const seen = await hardToRead(frame)
            assert.ok(seen.count > 0, `${scene}: nothing was shown`)
            faults.push(...seen.faults.map((one) => `${scene}, ${colorScheme}: ${one}`))
          }
        }
      }
      for (const show of PAGES) await show(app, page, look)
      assert.deepEqual(faults, [])
    })
  })
})
