// What a newcomer does with `npm start` and nothing configured, in a real browser.
import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import type { Browser, Page } from 'playwright-core'

import { createClient } from '../../client/src/client.ts'
import { launchChromium, withoutChromium } from '../../server/src/testing/chromium.ts'
import { anyEngine, temporaryFolder, type Ending, type Engine } from '../../server/src/testing/engines.ts'
import { freePort } from '../../server/src/testing/free-port.ts'
import { startProgram } from '../../server/src/testing/program.ts'

const EMAIL = 'newcomer@example.com'
const PASSWORD = 'a long passphrase'
const NEXT_PASSWORD = 'another long passphrase'
const NUMBER = '+4915123456789'

// As docs/messaging.md has it.
const ORDER = `---
subject: Your order {{number}}
---
<p>Thank you{{#name}}, {{name}}{{/name}}. Your order {{number}} is on its way.</p>
`

describe('a newcomer', { skip: withoutChromium }, () => {
  let browser: Browser
  before(async () => {
    browser = await launchChromium()
  })

  /** What `npm start` runs, in a folder where nothing is configured but the port, and of PostgreSQL the database. */
  async function start(t: Ending, engine: Engine): Promise<{ url: string; folder: string }> {
    const folder = await temporaryFolder(t)
    const environment = {
      PORT: String(await freePort()),
      ...(engine.name === 'postgres' && { DATABASE_URL: await engine.freshUrl() }),
    }
    const program = startProgram(t, ['start'], { folder, environment })
    await program.url()
    return { url: `http://localhost:${environment.PORT}`, folder }
  }

  /** A person at a browser with two tabs: one for the sandbox, and one for the application. */
  async function sitDown(t: Ending, url: string) {
    const context = await browser.newContext()
    t.after(() => context.close())
    context.setDefaultTimeout(20_000)
    const complaints: string[] = []
    context.on('weberror', (failed) => complaints.push(failed.error().message))
    const sandbox = await context.newPage()
    let page: Page = await context.newPage()

    const note = (text: string | RegExp) => page.getByRole('status').filter({ hasText: text }).waitFor()
    const click = (name: string) => page.getByRole('button', { name, exact: true }).click()

    async function openMail(subject: string): Promise<void> {
      await sandbox.bringToFront()
      await sandbox.goto(`${url}/sandbox#inbox`)
      await sandbox.locator('#inbox-list').getByRole('link', { name: subject }).first().click()
      await sandbox.getByRole('heading', { name: subject }).waitFor()
    }

    return {
      sandbox,
      complaints,
      tab: () => page,
      note,
      click,
      openMail,
      fill: async (password?: string): Promise<void> => {
        await page.getByLabel('Email').fill(EMAIL)
        if (password !== undefined) await page.getByLabel('Password', { exact: true }).fill(password)
      },
      /** The text of the mail that is open, as it is rendered. */
      mail: () => sandbox.frameLocator('iframe').locator('body'),
      /** Opens the newest mail of this subject and clicks in it; goes on in the tab that this opens. */
      follow: async (subject: string, link: string): Promise<void> => {
        await openMail(subject)
        const [opened] = await Promise.all([
          sandbox.waitForEvent('popup'),
          sandbox.frameLocator('iframe').getByRole('link', { name: link, exact: true }).click(),
        ])
        await page.close()
        page = opened
        // The token goes from the address line.
        await page.waitForURL(
          ({ pathname, hash }) => pathname.startsWith('/sandbox/app/auth/') && hash === '',
        )
      },
      signOut: async (): Promise<void> => {
        await click('Sign out')
        await note('You are signed out.')
      },
      /** The access token of the signed-in account, once the page says that it is the newcomer. */
      token: async (): Promise<string> => {
        await page.getByText(`Signed in as ${EMAIL}`).waitFor()
        return page.evaluate<string>("localStorage.getItem('sixwire-sandbox-token')")
      },
    }
  }

  anyEngine((engine) => {
    test(
      'signs up, verifies the address, comes back by link, by new password and by both providers, sends, and sees all of it in the log',
      { timeout: 180_000 },
      async (t) => {
        const { url, folder } = await start(t, engine)
        const api = createClient(url)
        const person = await sitDown(t, url)
        const { sandbox, tab, note, click, fill, follow, openMail, signOut } = person
        const whoIsIn = async () => (await api.call('GET /auth/me', { token: await person.token() })).user

        await tab().goto(`${url}/sandbox`)
        await tab().getByText('No mail yet').waitFor()
        await tab()
          .getByRole('link', { name: `${url}/sandbox/app` })
          .click()
        await fill(PASSWORD)
        await click('Create an account')
        await note('Your account is created.')
        await tab().getByText('This address is not verified yet').waitFor()
        const { _id, emailVerified } = await whoIsIn()
        assert.equal(emailVerified, false)
        const isTheSame = async () => assert.equal((await whoIsIn())._id, _id)

        await follow('Confirm your email address', 'Confirm my address')
        await note('The address is verified.')
        await tab().getByText('This address is verified.').waitFor()
        await isTheSame()
        assert.equal((await whoIsIn()).emailVerified, true)
        await signOut()

        await fill()
        await click('Send me a link and a code')
        await note(EMAIL)
        await follow('Your link to sign in', 'Sign in')
        await note('You are signed in.')
        await isTheSame()
        await signOut()

        await fill()
        await click('I forgot my password')
        await note(/./)
        await follow('Choose a new password', 'Choose a new password')
        await tab().getByLabel('New password').fill(NEXT_PASSWORD)
        await click('Set the password')
        await fill(NEXT_PASSWORD)
        await click('Sign in')
        await isTheSame()
        await signOut()

        // At provider A the newcomer has no account yet, and makes one with the same address. Both know it as verified:
        // so the account is joined.
        await tab().getByRole('link', { name: 'Continue with provider A' }).click()
        await tab().getByText('Add a person').click()
        await tab().getByLabel('Name').fill('Nele Newcomer')
        await tab().getByLabel('Email address').fill(EMAIL)
        assert.ok(await tab().getByLabel('The provider has verified this address').isChecked())
        await click('Sign in as this person')
        await isTheSame()
        await signOut()

        // Who was invented has an account at provider B too.
        await tab().getByRole('link', { name: 'Continue with provider B' }).click()
        await tab().getByRole('button', { name: 'Nele Newcomer' }).click()
        await isTheSame()
        await signOut()
        await sandbox.locator('#inbox-list').getByText('New sign-in').nth(1).waitFor()
        const listed = await fetch(`${url}/sandbox/api/mail?to=${encodeURIComponent(EMAIL)}`)
        const inbox = (await listed.json()) as { messages: { subject: string; text: string }[] }
        const notices = inbox.messages.filter(({ subject }) => subject.startsWith('New sign-in'))
        for (const provider of ['Provider A', 'Provider B'])
          assert.equal(
            notices.filter(({ text }) => text.includes(`signed in to with ${provider}.`)).length,
            1,
          )

        await mkdir(join(folder, 'templates'))
        await writeFile(join(folder, 'templates', 'order.html'), ORDER)
        const { token, user } = await api.call('POST /auth/login', {
          body: { email: EMAIL, password: NEXT_PASSWORD },
        })
        assert.equal(user._id, _id)
        await openMail('New device on your account')
        const order = { to: 'ada@example.com', template: 'order', data: { number: '1007', name: 'Ada' } }
        await api.call('POST /messaging/email/template', { token, body: order })
        await api.call('POST /messaging/sms', {
          token,
          body: { to: NUMBER, body: 'Your parcel is on its way.' },
        })
        await api.call('POST /messaging/whatsapp', {
          token,
          body: { to: NUMBER, body: 'Your parcel is there.' },
        })

        await openMail('Your order 1007')
        await person.mail().getByText('Thank you, Ada. Your order 1007 is on its way.').waitFor()
        await sandbox.getByRole('navigation').getByRole('link', { name: 'Phone' }).click()
        await sandbox.getByRole('link', { name: NUMBER }).click()
        const conversation = sandbox.getByRole('list', { name: `Messages to ${NUMBER}` })
        await conversation.filter({ hasText: /SMS.*on its way.*WhatsApp.*is there/s }).waitFor()

        /** The log, once it shows so many messages and the last that is heard of each. */
        async function log(by: string, count: number): Promise<string[]> {
          for (;;) {
            const { logs } = await api.call('GET /messaging/logs', { token: by })
            const isTold = (one: (typeof logs)[number]) =>
              one.status === (one.channel === 'email' ? 'sent' : 'delivered')
            if (logs.length >= count && logs.every(isTold))
              return logs.map(({ channel, to, template }) =>
                [channel, template, 'to', to].filter(Boolean).join(' '),
              )
            await delay(20)
          }
        }
        // A development start has the policy `open`: every signed-in account sees every message, the service's own too.
        const sent = [
          `whatsapp to ${NUMBER}`,
          `sms to ${NUMBER}`,
          'email order to ada@example.com',
          `email new-device to ${EMAIL}`,
          `email new-sign-in to ${EMAIL}`,
          `email new-sign-in to ${EMAIL}`,
          `email password-changed to ${EMAIL}`,
          `email reset-password to ${EMAIL}`,
          `email magic-link to ${EMAIL}`,
          `email verify-email to ${EMAIL}`,
        ]
        assert.deepEqual(await log(token, sent.length), sent)
        const other = await api.call('POST /auth/register', {
          body: { email: 'other@example.com', password: PASSWORD },
        })
        assert.deepEqual(await log(other.token, sent.length + 1), [
          'email verify-email to other@example.com',
          ...sent,
        ])
        assert.deepEqual(person.complaints, [])
      },
    )
  })
})
