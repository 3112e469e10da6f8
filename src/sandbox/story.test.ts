// What a newcomer does with `npm start` and nothing configured, in a real browser.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'

import type { Browser, Page } from 'playwright-core'

import { startApp } from '../testing/app.ts'
import { launchChromium, withoutChromium } from '../testing/chromium.ts'
import { eachEngine } from '../testing/engines.ts'

const EMAIL = 'newcomer@example.com'
const PASSWORD = 'a long passphrase'

describe('a newcomer', { skip: withoutChromium }, () => {
  let browser: Browser
  before(async () => {
    browser = await launchChromium()
  })
  after(() => browser.close())

  eachEngine((engine) => {
    test('signs up, verifies the address, signs out, and comes back by link, by new password and by both providers', async (t) => {
      const app = await startApp(t, engine, { sandbox: true })
      const { publicUrl, appUrl } = app.app.settings
      const context = await browser.newContext()
      t.after(() => context.close())
      context.setDefaultTimeout(20_000)
      const page = await context.newPage()
      const complaints: string[] = []
      page.on('pageerror', (error) => complaints.push(error.message))

      const note = (text: string | RegExp) => page.getByRole('status').filter({ hasText: text }).waitFor()
      const signedInAs = (email: string) => page.getByText(`Signed in as ${email}`).waitFor()
      async function fill(password?: string): Promise<void> {
        await page.getByLabel('Email').fill(EMAIL)
        if (password !== undefined) await page.getByLabel('Password', { exact: true }).fill(password)
      }
      async function signOut(): Promise<void> {
        await page.getByRole('button', { name: 'Sign out' }).click()
        await note('You are signed out.')
      }
      /** Opens the inbox, the newest mail of this subject, and the link in it, as a person would. */
      async function followLink(subject: string): Promise<void> {
        await page.goto(`${publicUrl}/sandbox#inbox`)
        await page.getByText(subject).first().click()
        const link = page.getByRole('link', { name: new RegExp(`^${appUrl}/auth/`) }).first()
        const href = await link.getAttribute('href')
        await page.goto('about:blank')
        await page.goto(href!)
      }
      const consent = async (at: Page, person: string) => {
        await at.waitForURL(/\/sandbox\/idp/)
        await at.getByText(person).first().click()
      }

      await page.goto(appUrl)
      await fill(PASSWORD)
      await page.getByRole('button', { name: 'Make an account' }).click()
      await note('Your account is made.')
      await page.getByText('This address is not verified yet').waitFor()

      await followLink('Confirm your email address')
      await note('The address is verified.')
      await signedInAs(EMAIL)
      await page.getByText('This address is verified.').waitFor()
      assert.equal(new URL(page.url()).hash, '', 'the token is gone from the address line')
      await signOut()

      await fill()
      await page.getByRole('button', { name: 'Send me a link to sign in' }).click()
      await note(EMAIL)
      await followLink('Your link to sign in')
      await signedInAs(EMAIL)
      await signOut()

      await fill()
      await page.getByRole('button', { name: 'I forgot my password' }).click()
      await page.getByRole('status').filter({ hasText: /./ }).waitFor()
      await followLink('Choose a new password')
      await page.getByLabel('New password').fill('another long passphrase')
      await page.getByRole('button', { name: 'Set the password' }).click()
      await page.getByLabel('Email').waitFor()
      await fill('another long passphrase')
      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
      await signedInAs(EMAIL)
      await signOut()

      for (const provider of ['A', 'B']) {
        await page.getByRole('link', { name: `Continue with provider ${provider}` }).click()
        await consent(page, 'Ada')
        await signedInAs('ada@example.com')
        await signOut()
      }
      assert.deepEqual(complaints, [])
    })
  })
})
