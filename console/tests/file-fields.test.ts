// Fields of files in the console: in the form and the list of documents, and which documents have a file.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import type { Page } from 'playwright-core'

import { startApp, type TestApp } from '../../server/src/testing/app.ts'
import { withoutChromium } from '../../server/src/testing/chromium.ts'
import { checkLooks, openConsole, type ConsolePage } from '../../server/src/testing/console.ts'
import { endOfSuite, someEngine } from '../../server/src/testing/engines.ts'
import { upload } from '../../server/src/wires/store/files/files.fixture.ts'

const PIXELS =
  'iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAACXBIWXMAAAPoAAAD6AG1e1JrAAAAEUlEQVQImWOQrc+Trc9jgFAAG+IEKZr+79gAAAAASUVORK5CYII='
const fileOf = (name: string, content: Buffer | string = Buffer.from(PIXELS, 'base64')) => ({
  name,
  mimeType: name.endsWith('.png') ? 'image/png' : 'text/plain',
  buffer: Buffer.from(content),
})

describe('fields of files in the console', { skip: withoutChromium }, () => {
  someEngine((engine) => {
    const ending = endOfSuite()
    let app: TestApp
    let console: ConsolePage
    let page: Page
    let token: string
    let id: string
    before(async () => {
      const files = { photo: { types: ['image/*'], maxBytes: 1024 }, gallery: { max: 3 } }
      app = await startApp(ending, engine, { config: { store: { collections: { products: { files } } } } })
      token = (await app.register()).token
      id = (await app.request('POST', '/store/products', { token, body: { name: 'Boat' } })).body._id
      console = await openConsole(ending, app, { at: `#/data/products/${id}` })
      page = console.page
    })
    const field = (name: string) =>
      page.locator('.document-form .row', { has: page.getByLabel(`Upload to ${name}`) })
    const save = async () => {
      await page.keyboard.press('Control+s')
      await page.getByText('not saved').waitFor({ state: 'hidden' })
    }
    /** The names of the files that the document has. */
    async function stored(): Promise<{ photo?: string | undefined; gallery: string[] }> {
      const { body } = await app.request('GET', `/store/products/${id}?expand=photo,gallery`, { token })
      const { photo, gallery = [] } = body.$expanded
      return {
        photo: photo?.originalName,
        gallery: gallery.map((one: { originalName: string }) => one.originalName),
      }
    }

    test('take files before the document has them, in an order that the keyboard changes', async () => {
      await page
        .getByLabel('Upload to gallery')
        .setInputFiles([fileOf('a.txt', 'a'), fileOf('b.png'), fileOf('c.txt', 'c')])
      await field('gallery').getByRole('link', { name: 'c.txt' }).waitFor()
      await field('gallery').getByRole('button', { name: 'Move file 3 up' }).focus()
      for (const place of [2, 1]) {
        await page.keyboard.press('Enter')
        const button = field('gallery').getByRole('button', { name: `Move file ${place} up` })
        await button.and(page.locator(':focus')).waitFor()
      }
      await field('gallery').getByRole('button', { name: 'Take file 2 out of gallery' }).click()
      await page.getByLabel('Upload to photo').setInputFiles([fileOf('photo.png')])
      await field('photo').locator('img').waitFor()
      await save()
      assert.deepEqual(await stored(), { photo: 'photo.png', gallery: ['c.txt', 'b.png'] })
      await checkLooks(page, 'a document with files')
    })

    test('say what they refuse, before the upload and when the document is saved', async () => {
      const input = page.getByLabel('Upload to photo')
      await input.setInputFiles([fileOf('notes.txt', 'notes')])
      await field('photo').getByText('It is text/plain, and this field takes image/*.').waitFor()
      await input.setInputFiles([fileOf('large.png', Buffer.alloc(1025))])
      await field('photo').getByText('It has 1.0 kB, and this field takes up to 1,024 bytes.').waitFor()
      await input.setInputFiles([fileOf('text.png', 'a text')])
      await field('photo').getByRole('link', { name: 'text.png' }).waitFor()
      await page.keyboard.press('Control+s')
      await field('photo').getByRole('alert').filter({ hasText: 'octet-stream' }).waitFor()
      assert.equal((await stored()).photo, 'photo.png')
    })

    test('take a stored file, which then says who has it, and is kept from deletion', async () => {
      const bytes = new Uint8Array(Buffer.from(PIXELS, 'base64'))
      await upload(app, token, { name: 'harbour.png', type: 'image/png', bytes })
      await field('photo').getByRole('button', { name: 'Stored files…' }).click()
      const choice = page.getByRole('dialog', { name: 'Choose a file for photo' })
      await choice.getByLabel('Search names').fill('harb')
      await choice.getByRole('button', { name: 'photo.png' }).waitFor({ state: 'detached' })
      await choice.getByRole('button', { name: 'harbour.png' }).click()
      await field('photo').getByRole('link', { name: 'harbour.png' }).waitFor()
      await save()
      await console.go('#/data/products')
      await page.locator('.table').getByText('harbour.png').waitFor()
      await page.locator('.table .thumbnail img').first().waitFor()

      await console.go('#/files')
      await page.getByRole('link', { name: 'harbour.png' }).click()
      const uses = page.getByRole('region', { name: 'Used by' })
      await uses.getByText(`products ${id} photo`).waitFor()
      await page.getByRole('button', { name: 'Delete', exact: true }).click()
      const question = page.getByRole('dialog', { name: 'Delete this file?' })
      await question.getByRole('button', { name: 'Delete' }).click()
      await question.getByText('Documents of products have this file in photo').waitFor()
      await question.getByRole('button', { name: 'Cancel' }).click()
      await uses.getByRole('link', { name: id }).click()
      await page.getByRole('heading', { name: 'Document' }).waitFor()
    })
  })
})
