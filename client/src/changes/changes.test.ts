import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import fc from 'fast-check'

import { startApp, type TestApp } from '../../../server/src/testing/app.ts'
import { someEngine, endOfSuite } from '../../../server/src/testing/engines.ts'
import { until } from '../../../server/src/testing/until.ts'
import { document, sort } from '../../../server/src/wires/store/documents/language/query/sort.fixture.ts'
import { createClient, isError } from '../index.ts'

type Book = { title: string; year?: number }

const PASSWORD = 'correct horse battery'
let people = 0

someEngine((engine) => {
  describe('changes of the server', () => {
    let app: TestApp
    const ending = endOfSuite()
    before(async () => {
      app = await startApp(ending, engine)
    })

    /** A client of a new user, whose connections can be cut. */
    async function signedUp() {
      const connections = new Set<AbortController>()
      const asked: string[] = []
      const six = createClient(app.url, {
        retries: 0,
        fetch: (url, init) => {
          const path = new URL(url as string).pathname
          asked.push(`${init!.method} ${path}`)
          if (path !== '/store/changes') return fetch(url, init)
          const cut = new AbortController()
          connections.add(cut)
          return fetch(url, { ...init, signal: AbortSignal.any([cut.signal, init!.signal!]) })
        },
      })
      const account = { email: `changes${++people}@example.com`, password: PASSWORD }
      await six.auth.signUp(account)
      const cut = () => {
        for (const connection of connections) connection.abort()
        connections.clear()
      }
      return { six, account, cut, asked, books: six.collection<Book>('books') }
    }

    test('come with the state of each document, whose ETag is good for the next change', async () => {
      const { books } = await signedUp()
      const kept = await books.create({ title: 'Momo', year: 1973 })
      const events: string[] = []
      const watch = books.watch(
        { filter: { year: 1973 } },
        {
          put: (book, { etag }) => {
            // What was written a moment before the watch is ready may come too.
            if (etag !== '"1"') events.push(`put ${book.title} ${etag}`)
          },
          gone: (id) => void events.push(`gone ${id === kept._id ? 'momo' : 'other'}`),
          reset: (reason) => void events.push(`reset ${reason}`),
        },
      )
      await watch.ready
      const other = await books.create({ title: 'Jim', year: 1960 })
      await books.update(kept._id, { title: 'MOMO' })
      await until(() => events.length === 1)
      await books.update(other._id, { year: 1973 })
      await until(() => events.length === 2)
      await books.update(kept._id, { year: 1974 })
      await books.remove(other._id)
      await until(() => events.length === 4)
      watch.close()
      assert.deepEqual(events, ['put MOMO "2"', 'put Jim "2"', 'gone momo', 'gone other'])
    })

    test('make a live list that is as the server lists it, in any order', async () => {
      const { six } = await signedUp()
      let collections = 0
      await fc.assert(
        fc.asyncProperty(
          fc.array(document, { minLength: 4, maxLength: 8 }),
          fc.array(sort, { minLength: 1, maxLength: 3 }),
          async (documents, sorts) => {
            const collection = six.collection<object>(`any${people}x${++collections}`)
            const half = documents.length >> 1
            await collection.create(documents.slice(0, half))
            const lives = sorts
              .filter((one) => !one.includes(',') && !/\d/.test(one))
              .map((one) => ({ one, live: collection.live({ sort: one as never }) }))
            await Promise.all(lives.map(({ live }) => live.ready))
            const added = (await collection.create(documents.slice(half))) as unknown
            await collection.remove((added as { _id: string }[])[0]!._id)
            for (const { one, live } of lives) {
              const { data } = await collection.list({ sort: one as never, limit: 1000 })
              await until(() => live.getSnapshot().length === data.length)
              assert.deepEqual(live.getSnapshot(), data, one)
              live.close()
            }
          },
        ),
        { numRuns: 20 },
      )
    })

    test('are all in a live list after 20 cuts under writes', async () => {
      const { books, cut } = await signedUp()
      const live = books.live({ sort: 'year' })
      await live.ready
      const ids: string[] = []
      for (let i = 0; i < 20; i++) {
        const made = await books.create([
          { title: 'a', year: i },
          { title: 'b', year: -i },
        ])
        ids.push(...made.map(({ _id }) => _id))
        cut()
        await books.update(ids[Math.floor(i / 2)]!, { title: `c${i}` })
        if (i % 4 === 3) await books.remove(ids.pop()!)
      }
      const { data } = await books.list({ sort: 'year', limit: 1000 })
      await until(() => JSON.stringify(live.getSnapshot()) === JSON.stringify(data))
      live.close()
    })

    test('end when the user signs out, here or anywhere', async () => {
      const { six, account, books } = await signedUp()
      const errors: unknown[] = []
      const error = (one: unknown) => errors.push(one)
      const live = books.live({}, { error })
      await live.ready
      const other = createClient(app.url, { retries: 0 })
      await other.auth.signIn(account)
      await other.collection('books').live({}, { error }).ready
      await six.auth.signOut()
      await until(() => errors.length === 1)
      const { token } = await app.client.call('POST /auth/login', { body: account })
      const body = { currentPassword: PASSWORD, newPassword: `${PASSWORD} 2` }
      await app.client.call('POST /auth/change-password', { token, body })
      await until(() => errors.length === 2)
      assert.deepEqual(
        errors.map((one) => isError(one) && one.code),
        ['SIGNED_OUT', 'SIGNED_OUT'],
      )
    })

    test('go on when the token has ended, with the next one', async () => {
      const { books, asked } = await signedUp()
      const live = books.live()
      await live.ready
      app.clock.advance(3_601_000)
      await until(() => asked.filter((one) => one === 'GET /store/changes').length > 1)
      await books.create({ title: 'later' })
      await until(() => live.getSnapshot().some(({ title }) => title === 'later'))
      assert.ok(asked.includes('POST /auth/refresh'))
      // Nothing was missed, so it was not read again.
      assert.equal(asked.filter((one) => one === 'GET /store/books').length, 1)
      live.close()
    })
  })
})
