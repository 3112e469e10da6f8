// Every screen of the console where there is nothing, where the server fails, and where the role may not see it.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { startApp, type TestApp } from '../../server/src/testing/app.ts'
import { withoutChromium } from '../../server/src/testing/chromium.ts'
import {
  checkLooks,
  openConsole,
  screenAddresses,
  settled,
  watchRefusals,
  type ConsolePage,
} from '../../server/src/testing/console.ts'
import { endOfSuite, someEngine } from '../../server/src/testing/engines.ts'
import { isLongRun, sample } from '../../server/src/testing/long-run.ts'

const SCREENS = 7
/** What a screen shows if a value is missing that it took for granted. */
const NO_VALUE = /\b(?:undefined|null|NaN|Invalid Date)\b|\[object /
/** The calls of a screen; the console's own state and session still work. */
const CALLS = /\/(?:(?:auth|core|store|pay|messaging|onchain)\/|openapi\.json)/

describe('each screen of the console', { skip: withoutChromium }, () => {
  someEngine((engine) => {
    const ending = endOfSuite()
    let app: TestApp
    let desk: ConsolePage
    let refusalsAreShown: () => Promise<void>
    let addresses: readonly string[] = []
    before(async () => {
      app = await startApp(ending, engine, {
        sandbox: true,
        config: {
          store: {
            collections: {
              goods: { read: 'user', create: 'user', search: ['title'], unique: ['sku', 'shelf'] },
            },
          },
        },
      })
      desk = await openConsole(ending, app)
      refusalsAreShown = watchRefusals(desk.page)
      await desk.page.locator('h1').first().waitFor()
      addresses = await screenAddresses(desk.page)
      assert.ok(addresses.length > 15, addresses.join())
      assert.equal(addresses.includes('#/application'), false, 'no wire declares a screen')
    })
    const shown = async (): Promise<string> => {
      await settled(desk.page)
      return desk.page.locator('main').innerText()
    }
    /** Opens the search of the page, types, and waits for what it finds. */
    async function search(text: string): Promise<void> {
      const { page } = desk
      await page.keyboard.press('Control+K')
      await page.getByRole('combobox', { name: 'Search screens' }).fill(text)
      await page.getByRole('option', { name: `Users: “${text}”` }).waitFor()
      await page.getByText('Searching…').waitFor({ state: 'detached' })
    }
    const look = async (scene: string): Promise<void> => {
      if (isLongRun) await checkLooks(desk.page, scene)
    }

    test('says what will be there, while there is nothing', async () => {
      for (const address of sample(addresses, SCREENS)) {
        await desk.go(address)
        const text = await shown()
        assert.doesNotMatch(text, NO_VALUE, address)
        assert.ok(text.length > 20, `${address}: ${text}`)
        assert.equal(await desk.page.getByRole('alert').count(), 0, `${address}: ${text}`)
        await look(address)
        await refusalsAreShown()
      }
      await search('lamp')
      await refusalsAreShown()
      await desk.page.keyboard.press('Escape')
      assert.deepEqual(desk.complaints, [])
    })

    for (const { status, code, message, says } of [
      { status: 500, code: 'INTERNAL_ERROR', message: 'The disk is full.', says: 'The disk is full.' },
      {
        status: 403,
        code: 'FORBIDDEN',
        message: 'This is for administrators.',
        says: 'Your role may not see this.',
      },
    ])
      test(`says so where the server answers with ${status}, and goes on once it does not`, async () => {
        const { page } = desk
        for (const address of sample(addresses, SCREENS)) {
          await desk.go('#/nothing')
          await page.getByText('There is no screen').waitFor()
          await page.route(CALLS, (route) => {
            const said = `${message} ${new URL(route.request().url()).pathname}`
            return route.fulfill({ status, json: { error: { code, message: said } } })
          })
          await desk.go(address)
          await page.getByRole('alert').getByText(says).first().waitFor()
          const text = await shown()
          assert.doesNotMatch(text, NO_VALUE, address)
          await look(`${address}, ${status}`)
          const again = page.getByRole('main').getByRole('button', { name: 'Try again' })
          assert.equal((await again.count()) > 0, status === 500, `${address}: ${text}`)
          await search('lamp')
          await refusalsAreShown()
          await page.keyboard.press('Escape')
          await page.unroute(CALLS)
          if (status !== 500) continue
          while ((await again.count()) > 0) {
            await again.first().click()
            await settled(page)
          }
          assert.doesNotMatch(await shown(), NO_VALUE, address)
          assert.equal(await page.getByRole('alert').count(), 0, address)
        }
        assert.deepEqual(desk.complaints, [])
      })

    test('is found by the search, as are collections and records by id, address, name and words', async () => {
      const { page } = desk
      const { _id, email, token } = await app.register()
      async function create(path: string, body: object): Promise<{ _id: string; transactionId: string }> {
        const answered = await app.request('POST', path, { token, body })
        assert.ok(answered.status < 300, answered.text)
        return answered.body as { _id: string; transactionId: string }
      }
      await app.request('PATCH', '/auth/me', { token, body: { name: 'Zoe Quill' } })
      const lamp = await create('/store/goods', { title: 'Lamp of brass', sku: 'LB-7', shelf: 41 })
      await create('/messaging/email', { to: 'buyer@example.com', subject: 'Hello', body: 'Hello' })
      const items = [{ name: 'Lamp', amount: 1_250, currency: 'eur' }]
      const urls = { successUrl: `${app.url}/docs`, cancelUrl: `${app.url}/docs` }
      const { transactionId } = await create('/pay/cardpay/checkout', {
        items,
        ...urls,
        email: 'buyer@example.com',
        merchantReference: 'order-7',
      })
      for (const [text, title, address] of [
        ['good', 'goods Collection', '#/data/goods'],
        ['brass la', 'Lamp of brass goods', `#/data/goods/${lamp._id}`],
        [lamp._id, 'Lamp of brass goods', `#/data/goods/${lamp._id}`],
        ['LB-7', 'Lamp of brass goods', `#/data/goods/${lamp._id}`],
        ['41', 'Lamp of brass goods', `#/data/goods/${lamp._id}`],
        [email, `${email}, Zoe Quill User`, `#/users/${_id}`],
        [_id, `${email}, Zoe Quill User`, `#/users/${_id}`],
        ['zoe q', `${email}, Zoe Quill User`, `#/users/${_id}`],
        [transactionId, '12.50 EUR, buyer@example.com Payment', `#/payments/${transactionId}`],
        ['order-7', '12.50 EUR, buyer@example.com Payment', `#/payments/${transactionId}`],
        ['buyer@example.com', '12.50 EUR, buyer@example.com Payment', `#/payments/${transactionId}`],
        ['buyer@example.com', 'Hello, to buyer@example.com Message', '#/messages/'],
      ] as const) {
        await search(text)
        await page.getByRole('option', { name: title }).click()
        assert.ok(page.url().includes(address), `${text}: ${page.url()}`)
      }
      assert.equal(await page.getByRole('dialog').count(), 0)
    })
  })
})
