import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

import type { BrowserContext, Page } from 'playwright-core'

import { startApp, type TestApp } from '../testing/app.ts'
import { launchChromium, withoutChromium } from '../testing/chromium.ts'
import { runHere } from '../testing/command.ts'
import { anyEngine, endOfSuite } from '../testing/engines.ts'
import { blocksOf } from '../testing/examples.ts'
import { buildFrontend, frontendFolder, serveFrontend } from '../testing/frontend.ts'
import { startMailbox, withMail, type TestMailbox } from '../testing/mailbox.ts'
import type { CallError, Client } from './index.ts'

const MAIN = `import './style.css'
import { createClient, type Client } from 'sixwire/client'

declare global {
  interface Window { six: Client; failure?: string }
}

const six = createClient(new URL(location.href).searchParams.get('api') ?? localStorage.getItem('api')!, {
  storage: localStorage,
})
window.six = six
const app = document.querySelector<HTMLDivElement>('#app')!
six.auth.onChange((user) => { app.textContent = user?.email ?? 'signed out' })

const token = new URLSearchParams(location.hash.slice(1)).get('token')
if (token) {
  history.replaceState(null, '', '/')
  try {
    await six.auth.verifyMagicLink(token)
  } catch (error) {
    if (!six.isError(error, 'POST /auth/verify-magic-link', 'INVALID_TOKEN')) throw error
    window.failure = error.message
  }
}
`

// All that the client exports, and nothing else.
const WHOLE = `import * as client from 'sixwire/client'
Object.assign(globalThis, { client })
`

declare global {
  // In the page.
  var six: Client
}

