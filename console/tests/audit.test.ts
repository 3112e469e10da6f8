import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { appForAll } from '../../server/src/testing/auth.ts'
import { withoutChromium } from '../../server/src/testing/chromium.ts'
import { checkLooks, openConsole, type ConsolePage } from '../../server/src/testing/console.ts'
import { endOfSuite, someEngine } from '../../server/src/testing/engines.ts'
import { until } from '../../server/src/testing/until.ts'

describe('the screen of the audit log', { skip: withoutChromium }, () => {
  someEngine((engine) => {
    const app = appForAll(engine)
    const ending = endOfSuite()
    let admin: ConsolePage
    let ada: { _id: string; token: string }

    before(async () => {
      ada = await app().register('ada@example.com')
      const { _id } = await app().register('grace@example.com')
      await app().app.service('auth').users.promote({ id: _id })
      await app().app.service('auth').keys.create('<b>backend</b>', ['store'])
      const stranger = await app().register('eve@example.com')
      await app().request('GET', '/core/jobs', { token: stranger.token })
      admin = await openConsole(ending, app(), { at: '#/audit' })
      await admin.page.getByRole('link', { name: /user.role-changed/ }).waitFor()
    })

    test('lists who did what, newest first, and looks well', async () => {
      const { page } = admin
      await page.getByText('denied', { exact: true }).waitFor()
      await page.getByText('Command line').first().waitFor()
      await checkLooks(page, 'the audit log')
    })

    test('shows an entry with what was before and after, and leads to its target', async () => {
      const { page } = admin
      await page.getByRole('link', { name: /user.role-changed/ }).click()
      const pane = page.getByRole('region', { name: 'Details' })
      const row = pane.getByRole('row', { name: 'role user admin' })
      await row.waitFor()
      await checkLooks(page, 'an entry of the audit log')
      const link = pane.getByRole('link', { name: 'grace@example.com' })
      assert.match((await link.getAttribute('href'))!, /^#\/users\/[\da-z]{26}$/)
      await pane.getByRole('link', { name: 'Show all of user.role-changed' }).click()
      const chosen = page.getByRole('combobox', { name: 'Action' })
      await until(async () => (await chosen.inputValue()) === 'user.role-changed')
      await page
        .getByRole('link', { name: /session.created/ })
        .first()
        .waitFor({ state: 'detached' })
    })

    test('is filtered by noun, person and target; the address has the filters', async () => {
      const { page } = admin
      await admin.go('#/audit')
      await page.getByRole('combobox', { name: 'Action' }).selectOption('key.*')
      await page.getByText('<b>backend</b>').waitFor()
      assert.match(page.url(), /#\/audit\?action=key\.\*$/)
      await admin.go(`#/audit?target=user:${ada._id}`)
      await page
        .getByRole('link', { name: /session.created/ })
        .first()
        .waitFor()
      // What the list had before may go a moment later.
      await until(async () => (await page.getByRole('link', { name: /user.role-changed/ }).count()) === 0)
      await admin.go('#/audit?target=user:nobody')
      await page.getByText('Nothing matches these filters.').waitFor()
    })
  })
})
