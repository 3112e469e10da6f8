import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

import type { BrowserContext, Page } from 'playwright-core'

import { startApp, type TestApp } from '../../server/src/testing/app.ts'
import { launchChromium, withoutChromium } from '../../server/src/testing/chromium.ts'
import { runHere } from '../../server/src/testing/command.ts'
import { anyEngine, endOfSuite } from '../../server/src/testing/engines.ts'
import { blocksOf } from '../../server/src/testing/examples.ts'
import { buildFrontend, frontendFolder, serveFrontend } from '../../server/src/testing/frontend.ts'
import { startS3, startS3Proxy } from '../../server/src/testing/s3-server.ts'
import { until } from '../../server/src/testing/until.ts'
import { startMailbox, withMail, type TestMailbox } from '../../server/src/testing/mailbox.ts'
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

// The example of the documentation, which signs in as who the page is told.
const REACT = `import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { six, Tasks } from './tasks.tsx'

const query = new URLSearchParams(location.search)
if (!six.auth.user) await six.auth.signIn({ email: query.get('email')!, password: query.get('password')! })
Object.assign(globalThis, { six })
createRoot(document.querySelector('#app')!).render(<StrictMode><Tasks isDone={false} /></StrictMode>)
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
      const [react] = await blocksOf('docs/client.md', 'tsx')
      const isForBrowsers = (block: string) => !/AsyncStorage|process\.env|'sixwire'/.test(block)
      const [ofOthers, examples] = [/'\.\/api\.ts'/, /^/].map((pattern) =>
        blocks.filter((block) => isForBrowsers(block) && pattern.test(block)),
      )
      const shop = fileURLToPath(new URL('../../examples/shop/', import.meta.url))
      const api = await runHere(['types'], { folder: shop, environment: { SIXWIRE_SANDBOX: 'off' } })
      folder = await frontendFolder(ending, {
        // Only their types are checked.
        'src/examples.ts': `${examples!.filter((block) => !ofOthers!.includes(block)).join('\n')}
          export { signIn, data, total, user, sessions, again, unsubscribe, bytes }`,
        'src/shop.ts': `${ofOthers!.join('\n')}\nexport { points }`,
        'src/api.ts': api.output,
        'src/main.ts': MAIN,
        'whole.html': '<script type="module" src="/src/whole.ts"></script>',
        'src/whole.ts': WHOLE,
        'react.html': '<div id="app"></div><script type="module" src="/react/main.tsx"></script>',
        'react/tasks.tsx': react!
          .replace("'http://localhost:3000'", "new URLSearchParams(location.search).get('api')!")
          .replace('const six', 'export const six'),
        'react/main.tsx': REACT,
        'vite.config.js': `export default { build: { modulePreload: false, rolldownOptions: {
          input: { main: 'index.html', whole: 'whole.html', react: 'react.html' },
          // How vite itself loads parts is not the client's.
          output: { codeSplitting: { groups: [{ name: 'vite', test: /preload-helper/ }] } } } } }`,
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
      const api = path.includes('api=')
        ? ''
        : `${path.includes('?') ? '&' : '?'}api=${encodeURIComponent(app.url)}`
      await page.goto(`${origin}${path}${api}`)
      return page
    }
    /** How many event streams are open at the server. */
    const streams = async (): Promise<number> =>
      Number(/^sixwire_streams_open (\d+)$/m.exec((await app.request('GET', '/metrics')).text)?.[1])
    const shown = (page: Page, text: string) => page.getByText(text, { exact: true }).waitFor()

    for (const [name, most] of [
      ['client', 4_224],
      // Loaded at first use.
      ['changes', 5_376],
      ['sign-in', 2_816],
      ['upload', 1_024],
      ['resumable-upload', 1_280],
      ['upload-parts', 640],
    ] as const)
      test(`has at most ${most} bytes of the ${name}, compressed`, async () => {
        const assets = join(folder, 'dist/assets')
        // Several pages import it, so it is a file of its own, maybe with another one that only names it. Each has two hashes.
        const isOfIt = new RegExp(`^${name}-[\\w-]{8}-[\\w-]{8}\\.js$`)
        const files = (await readdir(assets)).filter((one) => isOfIt.test(one))
        const lengths = await Promise.all(
          files.map(async (one) => gzipSync(await readFile(join(assets, one))).length),
        )
        const length = Math.max(...lengths)
        assert.ok(length > most / 4 && length <= most, `${length} bytes`)
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

    test('continues an upload after a reload, if it is of the same file', async () => {
      const page = await openTab()
      const begin = async () => {
        const loaded: number[] = []
        const first = Promise.withResolvers<number>()
        const file = new File([new Uint8Array(20_000_000)], 'zeros.bin', { lastModified: 1 })
        const stored = six.upload(file, {
          onProgress: (one) => {
            loaded.push(one.loaded)
            if (one.loaded > 8_388_608) first.resolve(one.loaded)
          },
        })
        // The first one may be complete before the page is reloaded.
        await Promise.race([first.promise, stored])
        return { stored, loaded }
      }
      await page.evaluate(`globalThis.begin = ${begin.toString()}`)
      await page.evaluate(`begin().then(() => undefined)`)
      await page.reload()
      await shown(page, 'ada@example.com')
      await page.evaluate(`globalThis.begin = ${begin.toString()}`)
      const { size, least } = await page.evaluate<{ size: number; least: number }>(
        `begin().then(async ({ stored, loaded }) => ({ size: (await stored).size, least: Math.min(...loaded) }))`,
      )
      assert.equal(size, 20_000_000)
      assert.ok(least >= 8_388_608, `began again at ${least}`)
      await page.close()
    })

    test('sends a file to the bucket itself, and continues there after a reload', async (t) => {
      const { url: target, ...access } = await startS3(t)
      const s3 = await startS3Proxy(t, target)
      const { url } = await startApp(t, engine, {
        environment: { APP_URL: origin },
        config: { store: { s3: { ...access, endpoint: s3.url } } },
      })
      const page = await openTab(`/?api=${encodeURIComponent(url)}`)
      await page.evaluate(async () => {
        await six.auth.signUp({ email: 'bucket@example.com', password: 'correct horse battery' })
        await six.upload(new Blob(['x']))
      })
      s3.calls.length = 0 // those that try the bucket
      const begin = () => {
        const file = new File([new Uint8Array(20_000_000)], 'zeros.bin', { lastModified: 1 })
        return six.upload(file, { direct: true, onProgress: () => undefined })
      }
      await page.evaluate(`globalThis.begin = ${begin.toString()}`)
      // What the bucket does not take is sent again, at an address that is signed anew.
      s3.fault({ name: 'UploadPart', at: 2, times: 1, answer: { status: 403, code: 'AccessDenied' } })
      const held = Promise.withResolvers<void>()
      s3.fault({ name: 'UploadPart', at: 3, hold: held.promise })
      await page.evaluate(`void begin()`)
      const isFirstThere = async (base: string) => {
        const place = Object.keys(localStorage).find((key) => key.startsWith(`sixwire ${base} upload `))
        if (!place) return false
        const params = { id: localStorage.getItem(place)! }
        return (await six.call('GET /store/uploads/:id', { params })).offset === 8_388_608
      }
      await until(() => page.evaluate(isFirstThere, url))
      await page.reload()
      held.resolve()
      await page.evaluate(`globalThis.begin = ${begin.toString()}`)
      const size = await page.evaluate<number>(`begin().then(({ size }) => size)`)
      assert.equal(size, 20_000_000)
      const sent = s3.calls.filter((call) => /^UploadPart \d/.test(call))
      assert.equal(sent.filter((call) => call === 'UploadPart 1').length, 1, sent.join())
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

    test('adds a passkey, signs in with it, and proves a second factor with it', async () => {
      const page = await openTab()
      const devtools = await context.newCDPSession(page)
      await devtools.send('WebAuthn.enable')
      const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
        options: {
          protocol: 'ctap2',
          transport: 'internal',
          hasResidentKey: true,
          hasUserVerification: true,
          isUserVerified: true,
          automaticPresenceSimulation: true,
        },
      })
      const { email, password } = await app.register()
      const account = { email, password }
      const created = await page.evaluate(async (account) => {
        await six.auth.signIn(account)
        const { passkey, recoveryCodes } = await six.auth.passkeys.create({ name: 'Laptop' })
        await six.auth.passkeys.rename(passkey._id, 'Phone')
        const [listed] = await six.auth.passkeys.list()
        await six.auth.confirm({ passkey: true })
        await six.auth.signOut()
        return [six.auth.passkeys.isSupported(), passkey.name, listed!.name, recoveryCodes!.length]
      }, account)
      assert.deepEqual(created, [true, 'Laptop', 'Phone', 10])
      const emails = await page.evaluate(async (account) => {
        const { email: signedIn } = await six.auth.passkeys.signIn()
        await six.auth.signOut()
        const { email: suggested } = await six.auth.passkeys.signIn({ conditional: true })
        await six.auth.signOut()
        const error = await six.auth.signIn(account).catch((caught: unknown) => caught)
        if (!six.isError(error, 'SECOND_FACTOR_REQUIRED')) throw error
        const { email: proven } = await six.auth.secondFactor({ passkey: true })
        await six.auth.signOut()
        // As in a browser of before 2025.
        const own = (globalThis as unknown as { PublicKeyCredential: unknown }).PublicKeyCredential as Record<
          string,
          unknown
        > & {
          prototype: { toJSON?: unknown }
        }
        own['parseRequestOptionsFromJSON'] = own['parseCreationOptionsFromJSON'] = undefined
        own.prototype.toJSON = undefined
        const { email: earlier } = await six.auth.passkeys.signIn()
        const [passkey] = await six.auth.passkeys.list()
        await six.auth.passkeys.remove(passkey!._id)
        await six.auth.passkeys.create()
        await six.auth.signOut()
        return [signedIn, suggested, proven, earlier]
      }, account)
      assert.deepEqual(new Set(emails), new Set([email]))
      await devtools.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled: false })
      const aborted = await page.evaluate(async () => {
        const older = six.auth.passkeys
          .signIn({ conditional: true })
          .catch((error: unknown) => (error as Error).name)
        await new Promise((resolve) => setTimeout(resolve, 300))
        const controller = new AbortController()
        const newer = six.auth.passkeys
          .signIn({ signal: controller.signal })
          .catch((error: unknown) => (error as Error).name)
        const first = await older
        controller.abort()
        return [first, await newer]
      })
      assert.deepEqual(aborted, ['AbortError', 'AbortError'])
      // A page may be open for longer than options are valid.
      await page.clock.install()
      const options = () => page.waitForRequest((request) => request.url().endsWith('/sign-in-options'))
      for (const begin of [
        () => page.evaluate(() => void six.auth.passkeys.signIn({ conditional: true })),
        () => page.clock.fastForward(240_000),
      ])
        await Promise.all([options(), begin()])
      await page.close()
    })

    test('shows with React what another window does, over one connection for all tabs', async () => {
      const { email, password } = await app.register()
      const query = new URLSearchParams({ api: app.url, email, password })
      const browser = context.browser()!
      const windows = [await browser.newContext(), await browser.newContext()]
      const open = async (window: BrowserContext) => {
        const page = await window.newPage()
        await page.goto(`${origin}/react.html?${query.toString()}`)
        await page.waitForFunction(() => 'six' in globalThis)
        return page
      }
      const [mine, yours] = [await open(windows[0]!), await open(windows[1]!)]
      const tab = await open(windows[0]!)
      const pages = [mine, yours, tab]
      const isListed = async (...titles: string[]) => {
        for (const page of pages)
          await until(async () => (await page.locator('li').allTextContents()).join() === titles.join())
      }
      const ids = await yours.evaluate(async () => {
        const tasks = six.collection<{ title: string; isDone: boolean }>('tasks')
        const made = await tasks.create(['b', 'a', 'c'].map((title) => ({ title, isDone: false })))
        return made.map(({ _id }) => _id)
      })
      await isListed('a', 'b', 'c')
      await mine.getByText('a', { exact: true }).click()
      await isListed('b', 'c')
      await yours.evaluate(async (id) => {
        await six.collection<{ title: string }>('tasks').update(id!, { title: 'd' })
      }, ids[0])
      await isListed('c', 'd')
      await tab.evaluate(async (id) => {
        await six.collection('tasks').remove(id!)
      }, ids[2])
      await isListed('d')
      // One of each window.
      assert.equal(await streams(), 2)
      // The first tab has it. The other one goes on without it.
      await mine.close()
      pages.shift()
      await until(async () => (await streams()) === 2)
      await yours.evaluate(async () => {
        await six.collection('tasks').create({ title: 'e', isDone: false })
      })
      await isListed('d', 'e')
      for (const window of windows) await window.close()
    })
  })
})