anyEngine((engine) => {
  describe('a frontend of vite with the client', { skip: withoutChromium }, () => {
    let app: TestApp
    let mailbox: TestMailbox
    let folder: string
    let origin: string
    let context: BrowserContext
    const ending = endOfSuite()
    before(async () => {
      const blocks = await blocksOf('docs/client.md', 'ts')
      const isForBrowsers = (block: string) => !/AsyncStorage|process\.env|'sixwire'/.test(block)
      const [ofOthers, examples] = [/'\.\/api\.ts'/, /^/].map((pattern) =>
        blocks.filter((block) => isForBrowsers(block) && pattern.test(block)),
      )
      const shop = fileURLToPath(new URL('../../examples/shop/', import.meta.url))
      const api = await runHere(['types'], { folder: shop, environment: { SIXWIRE_SANDBOX: 'off' } })
      folder = await frontendFolder(ending, {
        // Only their types are checked.
        'src/examples.ts': `${examples!.filter((block) => !ofOthers!.includes(block)).join('\n')}
          export { data, total, user, sessions, again, bytes }`,
        'src/shop.ts': `${ofOthers!.join('\n')}\nexport { points }`,
        'src/api.ts': api.output,
        'src/main.ts': MAIN,
        'whole.html': '<script type="module" src="/src/whole.ts"></script>',
        'src/whole.ts': WHOLE,
        'vite.config.js': `export default { build: {
          modulePreload: false, rolldownOptions: { input: { main: 'index.html', whole: 'whole.html' } } } }`,
      })
      await buildFrontend(folder)
      origin = await serveFrontend(ending, folder)
      mailbox = await startMailbox(ending)
      app = await startApp(ending, engine, withMail(mailbox, { environment: { APP_URL: origin } }))
      const browser = await launchChromium()
      context = await browser.newContext()
      ending.after(() => context.close())
    })

    async function openTab(path = '/'): Promise<Page> {
      const page = await context.newPage()
      await page.goto(`${origin}${path}${path.includes('?') ? '&' : '?'}api=${encodeURIComponent(app.url)}`)
      return page
    }
    const shown = (page: Page, text: string) => page.getByText(text, { exact: true }).waitFor()

    test('has at most 4 KB of the client, compressed', async () => {
      const assets = join(folder, 'dist/assets')
      // Both pages import it, so it is a file of its own.
      const [name] = (await readdir(assets)).filter((one) => one.startsWith('client-'))
      const { length } = gzipSync(await readFile(join(assets, name!)))
      assert.ok(length > 1_000 && length <= 4_096, `${length} bytes`)
    })

    test('signs up, keeps the session, and works with documents and files', async () => {
      const page = await openTab()
      await shown(page, 'signed out')
      await page.evaluate(async () => {
        await six.auth.signUp({ email: 'ada@example.com', password: 'correct horse battery' })
      })
      await shown(page, 'ada@example.com')
      await page.reload()
      await shown(page, 'ada@example.com')
      const books = await page.evaluate(async () => {
        const books = six.collection<{ title: string; price: number }>('books')
        const book = await books.create({ title: 'Momo', price: 10 })
        await books.update(book._id, { price: 12 }, { ifMatch: book })
        const code = await books
          .update(book._id, { price: 14 }, { ifMatch: book })
          .catch((error: unknown) => (error as CallError).code)
        const prices = []
        for await (const { price } of books.all({ filter: { price: { $gt: 11 } } })) prices.push(price)
        return { code, prices }
      })
      assert.deepEqual(books, { code: 'PRECONDITION_FAILED', prices: [12] })
      const upload = await page.evaluate(async () => {
        const progress: { loaded: number; total: number }[] = []
        const file = new File([new Uint8Array(3_000_000)], 'zeros.bin')
        const { size } = await six.upload(file, { onProgress: (one) => progress.push(one) })
        return { size, progress }
      })
      assert.equal(upload.size, 3_000_000)
      const last = upload.progress.at(-1)!
      assert.ok(last.loaded === last.total && last.total > 3_000_000, JSON.stringify(upload.progress))
      const refused = await page.evaluate(async () => {
        const none = new File([], '')
        return six
          .upload(none, { onProgress: () => undefined })
          .catch((error: unknown) => [(error as CallError).name, (error as CallError).code])
      })
      assert.deepEqual(refused, ['CallError', 'VALIDATION_ERROR'])
      const aborted = await page.evaluate(async () => {
        const file = new File([new Uint8Array(20_000_000)], 'zeros.bin')
        const controller = new AbortController()
        const upload = six.upload(file, { signal: controller.signal, onProgress: () => controller.abort() })
        return upload.catch((error: unknown) => (error as Error).name)
      })
      assert.equal(aborted, 'AbortError')
      await page.close()
    })

    test('refreshes once for all tabs, and signs out in all of them', async () => {
      const tabs = [await openTab(), await openTab()]
      const refreshed: string[] = []
      context.on('request', (request) => {
        if (request.method() === 'POST' && request.url().endsWith('/auth/refresh'))
          refreshed.push(request.url())
      })
      app.clock.advance(3_601_000)
      const calls = tabs.flatMap((tab) =>
        [1, 2, 3].map(() => tab.evaluate(async () => (await six.call('GET /auth/me')).user.email)),
      )
      assert.deepEqual(new Set(await Promise.all(calls)), new Set(['ada@example.com']))
      // One for six calls. Another process of the browser may get the lock before it sees what the first one has stored: the
      // server then answers with the same session again.
      assert.ok(refreshed.length === 1 || refreshed.length === 2, `${refreshed.length} refreshes`)
      await tabs[0]!.evaluate(() => six.auth.signOut())
      for (const tab of tabs) await shown(tab, 'signed out')
      const code = await tabs[1]!.evaluate(() =>
        six.call('GET /auth/me').catch((error: unknown) => (error as CallError).code),
      )
      assert.equal(code, 'UNAUTHORIZED')
      for (const tab of tabs) await tab.close()
    })

    test('signs in by the link of an email, in all tabs', async () => {
      const page = await openTab()
      await page.evaluate(() => six.auth.sendMagicLink('grace@example.com'))
      const { parsed } = await mailbox.next('grace@example.com')
      const link = /http:\/\/localhost\S+#token=[\w.-]+/.exec(parsed.text!)![0]
      await page.evaluate((url) => localStorage.setItem('api', url), app.url)
      const opened = await context.newPage()
      await opened.goto(link)
      await shown(opened, 'grace@example.com')
      await shown(page, 'grace@example.com')
      await opened.goto('about:blank')
      await opened.goto(link)
      await opened.waitForFunction(() => 'failure' in globalThis)
      await shown(opened, 'grace@example.com')
    })
  })
})
