import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import type { Browser, Page } from 'playwright-core'

import { startApp } from '../../server/src/testing/app.ts'
import { launchChromium, withoutChromium } from '../../server/src/testing/chromium.ts'
import { anyEngine, type Ending, type Engine } from '../../server/src/testing/engines.ts'

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

    test('adds an authenticator app and a passkey, and signs in with each; a trusted device needs neither', async (t) => {
      const { app, page, home } = await visit(t, engine)
      const button = (name: string) => page.getByRole('button', { name, exact: true })
      const signOut = async () => {
        await button('Sign out').click()
        await button('Sign in').waitFor()
      }
      const signIn = async () => {
        await page.getByLabel('Email').fill('ada@example.com')
        await page.getByLabel('Password', { exact: true }).fill('a long passphrase')
        await button('Sign in').click()
      }
      const authenticator = await page.context().newPage()
      const codeOfNow = async () => {
        await authenticator.reload()
        return (await authenticator.locator('output').first().innerText()).replace(' ', '')
      }
      await makeAccount(page, home, 'ada@example.com')
      await button('Set up an app').click()
      await page.getByRole('img', { name: 'QR code' }).waitFor()
      await page.waitForFunction("document.getElementById('qr').naturalWidth > 0")
      await authenticator.goto(
        (await page.getByRole('link', { name: 'Use the authenticator' }).getAttribute('href'))!.replace(
          /^/,
          new URL(home).origin,
        ),
      )
      await page.getByLabel('Code of the app').fill(await codeOfNow())
      await button('Add the app').click()
      await button('I have stored them').waitFor()
      const codes = (await page.locator('#codes-text').innerText()).split('\n')
      assert.equal(codes.length, 10)
      await button('I have stored them').click()
      await page.getByText('10 codes are left.').waitFor()

      await signOut()
      await signIn()
      await status(page, 'Your account needs a second factor.')
      app.clock.advance(30_000)
      await page.getByLabel('Code of your app').fill(await codeOfNow())
      await page.getByLabel('Trust this device').check()
      await button('Continue').click()
      await page.getByText('Signed in as ada@example.com').waitFor()
      await signOut()
      await signIn()
      await page.getByText('Signed in as ada@example.com').waitFor()
      await button('Stop trusting it').click()
      await page.getByText('None: each sign-in needs').waitFor()

      // Only the page in front may ask for a passkey.
      await page.bringToFront()
      const devtools = await page.context().newCDPSession(page)
      await devtools.send('WebAuthn.enable')
      await devtools.send('WebAuthn.addVirtualAuthenticator', {
        options: {
          protocol: 'ctap2',
          transport: 'internal',
          hasResidentKey: true,
          hasUserVerification: true,
          isUserVerified: true,
          automaticPresenceSimulation: true,
        },
      })
      // The trusted device was no proof of a factor.
      await button('Add a passkey').click()
      await page.getByRole('dialog').getByLabel('Code of your app').fill(codes[0]!)
      await button('Confirm').click()
      await status(page, 'The passkey is added.')
      await page.getByText('9 codes are left.').waitFor()
      // Chromium's stand-in takes the passkey that the page suggests.
      await button('Sign out').click()
      await status(page, 'You are signed in.')
      await page.getByText('Signed in as ada@example.com').waitFor()
      await page.getByText('9 codes are left.').waitFor()
      await page.locator('#passkeys summary').click()
      await page.getByLabel('Name').fill('Laptop')
      await button('Rename').click()
      await button('Remove Laptop').click()
      await button('Add a passkey').waitFor()
      await page.locator('#passkeys li').waitFor({ state: 'detached' })
    })

    test('signs in by the code of the mail, and asks before a link that another browser requested', async (t) => {
      const { app, page, home } = await visit(t, engine)
      const mail = async () => {
        let found: { links: string[]; text: string } | undefined
        while (!found) [found] = (await app.request('GET', '/sandbox/api/mail')).body.messages
        return found
      }
      await page.goto(home)
      await page.getByLabel('Email').fill('ada@example.com')
      await page.getByRole('button', { name: 'Send me a link and a code' }).click()
      const { links, text } = await mail()
      const context = await browser.newContext()
      t.after(() => context.close())
      const elsewhere = await context.newPage()
      await elsewhere.goto(links[0]!)
      await elsewhere.getByRole('button', { name: 'Sign in here' }).waitFor()
      await page.getByLabel('Code of six digits').fill(/\b\d{3} ?\d{3}\b/.exec(text)![0])
      await page.getByRole('button', { name: 'Sign in with the code' }).click()
      await page.getByText('Signed in as ada@example.com').waitFor()
    })

    test('changes the address by a mail, and undoes it', async (t) => {
      const { app, page, home } = await visit(t, engine)
      const linkTo = async (to: string, path: string): Promise<string> => {
        for (;;) {
          const { messages } = (await app.request('GET', `/sandbox/api/mail?to=${to}`)).body
          const links: string[] = messages.flatMap((one: { links: string[] }) => one.links)
          const link = links.find((one) => one.includes(`${path}#`))
          if (link) return link
        }
      }
      await makeAccount(page, home, 'ada@example.com')
      await page.goto(await linkTo('ada@example.com', '/auth/verify'))
      await page.getByText('This address is verified.').waitFor()
      await page.getByLabel('New address').fill('ada@new.example.com')
      await page.getByRole('button', { name: 'Change the address' }).click()
      await page.goto(await linkTo('ada@new.example.com', '/auth/change-email'))
      await page.getByText('Signed in as ada@new.example.com').waitFor()
      await page.goto(await linkTo('ada@example.com', '/auth/undo-email-change'))
      await status(page, 'ada@example.com again')
      await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
    })
  })
})
