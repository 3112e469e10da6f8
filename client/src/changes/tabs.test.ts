// Clients of one storage are to each other what tabs of a browser are: Node has their locks and channels.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'

import { json } from '../../../server/src/testing/scripted-http.ts'
import { until } from '../../../server/src/testing/until.ts'
import { createClient, type ChangeHandlers, type SessionStorage } from '../index.ts'
import { FeedServer, type Book } from './feed-server.fixture.ts'

/** A storage in which a user is signed in, and its tabs. */
async function started(t: TestContext) {
  const server = await FeedServer.start(t)
  const entries = new Map<string, string>()
  const storage: SessionStorage = {
    getItem: (key) => entries.get(key) ?? null,
    setItem: (key, value) => entries.set(key, value),
    removeItem: (key) => entries.delete(key),
  }
  const signIn = (_id: string) =>
    entries.set(
      `sixwire ${server.url}`,
      JSON.stringify({ token: _id, refreshToken: _id, user: { _id, email: `${_id}@example.com` } }),
    )
  signIn('ada')
  const tab = () => createClient(server.url, { retries: 0, storage })
  return { server, signIn, tab, books: () => tab().collection<Book>('books') }
}

function recorder() {
  const events: string[] = []
  const handlers: ChangeHandlers<Book> = {
    put: ({ _id }) => void events.push(`put ${_id}`),
    gone: (id) => void events.push(`gone ${id}`),
    reset: (reason) => void events.push(`reset ${reason}`),
    error: (error) => void events.push(`error ${(error as { code?: string }).code}`),
  }
  return { events, handlers }
}

describe('tabs of a user', () => {
  test('share a connection', async (t) => {
    const { server, books } = await started(t)
    const tabs = [books(), books(), books()].map((collection) => ({ ...recorder(), collection }))
    const watches = tabs.map(({ collection, handlers }) => collection.watch({}, handlers))
    await Promise.all(watches.map(({ ready }) => ready))
    server.put('a')
    server.remove('a')
    await until(() => tabs.every(({ events }) => events.length === 2))
    for (const { events } of tabs) assert.deepEqual(events, ['put a', 'gone a'])
    assert.equal(server.asked.length, 1)
    for (const watch of watches) watch.close()
    await until(() => server.streams.size === 0)
  })

  test('go on without a loss when the one ends that has the connection', async (t) => {
    const { server, books } = await started(t)
    const tabs = [books(), books(), books()].map((collection) => ({ ...recorder(), collection }))
    const watches: { close(): void }[] = []
    for (const { collection, handlers } of tabs) {
      const watch = collection.watch({}, handlers)
      await watch.ready
      watches.push(watch)
    }
    for (const [i, watch] of watches.entries()) {
      server.put(`a${i}`)
      await until(() => tabs.slice(i).every(({ events }) => events.includes(`put a${i}`)))
      server.answers.push(() => {
        // Nobody is connected.
        server.put(`b${i}`)
        return 'go on'
      })
      watch.close()
      await until(() => tabs.slice(i + 1).every(({ events }) => events.includes(`put b${i}`)))
    }
    assert.deepEqual(tabs[2]!.events, ['put a0', 'put b0', 'put a1', 'put b1', 'put a2'])
    assert.deepEqual(
      server.asked.map(({ cursor }) => cursor),
      [undefined, '1', '3'],
    )
    await until(() => server.streams.size === 0)
  })

  test('watch for each other what only one of them wants, as long as it wants it', async (t) => {
    const { server, tab, books } = await started(t)
    const [first, second] = [recorder(), recorder()]
    const watch = books().watch({}, first.handlers)
    await watch.ready
    const notes = tab().collection<Book>('notes').watch({}, second.handlers)
    await notes.ready
    assert.deepEqual(
      server.asked.map(({ watches }) => watches.map(({ collection }) => collection)),
      [['books'], ['notes']],
    )
    notes.close()
    await until(() => server.streams.size === 1)
    watch.close()
    await until(() => server.streams.size === 0)
    assert.deepEqual([first.events, second.events], [[], []])
  })

  test('have what the server refuses as an error of their own', async (t) => {
    const { server, books } = await started(t)
    const refuse = () =>
      server.answers.push((response) =>
        json(response, 403, { error: { code: 'FORBIDDEN', message: 'Not for you.', details: { a: 1 } } }),
      )
    const [first, second] = [books(), books()]
    const watch = first.watch({ filter: { title: 'a' } }, recorder().handlers)
    await watch.ready
    refuse()
    await assert.rejects(second.watch({}, recorder().handlers).ready, {
      name: 'CallError',
      code: 'FORBIDDEN',
      status: 403,
      message: 'Not for you.',
      details: { a: 1 },
    })
    watch.close()
  })

  test('of another user have a connection of their own', async (t) => {
    const { server, signIn, books } = await started(t)
    const watches = [books().watch({}, recorder().handlers)]
    await watches[0]!.ready
    signIn('grace')
    watches.push(books().watch({}, recorder().handlers))
    await watches[1]!.ready
    assert.deepEqual(
      server.asked.map(({ token }) => token),
      ['Bearer ada', 'Bearer grace'],
    )
    for (const watch of watches) watch.close()
  })

  test('end with an error when the user signs out', async (t) => {
    const { server, tab } = await started(t)
    const { events, handlers } = recorder()
    const six = tab()
    const watch = six.collection<Book>('books').watch({}, handlers)
    await watch.ready
    await six.auth.signOut().catch(() => undefined)
    await until(() => server.streams.size === 0)
    assert.deepEqual(events, ['error SIGNED_OUT'])
    // Nobody is signed in, and may watch what is for everybody.
    const next = six.collection<Book>('books').watch({}, handlers)
    await next.ready
    assert.equal(server.asked.at(-1)!.token, undefined)
    next.close()
  })
})
