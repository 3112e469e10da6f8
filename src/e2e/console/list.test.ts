// What every list of the console does, shown with the sessions of an account.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { appForAll } from '../../testing/auth.ts'
import { withoutChromium } from '../../testing/chromium.ts'
import { checkLooks, openConsole, type ConsolePage } from '../../testing/console.ts'
import { anyEngine, endOfSuite } from '../../testing/engines.ts'

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

    /** Loads the list again, with these answers one after the other. */
    async function show(...answers: ({ status?: number; json: object } | 'lost')[]): Promise<void> {
      const { page } = admin
      await page.unroute(CALL)
      await page.route(CALL, (route) => {
        const answer = answers.length > 1 ? answers.shift()! : answers[0]!
        return answer === 'lost' ? route.abort() : route.fulfill(answer)
      })
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
      await page.getByRole('button', { name: 'Load more' }).click()
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
  })
})
