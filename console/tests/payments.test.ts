// The screens of payments, requests on chains and events, in Chromium.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { startApp } from '../../server/src/testing/app.ts'
import { PASSWORD } from '../../server/src/testing/auth.ts'
import { withoutChromium } from '../../server/src/testing/chromium.ts'
import { checkLooks, openConsole, type ConsolePage } from '../../server/src/testing/console.ts'
import { anyEngine, endOfSuite, someEngine } from '../../server/src/testing/engines.ts'
import { until } from '../../server/src/testing/until.ts'
import { startTill, URLS, type Till } from '../../server/src/wires/pay/pay.fixture.ts'

const HOSTILE = '<img src=x onerror=alert(1)>\u202Egnp.exe'

describe('the screens of payments', { skip: withoutChromium }, () => {
  someEngine((engine) => {
    const ending = endOfSuite()
    let till: Till
    let admin: ConsolePage
    before(async () => {
      till = await startTill(ending, engine, { config: { name: 'shop' } })
      admin = await openConsole(ending, till.app, { at: '#/payments' })
    })

    const create = async (amount: number, currency: string, extra: object = {}): Promise<string> => {
      const items = [{ name: 'Book', amount, currency }]
      const { status, body, text } = await till.call('POST /pay/cardpay/checkout', {
        items,
        ...URLS,
        ...extra,
      })
      assert.equal(status, 200, text)
      return body.transactionId
    }
    const paid = async (amount: number, currency: string, extra: object = {}): Promise<string> => {
      const id = await create(amount, currency, extra)
      till.pay((await till.transaction(id)).reference!)
      await till.deliver()
      return id
    }
    const rows = (name: string) => admin.page.getByRole('table', { name }).locator('tbody tr')
    const open = async (id: string) => {
      await admin.go(`#/payments/${id}`)
      await admin.page.getByRole('tab', { name: 'Timeline' }).waitFor()
    }
    const refundDialog = async () => {
      await admin.page.getByRole('button', { name: 'Refund…' }).click()
      return admin.page.getByRole('dialog', { name: 'Refund a payment' })
    }

    test('say what to do while there is none', async () => {
      await admin.page.getByText('No payments yet.').waitFor()
      await checkLooks(admin.page, 'no payments')
      await admin.go('#/payment-events')
      await admin.page.getByText('No events yet.').waitFor()
      await admin.go('#/payments')
    })

    test('list each currency with its own decimals, and the sums above', async () => {
      const merchantReference = HOSTILE
      await paid(123_450, 'eur', { email: 'carol@example.com', merchantReference })
      await create(9_900, 'eur')
      await paid(500, 'jpy')
      await paid(1_230, 'kwd')
      const { page } = admin
      await page.getByRole('button', { name: 'Refresh' }).click()
      await page.getByRole('link', { name: '1.230 KWD' }).waitFor()
      for (const name of ['1,234.50 EUR', '500 JPY'])
        assert.equal(await page.getByRole('link', { name, exact: true }).count(), 1, name)
      await page.reload()
      const sums = page.getByRole('group', { name: 'Sums by currency' })
      await sums.getByText('1.230 KWD').waitFor()
      assert.match(await sums.innerText(), /1,234\.50 EUR\s+1 payment, 1 not paid/)
      await page.getByRole('cell', { name: 'Stripe cardpay' }).first().waitFor()
      await checkLooks(page, 'payments')
      const amounts = async () =>
        (await rows('Payments').locator('.open').allInnerTexts()).map((text) => text.replace(/ .*/, ''))
      for (const [name, sort, order] of [
        ['Amount', 'descending', ['1,234.50', '500', '99.00', '1.230']],
        ['Amount', 'ascending', ['1.230', '99.00', '500', '1,234.50']],
        // The server does not sort by it; the page has all rows.
        ['Reference', 'descending', undefined],
      ] as const) {
        await page.getByRole('columnheader', { name }).getByRole('button').press('Enter')
        await page
          .getByRole('columnheader', { name })
          .and(page.locator(`[aria-sort="${sort}"]`))
          .waitFor()
        if (order) await until(async () => (await amounts()).join(' ') === order.join(' '))
      }
      await admin.go('#/payments')
      await page.getByLabel('Currency', { exact: true }).fill('jpy')
      await until(async () => (await rows('Payments').count()) === 1)
      await page.getByLabel('Currency', { exact: true }).fill('')
      await page.getByLabel('Email, id or reference').fill('carol@example.com')
      await until(async () => (await rows('Payments').count()) === 1)
      // What a stranger wrote is text, and the turned direction is seen.
      await page.getByText('<img src=x onerror=alert(1)>').waitFor()
      await page.locator('mark', { hasText: 'U+202E' }).waitFor()
      await page.getByLabel('Email, id or reference').fill('')
    })

    test('export what is filtered', async () => {
      const { page } = admin
      await admin.go('#/payments?currency=KWD')
      await until(async () => (await rows('Payments').count()) === 1)
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Export CSV' }).click(),
      ])
      const csv = (await (await download.createReadStream()).toArray()).join('')
      assert.equal(csv.trim().split('\n').length, 2, csv)
      assert.match(csv, /KWD,1\.230/)
    })

    test('refund a part once, also by a double click, and show what is left', async () => {
      const { page } = admin
      const id = await paid(1_000, 'eur')
      await open(id)
      // Who bought what.
      const pane = page.getByRole('region', { name: 'Details' })
      await pane.getByRole('row', { name: 'Book 1 10.00 EUR' }).waitFor()
      for (const line of ['Carol Buyer', 'carol.buyer@example.com', 'Rosenweg 1'])
        await pane.getByText(line, { exact: true }).waitFor()
      const dialog = await refundDialog()
      const amount = dialog.getByLabel('Amount in EUR')
      assert.equal(await amount.inputValue(), '10.00')
      for (const [typed, said] of [
        ['2.505', 'EUR has at most 2 decimals.'],
        ['10.01', 'Only 10.00 EUR is left to refund.'],
        ['all', 'Write the amount as a decimal number'],
        ['0', 'The amount must be more than 0.'],
      ] as const) {
        await amount.fill(typed)
        await dialog.getByRole('button', { name: 'Refund' }).click()
        await dialog.getByText(said).waitFor()
      }
      await checkLooks(page, 'a refund')
      await amount.fill('2.50')
      await dialog.getByLabel('Reason').fill(HOSTILE)
      await dialog.getByRole('button', { name: 'Refund' }).dblclick()
      await page.getByText('2.50 EUR refunded.').first().waitFor()
      assert.equal((await till.transaction(id)).refundedAmount, 250)
      assert.equal((await till.transaction(id)).refunds.length, 1)
      await page.getByText('7.50 EUR').first().waitFor()
      await page.getByRole('tab', { name: 'Timeline' }).click()
      await page.getByText('Asked the provider to refund 2.50 EUR').waitFor()
      await checkLooks(page, 'a timeline')
    })

    test('refund a currency without decimals, and one with three', async () => {
      for (const [amount, currency, typed, refunded] of [
        [500, 'jpy', '20', 20],
        [1_230, 'kwd', '0.5', 500],
      ] as const) {
        const id = await paid(amount, currency)
        await open(id)
        const dialog = await refundDialog()
        await dialog.getByLabel(`Amount in ${currency.toUpperCase()}`).fill(typed)
        await dialog.getByRole('button', { name: 'Refund' }).click()
        await dialog.waitFor({ state: 'detached' })
        assert.equal((await till.transaction(id)).refundedAmount, refunded, currency)
      }
    })

    test('keep what was typed if the provider refuses, and say why', async () => {
      const id = await paid(800, 'eur')
      await open(id)
      const dialog = await refundDialog()
      await dialog.getByLabel('Amount in EUR').fill('3.00')
      till.card.faults = ['refused']
      await dialog.getByRole('button', { name: 'Refund' }).click()
      await dialog.getByText('This did not work.').waitFor()
      assert.match(await dialog.getByRole('alert').innerText(), /The provider refuse/)
      assert.equal(await dialog.getByLabel('Amount in EUR').inputValue(), '3.00')
      await admin.page.keyboard.press('Escape')
      assert.equal((await till.transaction(id)).refundedAmount, 0)
    })

    test('ask for the password if it is too long ago', async () => {
      const id = await paid(900, 'eur')
      await open(id)
      const dialog = await refundDialog()
      await dialog.getByLabel('Amount in EUR').fill('1.00')
      till.app.clock.advance(10 * 60_000 + 1_000)
      await dialog.getByRole('button', { name: 'Refund' }).click()
      const proof = admin.page.getByRole('dialog', { name: 'Confirm that it is you' })
      await proof.getByLabel('Password').fill(PASSWORD)
      await proof.getByRole('button', { name: 'Confirm' }).click()
      await dialog.waitFor({ state: 'detached' })
      assert.equal((await till.transaction(id)).refundedAmount, 100)
    })

    test('cancel a payment that waits for its buyer', async () => {
      const { page } = admin
      const id = await create(700, 'eur')
      await open(id)
      await page.getByRole('button', { name: 'Cancel…' }).click()
      const dialog = page.getByRole('dialog', { name: 'Cancel the payment of 7.00 EUR?' })
      await dialog.getByRole('button', { name: 'Cancel the payment' }).click()
      await page.getByRole('heading', { name: '7.00 EUR cancelled' }).waitFor()
      assert.equal((await till.transaction(id)).status, 'cancelled')
    })

    test('show an event without what is personal, and handle it again', async () => {
      const { page } = admin
      await till.receive('cardpay', [
        {
          id: 'evt_hostile',
          type: 'checkout.completed',
          subject: { reference: 'cs_foreign' },
          payload: { id: 'evt_hostile', customer: { email: 'carol@example.com' } },
        },
      ])
      await admin.go('#/payment-events?state=ignored')
      await page.getByRole('link', { name: 'checkout.completed' }).click()
      const pane = page.getByRole('region', { name: 'Details' })
      await pane.getByText('not a transaction of this server').waitFor()
      assert.doesNotMatch(await page.getByLabel('What was sent').innerText(), /carol/)
      await checkLooks(page, 'an event')
      await page.getByRole('button', { name: 'Handle again' }).click()
      await page.getByText('The event is handled again.').first().waitFor()
      await page.getByRole('heading', { name: 'checkout.completed ignored' }).waitFor()
      assert.equal(await page.locator('dd', { hasText: /^1$/ }).count(), 1)
    })

    test('sum by status and by day', async () => {
      const { page } = admin
      await admin.go('#/payments/summary')
      await page.getByRole('heading', { name: 'Summary' }).waitFor()
      await page.getByText('KWD by day').waitFor()
      await checkLooks(page, 'the summary')
    })

    test('are read only for a viewer', async () => {
      const id = await paid(600, 'eur')
      const viewer = await openConsole(ending, till.app, { as: 'viewer', at: `#/payments/${id}` })
      const button = viewer.page.getByRole('button', { name: 'Refund…' })
      await button.waitFor()
      assert.ok(await button.isDisabled())
    })
  })
})

