// An administrator makes a shop in the console alone: collections, mail, a viewer, a sale, a refund, a customer's payments.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { startApp } from '../../server/src/testing/app.ts'
import { withoutChromium } from '../../server/src/testing/chromium.ts'
import { openConsole } from '../../server/src/testing/console.ts'
import { eachEngine } from '../../server/src/testing/engines.ts'
import { startMailServer } from '../../server/src/testing/mail-server.ts'
import { until } from '../../server/src/testing/until.ts'

describe('a shop without a line of code', { skip: withoutChromium }, () => {
  eachEngine((engine) => {
    test('is made, sells, and answers who bought what', async (t) => {
      const mails = await startMailServer(t, { accounts: { shop: 'a-password' } })
      const app = await startApp(t, engine, { sandbox: true })
      const admin = await openConsole(t, app, { at: '#/data' })
      const { page, user } = admin
      const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true })
      const field = (name: string) => page.getByLabel(name, { exact: true })
      const dialog = () => page.getByRole('dialog')

      // Three collections with rules, relations, photos and search from a template, and one of its own.
      await button('New collection').click()
      await dialog().getByText('Shop', { exact: true }).click()
      await dialog().getByRole('button', { name: 'Create' }).click()
      await page.getByText('products, customers, orders are there.').waitFor()
      assert.equal(
        (await app.request('GET', '/store/products')).body.data.length,
        5,
        'everybody sees products',
      )
      assert.equal((await app.request('GET', '/store/orders')).status, 401)
      await admin.go('#/data')
      await button('New collection').click()
      await field('Name').fill('reviews')
      await dialog().getByRole('button', { name: 'Continue with its fields' }).click()
      await button('Add a field').click()
      await page
        .getByLabel(/^Name of /)
        .last()
        .fill('stars')
      await button('Create collection…').click()
      await dialog()
        .getByRole('button', { name: /^Put into force/ })
        .click()
      await page.getByText('The definition of reviews is in force.').waitFor()

      // Mail.
      await admin.go('#/settings/messaging.smtp')
      await field('URL').fill(`smtp://shop:a-password@127.0.0.1:${mails.port}`)
      await field('From').fill('shop@example.com')
      await button('Check and save').click()
      await page.getByText('Saved, and in force.').waitFor()

      // A colleague who may look.
      await admin.go('#/users')
      await button('Add a user').click()
      await field('Email address').fill('cleo@example.com')
      await dialog().getByLabel('Role').selectOption('viewer')
      await dialog().getByRole('button', { name: 'Invite' }).click()
      assert.equal((await mails.mailTo('cleo@example.com')).parsed.from?.address, 'shop@example.com')

      // A customer buys a lamp.
      const customer = await app.register('bob@example.com')
      const checkout = await app.request('POST', '/pay/cardpay/checkout', {
        token: customer.token,
        body: {
          items: [{ name: 'Lamp', amount: 4_900, currency: 'eur' }],
          email: 'bob@example.com',
          successUrl: `${app.url}/done`,
          cancelUrl: `${app.url}/cancel`,
        },
      })
      assert.equal(checkout.status, 200, checkout.text)
      const session = checkout.body.url.split('/').at(-1)
      const paid = await app.request('POST', `/sandbox/api/cardpay/sessions/${session}/pay`, { body: {} })
      assert.ok(paid.status < 300, paid.text)
      const { transactionId } = checkout.body
      const statusOf = async () =>
        (await app.request('GET', `/pay/transactions/${transactionId}`, { token: customer.token })).body
          .status
      await until(async () => (await statusOf()) === 'completed')

      // Half of it is refunded, and what the customer bought is found by the address.
      await admin.go('#/payments?q=bob@example.com')
      await page.getByRole('link', { name: '49.00 EUR' }).click()
      await button('Refund…').click()
      await field('Amount in EUR').fill('24.50')
      await dialog().getByRole('button', { name: 'Refund' }).click()
      await page.getByText('24.50 EUR refunded.').waitFor()
      assert.equal(await statusOf(), 'partially_refunded')
      await admin.go(
        `#/payments?owner=${customer.email}&from=${new Date(app.clock.now()).toISOString().slice(0, 7)}-01`,
      )
      await page.getByRole('link', { name: '49.00 EUR' }).waitFor()
      assert.equal(await page.getByRole('link', { name: /EUR$/ }).count(), 1)
      assert.ok(user.email.endsWith('@console.example'), 'all of it by one administrator')
    })
  })
})
