// The screens of users and keys.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { addFactor, login, me, PASSWORD } from '../../server/src/testing/auth.ts'
import { withoutChromium } from '../../server/src/testing/chromium.ts'
import { checkLooks, openConsole, type ConsolePage } from '../../server/src/testing/console.ts'
import { endOfSuite, someEngine } from '../../server/src/testing/engines.ts'
import { appWithMailbox, nextAbout } from '../../server/src/testing/mailbox.ts'
import { startTill, URLS } from '../../server/src/wires/pay/pay.fixture.ts'

describe('the screens of people', { skip: withoutChromium }, () => {
  someEngine((engine) => {
    const started = appWithMailbox(engine, { sandbox: false })
    const app = () => started().app
    const ending = endOfSuite()
    let admin: ConsolePage
    const users = () => app().app.service('auth').users

    before(async () => {
      const hostile = '<img src=x onerror=alert(1)>\u202Egnp'
      await users().create({ email: 'hostile@example.com', name: hostile, password: PASSWORD })
      const { id } = await users().create({
        email: 'ada@example.com',
        name: 'Ada Lovelace',
        password: PASSWORD,
      })
      await addFactor(app(), id)
      const { token } = (
        await app().request('POST', '/auth/login', {
          body: { email: 'hostile@example.com', password: PASSWORD },
        })
      ).body as { token: string }
      for (const text of ['one', 'two'])
        await app().request('POST', '/store/notes', { token, body: { text } })
      admin = await openConsole(ending, app(), { at: '#/users' })
    })

    const row = (name: string) => admin.page.getByRole('link', { name })
    const button = (name: string | RegExp) =>
      admin.page.getByRole('button', { name, exact: typeof name === 'string' })
    const pane = () => admin.page.getByRole('region', { name: 'Details' })
    const dialog = () => admin.page.getByRole('dialog')

    test('find a user by the name, and show the account, records and sessions', async () => {
      const { page } = admin
      await row('ada@example.com').waitFor()
      await checkLooks(page, 'users')
      await page.getByRole('searchbox').fill('hostile')
      await row('ada@example.com').waitFor({ state: 'detached' })
      await row('hostile@example.com').click()
      await pane().getByText('U+202E').first().waitFor()
      await checkLooks(page, 'a user')
      await page.getByRole('tab', { name: 'Records' }).click()
      await pane().getByText('2 documents').waitFor()
      await checkLooks(page, 'the records of a user')
      assert.match(page.url(), /#\/users\/\w+\?q=hostile&tab=records/)
      await page.getByRole('tab', { name: /Sessions/ }).click()
      await button('Revoke all').waitFor()
      await checkLooks(page, 'the sessions of a user')
      await button('Revoke all').click()
      await dialog().getByRole('button', { name: 'Revoke all' }).click()
      await pane().getByText('has no sessions').waitFor()
    })

    test('show the documents, files, messages, payments and wallets of a user in one place', async (t) => {
      const till = await startTill(t, engine, { sandbox: true })
      await till.app.register()
      const { token, _id } = await till.app.register('carol@example.com')
      const send = async (route: string, body: unknown) => {
        const { status, text, body: answered } = await till.call(route, body, { token })
        assert.ok(status < 300, `${route}: ${text}`)
        return answered
      }
      await send('POST /store/notes', { text: 'one' })
      const uploaded = await till.app.request('POST', '/store/upload', {
        token,
        raw: '--b\r\ncontent-disposition: form-data; name="file"; filename="notes.txt"\r\ncontent-type: text/plain\r\n\r\nHello\r\n--b--\r\n',
        headers: { 'content-type': 'multipart/form-data; boundary=b' },
      })
      assert.equal(uploaded.status, 201, uploaded.text)
      await send('POST /messaging/email', { to: 'dora@example.com', subject: 'Hello', body: 'Hello' })
      const items = [{ name: 'Book', amount: 1_000, currency: 'eur' }]
      const { sessionId } = await send('POST /pay/cardpay/checkout', { items, ...URLS })
      till.pay(sessionId)
      await till.deliver()
      await send('POST /pay/onchain/payment', { amount: '1.5', token: 'ETH', chain: 'ethereum' })
      await send('POST /onchain/wallets', { name: 'Savings' })

      const { page } = await openConsole(t, till.app, { at: `#/users/${_id}?tab=records` })
      for (const [title, text] of [
        ['Documents', /notes\s+1 document/],
        ['Files', /notes\.txt/],
        ['Messages', /email to dora@example\.com/],
        ['Payments', /10\.00 EUR\s+completed/],
        ['Payment requests', /1\.5 ETH\s+pending/],
        ['Wallets', /Savings 0x/],
      ] as const) {
        const section = page.locator('.pane .part', {
          has: page.getByRole('heading', { name: new RegExp(`^${title}( \\d)?$`) }),
        })
        await section.getByRole('listitem').first().waitFor()
        assert.match(await section.getByRole('list').innerText(), text)
      }
      await checkLooks(page, 'the records of all wires of a user')
      await page.getByRole('tab', { name: 'Notes' }).click()
      await page.getByLabel('New note').fill('Likes tea.')
      await page.getByRole('button', { name: 'Add', exact: true }).click()
      await page.getByText('Likes tea.', { exact: true }).last().waitFor()
      await checkLooks(page, 'the notes about a user')
      await page.getByRole('tab', { name: 'Timeline' }).click()
      for (const text of ['Account created', 'Signed in', 'Likes tea.'])
        await page.locator('.happened').getByText(text, { exact: true }).waitFor()
      await checkLooks(page, 'the timeline of a user')
      await page.locator('.happened').getByRole('link', { name: 'Payment of 10.00 EUR' }).click()
      await page.getByRole('heading', { name: '10.00 EUR completed' }).waitFor()
    })

    test('lock out, let in again and change a user', async () => {
      const { page } = admin
      const { id } = (await users().find('ada@example.com'))!
      for (let i = 0; i < 5; i++) await login(app(), 'ada@example.com', 'a wrong password')
      await admin.go(`#/users/${id}?state=locked`)
      await pane().getByText('locked', { exact: true }).waitFor()
      await button('Unlock').click()
      await button('Unlock').waitFor({ state: 'detached' })
      assert.equal((await login(app(), 'ada@example.com')).code, 'SECOND_FACTOR_REQUIRED')
      await admin.go(`#/users/${id}`)
      await button('Disable').click()
      await checkLooks(page, 'the question before a user is disabled')
      await dialog().getByRole('button', { name: 'Disable' }).click()
      await pane().getByText('disabled', { exact: true }).waitFor()
      await page.getByRole('button', { name: 'Undo' }).click()
      await pane().getByText('disabled', { exact: true }).waitFor({ state: 'detached' })
      app().clock.advance(600_000)
      await button('Edit').click()
      await checkLooks(page, 'the form of a user')
      await dialog().getByLabel('Email address').fill('hostile@example.com')
      await dialog().getByRole('combobox', { name: 'Role' }).selectOption('viewer')
      await dialog().getByRole('button', { name: 'Save' }).click()
      // The proof of the sign-in is older than ten minutes.
      await page.getByLabel('Password').fill(PASSWORD)
      await button('Confirm').click()
      await dialog()
        .getByText(/has an account already/)
        .waitFor()
      await dialog().getByLabel('Email address').fill('lovelace@example.com')
      await dialog().getByRole('button', { name: 'Save' }).click()
      await pane().getByRole('heading', { name: 'lovelace@example.com' }).waitFor()
      await pane().getByText('viewer', { exact: true }).first().waitFor()
      await pane().getByText('not verified', { exact: true }).first().waitFor()
      await users().update({ id }, { email: 'ada@example.com' })
    })

    test('disable many at once, after their number was typed', async () => {
      const { page } = admin
      for (const n of [1, 2]) await users().create({ email: `bulk${n}@example.com`, password: PASSWORD })
      await admin.go('#/users?q=bulk')
      await row('bulk2@example.com').waitFor()
      await page.getByRole('checkbox', { name: 'Mark all rows' }).check()
      await page.getByRole('toolbar').getByRole('button', { name: 'Disable' }).click()
      const go = dialog().getByRole('button', { name: 'Disable' })
      assert.equal(await go.isDisabled(), true)
      await dialog()
        .getByLabel(/Type 2/)
        .fill('2')
      await go.click()
      await page.getByText('2 of 2 disabled').waitFor()
      assert.equal((await users().list({ state: 'disabled' })).total, 2)
    })

    test('invite a user', async () => {
      const { page } = admin
      await admin.go('#/users')
      await button('Add a user').click()
      await checkLooks(page, 'a new user')
      await dialog().getByLabel('Email address').fill('ada@example.com')
      await button('Invite').click()
      await dialog()
        .getByText(/has an account already/)
        .waitFor()
      await dialog().getByLabel('Email address').fill('new@example.com')
      await button('Invite').click()
      await pane().getByRole('heading', { name: 'new@example.com' }).waitFor()
      await nextAbout(started().mailbox, 'new@example.com', /^Your account/)
    })

    test('act as a user under a banner, until it is ended', async () => {
      const { page } = admin
      const { id } = await users().create({ email: 'helped@example.com', password: PASSWORD })
      await admin.go(`#/users/${id}`)
      await button('Act as this user').click()
      await dialog().getByLabel('Reason').fill('Ticket 4711')
      await button('Begin').click()
      const banner = page.getByRole('region', { name: 'Acting as a user' })
      await banner.getByText('reading only').waitFor()
      await checkLooks(page, 'acting as a user')
      await button('Call as this user').click()
      await dialog().getByRole('button', { name: 'Send' }).click()
      await dialog().getByText('Status 200').waitFor()
      await dialog().getByText('helped@example.com').last().waitFor()
      await dialog().getByRole('button', { name: 'Close' }).click()
      await banner.getByRole('button', { name: 'Copy the access token of this session' }).click()
      const token = await page.evaluate<string>('navigator.clipboard.readText()')
      assert.equal((await me(app(), token)).status, 200)
      await banner.getByRole('button', { name: 'End' }).click()
      await banner.waitFor({ state: 'detached' })
      await page.getByText('You no longer act as').first().waitFor()
      assert.equal((await me(app(), token)).status, 401)
    })

    test('export the data of a user, and say what a deletion erases and keeps, by keyboard', async () => {
      const { page } = admin
      const { token } = await app().register('leaving@example.com')
      const { id } = (await users().find('leaving@example.com'))!
      await app().request('POST', '/store/notes', { token, body: { text: 'one' } })
      await admin.go(`#/users/${id}`)
      await button('Export the data').press('Enter')
      const link = dialog().getByRole('link', { name: 'Download the archive' })
      await link.waitFor()
      await checkLooks(page, 'an export of the data of a user')
      const downloading = page.waitForEvent('download')
      await link.press('Enter')
      assert.match((await downloading).suggestedFilename(), /^personal-data-\w+\.zip$/)
      await page.keyboard.press('Escape')
      await button('Delete').press('Enter')
      await dialog().getByText('documents: 1').waitFor()
      await dialog().getByText('entries of the audit log').waitFor()
      await checkLooks(page, 'the deletion of a user')
      await dialog().getByRole('textbox').fill('leaving@example.com')
      await page.keyboard.press('Enter')
      await dialog().waitFor({ state: 'detached' })
      await row('leaving@example.com').waitFor({ state: 'detached' })
      assert.equal(await users().find('leaving@example.com'), undefined)
      await admin.go('#/account')
      await button('Export your data').press('Enter')
      await dialog().getByRole('link', { name: 'Download the archive' }).waitFor()
      await page.keyboard.press('Escape')
    })

    test('make a key that is shown once, and revoke it', async () => {
      const { page } = admin
      await admin.go('#/keys')
      await page.getByText('No keys yet').waitFor()
      await button('Create a key').click()
      await dialog().getByLabel('Name').fill('backend')
      await button('Create').click()
      await dialog().getByText('Choose at least one scope').waitFor()
      await dialog().getByRole('checkbox', { name: 'store:read' }).check()
      await checkLooks(page, 'a new key')
      await button('Create').click()
      const key = (await dialog().locator('.secret code').textContent())!
      await checkLooks(page, 'the key')
      assert.equal((await app().request('GET', '/store/notes', { token: key })).status, 200)
      await button('I have stored it').click()
      await row('backend').click()
      await checkLooks(page, 'a key')
      assert.ok(!(await page.content()).includes(key))
      await pane().getByRole('button', { name: 'Revoke' }).click()
      await dialog()
        .getByLabel(/Type backend/)
        .fill('backend')
      await dialog().getByRole('button', { name: 'Revoke' }).click()
      await pane().getByText('Revoked').waitFor()
      assert.equal((await app().request('GET', '/store/notes', { token: key })).status, 401)
    })

    test('say what is wrong, and show viewers what they may see', async () => {
      const { page } = admin
      await page.route('**/auth/users?*', (route) =>
        route.fulfill({
          status: 503,
          json: { error: { code: 'UNAVAILABLE', message: 'The database does not answer.' } },
        }),
      )
      await admin.go('#/users?q=fault')
      await page.getByText('The database does not answer.').waitFor()
      await page.unroute('**/auth/users?*')
      await button('Try again').click()
      await page.getByText('Nothing matches these filters').waitFor()
      const viewer = await openConsole(ending, app(), { as: 'viewer', at: '#/users?q=helped' })
      await viewer.page.getByRole('link', { name: 'helped@example.com' }).click()
      const act = viewer.page.getByRole('button', { name: 'Act as this user' })
      await act.waitFor()
      assert.equal(await act.isDisabled(), true)
      assert.equal(await viewer.page.getByRole('button', { name: 'Add a user' }).isDisabled(), true)
    })
  })
})