describe('the screen of payment requests', { skip: withoutChromium }, () => {
  // Chains are in files of their nodes, whatever the database.
  anyEngine((engine) => {
    test('shows what arrived at an address, with its hash and confirmations', async (t) => {
      const app = await startApp(t, engine, { sandbox: true })
      const { token } = await app.register()
      const { page } = await openConsole(t, app, { at: '#/payment-requests' })
      await page.getByText('No payment requests yet.').waitFor()
      const body = { amount: '12.5', token: 'USDC', chain: 'arbitrum' }
      const { _id } = (await app.request('POST', '/pay/onchain/payment', { token, body })).body
      await app.request('POST', `/sandbox/api/chains/requests/${_id}/pay`, { body: {} })
      const read = async () => (await app.request('GET', `/pay/onchain/payment/${_id}`, { token })).body
      await until(async () => {
        app.clock.advance(1_000)
        return (await read()).status === 'confirmed'
      })
      await page.getByLabel('Status', { exact: true }).selectOption('confirmed')
      await page.getByRole('link', { name: '12.5 USDC' }).click()
      const pane = page.getByRole('region', { name: 'Details' })
      await pane.getByText((await read()).transactionHashes[0]).waitFor()
      await checkLooks(page, 'a payment request')
      await pane.getByRole('link', { name: 'The payment and its timeline' }).click()
      await page.getByRole('heading', { name: /^12\.5 USDC/ }).waitFor()
    })
  })
})
