// What a newcomer does: pays by card and by wallet in a browser, refunds half of each, and reads the books.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import type { Browser, Page } from 'playwright-core'

import { startApp, type TestApp } from '../testing/app.ts'
import { launchChromium, withoutChromium } from '../testing/chromium.ts'
import { someEngine, type Ending } from '../testing/engines.ts'
import { booksOfSandbox, booksOfServer, readSandbox, type Books } from '../wires/pay/sandbox-books.fixture.ts'

const ROUNDS = 200
const ROUND_MS = 50
const UNDISPUTED = { disputed: '0.00', lost: '0.00' }
const PAID: Books = { status: 'completed', amount: '12.50', refunded: '0.00', ...UNDISPUTED, refunds: [] }
const HALF_REFUNDED: Books = {
  status: 'partially_refunded',
  amount: '12.50',
  refunded: '6.25',
  ...UNDISPUTED,
  refunds: ['6.25 completed'],
}

/** A shop with a user, and the server whose sandbox is its provider. */
type Place = { shop: TestApp; token: string; sandbox: TestApp }

describe('payments in a browser', { skip: withoutChromium }, () => {
  let browser: Browser
  before(async () => {
    browser = await launchChromium()
  })

  async function openPage(t: Ending): Promise<Page> {
    const context = await browser.newContext()
    t.after(() => context.close())
    context.setDefaultTimeout(20_000)
    return context.newPage()
  }

  /** Reads the books of the shop and of the providers until they are as expected, and equal. */
  async function assertBooks({ shop, token, sandbox }: Place, expected: readonly Books[]): Promise<void> {
    for (let round = 1; ; round++) {
      const ours = await booksOfServer(shop, token)
      const theirs = booksOfSandbox(await readSandbox(sandbox), new Set())
      try {
        assert.deepEqual([...ours.values()], expected)
        return assert.deepEqual(Object.fromEntries(ours), Object.fromEntries(theirs))
      } catch (error) {
        if (round === ROUNDS) throw error
        await delay(ROUND_MS)
        // Without webhooks, payments are looked up after 10 seconds.
        shop.clock.advance(ROUND_MS * 5)
      }
    }
  }

  /** Pays by card and by wallet at the pages of the providers, and refunds half of each. */
  async function payAndRefund(page: Page, place: Place): Promise<void> {
    const { shop, token, sandbox } = place
    const back = `${sandbox.url}/sandbox/app`
    const { cardpay, walletpay } = (await sandbox.request('GET', '/sandbox/api')).body
    const checkout = await shop.client.call('POST /pay/cardpay/checkout', {
      token,
      body: {
        items: [{ name: 'Tea', amount: 1250, currency: 'eur' }],
        successUrl: `${back}?paid=card`,
        cancelUrl: back,
      },
    })
    assert.ok(checkout.url.startsWith(`${cardpay.address}/`), checkout.url)
    await page.goto(checkout.url)
    await page.getByRole('button', { name: 'Pay 12.50 EUR' }).click()
    await page.waitForURL(/paid=card/)

    const { orderId, approvalUrl, ...order } = await shop.client.call('POST /pay/walletpay/order', {
      token,
      body: {
        amount: 12.5,
        currency: 'EUR',
        description: 'Tea',
        returnUrl: `${back}?paid=wallet`,
        cancelUrl: back,
      },
    })
    assert.ok(approvalUrl.startsWith(`${walletpay.address}/`), approvalUrl)
    await page.goto(approvalUrl)
    await page.getByRole('button', { name: 'Approve and Pay' }).click()
    await page.waitForURL(/paid=wallet/)
    const captured = await shop.client.call('POST /pay/walletpay/capture/:orderId', {
      token,
      params: { orderId },
    })
    assert.deepEqual(captured, { orderId, status: 'COMPLETED', transactionId: order.transactionId })
    await assertBooks(place, [PAID, PAID])

    const refunds = [
      await shop.client.call('POST /pay/cardpay/refund', {
        token,
        body: { transactionId: checkout.transactionId, amount: 625 },
      }),
      await shop.client.call('POST /pay/walletpay/refund', {
        token,
        body: { transactionId: order.transactionId, amount: 6.25 },
      }),
    ]
    assert.deepEqual(
      refunds.map(({ provider, status, amount }) => [provider, status, amount]),
      [
        ['cardpay', 'completed', 625],
        ['walletpay', 'completed', 6.25],
      ],
    )
    await assertBooks(place, [HALF_REFUNDED, HALF_REFUNDED])
    const { transactions, total } = await shop.client.call('GET /pay/transactions', {
      token,
      query: { status: 'partially_refunded' },
    })
    assert.deepEqual(
      [total, ...transactions.map((one) => [one.provider, one.amount, one.refundedAmount])],
      [2, ['walletpay', 12.5, 6.25], ['cardpay', 1250, 625]],
    )

    await page.goto(`${sandbox.url}/sandbox#payments`)
    const rows = page.getByRole('list', { name: 'Payments' }).getByRole('link')
    await rows.nth(1).waitFor()
    const texts = await rows.allInnerTexts()
    assert.equal(texts.length, 2)
    for (const text of texts) assert.match(text, /12\.50 EUR[^]*partly refunded/)
  }

  someEngine((engine) => {
    test('with nothing configured, a card and a wallet are charged and half refunded; the books add up', async (t) => {
      const shop = await startApp(t, engine, { sandbox: true })
      const { token } = await shop.register()
      await payAndRefund(await openPage(t), { shop, token, sandbox: shop })
    })

    test('with the address and keys of another server, the same happens there, also without webhooks', async (t) => {
      const sandbox = await startApp(t, engine, { sandbox: true })
      const { cardpay, walletpay } = (await sandbox.request('GET', '/sandbox/api')).body
      const shop = await startApp(t, engine, {
        environment: { ...cardpay.variables, ...walletpay.variables },
      })
      const { token } = await shop.register()
      await payAndRefund(await openPage(t), { shop, token, sandbox })
    })
  })
})
