// Definitions that could break the page: thousands of fields, circular relations, rules of 100 KB, field names in many alphabets.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { registerAs } from '../../server/src/testing/administration.ts'
import { startApp, type TestApp } from '../../server/src/testing/app.ts'
import { withoutChromium } from '../../server/src/testing/chromium.ts'
import { axeFaults, openConsole, settled, type ConsolePage } from '../../server/src/testing/console.ts'
import { endOfSuite, someEngine } from '../../server/src/testing/engines.ts'
import { HOSTILE_TEXTS } from '../../server/src/testing/hostile-seed.ts'

const ALPHABETS = ['größe', '価格', 'السعر', 'цена', 'τιμή', 'מחיר', 'ราคา', '🙂', 'toString', 'a b', '﷽']
/** No field can have a dot or a dollar sign in its name. */
const MARKUP = Object.values(HOSTILE_TEXTS).filter((text) => !/[.$]/.test(text))

const strings = (names: readonly string[]) => ({
  properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
})
const numbered = (count: number) => strings(Array.from({ length: count }, (_, at) => `f${at}`))
const longRule = { $and: Array.from({ length: 199 }, () => ({ title: { $ne: 'x'.repeat(500) } })) }

/** Each with how many fields the page lists. */
const DEFINITIONS = {
  many: { fields: 1_000, definition: { schema: numbered(1_000) } },
  circle: { fields: 1, definition: { relations: { next: { to: 'circle', onDelete: 'cascade' } } } },
  ruled: { fields: 0, definition: { read: longRule, update: longRule } },
  named: {
    fields: ALPHABETS.length + MARKUP.length,
    definition: { schema: strings([...ALPHABETS, ...MARKUP]) },
  },
}

describe('the definition page over hostile definitions', { skip: withoutChromium }, () => {
  someEngine((engine) => {
    const ending = endOfSuite()
    let app: TestApp
    let desk: ConsolePage
    before(async () => {
      app = await startApp(ending, engine, { sandbox: true })
      desk = await openConsole(ending, app)
    })

    test('shows them on each of its tabs', async () => {
      const { page } = desk
      const { token } = await registerAs(app, 'admin')
      for (const [name, { definition, fields }] of Object.entries(DEFINITIONS)) {
        const put = await app.request('PUT', `/store/collections/${name}`, { token, body: definition })
        assert.equal(put.status, 200, put.text.slice(0, 500))
        await desk.go(`#/data/${name}/.definition`)
        await page.getByRole('heading', { name, level: 1, exact: true }).waitFor()
        for (const tab of ['Rules', 'Who may?', 'Relations', 'JSON', 'Versions', 'Fields']) {
          await page.getByRole('tab', { name: tab }).click()
          await settled(page)
          if (name === 'named') assert.deepEqual(await axeFaults(page), [], tab)
        }
        assert.equal(await page.getByLabel(/^Name of /).count(), fields, name)
      }
    })

    test('takes ten thousand fields as text, and says that they are too many', async () => {
      const { page } = desk
      await desk.go('#/data/huge/.definition?tab=json')
      await page.getByRole('textbox', { name: 'Definition' }).click()
      await page.keyboard.press('Control+A')
      await page.keyboard.insertText(JSON.stringify({ schema: numbered(10_000) }))
      await page.getByRole('textbox', { name: 'Definition' }).blur()
      await page.getByRole('button', { name: 'Create collection…' }).click()
      await page.getByRole('dialog').getByText('schema: is larger than 65536 characters').waitFor()
    })
  })
})
