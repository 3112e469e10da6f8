import assert from 'node:assert/strict'
import { before, describe, test, type TestContext } from 'node:test'

import type { Browser, Page } from 'playwright-core'

import { launchChromium, withoutChromium } from '../../../server/src/testing/chromium.ts'
import { anyEngine, someEngine } from '../../../server/src/testing/engines.ts'
import { groundLightness, hardToReach, hardToRead } from '../../../server/src/testing/legibility.ts'
import { capture, createOrder, orderBody, pay, startWallet, type Json } from './walletpay.fixture.ts'

const form = (fields: Record<string, string>) => ({
  raw: new URLSearchParams(fields).toString(),
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
})

const pathOf = (id: string): string => `/sandbox/walletpay/approve?token=${id}`

someEngine((engine) => {
  test('the form approves and returns to the shop with the order and the payer', async (t) => {
    const wallet = await startWallet(t, engine)
    const { id } = await createOrder(wallet, orderBody('1234567.30'))
    const shown = await wallet.request('GET', pathOf(id))
    assert.equal(shown.status, 200)
    assert.match(shown.headers.get('content-security-policy')!, /^default-src 'none'/)
    assert.match(shown.text, /1,234,567\.30 EUR/)
    const approve = (funding: string) =>
      wallet.request('POST', pathOf(id), form({ action: 'approve', funding }))
    assert.equal((await approve('gold')).status, 400)
    const approved = await approve('balance')
    assert.equal(approved.status, 303)
    assert.match(
      approved.headers.get('location')!,
      new RegExp(`^https://shop\\.example/done\\?cart=1&token=${id}&PayerID=[2-9A-HJ-NP-Z]{13}$`),
    )
    assert.equal((await capture(wallet, id)).status, 201)
    assert.deepEqual(
      [(await wallet.request('GET', pathOf(id))).status, (await approve('balance')).status],
      [409, 409],
    )
  })

  test('who cancels returns to the shop, and the order stays as it is', async (t) => {
    const wallet = await startWallet(t, engine)
    const { id } = await createOrder(wallet)
    const cancelled = await wallet.request('POST', pathOf(id), form({ action: 'cancel' }))
    assert.deepEqual(
      [cancelled.status, cancelled.headers.get('location')],
      [303, `https://shop.example/cancel?token=${id}`],
    )
    assert.equal((await wallet.call('GET', `/v2/checkout/orders/${id}`)).body.status, 'PAYER_ACTION_REQUIRED')
  })
})

anyEngine((engine) => {
  test('an order that is unknown or over has a page that says so; names are shown as text', async (t) => {
    const wallet = await startWallet(t, engine)
    const unknown = await wallet.request('GET', pathOf('NOTHING'))
    assert.equal(unknown.status, 404)
    assert.match(unknown.text, /There is no such order/)
    assert.equal((await wallet.request('GET', pathOf('%00'))).status, 404)
    const { id } = await createOrder(
      wallet,
      orderBody('1.00', 'EUR', { description: '<script>alert(1)</script>' }),
    )
    const { text } = await wallet.request('GET', pathOf(id))
    assert.doesNotMatch(text, /<script/)
    assert.match(text, /&lt;script&gt;/)
    const { payment_source: _, ...plain } = orderBody()
    const { id: without } = await createOrder(wallet, plain)
    const approved = await wallet.request(
      'POST',
      pathOf(without),
      form({ action: 'approve', funding: 'balance' }),
    )
    assert.equal(approved.status, 200)
    assert.match(approved.text, /The order is approved/)
  })

  describe('the approval page', { skip: withoutChromium }, () => {
    let browser: Browser
    before(async () => {
      browser = await launchChromium()
    })

    async function open(t: TestContext, options: Json = {}): Promise<Page> {
      const context = await browser.newContext({ reducedMotion: 'reduce', ...options })
      t.after(() => context.close())
      context.setDefaultTimeout(20_000)
      return context.newPage()
    }

    test('is used with the keyboard and without JavaScript; a declined card is chosen again', async (t) => {
      const wallet = await startWallet(t, engine)
      const page = await open(t, { javaScriptEnabled: false })
      const body = orderBody()
      body.payment_source.paypal.experience_context.return_url = `${wallet.url}/shop`
      const { id } = await createOrder(wallet, body)
      const address = `${wallet.address}/approve?token=${id}`
      await page.goto(address)
      await page.getByRole('radio', { name: 'Balance' }).focus()
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('Enter')
      await page.waitForURL(`${wallet.url}/shop?**`)
      assert.equal((await capture(wallet, id)).status, 422)
      await page.goto(address)
      const group = page.getByRole('group', { name: 'Pay with' })
      assert.equal(
        await group.getByRole('alert').getAttribute('id'),
        await group.getAttribute('aria-describedby'),
      )
      const widths = await Promise.all(
        (await page.getByRole('button').all()).map(async (one) => (await one.boundingBox())!.width),
      )
      assert.deepEqual([widths.length, new Set(widths).size], [2, 1])
      await page.getByRole('button', { name: 'Approve and Pay' }).click()
      await page.waitForURL(`${wallet.url}/shop?**`)
      assert.equal((await capture(wallet, id)).body.status, 'COMPLETED')
    })

    for (const colorScheme of ['light', 'dark'] as const)
      test(`is legible in ${colorScheme} mode, also on a phone`, async (t) => {
        const wallet = await startWallet(t, engine)
        const page = await open(t, { colorScheme, viewport: { width: 375, height: 800 } })
        const complaints: string[] = []
        page.on('console', (one) => complaints.push(one.text()))
        const { id } = await createOrder(wallet, orderBody('12.30', 'EUR', { description: 'x'.repeat(127) }))
        await wallet.drive('POST', `/walletpay/orders/${id}/approve`, { funding: 'declined' })
        await capture(wallet, id)
        const { id: over } = await pay(wallet)
        for (const [one, status] of [
          [id, 200],
          [over, 409],
        ] as const) {
          const answered = await page.goto(`${wallet.address}/approve?token=${one}`)
          assert.equal(answered!.status(), status)
          const lightness = await groundLightness(page)
          assert.ok(colorScheme === 'dark' ? lightness < 0.05 : lightness > 0.8)
          const seen = await hardToRead(page)
          assert.ok(seen.count > 3)
          assert.deepEqual([...seen.faults, ...(await hardToReach(page)).faults], [])
          assert.ok((await page.evaluate<number>('document.documentElement.scrollWidth')) <= 375)
        }
        assert.deepEqual(
          complaints.filter((one) => !one.includes('409')),
          [],
        )
      })
  })
})
