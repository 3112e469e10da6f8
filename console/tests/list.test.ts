// What every list of the console does, shown with the sessions of an account.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import type { Request } from 'playwright-core'

import { appForAll } from '../../server/src/testing/auth.ts'
import { withoutChromium } from '../../server/src/testing/chromium.ts'
import { checkLooks, openConsole, settled, type ConsolePage } from '../../server/src/testing/console.ts'
import { anyEngine, endOfSuite } from '../../server/src/testing/engines.ts'
import { until } from '../../server/src/testing/until.ts'

const ROWS = 100_000
const CALL = '**/auth/sessions?*'

const session = (at: number) => ({
  _id: `id${at}`,
  createdAt: '2026-01-01T00:00:00.000Z',
  lastUsedAt: '2026-01-01T00:00:00.000Z',
  expiresAt: '2027-01-01T00:00:00.000Z',
  ip: '::1',
  userAgent: `Device ${at}`,
  current: false,
})
const sessions = (count: number, from = 0) => Array.from({ length: count }, (_, at) => session(from + at))

describe('a list of the console', { skip: withoutChromium }, () => {
  anyEngine((engine) => {
    const app = appForAll(engine)
    const ending = endOfSuite()
    let admin: ConsolePage
    before(async () => {
      admin = await openConsole(ending, app(), { at: '#/account' })
      await admin.page.getByRole('link', { name: /this one/ }).waitFor()
    })
    const row = (name: string) => admin.page.getByRole('link', { name, exact: true })

    type Answer = { status?: number; json: object } | 'lost'

    /** The list is answered with these, one after the other. */
    async function answer(...answers: Answer[]): Promise<void> {
      const { page } = admin
      await page.unroute(CALL)
      await page.route(CALL, (route) => {
        const next = answers.length > 1 ? answers.shift()! : answers[0]!
        return next === 'lost' ? route.abort() : route.fulfill(next)
      })
    }

    /** Loads the list again, with these answers one after the other. */
    async function show(...answers: Answer[]): Promise<void> {
      const { page } = admin
      await answer(...answers)
      await page.getByRole('button', { name: 'Refresh' }).click()
    }

    test('says that there is nothing', async () => {
      await show({ json: { sessions: [], limit: 100 } })
      await admin.page.getByText('No sessions.').waitFor()
      await checkLooks(admin.page, 'an empty list')
    })

    test('shows an error with what the server said, and tries again when asked', async () => {
      const { page } = admin
      const error = { code: 'UNAVAILABLE', message: 'The database is busy.' }
      await show({ status: 500, json: { error } }, { json: { sessions: sessions(1) } })
      await page.getByRole('alert').getByText('The database is busy.').waitFor()
      await checkLooks(page, 'an error')
      await page.getByRole('button', { name: 'Try again' }).click()
      await row('Device 0').waitFor()
      assert.equal(await page.getByRole('alert').count(), 0)
    })

    test('says that the server does not answer if its answers are cut, and keeps what it has', async () => {
      const { page } = admin
      await show({ json: { sessions: sessions(3) } })
      await row('Device 2').waitFor()
      await show('lost')
      await page.getByRole('alert').getByText('The server does not answer.').waitFor()
      await row('Device 2').waitFor()
      await answer({ json: { sessions: sessions(4) } })
      await page.getByRole('button', { name: 'Try again' }).click()
      await row('Device 3').waitFor()
      assert.equal(await page.getByRole('alert').count(), 0)
    })

    test('says that the role may not see it', async () => {
      const error = { code: 'FORBIDDEN', message: 'This is for administrators.' }
      await show({ status: 403, json: { error } })
      await admin.page.getByRole('alert').getByText('Your role may not see this.').waitFor()
      assert.equal(await admin.page.getByRole('button', { name: 'Try again' }).count(), 0)
    })

    test('loads the next page at its end, and keeps what it has after an error there', async () => {
      const { page } = admin
      const error = { code: 'RATE_LIMITED', message: 'Wait a moment.' }
      await show(
        { json: { sessions: sessions(100), nextCursor: 'more' } },
        { status: 429, json: { error } },
        { json: { sessions: sessions(50, 100) } },
      )
      // The end in sight loads it: a click there may come before or after that.
      await page.getByRole('button', { name: 'Load more' }).scrollIntoViewIfNeeded()
      await page.getByRole('alert').getByText('Wait a moment.').waitFor()
      await row('Device 99').waitFor()
      await page.getByRole('button', { name: 'Load more' }).click()
      await page.getByText('150 rows').waitFor({ state: 'attached' })
      assert.equal(await page.getByRole('button', { name: 'Load more' }).count(), 0)
    })

    test('is used by keyboard alone: down, open, close, and the focus is back in its row', async () => {
      const { page } = admin
      await page.keyboard.press('j')
      for (let at = 0; at < 40; at++) await page.keyboard.press('j')
      const focused = () => page.evaluate<string>('document.activeElement.textContent.trim()')
      assert.equal(await focused(), 'Device 40')
      await page.keyboard.press('Enter')
      await page.getByRole('region', { name: 'Details' }).getByText('Device 40').waitFor()
      assert.match(page.url(), /#\/account\/id40$/)
      await page.keyboard.press('Escape')
      await page.getByRole('region', { name: 'Details' }).waitFor({ state: 'detached' })
      await page.keyboard.press('k')
      assert.equal(await focused(), 'Device 39')
      await page.goBack()
      await page.getByRole('region', { name: 'Details' }).getByText('Device 40').waitFor()
      await page.keyboard.press('Escape')
    })

    test(`holds at most 600 nodes of ${ROWS} rows, wherever it is scrolled to`, async (t) => {
      const { page } = admin
      await show({ json: { sessions: sessions(ROWS) } })
      await page.getByText(`${ROWS} rows`).waitFor({ state: 'attached' })
      const { nodes, ms } = await page.evaluate<{ nodes: number; ms: number[] }>(`(async () => {
        const scroller = document.querySelector('.table')
        const ms = []
        let nodes = 0
        for (let step = 1; step <= 40; step++) {
          const from = performance.now()
          scroller.scrollTop = step * 90_000
          await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))
          ms.push(performance.now() - from)
          nodes = Math.max(nodes, scroller.querySelectorAll('*').length)
        }
        return { nodes, ms }
      })()`)
      assert.ok(nodes <= 600, `${nodes} nodes`)
      const slow = ms.toSorted((one, other) => one - other)[Math.floor(ms.length * 0.95)]!
      t.diagnostic(`${nodes} nodes, a scroll step takes ${Math.round(slow)} ms at p95`)
    })

    test('marks rows by x and Shift-x, goes by arrows, and tells its rows and order to readers of a screen', async () => {
      const { page } = admin
      const { token } = await app().register()
      for (const text of ['a', 'b', 'c', 'd', 'e'])
        await app().request('POST', '/store/letters', { token, body: { text } })
      await admin.go('#/data/letters')
      const table = page.getByRole('table', { name: 'letters' })
      await table.getByRole('link').nth(4).waitFor()
      assert.equal(await table.getAttribute('aria-rowcount'), '6')
      const head = table.getByRole('columnheader', { name: 'text' })
      assert.equal(await head.getAttribute('aria-sort'), null)
      const cells = () =>
        table
          .getByRole('row')
          .getByRole('cell')
          .filter({ hasText: /^[a-e]$/ })
          .allInnerTexts()
      for (const [sort, order] of [
        ['descending', 'edcba'],
        ['ascending', 'abcde'],
      ] as const) {
        // Not on its word alone.
        await head.click({ position: { x: 100, y: 5 } })
        await page.locator(`th[aria-sort="${sort}"]`).waitFor()
        await until(async () => (await cells()).join('') === order)
      }
      const focused = () => page.evaluate<string>('document.activeElement.closest("tr").ariaRowIndex')
      await table.getByRole('link').first().focus()
      for (const [key, row] of [
        ['ArrowDown', '3'],
        ['ArrowDown', '4'],
        ['ArrowUp', '3'],
        ['j', '4'],
        ['k', '3'],
      ] as const) {
        await page.keyboard.press(key)
        assert.equal(await focused(), row, key)
      }
      const marked = () =>
        page.evaluate<string>(
          `[...document.querySelectorAll('tr.marked-row')].map((row) => row.ariaRowIndex).join()`,
        )
      await page.keyboard.press('x')
      await page.getByText('1 marked').waitFor()
      await page.keyboard.press('j')
      await page.keyboard.press('j')
      await page.keyboard.press('Shift+X')
      await page.getByText('3 marked').waitFor()
      assert.equal(await marked(), '3,4,5')
      await page.keyboard.press('x')
      await page.getByText('2 marked').waitFor()
      assert.equal(await marked(), '3,4')
      await page.getByRole('button', { name: 'Clear' }).click()
      await admin.go('#/account')
      await page.getByRole('heading', { name: 'Your account', level: 1 }).waitFor()
    })

    test('is reached from its filter by keyboard, and the filter keeps its text', async () => {
      const { page } = admin
      const focused = () =>
        page.evaluate<string | undefined>(
          `document.activeElement.closest('tr')?.ariaRowIndex ?? document.activeElement.tagName`,
        )
      await page.keyboard.press('g')
      await page.keyboard.press('u')
      await until(async () => (await focused()) === 'H1')
      const searchbox = page.getByRole('searchbox')
      for (const key of ['Enter', 'ArrowDown']) {
        // Typed sooner, the first letters are lost with the filter of before.
        await page.locator('table[aria-busy="false"]').waitFor()
        await until(async () => (await searchbox.inputValue()) === '')
        await page.keyboard.press('/')
        await page.keyboard.type('admin')
        await page.keyboard.press(key)
        await page.waitForURL(/q=admin/)
        await page.locator('table[aria-busy="false"]').waitFor()
        await until(async () => (await focused()) === '2')
        await admin.go('#/users')
        await until(async () => !page.url().includes('q='))
      }
      await until(async () => (await searchbox.inputValue()) === '')
      await page.keyboard.press('/')
      await page.keyboard.type('admin')
      await page.keyboard.press('Escape')
      await until(async () => (await focused()) === 'BODY')
      assert.equal(await searchbox.inputValue(), 'admin')
      await admin.go('#/account')
      await page.getByRole('heading', { name: 'Your account', level: 1 }).waitFor()
    })

    test('says that it loads while the answer takes seconds, and can be used meanwhile', async () => {
      const { page } = admin
      await show({ json: { sessions: sessions(4, 500) } })
      await row('Device 503').waitFor()
      await page.unroute(CALL)
      const waits = Promise.withResolvers<void>()
      await page.route(CALL, async (route) => {
        await waits.promise
        await route.fulfill({ json: { sessions: sessions(5, 500) } })
      })
      await page.clock.install()
      await page.getByRole('button', { name: 'Refresh' }).click()
      await page.locator('table[aria-busy="true"]').waitFor()
      await page.clock.runFor(3_000)
      // What was there stays, and opens.
      await row('Device 503').click()
      await page.getByRole('region', { name: 'Details' }).getByText('Device 503').waitFor()
      await page.locator('table[aria-busy="true"]').waitFor()
      waits.resolve()
      await row('Device 504').waitFor()
      await page.locator('table[aria-busy="false"]').waitFor()
      await page.getByRole('region', { name: 'Details' }).getByText('Device 503').waitFor()
      await page.keyboard.press('Escape')
    })

    test('takes keys from the moment at which it is there', async (t) => {
      const own = await openConsole(t, app(), { at: '#/account' })
      const { page } = own
      await page.getByRole('link', { name: /this one/ }).waitFor()
      await page.evaluate(`new MutationObserver((_, observer) => {
        if (!document.querySelector('.filters input')) return
        observer.disconnect()
        document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '/', bubbles: true }))
        globalThis.focused = document.activeElement.getAttribute('aria-label')
      }).observe(document.body, { childList: true, subtree: true })`)
      await own.go('#/users')
      await page.getByRole('heading', { name: 'Users', level: 1 }).waitFor()
      assert.equal(await page.evaluate('globalThis.focused'), 'Search address or name')
    })

    test('asks at most once in 2 s while it is live, and nothing while its tab is hidden', async () => {
      const { page } = admin
      let requests = 0
      const pending = new Set<Request>()
      page.on('request', (request) => {
        requests++
        pending.add(request)
      })
      for (const end of ['requestfinished', 'requestfailed'] as const)
        page.on(end as 'requestfinished', (request) => pending.delete(request))
      const show = (isHidden: boolean) =>
        page.evaluate(`{
          Object.defineProperty(document, 'hidden', { get: () => ${isHidden}, configurable: true })
          document.dispatchEvent(new Event('visibilitychange'))
        }`)
      /** How many requests there are in some seconds of the page. */
      async function asked(seconds: number): Promise<number> {
        const before = requests
        for (let steps = 0; steps < 2 * seconds; steps++) {
          await page.clock.runFor(500)
          await until(() => pending.size === 0)
        }
        return requests - before
      }
      const open = async (address: string, title: string | RegExp) => {
        await page.clock.resume()
        await admin.go(address)
        await page.getByRole('heading', { name: title, level: 1 }).waitFor()
        await settled(page)
        await page.clock.pauseAt(await page.evaluate(() => Date.now() + 1_000))
      }
      await open('#/audit?live=on', 'Audit')
      const visible = await asked(10)
      assert.ok(visible > 0 && visible <= 5, `${visible} requests`)
      await show(true)
      assert.equal(await asked(10), 0)
      await show(false)
      await until(async () => (await asked(2)) > 0)
      // The overview asks by itself.
      await open('#/', /\d\.\d/)
      await show(true)
      assert.equal(await asked(30), 0)
      await show(false)
    })
  })
})
