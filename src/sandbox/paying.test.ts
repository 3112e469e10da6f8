// A buyer in a browser, at the pages that the routes of payments answer, behind the whole server.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'

import type { Browser } from 'playwright-core'

import { startApp, type TestApp } from '../testing/app.ts'
import { launchChromium, withoutChromium } from '../testing/chromium.ts'
import { eachEngine, type Ending } from '../testing/engines.ts'

describe('a buyer', { skip: withoutChromium }, () => {
  let browser: Browser
  before(async () => {
    browser = await launchChromium()
  })
  after(() => browser.close())

  async function sitDown(t: Ending) {
    const context = await browser.newContext()
    t.after(() => context.close())
    context.setDefaultTimeout(8_000)
    return context.newPage()
  }

  const shop = ({ app }: TestApp, page: string): string => `${app.settings.publicUrl}/health?shop=${page}`

  async function hasBecome(app: TestApp, id: string, token: string, status: string): Promise<void> {
    for (let look = 0; look < 400; look++) {
      const { body } = await app.request('GET', `/pay/transactions/${id}`, { token })
      if (body.status === status) return
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    throw new Error(`transaction ${id} has not become ${status}`)
  }

  async function booksOf(app: TestApp, id: string, token: string): Promise<unknown[]> {
    const { body } = await app.request('GET', `/pay/transactions/${id}`, { token })
    return [body.status, body.displayAmount, body.refundedAmount]
  }

  eachEngine((engine) => {
    test('pays by card and gets half of it back', async (t) => {
      const app = await startApp(t, engine, { sandbox: true })
      const { token } = await app.register()
      const item = { name: 'Momo', amount: 1_098, currency: 'eur' }
      const { body: checkout } = await app.request('POST', '/pay/cardpay/checkout', {
        token,
        body: { items: [item], successUrl: shop(app, 'paid'), cancelUrl: shop(app, 'back') },
      })
      const page = await sitDown(t)
      await page.goto(checkout.url)
      await page.getByRole('button', { name: 'Pay 10.98 EUR' }).click()
      await page.waitForURL(shop(app, 'paid'))
      const { transactionId } = checkout
      await hasBecome(app, transactionId, token, 'completed')
      const body = { transactionId, amount: 549 }
      assert.equal((await app.request('POST', '/pay/cardpay/refund', { token, body })).status, 200)
      assert.deepEqual(await booksOf(app, transactionId, token), ['partially_refunded', '10.98', 549])
    })

    test('pays by wallet and gets half of it back', async (t) => {
      const app = await startApp(t, engine, { sandbox: true })
      const { token } = await app.register()
      const { body: order } = await app.request('POST', '/pay/walletpay/order', {
        token,
        body: {
          amount: 12.3,
          currency: 'EUR',
          returnUrl: shop(app, 'paid'),
          cancelUrl: shop(app, 'back'),
        },
      })
      const page = await sitDown(t)
      await page.goto(order.approvalUrl)
      await page.getByRole('button', { name: 'Approve and Pay' }).click()
      await page.waitForURL(/shop=paid&token=/)
      const { orderId, transactionId } = order
      const captured = await app.request('POST', `/pay/walletpay/capture/${orderId}`, { token })
      assert.deepEqual([captured.status, captured.body.status], [200, 'COMPLETED'])
      const body = { transactionId, amount: 6.15 }
      assert.equal((await app.request('POST', '/pay/walletpay/refund', { token, body })).status, 200)
      assert.deepEqual(await booksOf(app, transactionId, token), ['partially_refunded', '12.30', 6.15])
    })
  })
})
