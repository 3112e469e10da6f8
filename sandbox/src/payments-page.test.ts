// The parts "Payments" and "Webhooks" of the page, over stand-ins that only list what the test says.
import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { before, describe, test } from 'node:test'

import type { FastifyPluginAsync } from 'fastify'
import type { Browser, Page } from 'playwright-core'

import { startApp } from '../../server/src/testing/app.ts'
import { launchChromium, withoutChromium } from '../../server/src/testing/chromium.ts'
import { anyEngine, type Ending } from '../../server/src/testing/engines.ts'
import { groundLightness, hardToReach, hardToRead } from '../../server/src/testing/legibility.ts'
import { startReceiver, startSandbox } from './webhooks.fixture.ts'
import { until } from '../../server/src/testing/until.ts'

const AT = '2026-01-02T03:04:05.000Z'
const CARDS = {
  '4242424242424242': 'is charged',
  '4000000000000002': 'is declined',
}

const session = {
  id: 'cs_1',
  paymentIntent: 'pi_1',
  transactionId: '01890000-0000-7000-8000-000000000001' as string | null,
  status: 'open',
  paymentStatus: 'unpaid',
  state: 'open',
  amount: 1250,
  currency: 'EUR',
  displayAmount: '12.50',
  description: 'Tea',
  url: 'http://localhost/pay/cs_1',
  refunded: 0,
  refunds: [] as { id: string; amount: number; status: string }[],
  dispute: null as { id: string; status: string; reason: string; amount: number } | null,
  createdAt: AT,
}
const order = {
  id: '5O190127TN364715T',
  status: 'CREATED',
  transactionId: null as string | null,
  capture: null as { id: string; status: string } | null,
  amount: '7',
  currency: 'JPY',
  description: 'Coffee',
  approvalUrl: 'http://localhost/approve?token=5O190127TN364715T',
  funding: null as string | null,
  refunded: '0',
  refunds: [] as { id: string; amount: string; status: string }[],
  dispute: null as { id: string; status: string; reason: string; amount: string } | null,
  createdAt: '2026-01-02T03:04:04.000Z',
}

/** A sandbox whose providers list these payments, and record what the page asks them for. */
async function startProviders(t: Ending, engine: Parameters<typeof startSandbox>[1]) {
  const lists = { payments: [] as (typeof session)[], orders: [] as (typeof order)[] }
  const asked: [path: string, body: unknown][] = []
  let refusal: { status: number; body: unknown } | undefined
  let changes = 0
  const routes =
    (name: string, list: () => object): FastifyPluginAsync =>
    async (engine) => {
      engine.get(`/api/${name}`, async () => list())
      engine.post(`/api/${name}/*`, async ({ url, body }, reply) => {
        asked.push([url.replace('/sandbox/api', ''), body ?? null])
        return refusal ? reply.code(refusal.status).send(refusal.body) : {}
      })
    }
  const receiver = await startReceiver(t)
  const sandbox = await startSandbox(t, engine, {
    url: receiver.url,
    senders: {
      cardpay: {
        routes: routes('cardpay', () => ({ payments: lists.payments })),
        part: { name: 'cardpay', version: async () => changes },
        state: async () => ({ magic: CARDS }),
      },
      walletpay: {
        routes: routes('walletpay', () => ({ orders: lists.orders })),
        part: { name: 'walletpay', version: async () => changes },
      },
    },
  })
  return {
    sandbox,
    receiver,
    asked,
    refuse: (status: number, body: unknown) => (refusal = { status, body }),
    accept: () => (refusal = undefined),
    /** Changes what the providers list; pages are told. */
    change: async ({ payments = lists.payments, orders = lists.orders }: Partial<typeof lists>) => {
      Object.assign(lists, { payments, orders })
      changes++
      await sandbox.report([`evt_change_${changes}`], { fault: 'lost' })
      sandbox.clock.advance(500)
    },
  }
}

