// The page at /docs, in a real browser.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import type { Browser, BrowserContext, Page } from 'playwright-core'

import { startApp, type TestApp } from '../testing/app.ts'
import { launchChromium, withoutChromium } from '../testing/chromium.ts'
import { endOfSuite, temporaryFolder } from '../testing/engines.ts'

const PATHS = ['/auth/register', '/auth/login', '/auth/me', '/store/{collection}', '/store/upload']

describe('/docs in a browser', { skip: withoutChromium }, () => {
  let browser: Browser
  let app: TestApp
  const ending = endOfSuite()
  before(async () => {
    browser = await launchChromium()
    const folder = await temporaryFolder(ending)
    app = await startApp(ending, { migratedUrl: async () => `sqlite:${folder}/x.db` })
  })

  /** A page of a new visitor. What it complains about fails the test. */
  async function open(t: {
    after(work: () => Promise<void>): void
  }): Promise<{ page: Page; complaints: string[] }> {
    const context: BrowserContext = await browser.newContext({
      // The page shows what is in sight.
      viewport: { width: 1280, height: 3_000 },
    })
    // To draw all operations takes longer than to send those of the tests.
    await context.route(`${app.url}/docs/json`, async (call) => {
      const response = await call.fetch()
      const { paths, ...description } = (await response.json()) as { paths: Record<string, unknown> }
      const shown = Object.entries(paths).filter(([path]) => PATHS.includes(path))
      await call.fulfill({ response, json: { ...description, paths: Object.fromEntries(shown) } })
    })
    t.after(() => context.close())
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('pageerror', (error) => complaints.push(error.message))
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text())
    })
    await page.goto(`${app.url}/docs`)
    return { page, complaints }
  }

  /** Opens an operation, sends it as it is filled in, with a file if it takes one, and answers the status. */
  async function execute(page: Page, id: string, file?: string): Promise<string> {
    const operation = page.locator(`[id$="-${id}"]`)
    await operation.locator('.opblock-summary-control').click()
    if (file !== undefined)
      await operation
        .locator('input[type=file]')
        .setInputFiles({ name: file, mimeType: 'text/plain', buffer: Buffer.from('Time is life.') })
    await operation.getByRole('button', { name: 'Execute' }).click()
    return operation.locator('.live-responses-table tbody .response-col_status').innerText()
  }

  test('examples are filled in, and can be sent as they are', async (t) => {
    const { page, complaints } = await open(t)
    assert.equal(await execute(page, 'authRegister'), '201')
    assert.equal(await execute(page, 'authLogin'), '200')
    assert.deepEqual(complaints, [])
  })

  test('with the token, which is kept over a reload, what needs one can be sent, a file too', async (t) => {
    const { page, complaints } = await open(t)
    const { token } = await app.register()
    await page.locator('.auth-wrapper .authorize').click()
    await page.locator('.auth-container input').fill(token)
    await page.locator('.auth-container').getByRole('button', { name: 'Apply credentials' }).click()
    await page.reload()
    assert.equal(await execute(page, 'getAuthMe'), '200')
    assert.equal(await execute(page, 'getStoreByCollection'), '200')
    assert.equal(await execute(page, 'postStoreByCollection'), '201')
    assert.equal(await execute(page, 'storeUpload', 'momo.txt'), '201')
    assert.deepEqual(complaints, [])
  })
})
