// All screens of the console over records of strangers who mean harm: no script runs, no dialog opens, nothing is asked of
// another server, and nothing is wider than the screen or breaks a rule of accessibility.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { startApp } from '../../server/src/testing/app.ts'
import { withoutChromium } from '../../server/src/testing/chromium.ts'
import {
  addressesOf,
  axeFaults,
  checkLooks,
  openConsole,
  screenAddresses,
  settled,
  watchRefusals,
  type ConsolePage,
} from '../../server/src/testing/console.ts'
import { endOfSuite, someEngine } from '../../server/src/testing/engines.ts'
import { hostileConfig, seedHostile } from '../../server/src/testing/hostile-seed.ts'
import { isLongRun, sample } from '../../server/src/testing/long-run.ts'

const SCREENS = 8
const ROWS = 1

/** What a script that got into the page would try next. Its value: what became of each attempt, and whether a script ran. */
const ATTEMPTS = `(() => {
  const outcomes = {}
  const attempt = (name, act) => {
    try {
      act()
      outcomes[name] = 'done'
    } catch (error) {
      outcomes[name] = error.name
    }
  }
  attempt('script', () => {
    const script = document.createElement('script')
    script.append('globalThis.ran = true')
    document.body.append(script)
  })
  attempt('src', () => document.createElement('script').setAttribute('src', 'https://evil.example/'))
  attempt('innerHTML', () => (document.createElement('div').innerHTML = '<b>text</b>'))
  attempt('insertAdjacentHTML', () => document.body.insertAdjacentHTML('beforeend', '<b>text</b>'))
  attempt('handler', () => document.createElement('button').setAttribute('onclick', 'globalThis.ran = true'))
  attempt('srcdoc', () => (document.createElement('iframe').srcdoc = '<b>text</b>'))
  return { ...outcomes, ran: 'ran' in globalThis }
})()`

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
      const refusalsAreShown = watchRefusals(page)
      const addresses = await screenAddresses(page)
      assert.ok(addresses.length > 10, addresses.join())
      const walked: string[] = []
      const faults: string[] = []
      const attempt = async (scene: string): Promise<void> => {
        walked.push(scene)
        await settled(page)
        faults.push(...desk.complaints.splice(0).map((one) => `${scene}: ${one}`))
        await look(scene).catch((error: unknown) => faults.push(String(error)))
        await refusalsAreShown().catch((error: unknown) => faults.push(`${scene}: ${String(error)}`))
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
    })

    test('a field that is named as the prototype of all objects is shown as a fault, and changes none', async () => {
      const { page } = desk
      // The server refuses such a name, so the documents get it on their way.
      await page.route(/\/store\/texts(?:[/?]|$)/, async (route) => {
        if (route.request().method() !== 'GET') return route.fallback()
        const response = await route.fetch()
        const body = (await response.text()).replaceAll('"name":', '"__proto__":{"isAdmin":true},"name":')
        await route.fulfill({ response, body })
      })
      await desk.go('#/data/texts')
      await page.locator('main a.open').first().click()
      await page.getByText('No field can have the name __proto__.').waitFor()
      for (const tab of ['JSON', 'Changes', 'As code', 'Form'])
        await page.getByRole('tab', { name: tab }).click()
      assert.equal(await page.getByRole('button', { name: 'Save', exact: true }).isDisabled(), true)
      assert.equal(await page.evaluate('({}).isAdmin'), undefined)
      await page.unrouteAll()
    })

    test('a script that is brought into the page does not run, and no text becomes markup', async () => {
      const { page } = desk
      const outcome = await page.evaluate<Record<string, unknown>>(ATTEMPTS)
      assert.deepEqual(outcome, {
        script: 'done',
        src: 'TypeError',
        innerHTML: 'TypeError',
        insertAdjacentHTML: 'TypeError',
        handler: 'TypeError',
        srcdoc: 'TypeError',
        ran: false,
      })
      assert.ok(desk.complaints.length >= 6, desk.complaints.join('\n'))
      desk.forgive()
    })
  })
})
