// The frame of the console: what is there on every screen.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import type { Page } from 'playwright-core'

import { appForAll, login, PASSWORD } from '../../server/src/testing/auth.ts'
import { withoutChromium } from '../../server/src/testing/chromium.ts'
import { checkLooks, openConsole, type ConsolePage } from '../../server/src/testing/console.ts'
import { endOfSuite, someEngine } from '../../server/src/testing/engines.ts'
import { addAuthenticator } from '../../server/src/testing/second-factor.ts'

describe('the frame of the console', { skip: withoutChromium }, () => {
  someEngine((engine) => {
    const app = appForAll(engine, { config: { auth: { secondFactor: 'admins' } } })
    const ending = endOfSuite()
    let admin: ConsolePage
    before(async () => {
      admin = await openConsole(ending, app(), { at: '#/account' })
    })

    const inProduction = (page: Page) =>
      page.route('**/console/state', (route) =>
        route.fulfill({
          json: { name: 'shop', production: true, firstRun: false, policy: 'guarded', wires: ['auth'] },
        }),
      )
    const heading = (name: string) => admin.page.getByRole('heading', { name, level: 1 })

    test('can be read and used by day, by night, on a phone and with forced colours', async () => {
      const { page } = admin
      await page.getByRole('link', { name: /this one/ }).waitFor()
      await checkLooks(page, 'the frame')
      await page.getByRole('link', { name: /this one/ }).click()
      await page.getByRole('heading', { name: 'Session', level: 2 }).waitFor()
      await checkLooks(page, 'a pane')
      await page.keyboard.press('Escape')
    })

    test('has eight places with their screens as tabs, and finds each place as it was left', async () => {
      const { page } = admin
      const menu = page.getByRole('navigation', { name: 'Screens' })
      const places = ['Overview', 'Data', 'People', 'Payments', 'Messages', 'Chains', 'Operation', 'Settings']
      assert.deepEqual(await menu.getByRole('listitem').allInnerTexts(), places)
      const { y, height } = (await menu.getByRole('button', { name: 'Sign out' }).boundingBox())!
      assert.ok(y + height < page.viewportSize()!.height, 'all of it is on a screen of 800 px')

      await admin.go('#/users?q=ada')
      await menu.getByRole('link', { name: 'Operation' }).click()
      await heading('Logs').waitFor()
      const tabs = page.getByRole('navigation', { name: 'Operation' })
      const titles = ['Logs', 'Jobs', 'Faults', 'Audit', 'Backups']
      assert.deepEqual(await tabs.getByRole('link').allInnerTexts(), titles)
      await tabs.getByRole('link', { name: 'Jobs' }).press('Enter')
      await heading('Jobs').waitFor()
      assert.equal(await tabs.locator('[aria-current=page]').innerText(), 'Jobs')
      assert.equal(await menu.locator('[aria-current]').innerText(), 'Operation')
      await checkLooks(page, 'tabs')
      await menu.getByRole('link', { name: 'People' }).click()
      await heading('Users').waitFor()
      assert.match(page.url(), /#\/users\?q=ada$/)
      assert.equal(await page.getByRole('navigation').count(), 1, 'a place with one screen has no tabs')
      await menu.getByRole('link', { name: 'Operation' }).click()
      await heading('Jobs').waitFor()
      await admin.go('#/account')
      await heading('Your account').waitFor()
    })

    test('has the first places and a button for the others under the thumb, on a phone', async () => {
      const { page } = await openConsole(ending, app(), { at: '#/users', width: 320 })
      const menu = page.getByRole('navigation', { name: 'Screens' })
      await menu.waitFor()
      const more = menu.getByRole('button', { name: 'Menu' })
      for (const target of [...(await menu.getByRole('link').all()), more]) {
        const { y, width, height } = (await target.boundingBox())!
        assert.ok(width >= 44 && height >= 44 && y > 700, `${width} by ${height} at ${y}`)
      }
      assert.deepEqual(await menu.getByRole('link').allInnerTexts(), [
        'Overview',
        'Data',
        'People',
        'Payments',
      ])
      await more.click()
      await checkLooks(page, 'the other places')
      await page.keyboard.press('Escape')
      await menu.getByRole('link', { name: 'Settings' }).waitFor({ state: 'hidden' })
      await more.click()
      await menu.getByRole('link', { name: 'Settings' }).click()
      await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor()
      await menu.getByRole('link', { name: 'Settings' }).waitFor({ state: 'hidden' })
    })

    test('opens screens from the search, by keyboard alone', async () => {
      const { page } = admin
      await page.keyboard.press('Control+K')
      const field = page.getByRole('combobox')
      await field.fill('account')
      await checkLooks(page, 'the search')
      await page.keyboard.press('Enter')
      await heading('Your account').waitFor()
      await field.waitFor({ state: 'detached' })
    })

    test('explains its keys, and leaves single letters to those who speak', async () => {
      const { page } = admin
      await page.keyboard.press('?')
      const sheet = page.getByRole('dialog', { name: 'Keyboard' })
      await sheet.getByText('Next and previous row').waitFor()
      await sheet.getByRole('checkbox').uncheck()
      await page.keyboard.press('Escape')
      await page.keyboard.press('?')
      assert.equal(await sheet.count(), 0)
      await page.getByRole('button', { name: 'Keyboard' }).click()
      await sheet.getByRole('checkbox').check()
      await page.keyboard.press('Escape')
    })

    test('opens production read-only, until changes are allowed', async () => {
      const { page } = admin
      await inProduction(page)
      await page.reload()
      await page.getByText('production', { exact: true }).waitFor()
      await checkLooks(page, 'production')
      // Only auth is loaded there.
      const places = page.getByRole('navigation', { name: 'Screens' }).getByRole('listitem')
      assert.deepEqual(await places.allInnerTexts(), ['Overview', 'People', 'Operation', 'Settings'])
      await admin.go('#/keys')
      const create = page.getByRole('button', { name: 'Create a key' })
      await create.waitFor()
      assert.equal(await create.isDisabled(), true)
      await page.getByRole('button', { name: 'Read-only: allow changes' }).click()
      await page.getByRole('button', { name: 'Changes allowed, 30 min: lock' }).waitFor()

      // A key needs the name of the installation, too.
      await create.click()
      const dialog = page.getByRole('dialog', { name: 'Create a key' })
      await dialog.getByLabel('Name').fill('backend')
      await dialog.getByText('auth (accounts and sign-in): everything').waitFor()
      await dialog.getByRole('checkbox', { name: 'auth', exact: true }).check()
      await dialog.getByLabel('Type shop to continue').fill('shops')
      await dialog.getByRole('button', { name: 'Create', exact: true }).click()
      await dialog.getByText('Type shop, the name of this installation, to continue.').waitFor()
      assert.deepEqual(await app().app.service('auth').keys.list(), [])
      await dialog.getByLabel('Type shop to continue').fill('shop')
      await dialog.getByRole('button', { name: 'Create', exact: true }).click()
      await page
        .getByRole('dialog', { name: 'The key' })
        .getByRole('button', { name: 'I have stored it' })
        .click()
      await page.getByRole('button', { name: 'Changes allowed, 30 min: lock' }).click()
      await page.getByRole('button', { name: 'Read-only: allow changes' }).waitFor()
      assert.equal(await create.isDisabled(), true)
      await page.unroute('**/console/state')
    })

    test('is read-only again 30 minutes after changes were allowed in production', async () => {
      const { page } = await openConsole(ending, app(), { at: '#/keys' })
      await inProduction(page)
      await page.clock.install()
      await page.reload()
      await page.getByRole('button', { name: 'Read-only: allow changes' }).click()
      const create = page.getByRole('button', { name: 'Create a key' })
      await create.waitFor()
      await page.clock.fastForward(29 * 60_000)
      await page.getByRole('button', { name: 'Changes allowed, 1 min: lock' }).waitFor()
      assert.equal(await create.isEnabled(), true)
      await page.clock.fastForward(60_000)
      await page.getByRole('button', { name: 'Read-only: allow changes' }).waitFor()
      assert.equal(await create.isDisabled(), true)
    })

    test('goes to a screen by g and its letter, and says that there is none of a name', async () => {
      const { page } = admin
      await admin.go('#/nothing')
      await page.getByText('There is no screen “nothing”.').waitFor()
      await page.keyboard.press('g')
      await page.keyboard.press('y')
      await heading('Your account').waitFor()
    })

    test('asks for the password when the session ends, and loses nothing', async () => {
      const { page, user } = await openConsole(ending, app(), { at: '#/account/factors' })
      await page.getByRole('button', { name: 'Add an authenticator app' }).click()
      await page.getByLabel('Code that the app shows').fill('123')
      await app().request('DELETE', `/auth/sessions`, { token: '' })
      await app().app.service('auth').users.setPassword(user.email, PASSWORD)
      await page.getByRole('button', { name: 'Add', exact: true }).click()
      const dialog = page.getByRole('dialog', { name: 'Your session has ended' })
      await dialog.getByLabel('Password').fill(PASSWORD)
      await dialog.getByRole('button', { name: 'Sign in', exact: true }).click()
      await dialog.waitFor({ state: 'detached' })
      assert.equal(await page.getByLabel('Code that the app shows').inputValue(), '123')
    })

    test('says until when the account needs a second factor, as long as it has none', async () => {
      const { page, user } = admin
      await admin.go('#/users')
      const notice = page.locator('.notice', { hasText: 'Your account needs a second factor.' })
      const { token } = (await login(app(), user.email)).body
      const { body } = await app().request('GET', '/auth/factors', { token })
      const until = await notice.locator('time').getAttribute('datetime')
      assert.equal(until, (body as { dueAt: string }).dueAt)
      await notice.getByRole('link', { name: 'Add one' }).click()
      await page.getByRole('button', { name: 'Add an authenticator app' }).waitFor()
      await addAuthenticator(app(), token)
      await admin.go('#/users')
      await heading('Users').waitFor()
      await notice.waitFor({ state: 'detached' })
    })
  })
})