describe('payments and webhooks in a browser', { skip: withoutChromium }, () => {
  let browser: Browser
  before(async () => {
    browser = await launchChromium()
  })

  async function visit(t: Ending, options: Parameters<Browser['newContext']>[0] = {}) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options })
    t.after(() => context.close())
    context.setDefaultTimeout(20_000)
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('pageerror', (error) => complaints.push(error.message))
    return { page, complaints }
  }

  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
  const announced = (page: Page, text: string) =>
    page.locator('#announcer', { hasText: text }).waitFor({ state: 'attached' })

  anyEngine((engine) => {
    test('a card payment is shown with what can happen next, from open to lost', async (t) => {
      const { sandbox, asked, change, refuse, accept } = await startProviders(t, engine)
      const { page, complaints } = await visit(t)
      await page.goto(`${sandbox.url}/sandbox#payments`)
      await page.getByRole('heading', { name: 'No payments yet' }).waitFor()
      const sample = await page.locator('#payments-reader pre').first().innerText()
      assert.match(sample, /\/pay\/cardpay\/checkout/)
      assert.ok(sample.includes(`"${sandbox.url}/sandbox#payments/{CHECKOUT_SESSION_ID}"`), sample)

      await change({ payments: [session] })
      await announced(page, 'New payment of 12.50 EUR: open')
      await page.getByRole('link', { name: /12\.50 EUR/ }).focus()
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: '12.50 EUR' }).waitFor()
      assert.equal(await page.locator(':focus').innerText(), '12.50 EUR')
      const link = page.getByRole('link', { name: 'Pay at the checkout page' })
      assert.equal(await link.getAttribute('href'), session.url)

      refuse(402, { error: { type: 'card_error', message: 'Your card was declined.' } })
      await page.getByLabel('With the card that').selectOption({ label: 'is declined (…0002)' })
      await button(page, 'Pay').click()
      await page.getByRole('alert').getByText('Your card was declined.').waitFor()
      assert.equal(await page.locator(':focus').innerText(), 'Pay')
      accept()
      await page.getByLabel('With the card that').selectOption({ label: 'is charged (…4242)' })
      await button(page, 'Pay').click()
      await announced(page, 'The payment is paid')
      // What takes the place of the button must not get the next press of a key.
      assert.equal(await page.locator(':focus').innerText(), '12.50 EUR')
      await button(page, 'Pay by bank debit').click()
      await announced(page, 'The bank debit is being processed')

      await change({ payments: [{ ...session, state: 'processing', status: 'complete' }] })
      await button(page, 'The bank debit fails').click()
      await announced(page, 'The bank debit failed')

      const paid = { ...session, state: 'paid', status: 'complete', paymentStatus: 'paid' }
      await change({ payments: [paid] })
      await announced(page, 'Payment of 12.50 EUR: paid')
      await page.getByLabel('Amount').fill('2.5')
      await page.keyboard.press('Enter')
      await announced(page, 'The payment is refunded')
      await page.getByLabel('Amount').fill('')
      await button(page, 'Refund').click()
      await until(() => asked.length === 6)
      await button(page, 'Dispute').click()
      await announced(page, 'The payment is disputed')

      await change({
        payments: [
          {
            ...paid,
            refunded: 250,
            refunds: [{ id: 're_1', amount: 250, status: 'pending' }],
            dispute: { id: 'dp_1', status: 'needs_response', reason: 'fraudulent', amount: 1000 },
          },
        ],
      })
      await page.getByText('Refund of 2.50 EUR').waitFor()
      await page.getByText('Dispute of 10.00 EUR').waitFor()
      await page.getByText('needs response: fraudulent').waitFor()
      await page.getByText(session.transactionId!).waitFor()
      // The bank has all that is left.
      assert.equal(await button(page, 'Refund').count(), 0)
      await button(page, 'Set to failed').click()
      await announced(page, 'It is failed now')
      await button(page, 'The merchant loses').click()
      await announced(page, 'The dispute is lost')
      assert.deepEqual(asked, [
        ['/cardpay/sessions/cs_1/pay', { card: '4000000000000002' }],
        ['/cardpay/sessions/cs_1/pay', { card: '4242424242424242' }],
        ['/cardpay/sessions/cs_1/pay', { outcome: 'processing' }],
        ['/cardpay/sessions/cs_1/settle', { succeeded: false }],
        ['/cardpay/sessions/cs_1/refund', { amount: 250 }],
        ['/cardpay/sessions/cs_1/refund', {}],
        ['/cardpay/sessions/cs_1/dispute', null],
        ['/cardpay/refunds/re_1/settle', { status: 'failed' }],
        ['/cardpay/disputes/dp_1/close', { outcome: 'lost' }],
      ])
      await page.keyboard.press('Escape')
      await page.getByText('Choose a payment').waitFor()
      assert.match(await page.locator(':focus').innerText(), /12\.50 EUR/)
      assert.deepEqual(complaints, [])
    })

    test('an order of the wallet is shown with what can happen next', async (t) => {
      const { sandbox, asked, change, refuse, accept } = await startProviders(t, engine)
      const { page, complaints } = await visit(t)
      await change({ orders: [order], payments: [session] })
      await page.goto(`${sandbox.url}/sandbox#payments/${order.id}`)
      await page.getByRole('heading', { name: '7 JPY' }).waitFor()
      assert.deepEqual(await page.locator('#payments-list strong').allInnerTexts(), ['12.50 EUR', '7 JPY'])
      await page.getByLabel('Pay from').selectOption('pending')
      refuse(422, { name: 'UNPROCESSABLE_ENTITY', details: [{ description: 'The order is over.' }] })
      await button(page, 'Approve').click()
      await page.getByRole('alert').getByText('The order is over.').waitFor()
      accept()
      await button(page, 'Approve').click()
      await announced(page, 'The order is approved')
      await button(page, 'Cancel').click()
      await announced(page, 'the order stays open')

      await change({ orders: [{ ...order, status: 'APPROVED', funding: 'pending' }] })
      await page.getByText(`/pay/walletpay/capture/${order.id}`).waitFor()
      assert.equal(await button(page, 'Cancel').count(), 0)
      await button(page, 'Void').click()
      await announced(page, 'The order is void')
      const capture = { id: 'CAP1', status: 'PENDING' }
      await change({ orders: [{ ...order, status: 'COMPLETED', capture }] })
      await button(page, 'Set to completed').click()
      await announced(page, 'It is completed now')

      const paid = { ...order, status: 'COMPLETED', capture: { id: 'CAP1', status: 'COMPLETED' } }
      await change({ orders: [paid] })
      await page.getByLabel('Amount').fill('3')
      await button(page, 'Refund').click()
      await announced(page, 'The payment is refunded')
      await button(page, 'Reverse').click()
      await announced(page, 'The payment is reversed')
      const dispute = { id: 'PP-D-1', status: 'UNDER_REVIEW', reason: 'UNAUTHORISED', amount: '4' }
      await change({
        orders: [{ ...paid, dispute, refunds: [{ id: 'R1', amount: '3', status: 'PENDING' }] }],
      })
      await page.getByText('Refund of 3 JPY').waitFor()
      assert.equal(await button(page, 'Reverse').count(), 0)
      await button(page, 'Set to completed').click()
      await until(() => asked.length === 8)
      await button(page, 'The merchant wins').click()
      await announced(page, 'The dispute is won')
      const path = `/walletpay/orders/${order.id}`
      assert.deepEqual(asked, [
        [`${path}/approve`, { funding: 'pending' }],
        [`${path}/approve`, { funding: 'pending' }],
        [`${path}/cancel`, null],
        [`${path}/void`, null],
        ['/walletpay/captures/CAP1/settle', { status: 'completed' }],
        [`${path}/refund`, { amount: '3' }],
        [`${path}/reverse`, null],
        ['/walletpay/refunds/R1/settle', { status: 'completed' }],
        ['/walletpay/disputes/PP-D-1/close', { outcome: 'won' }],
      ])
      assert.deepEqual(complaints, [])
    })

    test('webhooks are held, read, delayed, dropped and sent again', async (t) => {
      const { sandbox, receiver } = await startProviders(t, engine)
      const { page, complaints } = await visit(t)
      await page.goto(`${sandbox.url}/sandbox#webhooks`)
      await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor()
      // Other faults of the provider stay.
      await sandbox.call('PUT', '/faults/cardpay', { delayMs: 1 })
      sandbox.clock.advance(500)
      await page.reload()
      await page.getByRole('combobox', { name: 'Cards' }).selectOption('hold')
      await announced(page, 'Webhooks of cards: hold')
      const { faults } = (await sandbox.call('GET', '')).body as unknown as { faults: unknown }
      assert.deepEqual(faults, { cardpay: { delayMs: 1, callback: 'held' } })

      await sandbox.report(['evt_1'], { fault: 'held', body: '{"id":"evt_1","amount":1250}' })
      await sandbox.report(['WH-2'], {
        fault: 'held',
        provider: 'walletpay',
        type: 'PAYMENT.CAPTURE.COMPLETED',
      })
      // A page that still reads for an earlier change may see, and announce, them one by one.
      await until(async () => {
        sandbox.clock.advance(500)
        return (await page.locator('[data-count="webhooks"]').innerText()) === '2'
      })
      // It is announced behind the count.
      await until(async () =>
        /^(?:2 new webhooks|New webhook: .+)$/.test(await page.locator('#announcer').innerText()),
      )
      await page.getByRole('combobox', { name: 'Show' }).selectOption('cardpay')
      await page.locator('#webhooks-list li:only-child').click()
      await page.getByRole('heading', { name: 'charge.succeeded' }).waitFor()
      assert.match(await page.getByRole('tabpanel').innerText(), /"amount": 1250/)
      await page.getByLabel('Delay by').selectOption('1 hour')
      await button(page, 'Delay').click()
      await announced(page, 'The webhook is delayed')
      await page.locator('#webhooks-reader .badge', { hasText: 'waiting' }).waitFor()
      assert.deepEqual(receiver.eventIds(), [])
      await button(page, 'Send now').click()
      await announced(page, 'The webhook is sent')
      await until(() => receiver.deliveries.length === 1)
      sandbox.clock.advance(500)
      await page.locator('#webhooks-reader .badge', { hasText: 'delivered' }).waitFor()
      assert.equal(await button(page, 'Drop').count(), 0)
      await page.getByRole('tab', { name: 'Headers' }).click()
      assert.match(await page.getByRole('tabpanel').innerText(), /test-signature: [0-9a-f]{64}/)
      await button(page, 'Send again').click()
      await until(() => receiver.deliveries.length === 2)

      await page.getByRole('combobox', { name: 'Show' }).selectOption('all')
      await page.getByRole('link', { name: /PAYMENT\.CAPTURE\.COMPLETED/ }).click()
      await button(page, 'Drop').click()
      await announced(page, 'The webhook is dropped')
      await page.locator('#webhooks-reader .badge', { hasText: 'dropped' }).waitFor()
      await page.getByRole('combobox', { name: 'Cards' }).selectOption('deliver')
      await announced(page, 'Webhooks of cards: deliver')
      assert.deepEqual(receiver.eventIds(), ['evt_1', 'evt_1'])
      assert.deepEqual(complaints, [])
    })

    test('a session and an order of the stand-ins are paid, refunded and disputed by clicks', async (t) => {
      const app = await startApp(t, engine, { sandbox: true })
      const { cardpay, walletpay } = (await app.request('GET', '/sandbox/api')).body
      const created = await fetch(`${cardpay.address}/v1/checkout/sessions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${cardpay.secretKey}` },
        body: new URLSearchParams({
          mode: 'payment',
          success_url: 'https://shop.example/paid',
          'metadata[transaction_id]': 'our-card-payment',
          'line_items[0][quantity]': '1',
          'line_items[0][price_data][currency]': 'eur',
          'line_items[0][price_data][unit_amount]': '1250',
          'line_items[0][price_data][product_data][name]': 'Tea',
        }),
      })
      assert.equal(created.status, 200)
      const { clientId, clientSecret } = walletpay
      const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64')
      const granted = await fetch(`${walletpay.address}/v1/oauth2/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${basic}` },
        body: new URLSearchParams({ grant_type: 'client_credentials' }),
      })
      const { access_token: token } = (await granted.json()) as { access_token: string }
      const ordered = await fetch(`${walletpay.address}/v2/checkout/orders`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          intent: 'CAPTURE',
          purchase_units: [{ amount: { currency_code: 'EUR', value: '7.30' }, custom_id: 'our-order' }],
        }),
      })
      assert.ok(ordered.ok)

      const { page, complaints } = await visit(t)
      await page.goto(`${app.app.settings.publicUrl}/sandbox#payments`)
      const state = (text: string) =>
        page.locator('#payments-reader .facts .badge', { hasText: text }).waitFor()
      await page.getByRole('link', { name: /12\.50 EUR/ }).click()
      await button(page, 'Pay').click()
      await state('paid')
      await page.getByLabel('Amount').fill('2.50')
      await button(page, 'Refund').click()
      await page.getByText('Refund of 2.50 EUR').waitFor()
      await state('partly refunded')
      await button(page, 'Dispute').click()
      await state('disputed')
      await page.getByText('our-card-payment').waitFor()
      assert.equal(await button(page, 'Refund').count(), 0)
      await button(page, 'The merchant loses').click()
      await state('lost')
      await page.getByRole('link', { name: /7\.30 EUR/ }).click()
      await button(page, 'Approve').click()
      await state('approved')
      await page.getByText('our-order').waitFor()
      await page.getByRole('link', { name: 'Webhooks' }).click()
      for (const type of ['checkout.session.completed', 'charge.dispute.closed', 'CHECKOUT.ORDER.APPROVED'])
        await page.getByRole('link', { name: type }).first().waitFor()
      for (const part of ['payments', 'webhooks', 'providers']) {
        await page.setViewportSize({ width: 375, height: 800 })
        await page.goto(`${app.app.settings.publicUrl}/sandbox#${part}`)
        await page.locator(`#view-${part}:not([hidden])`).waitFor()
        if (process.env['SANDBOX_PICTURES']) {
          await page.waitForTimeout(300)
          await page.screenshot({
            path: `${process.env['SANDBOX_PICTURES']}/real ${part}.png`,
            fullPage: true,
          })
        }
        assert.ok((await page.evaluate<number>('document.documentElement.scrollWidth')) <= 375, part)
      }
      assert.deepEqual(complaints, [])
    })

    for (const colorScheme of ['light', 'dark'] as const)
      test(`is legible in ${colorScheme} mode, works with the Tab key, and fits a phone`, async (t) => {
        const { sandbox, change, receiver } = await startProviders(t, engine)
        const { page } = await visit(t, { colorScheme, reducedMotion: 'reduce' })
        const pictures = process.env['SANDBOX_PICTURES']
        if (pictures) await mkdir(pictures, { recursive: true })
        const faults: string[] = []
        async function look(scene: string): Promise<void> {
          for (const width of [360, 390, 1280]) {
            await page.setViewportSize({ width, height: 800 })
            const actual = await page.evaluate<number>('document.documentElement.scrollWidth')
            const nav = await page.evaluate<number>("document.querySelector('.top nav').scrollWidth")
            if (actual > width || nav > width) faults.push(`${scene}: is ${actual} wide, the links ${nav}`)
            if (pictures) await page.screenshot({ path: `${pictures}/${scene} ${colorScheme} ${width}.png` })
          }
          const lightness = await groundLightness(page)
          if (colorScheme === 'dark' ? lightness > 0.05 : lightness < 0.8)
            faults.push(`${scene}: is not ${colorScheme}`)
          const found = [...(await hardToRead(page)).faults, ...(await hardToReach(page)).faults]
          faults.push(...found.map((one) => `${scene}: ${one}`))
        }
        const open = async (hash: string, text: string) => {
          await page.goto(`${sandbox.url}/sandbox${hash}`)
          await page.getByText(text).first().waitFor()
        }
        await open('#payments', 'No payments yet')
        await look('no payments')
        await open('#webhooks', 'No webhooks yet')
        await look('no webhooks')
        const disputed = {
          ...session,
          id: 'cs_2',
          state: 'paid',
          refunded: 250,
          refunds: [{ id: 're_1', amount: 250, status: 'pending' }],
          dispute: { id: 'dp_1', status: 'needs_response', reason: 'fraudulent', amount: 100 },
        }
        const states = ['expired', 'failed', 'processing'].map((state) => ({
          ...session,
          id: `cs_${state}`,
          state,
        }))
        await change({ payments: [session, disputed, ...states], orders: [order] })
        await open('#payments/cs_1', 'Pay by bank debit')
        await look('an open card payment')
        await open('#payments/cs_2', 'The merchant wins')
        await look('a disputed card payment')
        await open(`#payments/${order.id}`, 'Approve at the approval page')
        await look('an open order')
        await open('#payments', 'Choose a payment')
        await look('payments')
        receiver.answer = () => ({ status: 503, body: 'Try again later.' })
        await sandbox.report(['evt_held'], { fault: 'held' })
        await sandbox.report(['evt_dropped', 'evt_failed', 'evt_delivered', 'evt_waiting'])
        await until(async () => (await sandbox.logged())[0]!.attempts >= 1)
        const [newest, ...older] = await sandbox.logged()
        await sandbox.call('POST', `/webhooks/${older.at(-1)!.id}/drop`)
        await sandbox.call('PUT', '/faults/walletpay', { callback: 'doubled' })
        await open(`#webhooks/${newest!.id}`, '503 Try again later.')
        await look('a webhook')
        await open('#webhooks', 'Choose a webhook')
        await look('webhooks')
        await open('#providers', 'In force')
        await page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
        await look('providers')
        assert.deepEqual(faults, [])
      })
  })
})
