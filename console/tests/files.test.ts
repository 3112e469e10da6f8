// The files of an installation in the console: list, grid, safe previews, uploads, deletion of many.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { before, describe, test } from 'node:test'

import type { Page } from 'playwright-core'

import { appForAll } from '../../server/src/testing/auth.ts'
import { withoutChromium } from '../../server/src/testing/chromium.ts'
import { axeFaults, checkLooks, openConsole, type ConsolePage } from '../../server/src/testing/console.ts'
import { endOfSuite, someEngine } from '../../server/src/testing/engines.ts'
import { until } from '../../server/src/testing/until.ts'
import { upload } from '../../server/src/wires/store/files/files.fixture.ts'

const PIXELS =
  'iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEklEQVR4nGP4z8DAAMIM/4EIABv1A/2c4dWpAAAAAElFTkSuQmCC'
const SCRIPT = '<script>alert(document.domain);fetch("https://evil.example")</script>'

describe('the files in the console', { skip: withoutChromium }, () => {
  someEngine((engine) => {
    const app = appForAll(engine)
    const ending = endOfSuite()
    let admin: ConsolePage
    let page: Page
    let ann: { _id: string; email: string; token: string }
    before(async () => {
      ann = await app().register()
      admin = await openConsole(ending, app(), { at: '#/files' })
      page = admin.page
    })
    const button = (name: string) => page.getByRole('button', { name, exact: true })
    const names = () => page.locator('.table tbody .file-name').allInnerTexts()
    const open = async (name: string) => {
      await page.getByRole('link', { name }).click()
      await page.getByRole('heading', { name, level: 2 }).waitFor()
    }

    test('say what to do if there are none, and are uploaded, several at once', async () => {
      await page.getByText('No files yet.').waitFor()
      await page.getByLabel('Upload files').setInputFiles([
        { name: 'photo.png', mimeType: 'image/png', buffer: Buffer.from(PIXELS, 'base64') },
        { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('hello') },
        { name: 'empty.txt', mimeType: 'text/plain', buffer: Buffer.alloc(0) },
      ])
      await page.getByText('3 uploads have ended').waitFor()
      await page.getByRole('link', { name: 'photo.png' }).waitFor()
      assert.deepEqual((await names()).map((name) => name.split('\n').at(-1)!).toSorted(), [
        'empty.txt',
        'notes.txt',
        'photo.png',
      ])
      await page.getByRole('button', { name: 'Clear', exact: true }).click()
    })

    test('go on uploading when the session was renewed, and say why one was refused', async () => {
      let refused = 0
      await page.route('**/store/upload', (route) =>
        refused++ === 0
          ? route.fulfill({ status: 401, json: { error: { code: 'UNAUTHORIZED', message: 'Sign in.' } } })
          : route.fallback(),
      )
      const input = page.getByLabel('Upload files')
      await input.setInputFiles([{ name: 'later.txt', mimeType: 'text/plain', buffer: Buffer.from('x') }])
      await page.getByRole('link', { name: 'later.txt' }).waitFor()
      await page.unroute('**/store/upload')
      await page.route('**/store/upload', (route) =>
        route.fulfill({
          status: 413,
          json: { error: { code: 'QUOTA_EXCEEDED', message: 'There is no room.' } },
        }),
      )
      await input.setInputFiles([{ name: 'big.txt', mimeType: 'text/plain', buffer: Buffer.from('x') }])
      await page.getByText('There is no room.').waitFor()
      await page.unroute('**/store/upload')
      await button('Try again').click()
      await page.getByRole('link', { name: 'big.txt' }).waitFor()
      await button('Clear').click()
    })

    test('are shown without running anything: pictures by <img>, the rest as text', async () => {
      const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">${SCRIPT}<rect width="9" height="9"/></svg>`
      for (const [name, type, bytes] of [
        ['drawing.svg', 'image/svg+xml', svg],
        ['page.html', 'text/html', `<h1>hi</h1>${SCRIPT}<img src="https://evil.example/x">`],
        ['<img src=x onerror=alert(1)>.txt', 'text/plain', 'admin\u202Etxt.exe'],
        ['noise.bin', 'application/octet-stream', '\u0001\u0002'],
      ] as const)
        assert.equal((await upload(app(), ann.token, { name, type, bytes })).status, 201)
      await button('Refresh').click()
      await open('drawing.svg')
      const picture = page.getByAltText('Preview of drawing.svg')
      await picture.waitFor()
      assert.match((await picture.getAttribute('src'))!, /^blob:/)
      await checkLooks(page, 'a picture')
      await open('page.html')
      await page.getByLabel('Preview').getByText('<h1>hi</h1><script>').waitFor()
      await open('onerror')
      await page.getByLabel('Preview').getByText('U+202E').waitFor()
      await open('noise.bin')
      await page.getByText('There is no preview of application/octet-stream').waitFor()
      await page.getByRole('link', { name: ann.email }).waitFor()
    })

    test('are downloaded, and linked to for a time; their address is copied', async () => {
      await open('page.html')
      await button('Copy the address').click()
      const copied = () => page.evaluate<string>('navigator.clipboard.readText()')
      await until(async () => /\/store\/files\/\w{26}\/content$/.test(await copied()))
      const waiting = page.waitForEvent('download')
      await button('Download').click()
      const download = await waiting
      assert.equal(download.suggestedFilename(), 'page.html')
      assert.match(await readFile(await download.path(), 'utf8'), /^<h1>hi/)
      await page.getByLabel('Copy a link that is valid for').selectOption('a day')
      await page.getByText('Link copied').first().waitFor()
      const url = await copied()
      // The public address of a test is not one that answers.
      const { status, headers } = await app().request('GET', url.replace(/^.*(?=\/store)/, ''))
      assert.deepEqual(
        [status, headers.get('content-disposition')],
        [200, 'attachment; filename="page.html"'],
      )
    })

    test('are made public, and private again under another address', async () => {
      await open('page.html')
      const isPublic = page.getByRole('switch', { name: 'Public' })
      await isPublic.click()
      const address = page.locator('.pane dd code', { hasText: '/store/files/public/' })
      const { pathname } = new URL(await address.innerText())
      const status = async () => (await app().request('GET', pathname)).status
      assert.equal(await status(), 200)
      await page
        .getByRole('row', { name: 'page.html' })
        .locator('.badge', { hasText: 'public' })
        .waitFor({ state: 'attached' })
      await isPublic.click()
      await address.waitFor({ state: 'detached' })
      assert.equal(await status(), 404)
    })

    test('are found by name, kind and owner, and shown side by side', async () => {
      await admin.go('#/files?q=TXT&contentType=text/*')
      await page.getByRole('link', { name: 'notes.txt' }).waitFor()
      await page.getByRole('link', { name: 'photo.png' }).waitFor({ state: 'detached' })
      await admin.go('#/files')
      await button('Storage').click()
      const storage = page.getByRole('dialog', { name: 'Storage' })
      await storage.getByText('9 files').waitFor()
      assert.deepEqual(await axeFaults(page), [])
      await storage.getByRole('link', { name: ann.email }).click()
      await page.getByRole('link', { name: 'notes.txt' }).waitFor({ state: 'detached' })
      assert.equal((await names()).length, 4)
      await button('Grid').click()
      await page.locator('.cards img').waitFor()
      await checkLooks(page, 'the grid')
      await page.getByRole('link', { name: 'drawing.svg' }).click()
      await page.getByAltText('Preview of drawing.svg').waitFor()
    })

    test('are deleted together, once their number is typed', async () => {
      await admin.go(`#/files?owner=${ann.email}`)
      await page.getByRole('link', { name: 'page.html' }).waitFor()
      await page.getByLabel('Mark noise.bin').check()
      await page.getByLabel('Mark page.html').check()
      await page.getByRole('toolbar').getByRole('button', { name: 'Delete' }).click()
      const dialog = page.getByRole('dialog', { name: 'Delete 2 files?' })
      const submit = dialog.getByRole('button', { name: 'Delete' })
      assert.ok(await submit.isDisabled())
      await dialog.getByRole('textbox').fill('2')
      await submit.click()
      await page.getByRole('link', { name: 'page.html' }).waitFor({ state: 'detached' })
      await button('Delete all matches').click()
      await page.getByRole('dialog').getByRole('textbox').fill('2')
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
      await page.getByText('Nothing matches these filters.').waitFor()
      await admin.go('#/files')
      await open('photo.png')
      await button('Delete').click()
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
      await page.getByRole('link', { name: 'photo.png' }).waitFor({ state: 'detached' })
      const { total } = (await app().request('GET', '/store/files', { token: ann.token })).body
      assert.equal(total, 4)
    })

    test('are read by viewers, who change none', async () => {
      const { page: theirs } = await openConsole(ending, app(), { as: 'viewer', at: '#/files' })
      await theirs.getByRole('link', { name: 'notes.txt' }).click()
      await theirs.getByLabel('Preview').getByText('hello').waitFor()
      assert.ok(await theirs.getByRole('button', { name: 'Delete', exact: true }).isDisabled())
      assert.ok(await theirs.getByLabel('Upload files').isDisabled())
    })
  })
})
