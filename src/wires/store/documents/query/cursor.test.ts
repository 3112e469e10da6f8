import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ApiError } from '../../../../base/errors.ts'
import { listQuery } from './index.ts'

const document = { _id: '01h', name: 'Ada', tags: ['x'], address: { city: 'London' }, age: 36, active: true }
const encode = (content: unknown): string => Buffer.from(JSON.stringify(content)).toString('base64url')
const decode = (cursor: string): unknown[] =>
  JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[]

test('a cursor fits in a URL as it is', () => {
  const cursor = listQuery({ sort: 'name,age,active,tags,address,nothing' }, 'people').cursorAfter(document)
  assert.match(cursor, /^[\w-]+$/)
})

test('a cursor holds no more of a document than its place needs', () => {
  const list = listQuery({ sort: 'tags,address,bio' }, 'people')
  const cursor = list.cursorAfter({ ...document, bio: '😀'.repeat(100_000) })
  assert.ok(cursor.length < 2000, `${cursor.length} characters`)
  assert.doesNotMatch(JSON.stringify(decode(cursor)), /London|"x"/)
})

test('a cursor carries the total', () => {
  const cursor = listQuery({}, 'people').cursorAfter(document, 12_345)
  assert.equal(listQuery({ cursor }, 'people').total, 12_345)
  assert.equal(
    listQuery({ cursor: listQuery({}, 'people').cursorAfter(document) }, 'people').total,
    undefined,
  )
})

test('a cursor is good for the same filter written otherwise, and for the default sort written out', () => {
  const cursor = listQuery({ filter: '{"a":1}' }, 'people').cursorAfter(document)
  assert.doesNotThrow(() =>
    listQuery({ filter: ' { "a" : {"$eq":1} } ', sort: '-createdAt', cursor }, 'people'),
  )
})

describe('a cursor is refused', () => {
  const parameters = { filter: '{"a":1}', sort: '-name' }
  const cursor = listQuery(parameters, 'people').cursorAfter(document)
  const [print, total, id, name] = decode(cursor)

  for (const [why, given, scope] of [
    ['of another collection', { ...parameters, cursor }, 'places'],
    ['of another filter', { ...parameters, filter: '{"a":2}', cursor }],
    ['of no filter', { sort: '-name', cursor }],
    ['of another sort', { ...parameters, sort: '-age', cursor }],
    ['of the other direction', { ...parameters, sort: 'name', cursor }],
    ['empty', ''],
    ['not base64url', 'äöü'],
    ['base64url and more', `${cursor}=`],
    ['cut short', cursor.slice(0, -5)],
    ['not JSON', Buffer.from('hello').toString('base64url')],
    ['not an array', encode({})],
    ['an empty array', encode([])],
    ['without a value', encode([print, total, id])],
    ['with a value too many', encode([print, total, id, name, name])],
    ['a value that holds something', encode([print, total, id, { $ne: 1 }])],
    ['NUL in a value', encode([print, total, id, '\0'])],
    [
      'a number without end',
      Buffer.from(JSON.stringify([print, total, id, 7]).replace('7]', '1e999]')).toString('base64url'),
    ],
    ['an id that is no text', encode([print, total, { $gt: '' }, name])],
    ['NUL in the id', encode([print, total, '\0', name])],
    ['a total below zero', encode([print, -1, id, name])],
    ['a total that is text', encode([print, '1', id, name])],
    ['longer than 16384 characters', encode([print, total, id, 'x'.repeat(13_000)])],
  ] as [string, string | Parameters<typeof listQuery>[0], string?][]) {
    test(why, () => {
      assert.throws(
        () =>
          listQuery(typeof given === 'string' ? { ...parameters, cursor: given } : given, scope ?? 'people'),
        (error) =>
          error instanceof ApiError && error.status === 400 && error.message.startsWith('/query/cursor: '),
      )
    })
  }
})
