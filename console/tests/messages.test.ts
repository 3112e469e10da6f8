// The screens of messages and templates, in Chromium.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { before, test } from 'node:test'

import type { FrameLocator } from 'playwright-core'

import { startApp, type TestApp } from '../../server/src/testing/app.ts'
import { withoutChromium } from '../../server/src/testing/chromium.ts'
import { checkLooks, openConsole, type ConsolePage } from '../../server/src/testing/console.ts'
import { endOfSuite, someEngine, temporaryFolder } from '../../server/src/testing/engines.ts'
import { startMailServer, type MailServer } from '../../server/src/testing/mail-server.ts'
import { environmentOf } from '../../server/src/wires/messaging/providers.fixture.ts'

// What would run, be loaded, lead away, or tell a sender that the mail is read.
const hostileMail = (elsewhere: string): string => `<script>parent.document.title = 'run'; alert(1)</script>
  <img src="x" onerror="alert(2)"><svg onload="alert(3)"></svg><body onload="alert(4)">
  <img src="${elsewhere}/pixel.gif"><div style="background: url(${elsewhere}/style.gif)">styled</div>
  <style>@import '${elsewhere}/import.css'; @font-face { font-family: f; src: url(${elsewhere}/f.woff) } p { font-family: f }</style>
  <link rel="stylesheet" href="${elsewhere}/link.css"><link rel="preconnect" href="${elsewhere}">
  <link rel="prefetch" href="${elsewhere}/prefetch"><base href="${elsewhere}/" target="_top">
  <meta http-equiv="refresh" content="0; url=${elsewhere}/refresh">
  <iframe src="${elsewhere}/frame"></iframe><object data="${elsewhere}/object"></object>
  <video src="${elsewhere}/video" autoplay></video>
  <form action="${elsewhere}/form"><input name="a"><button>Sign in again</button></form>
  <a href="${elsewhere}/link" target="_top">Your account</a><a href="javascript:alert(5)">Click here</a>
  <p>What the mail says</p>`

