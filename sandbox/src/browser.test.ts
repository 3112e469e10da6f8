import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { before, describe, test } from 'node:test'

import { createTransport } from 'nodemailer'
import type { Attachment } from 'nodemailer/lib/mailer'
import type { Browser, BrowserContext, Page } from 'playwright-core'

import { startApp, type TestApp } from '../../server/src/testing/app.ts'
import { launchChromium, withoutChromium } from '../../server/src/testing/chromium.ts'
import { anyEngine, endOfSuite } from '../../server/src/testing/engines.ts'

// One pixel.
const PICTURE =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

describe('the sandbox in a browser', { skip: withoutChromium }, () => {
  let browser: Browser
  before(async () => {
    browser = await launchChromium()
  })

  anyEngine((engine) => {
    const ending = endOfSuite()
    let app: TestApp
    before(async () => {
      app = await startApp(ending, engine, { sandbox: true })
    })

    const here = () => app.app.settings.publicUrl
    const state = async () => (await app.request('GET', '/sandbox/api')).body

    /** A page of a new visitor. What it complains about fails the test. */
    async function visit(t: {
      after(work: () => Promise<void>): void
    }): Promise<{ page: Page; complaints: string[] }> {
      const context: BrowserContext = await browser.newContext({ viewport: { width: 1280, height: 800 } })
      t.after(() => context.close())
      context.setDefaultTimeout(20_000)
      const page = await context.newPage()
      const complaints: string[] = []
      page.on('pageerror', (error) => complaints.push(error.message))
      page.on('console', (message) => {
        if (message.type() === 'error') complaints.push(message.text())
      })
      return { page, complaints }
    }

    async function send(
      to: string,
      subject: string,
      html: string,
      attachments: Attachment[] = [],
    ): Promise<void> {
      const { mail } = await state()
      const mailer = createTransport(mail.variables.SMTP_URL)
      await mailer.sendMail({
        from: 'no-reply@sandbox.test',
        to,
        subject,
        text: `Text of ${subject}`,
        html,
        attachments,
      })
      mailer.close()
    }

    async function consentPage(page: Page, provider: 'idpa' | 'idpb'): Promise<void> {
      const standIn = (await state())[provider]
      const url = new URL(
        provider === 'idpa' ? `${standIn.address}/authorize` : standIn.variables.IDPB_AUTHORIZE_URL,
      )
      url.search = new URLSearchParams({
        client_id: `sandbox-${provider}`,
        redirect_uri: standIn.redirectUri,
        response_type: 'code',
        scope: provider === 'idpa' ? 'openid email profile' : 'user:email',
        state: 'a-state',
      }).toString()
      await page.goto(url.href)
    }

    /** What the provider answers to the application, whatever that makes of it. */
    async function answerTo(page: Page, act: () => Promise<void>): Promise<Record<string, string>> {
      const [request] = await Promise.all([
        page.waitForRequest((one) => /\/auth\/idp[ab]\/callback\?/.test(one.url())),
        act(),
      ])
      return Object.fromEntries(new URL(request.url()).searchParams)
    }

    for (const provider of ['idpa', 'idpb'] as const) {
      test(`lets somebody choose a person at ${provider}, by keyboard alone`, async (t) => {
        const { page, complaints } = await visit(t)
        await consentPage(page, provider)
        assert.match(await page.getByRole('heading', { level: 1 }).innerText(), /^Sign in to /)
        await page.keyboard.press('Tab')
        await page.keyboard.press('Tab')
        assert.match(await page.locator(':focus').innerText(), /Grace Hopper/)
        assert.deepEqual(complaints, [])
        const { code, state } = await answerTo(page, () => page.keyboard.press('Enter'))
        assert.ok(code)
        assert.equal(state, 'a-state')
      })

      test(`lets somebody be invented at ${provider}, and says what is wrong with an address`, async (t) => {
        const { page } = await visit(t)
        await consentPage(page, provider)
        await page.getByText('Add a person').click()
        await page.getByLabel('Name').fill('Edith')
        await page.getByLabel('Email address').fill('edith@nowhere')
        await page.getByLabel('The provider has verified').uncheck()
        await page.getByRole('button', { name: 'Sign in as this person' }).click()
        assert.match(await page.getByRole('alert').innerText(), /after the @/)
        assert.equal(await page.getByLabel('Name').inputValue(), 'Edith')
        assert.equal(await page.getByLabel('The provider has verified').isChecked(), false)
        await page.getByLabel('Email address').fill(`edith.${provider}@example.com`)
        const { code } = await answerTo(page, () =>
          page.getByRole('button', { name: 'Sign in as this person' }).click(),
        )
        assert.ok(code)
        const { people } = (await app.request('GET', '/sandbox/api/people')).body
        const [edith] = people.filter(
          ({ email }: { email: string }) => email === `edith.${provider}@example.com`,
        )
        assert.deepEqual([edith.name, edith.verified], ['Edith', false])
      })

      test(`lets somebody deny at ${provider}`, async (t) => {
        const { page } = await visit(t)
        await consentPage(page, provider)
        const { error, code } = await answerTo(page, () => page.getByRole('button', { name: 'Deny' }).click())
        assert.deepEqual([error, code], ['access_denied', undefined])
      })
    }

    test('shows mail as it arrives, and is worked by keyboard', async (t) => {
      await app.request('DELETE', '/sandbox/api')
      const { page } = await visit(t)
      await page.goto(`${here()}/sandbox`)
      await page.getByText('Register an account and its mail appears here').waitFor()
      assert.match(
        await page.locator('#inbox-reader pre').innerText(),
        /^curl http:\/\/localhost:\d+\/auth\/register/,
      )
      const link = `${here()}/health`
      await send('ada@example.com', 'First', `<p>Hello <a href="${link}">the link</a></p>`)
      await page.getByText('First').first().waitFor()
      await send(
        'ada@example.com',
        'Second',
        `<h1>Hi</h1><script>document.body.textContent = 'ran'</script><img src="x" onerror="document.body.textContent = 'ran'">
         <a href="${link}">Go on</a>`,
      )
      await page.locator('#announcer', { hasText: 'New mail for ada@example.com: Second' }).waitFor()
      assert.match(await page.title(), /^\(2\)/)

      await page.locator('#inbox-filter').focus()
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('ArrowDown')
      assert.match(await page.locator(':focus').innerText(), /First/)
      await page.keyboard.press('ArrowUp')
      await page.keyboard.press('Enter')
      const heading = page.getByRole('heading', { name: 'Second' })
      await heading.waitFor()
      assert.equal(await page.locator(':focus').innerText(), 'Second')

      await page.setViewportSize({ width: 375, height: 800 })
      const last = (await page.getByRole('tab').last().boundingBox())!
      assert.ok(last.x + last.width <= 375, 'the last tab is cut off')
      await page.setViewportSize({ width: 1280, height: 800 })

      const frame = page.frameLocator('iframe')
      assert.equal(await frame.getByRole('heading', { name: 'Hi' }).innerText(), 'Hi')
      const [opened] = await Promise.all([
        page.waitForEvent('popup'),
        // By the keyboard: on a loaded machine a click may come while the frame moves to the new width.
        frame.getByRole('link', { name: 'Go on' }).press('Enter'),
      ])
      await opened.waitForLoadState()
      assert.equal(opened.url(), link)
      assert.equal(await opened.evaluate('window.opener'), null)
      await opened.close()

      await page.getByRole('tab', { name: 'Rendered' }).focus()
      await page.keyboard.press('ArrowRight')
      assert.match(await page.getByRole('tabpanel').innerText(), /Text of Second/)
      await page.keyboard.press('ArrowLeft')
      await page.keyboard.press('ArrowLeft')
      await page.getByRole('tabpanel').getByText('Content-Type: multipart/alternative').waitFor()
      assert.match(await page.getByRole('tabpanel').innerText(), /^Content-Type: multipart\/alternative/m)
      await page.keyboard.press('ArrowLeft')
      assert.match(await page.getByRole('tabpanel').innerText(), /subject: Second/i)
      await page.keyboard.press('Escape')
      await page.getByText('Choose a mail to read it.').waitFor()
      assert.match(await page.locator(':focus').innerText(), /Second/)

      // The server was not reached: it is asked again.
      await page.route('**/sandbox/api/mail/*', (route) => route.abort(), { times: 1 })
      await page.getByRole('link', { name: /First/ }).click()
      await page.getByRole('heading', { name: 'First' }).waitFor()

      // A text of the body is found, and the mail is deleted with the keyboard.
      const rows = page.locator('#inbox-list a')
      await page.locator('#inbox-filter').fill('text of  FIRST')
      while ((await rows.count()) !== 1) await page.waitForTimeout(20)
      await page.getByRole('button', { name: 'Delete this mail' }).focus()
      await page.keyboard.press('Enter')
      await page.getByText('No mail matches.').waitFor()
      await page.locator('#inbox-filter').fill('')
      while ((await rows.count()) !== 1) await page.waitForTimeout(20)
      assert.match(await rows.innerText(), /Second/)

      // The next day, its row has the day.
      const day = { day: 'numeric', month: 'short' } as const
      const today = await page.evaluate((format) => new Date().toLocaleDateString(undefined, format), day)
      const shownTime = await page.locator('#inbox-list time').innerText()
      assert.ok(!shownTime.includes(today), shownTime)
      await page.clock.install()
      await page.reload()
      await rows.waitFor()
      await page.clock.fastForward('24:00:00')
      await page.locator('#inbox-list time', { hasText: today }).waitFor()
    })

    test('asks for what an event names, and for nothing else', async (t) => {
      const { page, complaints } = await visit(t)
      const first = ['mail', 'phone', 'people'].map((part) =>
        page.waitForResponse((one) => new URL(one.url()).pathname === `/sandbox/api/${part}`),
      )
      await page.goto(`${here()}/sandbox#people`)
      await Promise.all(first)
      const box = page.getByLabel('The address of Mallory is verified')
      const asked: string[] = []
      page.on('request', (request) => asked.push(new URL(request.url()).pathname))
      // The server looks twice a second: this takes three seconds at least.
      for (const verified of [true, false, true, false, true, false]) {
        await app.request('PATCH', '/sandbox/api/people/100000003', { body: { verified } })
        while ((await box.isChecked()) !== verified) await page.waitForTimeout(20)
      }
      assert.deepEqual([...new Set(asked)], ['/sandbox/api/people'])
      assert.ok(asked.length <= 6, `${asked.length} requests`)
      assert.deepEqual(complaints, [])
    })

    test('lets a mail ask for nothing from elsewhere until somebody says so; its links work, whatever they say', async (t) => {
      const asked: string[] = []
      const elsewhere = createServer((request, response) => {
        asked.push(request.url!)
        response.writeHead(200, { 'content-type': 'image/svg+xml' })
        response.end('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')
      }).listen(0, '127.0.0.1')
      await once(elsewhere, 'listening')
      t.after(() => {
        elsewhere.close()
        elsewhere.closeAllConnections()
      })
      const there = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`
      const { page } = await visit(t)
      await send(
        'ada@example.com',
        'Pictures',
        `<meta http-equiv="refresh" content="0;url=${there}/refresh"><base href="${there}/base/" target="_self">
         <link rel="stylesheet" href="${there}/style"><link rel="prefetch" href="${there}/prefetch">
         <style>@import "${there}/import"; body { background: url(${there}/background) } h1 { color: rgb(1, 2, 3) }</style>
         <h1>Look</h1><img src="${there}/pixel" alt="far"><img src="cid:logo@sandbox" alt="near"><img srcset="${there}/set 1x">
         <video src="${there}/video" autoplay></video><iframe src="${there}/frame"></iframe><object data="${there}/object"></object>
         <a href="${here()}/health" target="_self" rel="opener">Go on</a>`,
        [{ filename: 'logo.png', content: PICTURE, encoding: 'base64', cid: 'logo@sandbox' }],
      )
      await page.goto(`${here()}/sandbox`)
      await page.getByText('Pictures').first().click()
      const frame = page.frameLocator('iframe')
      const width = (alt: string) =>
        frame
          .getByAltText(alt)
          .evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth)
      while ((await width('near')) !== 1) await page.waitForTimeout(20)
      assert.equal(
        await frame
          .getByText('Look')
          .evaluate(
            (heading) =>
              (
                globalThis as unknown as { getComputedStyle(of: unknown): { color: string } }
              ).getComputedStyle(heading).color,
          ),
        'rgb(1, 2, 3)',
      )
      const [opened] = await Promise.all([
        page.waitForEvent('popup'),
        frame.getByRole('link', { name: 'Go on' }).click(),
      ])
      await opened.waitForLoadState()
      assert.equal(opened.url(), `${here()}/health`)
      assert.equal(await opened.evaluate('window.opener'), null)
      assert.equal(await opened.evaluate('document.referrer'), '')
      assert.deepEqual(asked, [])

      await page.getByRole('button', { name: 'Show remote pictures' }).click()
      while ((await width('far')) !== 9) await page.waitForTimeout(20)
      assert.deepEqual(new Set(asked), new Set(['/background', '/pixel', '/set']))
    })

    test('adds a person, and changes whether their address is verified', async (t) => {
      const { page, complaints } = await visit(t)
      await page.goto(`${here()}/sandbox#people`)
      await page.getByLabel('Name').fill('Hedy')
      await page.getByLabel('Email address').fill('hedy@example.com')
      await page.keyboard.press('Enter')
      const box = page.getByLabel('The address of Hedy is verified')
      await box.waitFor()
      await box.focus()
      await page.keyboard.press('Space')
      const hedy = async () =>
        (await app.request('GET', '/sandbox/api/people')).body.people.find(
          ({ email }: { email: string }) => email === 'hedy@example.com',
        )
      while ((await hedy()).verified) await page.waitForTimeout(20)
      assert.deepEqual(complaints, [])
    })

    test('lists an event that arrives, with its signature and its body', async (t) => {
      const { page, complaints } = await visit(t)
      await page.goto(`${here()}/sandbox#events`)
      await page.getByText('No events yet').waitFor()
      const body = { type: 'auth.user.created', data: { email: 'ada@example.com' } }
      assert.equal((await app.request('POST', '/sandbox/receiver', { body })).status, 401)
      await page.locator('#events-list').getByRole('link').click()
      const reader = page.locator('#events-reader')
      await reader.getByRole('heading', { name: 'auth.user.created' }).waitFor()
      await reader.getByText('wrong signature').waitFor()
      await reader.getByText('"email": "ada@example.com"').waitFor()
      assert.deepEqual(complaints, [])
    })

    test('sets a fault and removes it, and resets only once that is confirmed', async (t) => {
      const { page, complaints } = await visit(t)
      await page.goto(`${here()}/sandbox#providers`)
      const card = page.getByRole('region', { name: 'Provider A' })
      await card.waitFor()
      // The people are no provider: they are shown in their own part.
      assert.equal(await page.locator('#providers-list > section').count(), 8)
      await card.getByText('Faults').click()
      await card.getByLabel('HTTP status').fill('503')
      await card.getByLabel('Calls').fill('2')
      await card.getByRole('button', { name: 'Set' }).click()
      await card.getByText('In force: answers 503, for 2 calls').waitFor()
      assert.equal((await state()).faults.idpa.error, 503)
      await card.getByRole('button', { name: 'Remove' }).click()
      await card.getByText('In force').waitFor({ state: 'hidden' })
      assert.deepEqual((await state()).faults, {})

      await app.request('POST', '/sandbox/api/people', { body: { email: 'somebody@example.com' } })
      const count = async () => (await app.request('GET', '/sandbox/api/people')).body.people.length
      const before = await count()
      await page.getByRole('button', { name: 'Reset the sandbox' }).click()
      await page.getByRole('dialog').waitFor()
      assert.equal(await page.locator(':focus').innerText(), 'Cancel')
      await page.keyboard.press('Enter')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      assert.equal(await page.locator(':focus').innerText(), 'Reset the sandbox')
      assert.equal(await count(), before)
      await page.getByRole('button', { name: 'Reset the sandbox' }).click()
      await page.getByRole('button', { name: 'Reset', exact: true }).click()
      await page.locator('#announcer', { hasText: 'The sandbox is reset' }).waitFor({ state: 'attached' })
      assert.equal(await count(), 3)
      assert.deepEqual(complaints, [])
    })

    test('leaves the focus where it is when the figures of a provider change', async (t) => {
      const { page, complaints } = await visit(t)
      await page.goto(`${here()}/sandbox#providers`)
      const card = page.getByRole('region', { name: 'Mail' })
      await card.getByRole('button', { name: 'Copy user' }).focus()
      const before = await card.innerText()
      await send('ada@example.com', 'One more', '<p>Hello</p>')
      while ((await card.innerText()) === before) await page.waitForTimeout(20)
      assert.equal(await page.locator(':focus').getAttribute('aria-label'), 'Copy user')
      assert.deepEqual(complaints, [])
    })

    test('says which stand-ins are not in use, and shows no state or fault of them', async (t) => {
      const environment = { SMTP_URL: 'smtp://127.0.0.1:1', IDPA_CLIENT_ID: 'own', IDPA_CLIENT_SECRET: 'own' }
      const other = await startApp(t, engine, { sandbox: true, environment })
      const { page, complaints } = await visit(t)
      await page.goto(`${other.app.settings.publicUrl}/sandbox`)
      await page.getByRole('heading', { name: 'No mail arrives here' }).waitFor()
      await page.goto(`${other.app.settings.publicUrl}/sandbox#phone`)
      await page.getByRole('heading', { name: 'No messages yet' }).waitFor()
      await page.goto(`${other.app.settings.publicUrl}/sandbox#providers`)
      for (const name of ['Mail', 'Provider A']) {
        const card = page.getByRole('region', { name })
        await card.getByText('Not in use: a real provider is configured.').waitFor()
        assert.equal(await card.getByText('Faults').count(), 0)
      }
      assert.equal(await page.getByRole('region', { name: 'Phone' }).getByText('Faults').count(), 1)
      assert.deepEqual(complaints, [])
    })

    for (const width of [375, 1400])
      test(`has no part that is wider than a window of ${width} pixels`, async (t) => {
        const { page } = await visit(t)
        await page.setViewportSize({ width, height: 800 })
        for (const part of ['inbox', 'phone', 'people', 'payments', 'chains', 'webhooks', 'providers']) {
          await page.goto(`${here()}/sandbox#${part}`)
          await page.locator(`#view-${part}:not([hidden])`).waitFor()
          assert.ok((await page.evaluate<number>('document.documentElement.scrollWidth')) <= width, part)
        }
        // From a number without messages there is a way to the others.
        await page.goto(`${here()}/sandbox#phone/%2B4915100000000`)
        await page.locator('#view-phone:not([hidden], .with-pane)').waitFor()
        await page.goto(`${here()}/sandbox#phone/%`)
        await page.locator('#view-phone:not([hidden], .with-pane)').waitFor()
        // No address is broken, and no two links touch.
        await page.goto(`${here()}/sandbox#people`)
        const mallory = page.getByText('mallory@example.com')
        await mallory.waitFor()
        assert.equal(await mallory.evaluate((element) => element.getClientRects().length), 1)
        const links = await Promise.all(
          (await page.locator('.top nav a').all()).map(async (one) => (await one.boundingBox())!),
        )
        for (const [at, { x, y }] of links.entries()) {
          const previous = links[at - 1]
          if (previous && previous.y === y) assert.ok(x - (previous.x + previous.width) >= 4, `link ${at}`)
        }
      })
  })
})
