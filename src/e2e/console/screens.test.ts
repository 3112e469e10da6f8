// Every screen of the console where there is nothing, where the server fails, and where the role may not see it.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { startApp } from '../../testing/app.ts'
import { withoutChromium } from '../../testing/chromium.ts'
import { checkLooks, openConsole, screenAddresses, settled, type ConsolePage } from '../../testing/console.ts'
import { endOfSuite, someEngine } from '../../testing/engines.ts'
import { isLongRun, sample } from '../../testing/long-run.ts'

const SCREENS = 7
/** What a screen shows if a value is missing that it took for granted. */
const NO_VALUE = /\b(?:undefined|null|NaN|Invalid Date)\b|\[object /
/** The calls of a screen; the console's own state and session still work. */
const CALLS = /\/(?:auth|core|store|pay|messaging|onchain)\//

describe('each screen of the console', { skip: withoutChromium }, () => {
  someEngine((engine) => {
    const ending = endOfSuite()
    let desk: ConsolePage
    let addresses: readonly string[] = []
    before(async () => {
      const app = await startApp(ending, engine, { sandbox: true })
      desk = await openConsole(ending, app)
      await desk.page.locator('h1').first().waitFor()
      addresses = await screenAddresses(desk.page)
      assert.ok(addresses.length > 15, addresses.join())
    })
    const shown = async (): Promise<string> => {
      await settled(desk.page)
      return desk.page.locator('main').innerText()
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
      }
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
          await page.route(CALLS, (route) => route.fulfill({ status, json: { error: { code, message } } }))
          await desk.go(address)
          await page.getByRole('alert').getByText(says).first().waitFor()
          const text = await shown()
          assert.doesNotMatch(text, NO_VALUE, address)
          await look(`${address}, ${status}`)
          const again = page.getByRole('main').getByRole('button', { name: 'Try again' })
          assert.equal((await again.count()) > 0, status === 500, `${address}: ${text}`)
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
  })
})