someEngine((engine) => {
  const ending = endOfSuite()
  let app: TestApp
  let mail: MailServer
  let desk: ConsolePage
  let token: string
  before(async () => {
    if (withoutChromium) return
    mail = await startMailServer(ending)
    const folder = await temporaryFolder(ending)
    await mkdir(join(folder, 'mails'))
    await writeFile(
      join(folder, 'mails', 'order.html'),
      '---\nsubject: Order {{number}}\n---\n<p class="said">Hello {{name}}</p>{{{note}}}',
    )
    app = await startApp(ending, engine, {
      environment: environmentOf(mail),
      config: { messaging: { templates: join(folder, 'mails') } },
    })
    ;({ token } = await app.register())
    desk = await openConsole(ending, app, { at: '#/messages' })
  })
  const send = (body: object) => app.clock.through(app.request('POST', '/messaging/email', { token, body }))
  const failMail = async (to: string, html: string): Promise<void> => {
    mail.next({ recipient: 550 })
    assert.equal((await send({ to, subject: 'Hello', body: html })).status, 500)
  }
  const open = async (to: string) => {
    await desk.go('#/messages')
    await desk.page.getByRole('button', { name: 'Refresh' }).click()
    await desk.page.getByRole('link', { name: to }).click()
  }
  const frameOf = (title: string): FrameLocator => desk.page.frameLocator(`iframe[title="${title}"]`)

  test(
    'a mail of anybody runs nothing, loads nothing and leads nowhere',
    { skip: withoutChromium },
    async () => {
      const { page } = desk
      let connections = 0
      const elsewhere = createServer(() => connections++).listen(0, '127.0.0.1')
      ending.after(async () => void elsewhere.close())
      await once(elsewhere, 'listening')
      const { port } = elsewhere.address() as AddressInfo
      await failMail('hostile@example.com', hostileMail(`http://127.0.0.1:${port}`))
      await open('hostile@example.com')
      await page.getByRole('tab', { name: 'Content' }).click()
      const frame = frameOf('The mail')
      await frame.getByText('What the mail says').waitFor()
      for (const target of [
        frame.getByText('Your account'),
        frame.getByText('Click here'),
        frame.getByRole('button', { name: 'Sign in again' }),
      ])
        await target.click()
      await page.waitForTimeout(500)
      await frame.getByText('What the mail says').waitFor()
      assert.match(await page.title(), /^Messages/)
      assert.match(page.url(), /#\/messages\//)
      assert.equal(connections, 0)
      assert.deepEqual(
        desk.complaints.filter((one) => one.startsWith('a dialog')),
        [],
      )
      // The browser says of each that the policy has stopped it.
      desk.forgive()
    },
  )

  test('a failed mail is sent again from its pane', { skip: withoutChromium }, async () => {
    const { page } = desk
    await failMail('failed@example.com', '<p>the content</p>')
    await open('failed@example.com')
    const pane = page.getByRole('region', { name: 'Details' })
    await pane.getByText('550').first().waitFor()
    await checkLooks(page, 'a failed mail')
    const count = mail.received.length
    await pane.getByRole('button', { name: 'Send again' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Send again' }).click()
    await page.getByText('The message is queued.').first().waitFor()
    await pane.getByText('An operator sent it again').waitFor()
    while (mail.received.length === count) await page.waitForTimeout(20)
    assert.match(mail.received.at(-1)!.raw, /the content/)
  })

  test('a template is shown with what is typed, by day and by night', { skip: withoutChromium }, async () => {
    const { page } = desk
    await desk.go('#/templates/order')
    const frame = frameOf('Preview of order')
    await frame.getByText('Hello Ada').waitFor()
    const values = page.getByLabel('Example values, as JSON')
    await values.fill('{"number": 7, "name": "<b>Zoe</b>"')
    await page.getByText('This is not a JSON object yet.').waitFor()
    await values.fill('{"number": 7, "name": "<b>Zoe</b>", "note": "<script>alert(1)</script>"}')
    await page.getByText('Order 7', { exact: true }).waitFor()
    await frame.getByText('Hello <b>Zoe</b>').waitFor()
    const ground = () =>
      frame.locator('html').evaluate<string, void>('getComputedStyle(document.documentElement).colorScheme')
    assert.equal(await ground(), 'light')
    await page.getByText('Dark', { exact: true }).click()
    await frame.getByText('Hello <b>Zoe</b>').waitFor()
    for (let now = ''; now !== 'dark'; now = await ground()) await page.waitForTimeout(20)
    await page.getByText('Phone', { exact: true }).click()
    assert.ok((await page.locator('iframe').boundingBox())!.width <= 390)
    desk.forgive()
    await checkLooks(page, 'a template')
    desk.forgive()
    await values.fill('{}')
    await page.getByText('The template needs this value.').first().waitFor()
  })

  test(
    'a text is written in another language: checked, previewed, sent as a test, saved and removed',
    {
      skip: withoutChromium,
    },
    async () => {
      const { page } = desk
      await desk.go('#/templates/order')
      await page.getByText('order.html of the application: change it there').waitFor()
      assert.equal(await page.getByLabel('HTML', { exact: true }).isDisabled(), true)
      await desk.go('#/templates/reset-password')
      await page.getByRole('button', { name: 'Add a language' }).click()
      await page.getByRole('dialog').getByLabel('Language').fill('de')
      await page.getByRole('button', { name: 'Write the text' }).click()
      await page.getByText('not saved yet').waitFor()
      const html = page.getByLabel('HTML', { exact: true })
      await page.getByLabel('Subject', { exact: true }).fill('Neues Passwort für {{app}}')
      await html.fill('<p>Hallo {{nmae}}, <a href="{{link}}">weiter</a></p>')
      desk.forgive()
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await page
        .locator('p.fault')
        .getByText(/there is no placeholder {{nmae}}: did you mean name/)
        .waitFor()
      await checkLooks(page, 'a text with a fault')
      desk.forgive()
      await html.fill('<p>Hallo, <a href="{{link}}">weiter</a></p>')
      await frameOf('Preview of reset-password').getByText('Hallo, weiter').waitFor()
      await page.getByRole('button', { name: 'Send a test to me' }).click()
      await page.getByText(/^The provider accepted the mail/).waitFor()
      assert.match((await mail.mailTo(desk.user.email)).subject, /^Neues Passwort für /)
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await page.getByText('Saved, and in force.').waitFor()
      await page.getByText('en, de', { exact: true }).waitFor({ state: 'attached' })
      await page.getByRole('button', { name: 'Remove this text…' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
      await page.getByText('The text is removed.').waitFor()
    },
  )

  test('a template of one’s own is added', { skip: withoutChromium }, async () => {
    const { page } = desk
    await desk.go('#/templates')
    await page.getByRole('button', { name: 'New template' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('welcome')
    await dialog.getByLabel('Subject').fill('Welcome to {{app}}')
    await dialog.getByRole('button', { name: 'Add' }).click()
    await frameOf('Preview of welcome').getByText('Hello Ada,').waitFor()
    await page.getByRole('row', { name: /^welcome/ }).waitFor()
  })

  test('a test is sent', { skip: withoutChromium }, async () => {
    const { page } = desk
    await desk.go('#/messages')
    await page.getByRole('button', { name: 'Send a test' }).click()
    await page.getByLabel('To').fill('tester@example.com')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByRole('link', { name: 'tester@example.com' }).waitFor()
    assert.deepEqual(mail.received.at(-1)!.to, ['tester@example.com'])
  })
})
