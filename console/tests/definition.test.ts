// The definition of a collection in the console: its fields as a table, its rules as sentences, what the documents say to it.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { registerAs } from '../../server/src/testing/administration.ts'
import { startApp, type TestAnswer, type TestApp } from '../../server/src/testing/app.ts'
import { withoutChromium } from '../../server/src/testing/chromium.ts'
import { checkLooks, openConsole, settled, type ConsolePage } from '../../server/src/testing/console.ts'
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
    const button = (name: string | RegExp) =>
      admin.page.getByRole('button', { name, exact: typeof name === 'string' })
    const label = (name: string) => admin.page.getByLabel(name, { exact: true })
    const dialog = () => admin.page.getByRole('dialog')
    const tab = (name: string) => admin.page.getByRole('tab', { name, exact: true })
    async function open(collection: string, at = ''): Promise<void> {
      await admin.go(`#/data/${collection}/.definition${at && `?tab=${at}`}`)
      await admin.page.getByRole('heading', { name: collection, level: 1, exact: true }).waitFor()
      await tab('Fields').waitFor()
    }
    async function write(text: string): Promise<void> {
      await admin.page.getByRole('textbox', { name: 'Definition' }).click()
      await admin.page.keyboard.press('Control+A')
      await admin.page.keyboard.insertText(text)
      // The editor tells of it after a pause in typing.
      await admin.page.getByRole('textbox', { name: 'Definition' }).blur()
    }
    async function save(): Promise<void> {
      await button(/^(?:Save|Create collection)…$/).click()
      await dialog()
        .getByText(/documents fit|No document is there/)
        .waitFor()
      await button('Put into force').click()
      await dialog().waitFor({ state: 'detached' })
    }
    const stored = async (name: string): Promise<TestAnswer['body']> => {
      const { token } = await registerAs(app, 'viewer')
      return (await app.request('GET', `/store/collections/${name}`, { token })).body.definition
    }

    test('is checked against the documents, and put into force when they fit', async () => {
      await admin.page.getByRole('link', { name: 'Fields and rules' }).click()
      await tab('JSON').click()
      await write('{"read": "public", "schema": {"properties": {"price": {"minimum": 0}}}}')
      await button('Create collection…').click()
      await dialog().getByText('1 of 3 documents do not fit').waitFor()
      await dialog()
        .getByText(/price must be/)
        .waitFor()
      assert.equal(await button('Put into force').isDisabled(), true)
      await checkLooks(admin.page, 'the documents that do not fit')
      await button('Go on editing').click()
      await write('{"read": "public", "schema": {"properties": {"price": {"minimum": -5}}}}')
      await save()
      assert.equal((await app.request('GET', '/store/books')).status, 200, 'for strangers')
    })

    test('shows its versions, and takes an older one again', async () => {
      await open('books', 'rules')
      await admin.page
        .getByRole('group', { name: 'Who may read a document?' })
        .getByLabel('Administrators only')
        .check()
      await save()
      assert.equal((await app.request('GET', '/store/books')).status, 401)
      await open('books', 'versions')
      await admin.page.getByText('past').click()
      await button('Edit this version').click()
      await save()
      assert.equal((await app.request('GET', '/store/books')).status, 200)
    })

    test('says what is wrong in it, and where that of the configuration stands', async () => {
      await open('books', 'json')
      await write('{"read": "everybody"}')
      await button('Save…').click()
      await dialog().getByRole('alert').getByText('"everybody" is no audience').waitFor()
      await button('Go on editing').click()
      await write('{"read": ')
      await admin.page
        .getByText('This is not JSON', { exact: false })
        .or(admin.page.locator('.save-bar .fault'))
        .first()
        .waitFor()
      assert.equal(await button('Save…').isDisabled(), true)
      await button('Discard changes').click()
      await open('notes')
      await admin.page.getByText('It is locked here').waitFor()
      assert.equal(await button('Add a field').count(), 0)
      assert.equal(await button(/^Save/).count(), 0)
    })

    test('is made by the table of fields and by sentences: a choice, a relation and a unique field', async () => {
      const { page } = admin
      await admin.go('#/data')
      await button('New collection').click()
      await checkLooks(page, 'a new collection')
      await dialog().getByLabel('Name', { exact: true }).fill('loans')
      await button('Continue with its fields').click()
      await page.getByRole('heading', { name: 'loans', level: 1, exact: true }).waitFor()

      await button('Add a field').click()
      await page.keyboard.type('number')
      await label('Type of number').selectOption('Whole number')
      await label('number is required').check()
      await button('Details of number').click()
      await label('At least of number').fill('1')
      await page.getByLabel('Unique: no two documents have the same').check()
      await button('Details of number').click()

      await button('Add a field').click()
      await page.keyboard.type('state')
      await label('Type of state').selectOption('Choice')
      await label('Choices, one a line of state').fill('out\nback')
      await button('Details of state').click()

      await button('Add a field').click()
      await page.keyboard.type('book')
      await label('Type of book').selectOption('Relation')
      await page.locator('.save-bar').getByText('Choose the collection that book leads to.').waitFor()
      await label('To the collection of book').selectOption('books')
      await checkLooks(page, 'the table of fields')

      await tab('Rules').click()
      const group = (name: string) => page.getByRole('group', { name })
      await group('Who may create one?').getByLabel('Signed-in accounts').check()
      await group('Who may delete one?').getByLabel('Administrators only').check()
      await group('Who may read a document?').getByLabel('A rule…').check()
      const rule = page.getByRole('textbox', { name: 'Rule: Who may read a document?' })
      await rule.fill('')
      await rule.pressSequentially('["owner", {"sta')
      await page.getByRole('option', { name: '"state" field' }).waitFor()
      await page.keyboard.press('Enter')
      await page.keyboard.type(': "back"}]')
      await checkLooks(page, 'the rules')
      await save()
      assert.deepEqual(await stored('loans'), {
        read: ['owner', { state: 'back' }],
        create: 'user',
        update: 'owner',
        delete: 'admin',
        schema: {
          type: 'object',
          properties: {
            number: { type: 'integer', minimum: 1 },
            state: { type: 'string', enum: ['out', 'back'] },
            book: { type: 'string' },
          },
          required: ['number'],
        },
        unique: ['number'],
        relations: { book: { to: 'books' } },
      })
    })

    test('has objects with fields of their own, who sees a field, and fields that are unique together', async () => {
      const { page } = admin
      const { documents } = app.app.service('store')
      for (let n = 0; n < 2; n++) await documents.create('orders', { lines: [{ seat: 1, day: 'Monday' }] })
      await open('orders')
      await button('Add a field').click()
      await page.keyboard.type('lines')
      await label('Type of lines').selectOption('List of objects')
      for (const [name, type] of [
        ['seat', 'Whole number'],
        ['day', 'Text'],
        ['payer', 'Object'],
      ] as const) {
        await button('Add a field of lines').click()
        await page.keyboard.type(name)
        await label(`Type of lines.${name}`).selectOption(type)
      }
      await label('lines.seat is required').check()
      await button('Add a field of lines.payer').click()
      await page.keyboard.type('iban')
      await button('Details of lines.payer.iban').click()
      await label('Shown to of lines.payer.iban').selectOption('The owner of the document')
      await button('Move lines.day up').click()
      await button('Add fields that are unique together').click()
      const together = page.getByRole('region', { name: 'Unique together' })
      await together.getByLabel('lines.seat', { exact: true }).check()
      await together.getByLabel('lines.day', { exact: true }).check()
      await together.getByRole('button', { name: 'Add', exact: true }).click()
      await together.getByText('lines.seat + lines.day').waitFor()

      await button('Create collection…').click()
      await dialog().getByText('lines.seat and lines.day cannot be unique: 2 documents').waitFor()
      assert.equal(await button('Put into force').isDisabled(), true)
      await checkLooks(page, 'documents that are the same')
      await button('Go on editing').click()
      await together.getByRole('button', { name: 'Remove lines.seat and lines.day' }).click()
      await save()
      assert.deepEqual((await stored('orders')).schema.properties, {
        lines: {
          type: 'array',
          items: {
            type: 'object',
            properties: {
              day: { type: 'string' },
              seat: { type: 'integer' },
              payer: { type: 'object', properties: { iban: { type: 'string' } } },
            },
            required: ['seat'],
          },
        },
      })
      assert.deepEqual((await stored('orders')).showTo, { 'lines.payer.iban': 'owner' })
      await open('orders')
      await button('Details of lines.payer.iban').click()
      await button('Add fields that are unique together').click()
      await checkLooks(page, 'fields inside of fields, and those that are unique together')
    })

    test('renames, drops and fills fields in the documents, with progress, a stop that survives a reload, and undo', async () => {
      const { page } = admin
      const { token } = await registerAs(app, 'admin')
      const shelf = (path: string, method: string, body?: unknown) =>
        app.request(method, `/store${path}`, { token, body })
      const schema = {
        type: 'object',
        properties: { titel: { type: 'string' }, isbn: { type: 'integer' }, pages: { type: 'integer' } },
        additionalProperties: false,
      }
      assert.equal((await shelf('/collections/shelf', 'PUT', { schema })).status, 200)
      const made = await shelf('/shelf', 'POST', [
        { titel: 'a', isbn: 1 },
        { titel: 'a' },
        { titel: 'b', pages: 3 },
      ])
      assert.equal(made.status, 201, made.text)
      await open('shelf')
      await label('Name of titel').fill('title')
      // What is typed elsewhere meanwhile does not make it another field.
      await tab('Rules').click()
      await tab('Fields').click()
      await button('Remove isbn').click()
      await label('pages is required').check()
      await button('Details of title').click()
      await page.getByLabel('Unique: no two documents have the same').check()
      await button('Save…').click()
      await dialog().getByText('Rename titel to title in 3 documents').waitFor()
      await dialog().getByText('1 of 3 documents do not fit', { exact: false }).waitFor()
      await dialog().getByLabel('Drop isbn from 1 document').check()
      await dialog().getByLabel('Value of pages').fill('7')
      await dialog().getByText('All 3 documents fit.', { exact: false }).waitFor()
      await checkLooks(page, 'the changes of documents')
      await button('Put into force').click()

      // Two have the same title.
      await page.getByText('The change of its documents has stopped.').waitFor()
      await checkLooks(page, 'a change that a document has stopped')
      await page.reload()
      await page.getByText('Another document has the same title', { exact: false }).waitFor()
      await button('Undo').click()
      await page.getByText('The change of its documents has stopped.').waitFor({ state: 'detached' })
      const values = async () =>
        (await shelf('/shelf?sort=_id&fields=titel,title,isbn,pages', 'GET')).body.data
      assert.deepEqual(
        (await values()).map(({ _id, ...fields }: { _id: string }) => fields),
        [{ titel: 'a', isbn: 1 }, { titel: 'a' }, { titel: 'b', pages: 3 }],
      )
    })

    test('is known to the form of its documents: required, bounds, choices, and relations by their titles', async () => {
      const { page } = admin
      await admin.go('#/data/loans/.new')
      const number = page.getByRole('spinbutton', { name: 'number (required)' })
      assert.equal(await number.getAttribute('min'), '1')
      await number.fill('0')
      await page.getByRole('combobox', { name: 'state' }).selectOption('out')
      await button(/^Choose.*for book/).click()
      await dialog().getByRole('searchbox').fill('mom')
      await checkLooks(page, 'the choice of a document')
      await dialog().getByRole('button', { name: /^Momo/ }).first().click()
      await button('Create').click()
      await page.getByRole('listitem').filter({ has: number }).getByText('must be >= 1').waitFor()
      await number.fill('7')
      await checkLooks(page, 'the form of a document')
      await button('Create').click()
      await page.locator('.toasts').getByText('Created.').waitFor()
      const { data: found } = await app.app.service('store').documents.list('loans')
      assert.deepEqual([found[0]!['number'], found[0]!['state']], [7, 'out'])
      await page.locator('.relation-input').getByRole('link', { name: 'Momo' }).click()
      await page.getByRole('heading', { name: 'books', level: 1, exact: true }).waitFor()
    })

    test('is judged before anybody tries it: who may do what, by which rule', async () => {
      const { page } = admin
      const { email, token } = await app.register()
      await app.request('POST', '/store/loans', { token, body: { number: 1, state: 'back' } })
      await open('loans', 'try')
      await label('Its address or _id').fill(email)
      await label('Do what').selectOption('create this document')
      await label('The new document, as JSON').fill('{"number": 0}')
      await button('Ask').click()
      await page.getByText('No.', { exact: true }).waitFor()
      await page.getByText('must be >= 1').waitFor()
      await label('The new document, as JSON').fill('{"number": 2}')
      await button('Ask').click()
      await page.getByText('Yes.', { exact: true }).waitFor()
      await page.getByText('Every account that is signed in may.').waitFor()
      await checkLooks(page, 'who may')
    })

    test('shows how collections belong together, in a picture and in a table', async () => {
      await open('loans', 'relations')
      await admin.page.getByRole('cell', { name: 'keeps it from being deleted' }).waitFor()
      const diagram = admin.page.getByRole('region', { name: 'Diagram of the relations' })
      assert.ok((await diagram.getByRole('link').count()) >= 2)
      await checkLooks(admin.page, 'the relations')
      await diagram.getByRole('link', { name: 'books' }).press('Enter')
      await admin.page.getByRole('heading', { name: 'books', level: 1, exact: true }).waitFor()
    })

    test('is made from a template, with its documents', async () => {
      await admin.go('#/data')
      await button('New collection').click()
      await dialog().getByRole('radio', { name: /^Blog/ }).check()
      await dialog().getByLabel('Begin the names with').fill('my_')
      await button('Create').click()
      await admin.page.getByRole('heading', { name: 'my_posts', level: 1, exact: true }).waitFor()
      await settled(admin.page)
      await admin.page.getByText('ten-days-in-lisbon').first().waitFor()
      assert.deepEqual((await stored('my_comments'))['relations'], {
        post: { to: 'my_posts', onDelete: 'cascade' },
      })
    })

    test('is made by the keyboard alone', async () => {
      const { page } = admin
      const { keyboard } = page
      await admin.go('#/data')
      await button('New collection').focus()
      await keyboard.press('Enter')
      await dialog()
        .getByRole('radio', { name: /^Empty/ })
        .waitFor()
      for (let i = 0; i < 4 && !(await label('Name').evaluate(hasFocus)); i++) await keyboard.press('Tab')
      await keyboard.type('typed')
      await keyboard.press('Enter')
      await page.getByRole('heading', { name: 'typed', level: 1, exact: true }).waitFor()
      await button('Add a field').focus()
      await keyboard.press('Enter')
      await keyboard.type('first')
      // The type, by its first letters.
      await keyboard.press('Tab')
      await keyboard.type('Whole')
      await button('Add a field').focus()
      await keyboard.press('Enter')
      await keyboard.type('second')
      await keyboard.press('Alt+ArrowUp')
      await page.getByText('second is number 1 of 2.').waitFor()
      assert.equal(await label('Name of second').evaluate(hasFocus), true)
      await keyboard.press('Control+s')
      await dialog().getByText('No document is there').waitFor()
      await button('Put into force').focus()
      await keyboard.press('Enter')
      await dialog().waitFor({ state: 'detached' })
      assert.deepEqual(Object.entries((await stored('typed'))['schema'].properties), [
        ['second', { type: 'string' }],
        ['first', { type: 'integer' }],
      ])
    })
  })
})

const hasFocus = (one: { matches(selector: string): boolean }): boolean => one.matches(':focus')
