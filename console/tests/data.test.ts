// The screen of data: collections, the grid of one, and what is done to many of its documents.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { before, describe, test } from 'node:test'

import type { Config } from '../../server/src/app.ts'
import { startApp, type TestApp } from '../../server/src/testing/app.ts'
import { withoutChromium } from '../../server/src/testing/chromium.ts'
import { checkLooks, openConsole, type ConsolePage } from '../../server/src/testing/console.ts'
import { endOfSuite, someEngine } from '../../server/src/testing/engines.ts'
import { until } from '../../server/src/testing/until.ts'

const ROWS = 100_000
const config = {
  store: {
    collections: {
      books: { unique: ['slug'], search: ['title'] },
      shop_items: 'shared',
      shop_orders: 'owner',
    },
  },
} satisfies Config

describe('the screen of data', { skip: withoutChromium }, () => {
  someEngine((engine) => {
    const ending = endOfSuite()
    let app: TestApp
    let admin: ConsolePage
    before(async () => {
      app = await startApp(ending, engine, { config })
      const { documents } = app.app.service('store')
      for (let n = 0; n < 30; n++)
        await documents.create('books', {
          title: `Book ${n}`,
          year: 1970 + n,
          slug: `s${n}`,
          author: { name: 'Ende' },
          text: n === 29 ? '<img src=x onerror=alert(1)>‮' : 'x'.repeat(500),
        })
      admin = await openConsole(ending, app, { at: '#/data' })
    })
    const button = (name: string | RegExp) => admin.page.getByRole('button', { name })
    const more = async (name: string) => {
      await admin.page.getByText('More', { exact: true }).click()
      await button(name).click()
    }
    const books = (filter: Record<string, unknown> = {}) =>
      app.app.service('store').documents.list('books', { filter, limit: 100 })
    const cell = (text: string) => admin.page.getByRole('cell', { name: text, exact: true })
    async function grid(query = ''): Promise<void> {
      await admin.go(`#/data/books${query}`)
      await admin.page.getByRole('heading', { name: 'books' }).waitFor()
    }

    test('lists the collections by groups, and leads to the documents of one', async () => {
      const { page } = admin
      await page.getByRole('link', { name: 'books' }).waitFor()
      assert.deepEqual(await page.locator('.table a.open').allTextContents(), [
        'books',
        'shop_items',
        'shop_orders',
      ])
      await button('Sizes').click()
      await page.getByRole('cell', { name: /kB$/ }).first().waitFor()
      await page.getByLabel('Search collections').fill('shop_o')
      await page.getByRole('link', { name: 'books' }).waitFor({ state: 'detached' })
      await page.getByLabel('Search collections').fill('')
      await page.getByRole('link', { name: 'books' }).click()
      await cell('Book 29').waitFor()
      await checkLooks(page, 'the grid')
    })

    test('a filter is built, is in the address, and a view keeps it', async () => {
      const { page } = admin
      await button('Build filter').click()
      await button('Add a condition').click()
      await page.getByLabel('Field of condition 1').fill('year')
      await page.getByLabel('Operator of condition 1').selectOption('$lt')
      await page.getByLabel('Value of condition 1').fill('1973')
      await button('Apply').click()
      await cell('Book 0').waitFor()
      assert.equal(await cell('Book 29').count(), 0)
      assert.equal(
        new URL(page.url()).hash,
        '#/data/books?filter=%7B%22year%22%3A%7B%22%24lt%22%3A1973%7D%7D',
      )
      await more('Views')
      await page.getByLabel('Name').fill('Old ones')
      await button('Save this view').click()
      await grid()
      await cell('Book 29').waitFor()
      await more('Views')
      await page.getByRole('button', { name: 'Old ones', exact: true }).click()
      await cell('Book 29').waitFor({ state: 'detached' })
      await page.reload()
      await cell('Book 2').waitFor()
      await button('Build filter').click()
      assert.equal(await page.getByLabel('Value of condition 1').inputValue(), '1973')
      await button('Cancel').click()
      // An owner is a word of the same field, which the builder keeps, and is in links from before.
      const field = page.getByLabel('Words, a filter')
      await grid('?owner=nobody')
      await until(async () => (await field.inputValue()) === 'owner:nobody')
      await cell('Book 29').waitFor({ state: 'detached' })
      await field.press('Tab')
      await page.keyboard.press('Enter')
      await button('Add a condition').click()
      await button('Apply').click()
      await until(async () => (await field.inputValue()).startsWith('owner:nobody {'))
      await field.fill('{"year":')
      await page.getByRole('alert').waitFor()
    })

    test('words are found by the search of a collection, otherwise in all text', async () => {
      const { page } = admin
      await grid('?sort=year')
      await cell('Book 1').waitFor()
      await page.getByLabel('Words, a filter').fill('book 2')
      await cell('Book 1').waitFor({ state: 'detached' })
      await cell('Book 29').waitFor()
      assert.equal(await button('Export').isDisabled(), true)
      const { documents } = app.app.service('store')
      for (const name of ['Lamp (brass)', 'Chair']) await documents.create('shop_items', { name })
      await admin.go('#/data/shop_items')
      await cell('Chair').waitFor()
      await page.getByLabel('Words, a filter').fill('P (BRA')
      await cell('Chair').waitFor({ state: 'detached' })
      await cell('Lamp (brass)').waitFor()
      assert.equal(await button('Export').isDisabled(), false)
      // Without an index it says how to get one.
      await page.getByText('Every document is read for these letters.').waitFor()
    })

    test('columns are chosen and kept, long values are cut, and markup is text', async () => {
      const { page } = admin
      await grid()
      await button('Columns').click()
      await page.getByRole('checkbox', { name: 'slug' }).uncheck()
      await page.getByRole('checkbox', { name: 'text', exact: true }).check()
      await button('Show these').click()
      await page.reload()
      await page.getByText('… 500 characters').first().waitFor()
      await page.getByText('<img src=x onerror=alert(1)>').waitFor()
      assert.equal(await page.getByRole('columnheader', { name: 'slug' }).count(), 0)
      await button('Columns').click()
      await button('Reset').click()
    })

    test('a cell is edited by keyboard and undone, and a change by another user is kept', async () => {
      const { page } = admin
      await grid('?sort=year')
      await cell('Book 0').waitFor()
      await page.keyboard.press('j')
      await page.keyboard.press('e')
      await page.locator('.cell-editor:focus').waitFor()
      await page.keyboard.type('Renamed')
      await page.keyboard.press('Enter')
      await cell('Renamed').waitFor()
      assert.equal((await books({ title: 'Renamed' })).total, 1)
      await button('Undo').click()
      await cell('Book 0').waitFor()
      const { data } = await books({ title: 'Book 1' })
      await app.app.service('store').documents.patch('books', data[0]!._id, { title: 'Book one' })
      await cell('Book 1').dblclick()
      await page.locator('.cell-editor:focus').waitFor()
      await page.keyboard.type('Mine')
      await page.keyboard.press('Enter')
      await page.getByText('The record has changed since you read it', { exact: false }).first().waitFor()
      assert.equal((await books({ title: 'Book one' })).total, 1)
    })

    test('marked documents are changed once their number is typed', async () => {
      const { page } = admin
      await grid('?sort=year')
      await cell('Book 4').waitFor()
      const marks = page.getByRole('checkbox', { name: /^Mark / })
      await marks.nth(2).check()
      await marks.nth(5).click({ modifiers: ['Shift'] })
      await button('Change or delete…').click()
      await page.getByLabel('Field').fill('shelf')
      await page.getByLabel('Value').fill('7')
      await button('Count').click()
      const set = button('Set the field')
      await page.getByLabel('Type 4 to continue').fill('3')
      assert.ok(await set.isDisabled())
      await page.getByLabel('Type 4 to continue').fill('4')
      await set.click()
      await page.getByText('4 changed').waitFor()
      await button('Done').click()
      assert.equal((await books({ shelf: 7 })).total, 4)
    })

    test('all that a filter finds is deleted, after the password again', async () => {
      const { page } = admin
      app.clock.advance(11 * 60_000)
      await grid(`?filter=${encodeURIComponent('{"shelf":7}')}`)
      await more('Change all…')
      await page.getByLabel('What to do').selectOption('delete')
      await button('Count').click()
      await page.getByLabel('Type 4 to continue').fill('4')
      await page.getByRole('button', { name: 'Delete', exact: true }).click()
      await page.getByLabel('Password').fill('correct horse battery')
      await button('Confirm').click()
      await page.getByText('4 deleted').waitFor()
      await button('Done').click()
      await page.getByText('Nothing matches these filters.').waitFor()
      assert.equal((await books()).total, 26)
    })

    test('documents are exported to a file, checked, and imported from it', async () => {
      const { page } = admin
      await grid()
      await button('Export').click()
      await page.getByLabel('Format').selectOption('csv')
      const saved = page.waitForEvent('download')
      await page.getByRole('dialog').getByRole('button', { name: 'Export' }).click()
      const file = await readFile(await (await saved).path())
      assert.equal(file.toString().split('\r\n').length, 28)
      await more('Import')
      const content = Buffer.from(`${file.toString().split('\r\n').slice(0, 3).join('\r\n')}\r\n"open`)
      await page
        .getByLabel('File of NDJSON or CSV')
        .setInputFiles({ name: 'b.csv', mimeType: 'text/csv', buffer: content })
      await button('Check').click()
      await page.getByRole('alert').getByText('a quote is not closed').first().waitFor()
      const lines =
        '{"title":"New","year":1,"since":"2001-02-03T04:05:06.000Z"}\n{"title":"Twice","slug":"s20"}\n{"title":1\n'
      await page.getByText('Owners and times of another system').click()
      await page.getByLabel('Created from the field').fill('since')
      await page
        .getByLabel('File of NDJSON or CSV')
        .setInputFiles({ name: 'b.ndjson', mimeType: 'text/plain', buffer: Buffer.from(lines) })
      await button('Check').click()
      await page.getByText('It would be: 1 created, 0 replaced, 0 skipped, 2 refused.').waitFor()
      await page.getByText('Line 3:').waitFor()
      await button('Import 1 documents').click()
      await page.getByText('Imported: 1 created').waitFor()
      await button('Done').click()
      const { data } = await books({ title: 'New' })
      assert.equal(data[0]!.createdAt, '2001-02-03T04:05:06.000Z')
    })

    test('tells how the list is read, and what its rules are', async () => {
      const { page } = admin
      await grid('?sort=title')
      await more('Why is it slow?')
      await page.getByText('Every document is read.').waitFor()
      await page.getByText("store.indexes: { books: ['title'] }").waitFor()
      await button('Close').click()
      await more('About')
      await page.getByRole('cell', { name: 'slug unique' }).waitFor()
      await page.keyboard.press('Escape')
    })

    test('opens a document beside the grid, and follows changes when it is live', async () => {
      const { page } = admin
      await grid('?sort=year')
      await page.locator('.table tbody tr').nth(1).getByRole('cell').nth(2).click()
      await page.getByRole('region', { name: 'Details' }).getByRole('heading').first().waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('switch', { name: 'Live' }).check()
      await app.app.service('store').documents.create('books', { title: 'Came now', year: 0 })
      await cell('Came now').waitFor()
      await page.getByRole('switch', { name: 'Live' }).uncheck()
    })

    test('all documents are deleted once their number is typed', async () => {
      const { page } = admin
      const { total } = await books()
      await grid()
      await more('About')
      await button('Delete all documents…').click()
      await page.getByLabel(`Type ${total} to continue`).fill(String(total))
      await button('Delete all').click()
      await page.getByText('This collection has no documents.').waitFor()
      await checkLooks(page, 'an empty collection')
    })

    test(`holds at most 600 nodes of ${ROWS} rows`, async () => {
      const { page } = admin
      const data = Array.from({ length: ROWS }, (_, n) => ({
        _id: `01m8ch2915000fmq1y${String(n).padStart(8, '0')}`,
        createdAt: '2026-01-01T00:00:00.000Z',
        updatedAt: '2026-01-01T00:00:00.000Z',
        title: `Row ${n}`,
        year: n,
        author: { name: 'Ende' },
        tags: ['a'],
        $preview: { cut: {}, omitted: 0, owner: 'system', etag: '"1"' },
      }))
      const fields = ['title', 'year', 'author', 'tags'].map((path) => ({ path, types: {}, documents: 1 }))
      await page.route('**/store/large/fields?*', (route) =>
        route.fulfill({ json: { documents: ROWS, sample: 1, fields } }),
      )
      await page.route('**/store/large?*', (route) =>
        route.fulfill({ json: { data, limit: ROWS, offset: 0 } }),
      )
      await admin.go('#/data/large')
      await page.getByText(`${ROWS} rows`).waitFor({ state: 'attached' })
      const nodes = await page.evaluate<number>(`(async () => {
        const scroller = document.querySelector('.table')
        let nodes = 0
        for (let step = 0; step <= 20; step++) {
          scroller.scrollTop = step * 180_000
          await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))
          nodes = Math.max(nodes, scroller.querySelectorAll('*').length)
        }
        return nodes
      })()`)
      assert.ok(nodes <= 600, `${nodes} nodes`)
    })

    test('a viewer reads, and may change nothing', async () => {
      const viewer = await openConsole(ending, app, { as: 'viewer', at: '#/data' })
      await viewer.page.getByRole('link', { name: 'books' }).click()
      for (const name of ['New', 'Import', 'Change all…'])
        assert.ok(
          await viewer.page.locator('button', { hasText: new RegExp(`^${name}$`) }).isDisabled(),
          name,
        )
    })
  })
})
