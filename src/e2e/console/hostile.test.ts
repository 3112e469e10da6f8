// All screens of the console over records of strangers who mean harm: no script runs, no dialog opens, nothing is asked of
// another server, and nothing is wider than the screen or breaks a rule of accessibility.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { startApp } from '../../testing/app.ts'
import { withoutChromium } from '../../testing/chromium.ts'
import {
  addressesOf,
  axeFaults,
  checkLooks,
  openConsole,
  screenAddresses,
  settled,
  type ConsolePage,
} from '../../testing/console.ts'
import { endOfSuite, someEngine } from '../../testing/engines.ts'
import { hostileConfig, seedHostile } from '../../testing/hostile-seed.ts'
import { isLongRun, sample } from '../../testing/long-run.ts'

const SCREENS = 8
const ROWS = 1

describe('the console over hostile records', { skip: withoutChromium }, () => {
  someEngine((engine) => {
    const ending = endOfSuite()
    let desk: ConsolePage
    before(async () => {
      const app = await startApp(ending, engine, { sandbox: true, config: hostileConfig })
      const { token } = await app.register()
      await seedHostile(app, token)
      desk = await openConsole(ending, app)
      await desk.page.locator('h1').first().waitFor()
    })

    const look = async (scene: string): Promise<void> => {
      if (isLongRun) await checkLooks(desk.page, scene)
      else assert.deepEqual(await axeFaults(desk.page), [], scene)
    }

    test('each screen, its first records and their tabs show them as text', async () => {
      const { page } = desk
      const addresses = await screenAddresses(page)
      assert.ok(addresses.length > 10, addresses.join())
      const walked: string[] = []
      const faults: string[] = []
      const attempt = async (scene: string): Promise<void> => {
        walked.push(scene)
        await settled(page)
        faults.push(...desk.complaints.splice(0).map((one) => `${scene}: ${one}`))
        await look(scene).catch((error: unknown) => faults.push(String(error)))
      }
      for (const address of sample(addresses, SCREENS)) {
        await desk.go(address)
        await attempt(address)
        const panes = await addressesOf(page, 'main a.open')
        for (const pane of panes.slice(0, isLongRun ? panes.length : ROWS)) {
          await desk.go(pane)
          await attempt(pane)
          const tabs = page.getByRole('tab')
          for (let at = 1; at < (await tabs.count()); at++) {
            await tabs.nth(at).click()
            await attempt(`${pane}, tab ${at + 1}`)
          }
        }
      }
      assert.deepEqual(faults, [])
      assert.ok(walked.length > SCREENS, walked.join('\n'))
      assert.equal(await page.evaluate('({}).isAdmin'), undefined)
    })
  })
})
