// The definition of a collection in the console: as JSON, what the documents say to it, and its versions.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { startApp, type TestApp } from '../../server/src/testing/app.ts'
import { withoutChromium } from '../../server/src/testing/chromium.ts'
import { checkLooks, openConsole, type ConsolePage } from '../../server/src/testing/console.ts'
import { endOfSuite, someEngine } from '../../server/src/testing/engines.ts'

describe('the definition of a collection', { skip: withoutChromium }, () => {
  someEngine((engine) => {
    const ending = endOfSuite()
    let app: TestApp
    let admin: ConsolePage
    before(async () => {
      app = await startApp(ending, engine, { config: { store: { collections: { notes: 'owner' } } } })
      const { documents } = app.app.service('store')
      for (const price of [1, -2, 3]) await documents.create('books', { title: 'Momo', price })
      admin = await openConsole(ending, app, { at: '#/data/books' })
    })
    const button = (name: string) => admin.page.getByRole('button', { name, exact: true })
    const dialog = () => admin.page.getByRole('dialog')
    async function open(collection: string): Promise<void> {
      await admin.go(`#/data/${collection}`)
      await admin.page.getByRole('heading', { name: collection }).waitFor()
      await admin.page.getByText('More', { exact: true }).click()
      await button('About').click()
      await button('Definition…').click()
      await admin.page.getByRole('textbox', { name: 'Definition' }).waitFor()
    }
    async function write(text: string): Promise<void> {
      await admin.page.getByRole('textbox', { name: 'Definition' }).click()
      await admin.page.keyboard.press('Control+A')
      await admin.page.keyboard.insertText(text)
    }

    test('is checked against the documents, and put into force when they fit', async () => {
      await open('books')
      await dialog().getByText('It is not defined').waitFor()
      await write('{"read": "public", "schema": {"properties": {"price": {"minimum": 0}}}}')
      await button('Check documents').click()
      await dialog().getByText('1 of 3 documents do not fit:').waitFor()
      await dialog()
        .getByText(/price must be/)
        .waitFor()
      await checkLooks(admin.page, 'the definition')
      await button('Put into force').click()
      await dialog().getByRole('alert').getByText('1 of 3 documents do not fit').waitFor()
      await write('{"read": "public", "schema": {"properties": {"price": {"minimum": -5}}}}')
      await button('Put into force').click()
      await dialog().waitFor({ state: 'detached' })
      assert.equal((await app.request('GET', '/store/books')).status, 200, 'for strangers')
    })

    test('shows its versions, and takes an older one again', async () => {
      await open('books')
      await write('{"read": "admin"}')
      await button('Put into force').click()
      await dialog().waitFor({ state: 'detached' })
      assert.equal((await app.request('GET', '/store/books')).status, 401)
      await open('books')
      await dialog().getByText('Versions', { exact: true }).click()
      await dialog().getByText('past').click()
      await button('Edit this version').click()
      await button('Put into force').click()
      await dialog().waitFor({ state: 'detached' })
      assert.equal((await app.request('GET', '/store/books')).status, 200)
    })

    test('says what is wrong in it, and where that of the configuration stands', async () => {
      await open('books')
      await write('{"read": "everybody"}')
      await button('Put into force').click()
      await dialog().getByRole('alert').getByText('"everybody" is no audience').waitFor()
      await button('Close').click()
      await open('notes')
      await dialog().getByText('change it there, and start the server again').waitFor()
      assert.equal(await button('Put into force').isDisabled(), true)
      await button('Close').click()
    })
  })
})
