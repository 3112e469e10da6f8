// The part "Chains" of the page, over real nodes. server/src/e2e/chains.test.ts pays a request with it.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import type { Browser, Page } from 'playwright-core'

import { startApp, type TestApp } from '../../server/src/testing/app.ts'
import { launchChromium, withoutChromium } from '../../server/src/testing/chromium.ts'
import { anyEngine, endOfSuite, type Ending } from '../../server/src/testing/engines.ts'

const REFRESH_MS = 500

describe('chains in a browser', { skip: withoutChromium }, () => {
  let browser: Browser
  before(async () => {
    browser = await launchChromium()
  })

  async function visit(t: Ending, viewport = { width: 1280, height: 800 }) {
    const context = await browser.newContext({ viewport })
    t.after(() => context.close())
    context.setDefaultTimeout(20_000)
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('pageerror', (error) => complaints.push(error.message))
    return { page, complaints }
  }

  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
  const block = (page: Page, at = 0) =>
    page.getByRole('list', { name: 'Latest blocks' }).locator(':scope > li').nth(at)

  anyEngine((engine) => {
    const ending = endOfSuite()
    let app: TestApp
    before(async () => {
      app = await startApp(ending, engine, { sandbox: true })
    })

    const running = async () => {
      const { chains } = (await app.request('GET', '/sandbox/api')).body.chains
      return Object.keys(chains).filter((name) => chains[name].isRunning)
    }

    test('the node of a chain starts when a person opens the chain', async (t) => {
      const { page, complaints } = await visit(t)
      await page.goto(`${app.url}/sandbox#chains`)
      await page.getByRole('heading', { name: 'Local chains' }).waitFor()
      const rows = page.getByRole('list', { name: 'Chains' }).getByRole('link')
      assert.deepEqual(await rows.locator('strong').allInnerTexts(), ['ethereum', 'arbitrum', 'base'])
      assert.deepEqual(await running(), [])

      await rows.first().focus()
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('Enter')
      await page.getByText(/^block \d+$/).waitFor()
      assert.equal(await page.locator(':focus').innerText(), 'arbitrum')
      assert.deepEqual(await running(), ['arbitrum'])
      const { arbitrum } = (await app.request('GET', '/sandbox/api/chains')).body
      for (const value of [arbitrum.rpcUrl, arbitrum.chainId, ...Object.values(arbitrum.contracts)])
        await page.getByText(String(value), { exact: true }).waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('heading', { name: 'Local chains' }).waitFor()
      assert.match(await page.locator(':focus').innerText(), /arbitrum/)
      assert.deepEqual(complaints, [])
    })

    test('an address is funded with coins and tokens, and what is wrong with one is said', async (t) => {
      const { page, complaints } = await visit(t)
      await page.goto(`${app.url}/sandbox#chains/ethereum`)
      const { address, privateKey } = (await app.request('GET', '/sandbox/api/chains')).body.ethereum
        .accounts[9]
      await page.getByLabel('Address', { exact: true }).fill('0x12')
      await page.keyboard.press('Enter')
      const issue = page.getByText('It must be 0x and 40 hexadecimal digits')
      await issue.waitFor()
      const field = page.getByLabel('Address', { exact: true })
      assert.equal(await field.getAttribute('aria-invalid'), 'true')
      assert.equal(await field.getAttribute('aria-describedby'), await issue.getAttribute('id'))

      await field.fill(address)
      await page.getByLabel('Amount', { exact: true }).fill('2.5')
      await button(page, 'Fund').click()
      await page.getByText(/^2\.5 ETH sent: 0x[0-9a-f]{64}$/).waitFor()
      // Not only in the first: the next block may be there already.
      const blocks = page.getByRole('list', { name: 'Latest blocks' })
      const account = page.getByRole('list', { name: 'Accounts', exact: true }).getByRole('listitem').nth(9)
      await account.getByText('10,002.5 ETH, 1,000,000 USDC').waitFor()
      await blocks.getByText('account 1 → account 9, 2.5 ETH').waitFor()
      await page.getByLabel('Coin').selectOption('USDC')
      await button(page, 'Fund').click()
      await account.getByText('10,002.5 ETH, 1,000,002.5 USDC').waitFor()
      await blocks.getByText('account 1 → account 9, 2.5 USDC').waitFor()

      assert.equal(await page.getByText(privateKey).count(), 0)
      await button(page, 'Private key of account 9').click()
      await page.getByText(privateKey, { exact: true }).waitFor()
      assert.equal(await page.locator(':focus').innerText(), 'Hide key')
      await page.keyboard.press('Enter')
      await page.getByText(privateKey).waitFor({ state: 'detached' })
      assert.deepEqual(complaints, [])
    })

    test('blocks are mined and reorganised, and those of others appear', async (t) => {
      const { page, complaints } = await visit(t)
      await page.goto(`${app.url}/sandbox#chains/base`)
      await block(page).waitFor()
      const { number } = (await app.request('POST', '/sandbox/api/chains/base/mine', { body: {} })).body
      const shown = async () => Number(/Block (\d+)/.exec(await block(page).innerText())?.[1])
      // The stream of events may not have begun to wait yet: a clock that moves once could be too early for it.
      while ((await shown()) < number) {
        app.clock.advance(REFRESH_MS)
        await page.waitForTimeout(20)
      }

      await page.getByLabel('Blocks', { exact: true }).fill('20')
      await button(page, 'Mine').click()
      while ((await shown()) < number + 20) await page.waitForTimeout(20)
      // It can be done again at once.
      assert.equal(await page.locator(':focus').innerText(), 'Mine')
      const head = await shown()
      const before = await block(page).innerText()

      await page.getByLabel('Depth').fill('1000')
      await button(page, 'Reorganise').click()
      const issue = page.getByText('It must be')
      await issue.waitFor()
      const depth = page.getByLabel('Depth')
      assert.equal(await depth.getAttribute('aria-invalid'), 'true')
      assert.equal(await depth.getAttribute('aria-describedby'), await issue.getAttribute('id'))
      await page.getByLabel('Depth').fill('2')
      await page.keyboard.press('Enter')
      await page.locator('#announcer', { hasText: 'The chain is reorganised' }).waitFor({ state: 'attached' })
      while ((await block(page).innerText()) === before) await page.waitForTimeout(20)
      assert.ok((await shown()) >= head)
      assert.deepEqual(complaints, [])
    })

    test('a chain is no wider than a phone', async (t) => {
      const { page } = await visit(t, { width: 390, height: 844 })
      await page.goto(`${app.url}/sandbox#chains/ethereum`)
      await block(page).waitFor()
      await button(page, 'Private key of account 0').click()
      assert.ok((await page.evaluate<number>('document.documentElement.scrollWidth')) <= 390)
      await page.getByRole('button', { name: 'Close the details' }).click()
      await page.getByRole('link', { name: /arbitrum/ }).waitFor()
    })

    test('a chain with a node of its own is not listed', async (t) => {
      const real = { ETHEREUM_RPC_URL: 'http://127.0.0.1:9', BASE_RPC_URL: 'http://127.0.0.1:9/base' }
      const other = await startApp(t, engine, { sandbox: true, environment: real })
      const { page, complaints } = await visit(t)
      await page.goto(`${other.url}/sandbox#chains`)
      const rows = page.getByRole('list', { name: 'Chains' }).getByRole('link')
      await rows.first().waitFor()
      assert.deepEqual(await rows.locator('strong').allInnerTexts(), ['arbitrum'])
      assert.deepEqual(complaints, [])
    })
  })
})
