// A shop is made in the console without code, by keyboard alone: collections, mail, a viewer, a sale, a refund,
// a customer's payments. Meanwhile a second administrator works at a second replica.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { registerAs } from '../../server/src/testing/administration.ts'
import type { TestApp } from '../../server/src/testing/app.ts'
import { startReplicas } from '../../server/src/testing/auth.ts'
import { withoutChromium } from '../../server/src/testing/chromium.ts'
import { openConsole } from '../../server/src/testing/console.ts'
import { eachEngine } from '../../server/src/testing/engines.ts'
import { startMailServer } from '../../server/src/testing/mail-server.ts'
import { startOidcIssuer } from '../../server/src/testing/oidc-issuer.ts'
import { until } from '../../server/src/testing/until.ts'
import { choose, open, tabTo, type } from './keyboard.fixture.ts'

describe('a shop without a line of code', { skip: withoutChromium }, () => {
  eachEngine((engine) => {
    test('is made, sells, and answers who bought what', async (t) => {
      const mails = await startMailServer(t, { accounts: { shop: 'a-password' } })
      const [app, other] = await startReplicas(t, engine, { sandbox: true })
      const { page } = await openConsole(t, app, { at: '#/data' })
      const colleague = await openConsole(t, other, { at: '#/data' })
      const seen = (text: string | RegExp) => page.getByText(text).first().waitFor()
      const dialog = () => page.getByRole('dialog').waitFor()

      // Three collections with rules, relations, photos and search from a template.
      await choose(page, 'New collection')
      await dialog()
      await tabTo(page, /^Empty/)
      for (let at = 0; !(await page.getByRole('radio', { name: /^Shop/ }).isChecked()); at++) {
        assert.ok(at < 20, 'no arrow key leads to the shop')
        await page.keyboard.press('ArrowDown')
      }
      await choose(page, 'Create')
      await seen('products, customers, orders are there.')
      const products = await other.request('GET', '/store/products')
      assert.equal(products.body.data.length, 5, 'everybody sees products, at any replica')
      assert.equal((await app.request('GET', '/store/orders')).status, 401)

      // A fourth, of which the second administrator adds a field at the other replica meanwhile.
      await open(page, 'd', 'Data')
      await choose(page, 'New collection')
      await dialog()
      await type(page, 'Name', 'reviews')
      await choose(page, 'Continue with its fields')
      await choose(page, 'Add a field')
      await page.keyboard.type('stars')
      await choose(page, 'Create collection…')
      await dialog()
      await choose(page, /^Put into force/)
      await seen('The definition of reviews is in force.')
      await colleague.go('#/data/reviews/.definition')
      await colleague.page.getByLabel('Name of stars').waitFor()
      for (const [desk, name] of [
        [colleague.page, 'text'],
        [page, 'author'],
      ] as const) {
        await choose(desk, 'Add a field')
        await desk.keyboard.type(name)
      }
      for (const desk of [colleague.page, page]) {
        await desk.keyboard.press('Control+s')
        await desk.getByRole('dialog').waitFor()
        await choose(desk, /^Put into force/)
        if (desk === colleague.page) await desk.getByText('The definition of reviews is in force.').waitFor()
      }
      await seen('Someone else has changed this definition since you opened it.')
      await choose(page, 'Keep both')
      await page.keyboard.press('Control+s')
      await dialog()
      await choose(page, /^Put into force/)
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      const { token } = await registerAs(app, 'viewer')
      const { definition } = (await app.request('GET', '/store/collections/reviews', { token })).body
      assert.deepEqual(Object.keys(definition.schema.properties).toSorted(), ['author', 'stars', 'text'])

      // Mail.
      await open(page, 's', 'Settings')
      await choose(page, /^Email/)
      await type(page, 'URL', `smtp://shop:a-password@127.0.0.1:${mails.port}`)
      await type(page, 'From', 'shop@example.com')
      await choose(page, 'Check and save')
      await seen('Saved, and in force.')

      // Sign-in by a provider.
      const issuer = await startOidcIssuer(t, {
        redirectUris: [`${other.url}/auth/idpa/callback`],
        clientId: 'shop',
      })
      await open(page, 's', 'Settings')
      await choose(page, /^Google/)
      await page.getByLabel('Issuer', { exact: true }).waitFor()
      await type(page, 'Issuer', issuer.url)
      await type(page, 'Client ID', 'shop')
      await type(page, 'Client secret', 'a-password')
      await choose(page, 'Check and save')
      await seen('Saved, and in force.')
      const signIn = async () => (await other.request('GET', '/auth/idpa')).headers.get('location') ?? ''
      await until(async () => (await signIn()).startsWith(issuer.url))

      // A colleague who may look.
      await open(page, 'u', 'Users')
      await choose(page, 'Add a user')
      await dialog()
      await type(page, 'Email address', 'cleo@example.com')
      await tabTo(page, 'Role')
      await page.keyboard.type('viewer')
      await choose(page, 'Invite')
      const invitation = await mails.mailTo('cleo@example.com')
      assert.equal(invitation.parsed.from?.address, 'shop@example.com')

      // A customer buys a lamp at the other replica, which has the new mail server too.
      const customer = await other.register('bob@example.com')
      const { transactionId, url } = await buyLamp(other, customer.token)
      const session = url.split('/').at(-1)
      const paid = await app.request('POST', `/sandbox/api/cardpay/sessions/${session}/pay`, { body: {} })
      assert.ok(paid.status < 300, paid.text)
      const statusOf = async () =>
        (await app.request('GET', `/pay/transactions/${transactionId}`, { token: customer.token })).body
          .status
      await until(async () => (await statusOf()) === 'completed')

      // Half of it is refunded, and what the customer bought is found by the address.
      await open(page, 'p', 'Payments')
      await page.keyboard.press('/')
      await page.keyboard.type('bob@example.com')
      await choose(page, '49.00 EUR')
      await page.getByRole('button', { name: 'Refund…' }).waitFor()
      await choose(page, 'Refund…')
      await dialog()
      await type(page, 'Amount in EUR', '24.50')
      await page.keyboard.press('Enter')
      await seen('24.50 EUR refunded.')
      assert.equal(await statusOf(), 'partially_refunded')
      await colleague.go(
        `#/payments?owner=${customer.email}&from=${new Date(app.clock.now()).toISOString().slice(0, 7)}-01`,
      )
      await colleague.page.getByRole('link', { name: '49.00 EUR' }).waitFor()
      assert.equal(await colleague.page.getByRole('link', { name: /EUR$/ }).count(), 1)
    })
  })
})

async function buyLamp(app: TestApp, token: string): Promise<{ transactionId: string; url: string }> {
  const { status, body, text } = await app.request('POST', '/pay/cardpay/checkout', {
    token,
    body: {
      items: [{ name: 'Lamp', amount: 4_900, currency: 'eur' }],
      email: 'bob@example.com',
      successUrl: `${app.url}/done`,
      cancelUrl: `${app.url}/cancel`,
    },
  })
  assert.equal(status, 200, text)
  return body
}
