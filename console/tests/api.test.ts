// Calls as code: in the API pane of a collection, and on the screen of all routes.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import type { Page } from 'playwright-core'

import { startApp, type TestApp } from '../../server/src/testing/app.ts'
import { withoutChromium } from '../../server/src/testing/chromium.ts'
import { checkLooks, openConsole, settled, type ConsolePage } from '../../server/src/testing/console.ts'
import { endOfSuite, someEngine } from '../../server/src/testing/engines.ts'

const schema = {
  type: 'object',
  required: ['title', 'shelf'],
  properties: {
    title: { type: 'string', minLength: 1 },
    year: { type: 'integer' },
    kind: { enum: ['novel', 'poem'] },
    shelf: { type: 'string' },
    cover: { type: 'string' },
    cost: { type: 'integer' },
  },
}

const ALL = ['List', 'Get', 'Create', 'Change', 'Delete', 'Follow', 'Upload']

describe('the API in the console', { skip: withoutChromium }, () => {
  someEngine((engine) => {
    const ending = endOfSuite()
    let app: TestApp
    let admin: ConsolePage
    let page: Page
    before(async () => {
      app = await startApp(ending, engine, {
        sandbox: true,
        config: {
          store: {
            collections: {
              shelves: 'shared',
              books: {
                schema,
                files: { cover: { types: ['image/*'] } },
                relations: { shelf: { to: 'shelves' } },
                hidden: ['cost'],
              },
            },
          },
        },
      })
      const { documents } = app.app.service('store')
      await documents.create('shelves', { name: 'The first one' })
      await documents.create('notes', { text: 'A strange\u202Enote', done: false })
      admin = await openConsole(ending, app, { at: '#/data/books' })
      page = admin.page
    })
    const dialog = () => page.getByRole('dialog').first()
    const button = (name: string) => page.getByRole('button', { name, exact: true })
    const code = () => page.getByLabel(/^Code for /).innerText()
    const answer = () => page.getByLabel('The answer')
    async function open(collection: string): Promise<void> {
      await admin.go(`#/data/${collection}`)
      await page.getByRole('heading', { name: collection, exact: true }).waitFor()
      await page.getByText('More', { exact: true }).click()
      await button('API').click()
      await page.getByLabel(/^Code for /).waitFor()
    }
    const tab = (name: string) => page.getByRole('tab', { name, exact: true })

    test('a collection shows each call with its own fields, in a language that is kept, to be copied', async () => {
      await open('books')
      assert.deepEqual(await page.getByRole('tab').allInnerTexts(), ALL)
      assert.match(await code(), /^curl -sG .*\/store\/books/)
      assert.match(await code(), /filter=\{"kind":"novel"\}/)
      await tab('Create').click()
      assert.match(
        await code(),
        /"title": "A title",\s+"shelf": "\w{26}",\s+"year": 2027,\s+"kind": "novel"\s*\}'$/,
      )
      await checkLooks(page, 'the API of a collection')
      await button('Python').click()
      await page.getByLabel('Code for Python').waitFor()
      await button('Copy the code').click()
      await button('Copy the code').getByText('Copied').waitFor()
      const copied = await page.evaluate<string>('navigator.clipboard.readText()')
      assert.match(copied, /^import json\n.*"kind": "novel",\n/s)
      await page.reload()
      await open('books')
      assert.equal(await button('Python').getAttribute('aria-pressed'), 'true')
      assert.match(await code(), /^import json/)
    })

    test('sends a call by keyboard, after a question if it writes, and the next calls are about what it created', async () => {
      await tab('List').focus()
      await page.keyboard.press('ArrowRight')
      await page.keyboard.press('ArrowRight')
      await tab('Create').and(page.locator('[aria-selected="true"]:focus')).waitFor()
      await button('Try it').focus()
      await page.keyboard.press('Enter')
      const question = page.getByRole('dialog', { name: 'Send POST /store/books?' })
      assert.equal(
        (await app.request('GET', '/store/books', { token: (await app.register()).token })).body.total,
        0,
      )
      await question.getByRole('button', { name: 'Send' }).focus()
      await page.keyboard.press('Enter')
      await page.getByRole('status').getByText('201', { exact: true }).waitFor()
      const [, id = ''] = /"_id": "(\w+)"/.exec(await answer().innerText())!
      await tab('Get').click()
      assert.equal(await page.getByLabel('Document', { exact: true }).inputValue(), id)
      assert.match(await code(), new RegExp(`/store/books/${id}"`))
      await button('Try it').click()
      await answer().getByText('"A title"').waitFor()
      await page.getByLabel('Document', { exact: true }).fill('nothing')
      await button('Try it').click()
      await answer().getByText('NOT_FOUND').waitFor()
      await tab('Delete').click()
      await page.getByLabel('Document', { exact: true }).fill(id)
      await button('Try it').click()
      await page
        .getByRole('dialog', { name: `Send DELETE /store/books/${id}?` })
        .getByRole('button', { name: 'Send' })
        .click()
      await page.getByRole('status').getByText('200', { exact: true }).waitFor()
      await button('Close').click()
      await page.getByText('This collection has no documents.').waitFor()
    })

    test('follows changes until it is stopped, and uploads a file', async () => {
      await open('books')
      await tab('Follow').click()
      await button('Try it').click()
      await answer().getByText('event: ready').waitFor()
      await tab('Upload').click()
      assert.equal(await button('Try it').isDisabled(), true)
      await page.getByLabel('File', { exact: true }).setInputFiles({
        name: 'cover.png',
        mimeType: 'image/png',
        buffer: Buffer.from(
          'iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAACXBIWXMAAAPoAAAD6AG1e1JrAAAAEUlEQVQImWOQrc+Trc9jgFAAG+IEKZr+79gAAAAASUVORK5CYII=',
          'base64',
        ),
      })
      await button('Try it').click()
      await page.getByRole('dialog', { name: 'Send POST' }).getByRole('button', { name: 'Send' }).click()
      await answer().getByText('"cover"').waitFor()
      await button('Close').click()
    })

    test('a collection without a schema is shown with the fields of its newest document', async () => {
      await open('notes')
      await tab('Create').click()
      await button('curl').click()
      await page.getByLabel('Code for curl').waitFor()
      assert.match(await code(), /-d '\{"text": "A strange\\u202enote", "done": false\}'$/)
      await button('Close').click()
      assert.equal(await dialog().count(), 0)
    })

    test('the routes of all wires are found by what they do, each with its code', async () => {
      await admin.go('#/api?q=sign in with&wire=auth')
      await page.getByRole('link', { name: 'POST /auth/login' }).click()
      const pane = page.getByRole('region', { name: 'Details' })
      await pane.getByRole('heading', { name: 'Sign in with email and password' }).waitFor()
      await pane
        .getByText('--data', { exact: false })
        .or(pane.getByText('"password": "correct horse battery"'))
        .first()
        .waitFor()
      await checkLooks(page, 'a route')
      await pane.getByRole('button', { name: 'Try it' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click()
      await pane.getByLabel('The answer').getByText('INVALID_CREDENTIALS').waitFor()
      await admin.go('#/api?q=provider&wire=auth')
      await page.getByRole('link', { name: 'GET /auth/providers/:name', exact: true }).click()
      await pane.getByText('It leads a browser to another page').waitFor()
      await admin.go('#/api?q=webhook&wire=pay')
      await page.getByRole('link', { name: 'POST /pay/cardpay/webhook' }).click()
      await pane.getByText('protocol of their own').waitFor()
      await admin.go('#/api?q=nothing like this')
      await page.getByText('Nothing matches these filters.').waitFor()
    })

    test('a viewer reads the code and sends what only reads', async () => {
      const viewer = await openConsole(ending, app, { as: 'viewer', at: '#/api/payCardpayCheckout' })
      const pane = viewer.page.getByRole('region', { name: 'Details' })
      await pane.getByLabel('Code for curl').waitFor()
      assert.equal(await pane.getByRole('button', { name: 'Try it' }).isDisabled(), true)
      await viewer.go('#/api/getStoreBooks')
      await pane.getByRole('button', { name: 'Try it' }).click()
      await pane.getByLabel('The answer').waitFor()
      await settled(viewer.page)
    })
  })
})
