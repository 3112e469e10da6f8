// The checkout page in a browser, without scripts: it has none.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import type Stripe from 'stripe'

import { launchChromium, withoutChromium } from '../../../server/src/testing/chromium.ts'
import { anyEngine, someEngine, endOfSuite, type Ending } from '../../../server/src/testing/engines.ts'
import { groundLightness, hardToReach, hardToRead } from '../../../server/src/testing/legibility.ts'
import { orderOf, paid, startCardpay, type Cardpay } from './cardpay.fixture.ts'

const PHONE = { width: 390, height: 800 }

describe('the checkout page in a browser', { skip: withoutChromium }, () => {
  let browser: Browser
  before(async () => {
    browser = await launchChromium()
  })

  anyEngine((engine) => {
    const ending = endOfSuite()
    let cardpay: Cardpay
    before(async () => {
      cardpay = await startCardpay(ending, engine)
    })

    async function visit(t: Ending, options: BrowserContextOptions = {}): Promise<Page> {
      const context = await browser.newContext({ javaScriptEnabled: false, ...options })
      t.after(() => context.close())
      context.setDefaultTimeout(20_000)
      return context.newPage()
    }
    const order = async (more: Parameters<typeof orderOf>[1] = {}) => {
      const session = await cardpay.stripe.checkout.sessions.create(orderOf(cardpay, more))
      return { id: session.id, url: session.url! }
    }
    const click = (page: Page, name: string | RegExp) => page.getByRole('button', { name }).click()
    const statusOf = async (id: string) =>
      (await cardpay.stripe.checkout.sessions.retrieve(id)).payment_status

    test('shows the order, takes the money, and leads back with the id of the session', async (t) => {
      const page = await visit(t)
      const { id, url } = await order({
        name: 'Tea & <b>cake</b>',
        amount: 1_250_000,
        quantity: 2,
        currency: 'kwd',
      })
      await page.goto(url)
      assert.equal(await page.getByRole('heading', { level: 1 }).innerText(), 'Pay Corner shop')
      const items = await page.getByRole('list', { name: 'Order' }).innerText()
      assert.match(items, /Tea & <b>cake<\/b> × 2\s+2,500\.000 KWD/)
      await page.getByLabel('Email').fill('grace@example.com')
      await page.getByLabel('Name on card').fill('Grace Hopper')
      const widths = await Promise.all(
        (await page.getByRole('button').all()).map(async (one) => (await one.boundingBox())!.width),
      )
      assert.deepEqual([widths.length, new Set(widths).size], [2, 1])
      await click(page, 'Pay 2,500.000 KWD')
      await page.waitForURL(`${cardpay.url}/done?session=${id}`)
      const session = await cardpay.stripe.checkout.sessions.retrieve(id)
      const { name, email } = session.customer_details!
      assert.deepEqual([session.payment_status, name, email], ['paid', 'Grace Hopper', 'grace@example.com'])
      await page.goto(url)
      await page.getByRole('heading', { name: 'This payment is complete' }).waitFor()
      await page.getByRole('link', { name: 'Return to Corner shop' }).click()
      await page.waitForURL(`${cardpay.url}/done?session=${id}`)
    })

    test('says why a card is declined, and takes another one, which is chosen from the list', async (t) => {
      const page = await visit(t)
      const { id, url } = await order()
      await page.goto(url)
      await page.getByRole('link', { name: 'insufficient funds' }).click()
      assert.equal(await page.getByLabel('Card number').inputValue(), '4000 0000 0000 9995')
      await click(page, /^Pay 10\.00/)
      assert.equal(await page.getByRole('alert').innerText(), 'Your card has insufficient funds.')
      assert.equal(await statusOf(id), 'unpaid')
      await page.getByLabel('Card number').fill('4242 4242 4242 4241')
      await click(page, /^Pay 10\.00/)
      assert.match(await page.getByRole('alert').innerText(), /number is invalid/)
      const number = page.getByLabel('Card number')
      assert.equal(await number.getAttribute('aria-invalid'), 'true')
      assert.equal(
        await page.locator(`#${await number.getAttribute('aria-describedby')}`).innerText(),
        await page.getByRole('alert').innerText(),
      )
      assert.equal(await page.locator('[aria-invalid]').count(), 1)
      await page.getByLabel('Card number').fill('4242 4242 4242 4242')
      await click(page, /^Pay 10\.00/)
      await page.waitForURL(/\/done/)
      assert.equal(await statusOf(id), 'paid')
    })

    test('asks for authentication, which fails or succeeds', async (t) => {
      const page = await visit(t)
      const { id, url } = await order()
      await page.goto(`${url}?card=4000002760003184`)
      await click(page, /^Pay 10\.00/)
      await page.getByRole('heading', { name: 'Authenticate the payment' }).waitFor()
      const { payment_intent: intent } = await cardpay.stripe.checkout.sessions.retrieve(id)
      const { status, next_action: action } = await cardpay.stripe.paymentIntents.retrieve(intent as string)
      assert.deepEqual([status, action?.redirect_to_url?.url], ['requires_action', page.url()])
      await click(page, 'Fail authentication')
      assert.match(await page.getByRole('alert').innerText(), /unable to authenticate/)
      assert.equal(await statusOf(id), 'unpaid')
      await page.goto(`${url}?card=4000002500003155`)
      await click(page, /^Pay 10\.00/)
      await click(page, 'Complete authentication')
      await page.waitForURL(/\/done/)
      assert.equal(await statusOf(id), 'paid')
    })

    test('leads back without paying, and takes a bank debit that is paid later', async (t) => {
      const page = await visit(t)
      const { id, url } = await order()
      await page.goto(url)
      await click(page, 'Cancel and go back')
      await page.waitForURL(`${cardpay.url}/back`)
      assert.equal((await cardpay.payments())[0]!.state, 'open')
      await page.goto(url)
      await click(page, 'Pay by bank debit')
      await page.waitForURL(/\/done/)
      assert.deepEqual(
        (await cardpay.payments()).filter((one) => one.id === id).map(({ state }) => state),
        ['processing'],
      )
      await page.goto(url)
      await page.getByRole('heading', { name: 'This payment is processing' }).waitFor()
    })

    test('says what has become of a session that cannot be paid', async (t) => {
      const page = await visit(t)
      const { id, url } = await order()
      await page.goto(url)
      await cardpay.stripe.checkout.sessions.expire(id)
      await click(page, /^Pay 10\.00/)
      await page.getByRole('heading', { name: 'This checkout has expired' }).waitFor()
      await page.getByRole('link', { name: 'Return to Corner shop' }).click()
      await page.waitForURL(`${cardpay.url}/back`)
      await page.goto(`${cardpay.address}/pay/cs_test_none`)
      await page.getByRole('heading', { name: 'This checkout does not exist' }).waitFor()
    })

    for (const colorScheme of ['light', 'dark'] as const)
      test(`is legible in ${colorScheme} mode, also on a phone, and works with the Tab key`, async (t) => {
        const { url } = await order({
          name: 'A very long name of a book that nobody has read to its end yet',
        })
        const page = await visit(t, {
          colorScheme,
          viewport: PHONE,
          javaScriptEnabled: true,
          reducedMotion: 'reduce',
        })
        const faults: string[] = []
        async function look(scene: string): Promise<void> {
          await page.waitForLoadState() // a click resolves when the next page begins to load, without its style sheet
          const lightness = await groundLightness(page)
          if (colorScheme === 'dark' ? lightness > 0.05 : lightness < 0.8)
            faults.push(`${scene}: is not ${colorScheme}`)
          const seen = await hardToRead(page)
          assert.ok(seen.count > 3)
          const width = await page.evaluate<number>('document.documentElement.scrollWidth')
          if (width > PHONE.width) faults.push(`${scene}: is ${width} px wide`)
          for (const one of [...seen.faults, ...(await hardToReach(page)).faults])
            faults.push(`${scene}: ${one}`)
        }
        await page.goto(`${url}?card=4000000000000002`)
        await click(page, /^Pay 10\.00/)
        await page.getByRole('alert').waitFor()
        await look('a declined card')
        await page.goto(`${url}?card=4000002500003155`)
        await click(page, /^Pay 10\.00/)
        await look('authentication')
        await page.goto(
          (await paid(cardpay)).session.success_url!.replace(/\/done.*/, `/sandbox/cardpay/pay/cs_test_none`),
        )
        await look('no session')
        assert.deepEqual(faults, [])
      })
  })
})

