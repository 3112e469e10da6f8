import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'

import { json } from '../../../server/src/testing/scripted-http.ts'
import { until } from '../../../server/src/testing/until.ts'
import { createClient, isError } from '../index.ts'
import { FeedServer, type Book } from './feed-server.fixture.ts'

async function started(t: TestContext, books: readonly Partial<Book>[] = []) {
  const server = await FeedServer.start(t)
  for (const [i, book] of books.entries()) server.put(book._id ?? String(i), book)
  const six = createClient(server.url, { retries: 0 })
  return { server, books: six.collection<Book>('books') }
}

const titles = (documents: readonly Partial<Book>[]) => documents.map(({ title }) => title).join(' ')

describe('a live list', () => {
  test('is read, and kept in its order as documents come, change and go', async (t) => {
    const { server, books } = await started(t, [{ title: 'b' }, { title: 'a' }])
    const live = books.live({ sort: 'title' })
    assert.deepEqual(live.getSnapshot(), [])
    const shown: string[] = []
    const stop = live.subscribe((documents) => void shown.push(titles(documents)))
    await live.ready
    server.put('2', { title: 'c' })
    await until(() => titles(live.getSnapshot()) === 'a b c')
    const before = live.getSnapshot()
    server.put('2', { title: '0' })
    await until(() => titles(live.getSnapshot()) === '0 a b')
    // A list that was shown stays as it is.
    assert.equal(titles(before), 'a b c')
    server.remove('0')
    await until(() => titles(live.getSnapshot()) === '0 a')
    stop()
    server.remove('1')
    await until(() => titles(live.getSnapshot()) === '0')
    live.close()
    assert.deepEqual(shown, ['', 'a b', 'a b c', '0 a b', '0 a'])
  })

  test('holds what changes while it is read', async (t) => {
    const { server, books } = await started(t, [{ title: 'a' }, { title: 'b' }, { title: 'c' }])
    // The answer is as it was before.
    server.onList = () => {
      server.onList = undefined
      server.put('0', { title: 'A' })
      server.remove('1')
      server.put('3', { title: 'd' })
      return new Promise((resolve) => setTimeout(resolve, 50))
    }
    const live = books.live({ sort: '_id' })
    await live.ready
    assert.equal(titles(live.getSnapshot()), 'A c d')
    live.close()
  })

  test('is read again after a reset, and an older answer is not taken', async (t) => {
    const { server, books } = await started(t, [{ title: 'a' }])
    const live = books.live({ sort: '_id' })
    await live.ready
    const answers: (() => void)[] = []
    server.onList = () => new Promise((resolve) => void answers.push(resolve))
    server.event('reset', { reason: 'restored' })
    await until(() => answers.length === 1)
    // As a restore does it: no event tells of it.
    server.books.set('0', { _id: '0', title: 'z', version: 9 })
    server.event('reset', { reason: 'restored' })
    await until(() => answers.length === 2)
    answers[1]!()
    await until(() => titles(live.getSnapshot()) === 'z')
    answers[0]!()
    await new Promise((resolve) => setTimeout(resolve, 20))
    assert.equal(titles(live.getSnapshot()), 'z')
    live.close()
  })

  test('is shared by those who ask for the same, until the last of them has closed it', async (t) => {
    const { server, books } = await started(t, [{ title: 'a' }])
    const [one, other] = [books.live({ sort: 'title' }), books.live({ sort: 'title' })]
    await Promise.all([one.ready, other.ready])
    const late = books.live({ sort: 'title' })
    await late.ready
    assert.deepEqual([server.lists, server.asked.length], [1, 1])
    assert.equal(one.getSnapshot(), late.getSnapshot())
    one.close()
    other.close()
    server.put('1', { title: 'b' })
    await until(() => titles(late.getSnapshot()) === 'a b')
    assert.equal(titles(one.getSnapshot()), 'a')
    late.close()
    await until(() => server.streams.size === 0)
  })

  test('has at most its limit, and reads what moves up into it', async (t) => {
    const { server, books } = await started(
      t,
      ['a', 'b', 'c', 'd', 'e'].map((title) => ({ title, _id: title })),
    )
    const live = books.live({ sort: '_id', limit: 3 })
    await live.ready
    const shows = (expected: string) => until(() => titles(live.getSnapshot()) === expected)
    assert.equal(titles(live.getSnapshot()), 'a b c')
    server.put('0', { title: '0' })
    await shows('0 a b')
    server.put('x', { title: 'x' })
    assert.equal(server.lists, 1)
    // The server of this test lists in the order of creation.
    server.books.delete('0')
    server.remove('a')
    await shows('b c d')
    assert.ok(server.lists >= 2)
    live.close()
  })

  test('asks for the fields that it sorts by', async (t) => {
    const { server, books } = await started(t, [{ title: 'a' }])
    const live = books.live({
      fields: ['title'],
      sort: ['-price', 'title', 'author.name'],
      filter: { title: 'a' },
    })
    await live.ready
    live.close()
    assert.deepEqual(server.asked[0]!.watches, [
      { collection: 'books', filter: { title: 'a' }, fields: 'title,price,author.name,_id' },
    ])
  })

  test('reads again if its list fails, and ends if that is refused', async (t) => {
    const { server, books } = await started(t, [{ title: 'a' }])
    let failures = 0
    server.failList = (response) => {
      if (++failures === 1) response.destroy()
      else server.failList = undefined
      return failures === 1
    }
    const live = books.live({})
    await live.ready
    assert.equal(titles(live.getSnapshot()), 'a')
    const errors: unknown[] = []
    const other = books.live({ filter: { price: 1 } }, { error: (error) => errors.push(error) })
    server.failList = (response) => {
      json(response, 403, { error: { code: 'FORBIDDEN', message: 'No.' } })
      return true
    }
    await assert.rejects(other.ready, { code: 'FORBIDDEN' })
    assert.ok(errors.length === 1 && isError(errors[0], 'FORBIDDEN'))
    live.close()
  })

  test('is as the server after 20 cuts under writes, and after resets', async (t) => {
    const { server, books } = await started(t)
    const live = books.live({ sort: '_id', filter: { price: 1 } })
    await live.ready
    const random = (most: number) => Math.floor(Math.random() * most)
    for (let cut = 0; cut < 20; cut++) {
      for (let i = 0; i < 25; i++) {
        const id = String(random(40))
        if (random(3) === 0) server.remove(id)
        else server.put(id, { title: `${cut}.${i}`, price: random(2) })
      }
      if (cut % 7 === 3) server.event('reset', { reason: 'expired' })
      server.cut()
      await new Promise((resolve) => setTimeout(resolve, random(30)))
    }
    server.put('last', { price: 1, title: 'last' })
    await until(() => live.getSnapshot().some(({ _id }) => _id === 'last'))
    const expected = [...server.books.values()]
      .filter(({ price }) => price === 1)
      .toSorted((a, b) => (a._id < b._id ? -1 : 1))
    await until(() => JSON.stringify(live.getSnapshot()) === JSON.stringify(expected))
    live.close()
  })
})
