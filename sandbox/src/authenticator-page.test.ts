// The part "Authenticator" of the page: an account of the server is enrolled and signs in with its codes.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import type { Browser, Page } from 'playwright-core'

import { startApp, type TestApp } from '../../server/src/testing/app.ts'
import { login, send } from '../../server/src/testing/auth.ts'
import { launchChromium, withoutChromium } from '../../server/src/testing/chromium.ts'
import { anyEngine, endOfSuite, type Ending } from '../../server/src/testing/engines.ts'
import { challengeOf, finish } from '../../server/src/testing/second-factor.ts'

const URI =
  'otpauth://totp/Shop%20%26%20Co:ada%40example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Shop%20%26%20Co'
const FIELD = 'Address or secret'

describe('the sandbox’s authenticator', () => {
  anyEngine((engine) => {
    const ending = endOfSuite()
    let app: TestApp
    before(async () => {
      app = await startApp(ending, engine, { sandbox: true })
    })

    const list = async () => (await app.request('GET', '/sandbox/api/authenticator')).body.accounts
    const add = (uri: unknown) => app.request('POST', '/sandbox/api/authenticator', { body: { uri } })

    test('shows the codes with which an account is enrolled and signs in', async () => {
      const { token, email } = await app.register()
      const { uri } = (await app.request('POST', '/auth/totp', { token })).body
      const added = await add(uri)
      assert.equal(added.status, 201, added.text)
      const { id, code, expiresInSeconds, ...rest } = added.body
      assert.deepEqual(rest, { issuer: app.app.settings.name, account: email })
      assert.ok(expiresInSeconds >= 1 && expiresInSeconds <= 30)
      assert.equal((await send(app, 'POST /auth/totp/verify', { token, body: { code } })).status, 200)
      app.clock.advance(30_000)
      const [account] = await list()
      const challenge = challengeOf(await login(app, email))
      assert.equal((await finish(app, { challenge, code: account.code })).status, 200)
      assert.equal((await add(` ${uri}\n`)).body.id, id, 'once, however often it is added')
      assert.equal((await list()).length, 1)
    })

    test('takes other parameters of the URI, and a secret alone', async () => {
      const sha256 = await add(`${URI}&algorithm=SHA256&digits=8&period=60`)
      assert.match(sha256.body.code, /^\d{8}$/)
      const alone = await add('gezd gnbv gy3t qojq gezd gnbv gy3t qojq')
      assert.deepEqual([alone.body.issuer, alone.body.account], ['', 'Account'])
      const usual = await add(URI)
      assert.deepEqual([usual.body.issuer, usual.body.account], ['Shop & Co', 'ada@example.com'])
      assert.equal(alone.body.code, (await list())[0].code)
    })

    test('refuses what is no account, and says what one is', async () => {
      const wrong = ['', ' ', 'not base 32!', 'https://example.com', 'otpauth://hotp/a?secret=GEZA&counter=1']
      for (const uri of [
        ...wrong,
        `${URI}&digits=0`,
        `${URI}&period=0`,
        'otpauth://totp/a?secret=',
        1,
        undefined,
      ]) {
        const refused = await add(uri)
        assert.deepEqual([refused.status, refused.body.error.code], [400, 'VALIDATION_ERROR'], String(uri))
      }
    })

    test('loses an account that is removed, and all with the sandbox', async () => {
      await add(URI)
      const [{ id }] = await list()
      const remove = () => app.request('DELETE', `/sandbox/api/authenticator/${id}`)
      assert.deepEqual([(await remove()).status, (await remove()).status], [200, 404])
      await add(URI)
      await app.request('DELETE', '/sandbox/api')
      assert.deepEqual(await list(), [])
    })

    describe('in a browser', { skip: withoutChromium }, () => {
      let browser: Browser
      before(async () => {
        browser = await launchChromium()
      })

      async function visit(t: Ending, path: string) {
        const context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] })
        t.after(() => context.close())
        context.setDefaultTimeout(20_000)
        const page = await context.newPage()
        const complaints: string[] = []
        page.on('pageerror', (error) => complaints.push(error.message))
        await page.goto(`${app.app.settings.publicUrl}/sandbox${path}`)
        return { page, complaints }
      }

      const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
      const cards = (page: Page) => page.getByRole('list', { name: 'Authenticator' }).getByRole('listitem')

      test('is worked by keyboard: an account is added, its code copied, and it is removed', async (t) => {
        const { page, complaints } = await visit(t, '#authenticator')
        await page.getByText('No accounts yet.').waitFor()
        await page.getByLabel(FIELD).fill('1')
        await page.keyboard.press('Enter')
        const issue = page.locator('.fault', { hasText: 'otpauth://totp/' })
        await issue.waitFor()
        assert.equal(await page.getByLabel(FIELD).getAttribute('aria-invalid'), 'true')
        assert.equal(
          await page.getByLabel(FIELD).getAttribute('aria-describedby'),
          await issue.getAttribute('id'),
        )
        await page.getByLabel(FIELD).fill(URI)
        await page.keyboard.press('Enter')
        await cards(page).getByText('Shop & Co').waitFor()
        assert.equal(await issue.count(), 0)
        for (const name of ['Add', 'Copy']) {
          await page.keyboard.press('Tab')
          assert.equal(await page.locator(':focus').innerText(), name)
        }
        await page.keyboard.press('Enter')
        await button(page, 'Copy the code of Shop & Co, ada@example.com').getByText('Copied').waitFor()
        const copied = await page.evaluate<string>('navigator.clipboard.readText()')
        assert.match(copied, /^\d{6}$/)
        await page.getByText(/^\d+ s left$/).waitFor()
        await page.keyboard.press('Tab')
        await page.keyboard.press('Enter')
        await page.getByText('No accounts yet.').waitFor()
        assert.equal(await page.locator(':focus').getAttribute('name'), 'uri')
        assert.deepEqual(complaints, [])
      })

      test('adds the account of a link once, and shows the next code when one expires', async (t) => {
        const uri = `${URI}&period=2`
        const { page, complaints } = await visit(t, `/authenticator?uri=${encodeURIComponent(uri)}`)
        const code = cards(page).locator('output')
        const first = await code.innerText()
        assert.match(first, /^\d{3} \d{3}$/)
        assert.match(page.url(), /\/sandbox#\/authenticator$/)
        await cards(page).filter({ hasNotText: first }).waitFor()
        await page.reload()
        await code.waitFor()
        assert.equal(await cards(page).count(), 1)
        // An address that a person typed, which is not encoded.
        const typed = 'otpauth://totp/Typed?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'
        await page.goto(`${app.app.settings.publicUrl}/sandbox#/authenticator/${typed}`)
        await cards(page).getByText('Typed').waitFor()
        assert.deepEqual(complaints, [])
      })
    })
  })
})