someEngine((engine) => {
  test('incomplete cards are refused, and a form without an origin is accepted', async (t) => {
    const cardpay = await startCardpay(t, engine)
    const { id, url } = await cardpay.stripe.checkout.sessions.create(orderOf(cardpay))
    const submit = (headers: Record<string, string>, fields: Record<string, string> = {}) =>
      fetch(url!, {
        method: 'POST',
        redirect: 'manual',
        headers,
        body: new URLSearchParams({
          action: 'pay',
          email: 'ada@example.com',
          number: '4242424242424242',
          expiry: '12/34',
          cvc: '123',
          ...fields,
        }),
      })
    const shown = await submit({}, { number: '"><script>', name: '<img>' })
    const text = await shown.text()
    assert.deepEqual([shown.status, /<script|<img/.test(text)], [400, false])
    assert.match(shown.headers.get('content-security-policy')!, /default-src 'none'/)
    // Each error belongs to the field that is wrong.
    for (const [fields, field] of [
      [{ email: 'ada@nowhere' }, 'email'],
      [{ action: 'debit', email: '' }, 'email'],
      [{ number: '4242424242424241' }, 'number'],
      [{ expiry: '13/34' }, 'expiry'],
      [{ expiry: '01/20' }, 'expiry'],
      [{ number: '4000000000000069' }, 'expiry'],
      [{ cvc: '1' }, 'cvc'],
      [{ number: '4000000000000127' }, 'cvc'],
      [{ number: '4000000000009995' }, 'number'],
    ] as const) {
      const refused = await (await submit({}, fields)).text()
      const alerts = [...refused.matchAll(/role="alert" id="(\w+)-error"/g)].map(([, name]) => name)
      assert.deepEqual(alerts, [field], JSON.stringify(fields))
    }
    // Browsers send it under `Referrer-Policy: no-referrer`, which every answer of a server has.
    assert.equal(
      (await submit({ origin: 'null' })).headers.get('location'),
      `${cardpay.url}/done?session=${id}`,
    )
  })

  test('the email address of the merchant is shown, and cannot be replaced', async (t) => {
    const cardpay = await startCardpay(t, engine)
    const { id, url } = await cardpay.stripe.checkout.sessions.create({
      ...orderOf(cardpay),
      customer_email: 'buyer@example.com',
    })
    assert.match(
      (await (await fetch(url!)).text()).replaceAll(/\s+/g, ' '),
      /name="email" value="buyer@example\.com" type="email"[^>]* readonly/,
    )
    const fields = { email: 'other@example.com', number: '4242424242424242', expiry: '12/34', cvc: '123' }
    await fetch(url!, { method: 'POST', redirect: 'manual', body: new URLSearchParams(fields) })
    const session = await cardpay.stripe.checkout.sessions.retrieve(id, {
      expand: ['payment_intent.latest_charge'],
    })
    const { latest_charge: charge } = session.payment_intent as Stripe.PaymentIntent
    assert.deepEqual(
      [session.customer_details?.email, (charge as Stripe.Charge).billing_details.email],
      ['buyer@example.com', 'buyer@example.com'],
    )
  })

  test('who pays is led to an address in any script', async (t) => {
    const cardpay = await startCardpay(t, engine)
    const address = `${cardpay.url}/dank/für→?name=Zoë`
    const { url } = await cardpay.stripe.checkout.sessions.create({
      ...orderOf(cardpay),
      success_url: address,
      cancel_url: address,
    })
    for (const action of ['cancel', 'pay']) {
      const fields = {
        action,
        email: 'a@example.com',
        number: '4242424242424242',
        expiry: '12/34',
        cvc: '123',
      }
      const left = await fetch(url!, {
        method: 'POST',
        redirect: 'manual',
        body: new URLSearchParams(fields),
      })
      assert.deepEqual([left.status, left.headers.get('location')], [303, new URL(address).href], action)
    }
  })
})
