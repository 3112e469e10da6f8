import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { deriveKey } from '../../../../../base/crypto.ts'
import { ApiError } from '../../../../../base/errors.ts'
import { sql } from '../../../../../db/sql.ts'
import { eachEngine } from '../../../../../testing/engines.ts'
import { storedColumn, storedSql } from '../../storage/sql/document-rows.ts'
import { cursorKey, openDocuments, type Document, type Documents } from './documents.fixture.ts'
import { parseList, type ListParameters } from '../../lists/parsed-list.ts'
import { cursorBehind, decodeCursor, encodeCursor, type Cursor } from './cursor.ts'

const document = { _id: '01h', name: 'Ada', tags: ['x'], address: { city: 'London' }, age: 36, active: true }
type Parameters = ListParameters & { readonly cursor?: string }

const list = ({ cursor, ...parameters }: Parameters, scope = 'people', key = cursorKey) => {
  const { order, text } = parseList(parameters, 'sqlite')
  const name = `${scope} ${text}`
  return {
    cursorAfter: (document: Document, total?: number): string =>
      encodeCursor(cursorBehind(document, order, total), name, key),
    read: (): Cursor => decodeCursor(cursor!, name, key),
  }
}

const longText = (end: string): string => `${'é\x01😀'.repeat(1000)}${end}`

test('a cursor fits in a URL as it is, whatever the document sorts by', () => {
  const sort = 'a,b,c,d,e,f,g,name'
  const long = { a: longText(''), b: [longText('')], c: { d: longText('') }, d: '\x01'.repeat(99_999) }
  for (const one of [document, { ...document, ...long }]) {
    const cursor = list({ sort }).cursorAfter(one, Number.MAX_SAFE_INTEGER)
    assert.match(cursor, /^[\w-]+$/)
    assert.ok(cursor.length <= 4096, `${cursor.length} characters`)
    assert.equal(list({ sort, cursor }).read().total, Number.MAX_SAFE_INTEGER)
  }
})

test('a cursor carries the total', () => {
  assert.equal(list({ cursor: list({}).cursorAfter(document, 12_345) }).read().total, 12_345)
  assert.equal(list({ cursor: list({}).cursorAfter(document) }).read().total, undefined)
})

test('a cursor is good for the same filter written otherwise, and for the default sort written out', () => {
  const cursor = list({ filter: '{"a":1}' }).cursorAfter(document)
  assert.doesNotThrow(() => list({ filter: ' { "a" : {"$eq":1} } ', sort: '-createdAt', cursor }).read())
})

describe('a cursor is refused', () => {
  const parameters = { filter: '{"a":1}', sort: '-name' }
  const cursor = list(parameters).cursorAfter(document, 7)
  const content = JSON.parse(Buffer.from(cursor.slice(43), 'base64url').toString()) as unknown[]
  const forged = (change: (content: unknown[]) => void): string => {
    const copy = structuredClone(content)
    change(copy)
    return cursor.slice(0, 43) + Buffer.from(JSON.stringify(copy)).toString('base64url')
  }

  for (const [why, given, scope, key] of [
    ['of another collection', { ...parameters, cursor }, 'places'],
    ['of another filter', { ...parameters, filter: '{"a":2}', cursor }],
    ['of no filter', { sort: '-name', cursor }],
    ['of another sort', { ...parameters, sort: '-age', cursor }],
    ['of the other direction', { ...parameters, sort: 'name', cursor }],
    ['of another secret', { ...parameters, cursor }, 'people', deriveKey('another secret', 'cursor')],
    ['empty', ''],
    ['not base64url', 'äöü'],
    ['base64url and more', `${cursor}=`],
    ['longer', `${cursor}A`],
    ['cut short', cursor.slice(0, -5)],
    ['its beginning alone', cursor.slice(0, 43)],
    ['of an older server', Buffer.from(JSON.stringify(content)).toString('base64url')],
    ['with another total', forged((parts) => (parts[1] = 8))],
    ['with another id', forged((parts) => (parts[0] = '01j'))],
    ['longer than 4096 characters', cursor + 'A'.repeat(4096)],
  ] as [string, string | Parameters, string?, typeof cursorKey?][]) {
    test(why, () => {
      assert.throws(
        () => list(typeof given === 'string' ? { ...parameters, cursor: given } : given, scope, key).read(),
        (error) =>
          error instanceof ApiError && error.status === 400 && error.message.startsWith('/query/cursor: '),
      )
    })
  }
})

eachEngine((engine) => {
  let documents: Documents
  before(async () => {
    documents = await openDocuments(engine)
  })
  after(() => documents.close())

  const long = (v: number): Document => ({ v: longText(String(v)), w: { x: longText(String(v)) } })
  const rows = [{ v: 'a', w: {} }, ...[4, 1, 3, 0, 2].map(long), { v: 'é\x02', w: { x: [] } }]
  const inOrder = [0, 4, 2, 5, 3, 1, 6]

  async function change(collection: string, number: number, fields: Document | undefined): Promise<void> {
    const id = String(number).padStart(26, '0')
    const where = sql`where collection = ${collection} and id = ${id}`
    await documents.db.write(
      fields
        ? sql`update store_documents set ${storedColumn} = ${storedSql(JSON.stringify({ ...fields, _id: id }))} ${where}`
        : sql`delete from store_documents ${where}`,
    )
  }

  for (const sort of ['v', '-v', 'w', '-w', 'w,v', 'none,-v']) {
    const expected = /^-|,-/.test(sort) ? inOrder.toReversed() : inOrder

    test(`long values of ${sort} are walked exactly, also while other fields of documents change`, async () => {
      const collection = await documents.collection(rows)
      const walked: number[] = []
      for (let cursor: string | undefined; walked.length < rows.length;) {
        const page = await documents.page(collection, { sort, cursor }, 2)
        walked.push(...page.numbers)
        cursor = page.cursor
        const last = page.numbers.at(-1)!
        await change(collection, last, { ...rows[last], more: walked.length })
      }
      assert.deepEqual(walked, expected)
    })

    test(`no document is left out of ${sort} if the last one of a page is gone or has another value`, async () => {
      for (const fields of [undefined, { v: 'z', w: 'z' }]) {
        const collection = await documents.collection(rows)
        const first = await documents.page(collection, { sort }, 3)
        await change(collection, first.numbers.at(-1)!, fields)
        const second = await documents.page(collection, { sort, cursor: first.cursor })
        const missing = expected.slice(3).filter((number) => !second.numbers.includes(number))
        assert.deepEqual(missing, [])
        // Documents that begin otherwise do not come again.
        assert.ok(!second.numbers.includes(expected[0]!))
      }
    })
  }
})
