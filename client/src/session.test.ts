import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import type { TestApp } from '../../server/src/testing/app.ts'
import { anyEngine } from '../../server/src/testing/engines.ts'
import { appWithMailbox, tokenOf } from '../../server/src/testing/mailbox.ts'
import { createClient, isError, type ClientOptions, type SessionStorage } from './index.ts'

const HOUR_MS = 3_600_000
const PASSWORD = 'correct horse battery'

/** What `localStorage` is to the tabs of a browser. */
function storageOf(entries = new Map<string, string>()) {
  const storage: SessionStorage = {
    getItem: (key) => entries.get(key) ?? null,
    setItem: (key, value) => entries.set(key, value),
    removeItem: (key) => entries.delete(key),
  }
  return { storage, entries, stored: () => [...entries.values()].map((text) => JSON.parse(text)) }
}

type Answer = (route: string, send: () => Promise<Response>) => Promise<Response> | undefined

/** `fetch` that lists what is sent, after `answer` has had its say. */
function watched(answer?: Answer) {
  const sent: string[] = []
  const tokens: (string | null)[] = []
  const send: typeof fetch = (url, init) => {
    const route = `${init!.method} ${new URL(url as string).pathname}`
    sent.push(route)
    tokens.push(new Headers(init!.headers).get('authorization'))
    return answer?.(route, () => fetch(url, init)) ?? fetch(url, init)
  }
  return { fetch: send, sent, tokens }
}

let people = 0
const newAccount = () => ({ email: `client${++people}@example.com`, password: PASSWORD })

anyEngine((engine) => {
  describe('a session of the client', () => {
    const started = appWithMailbox(engine)
    const app = (): TestApp => started().app
    const client = (options?: ClientOptions) => createClient(app().url, { retries: 0, ...options })

    test('begins with a sign-up or a sign-in, and is in every client of the storage', async () => {
      const { storage, stored } = storageOf()
      const account = newAccount()
      const first = client({ storage })
      const heard: (string | undefined)[] = []
      const stop = first.auth.onChange((user) => heard.push(user?.email))
      await delay(0)
      const { _id } = await first.auth.signUp({ ...account, name: 'Ada' })
      assert.equal((await first.call('GET /auth/me')).user._id, _id)
      const second = client({ storage })
      assert.equal(second.auth.user?.name, 'Ada')
      assert.equal((await second.call('GET /auth/me')).user._id, _id)
      await first.auth.signOut()
      await assert.rejects(first.call('GET /auth/me'), { code: 'UNAUTHORIZED' })
      assert.deepEqual(stored(), [])
      await first.auth.signIn(account)
      stop()
      await first.auth.signOut()
      assert.deepEqual(heard, [undefined, account.email, undefined, account.email])
    })

    test('begins with the link of an email, or with the tokens of an identity provider', async () => {
      const six = client()
      const { email } = newAccount()
      await six.auth.sendMagicLink(email)
      const token = tokenOf(await started().mailbox.next(email), 'magic-link')
      const user = await six.auth.verifyMagicLink(token)
      assert.equal(user.email, email)
      assert.equal(six.auth.user, user)
      const other = client()
      await other.auth.setSession(await app().register())
      assert.equal((await other.call('GET /auth/me')).user._id, other.auth.user!._id)
      await assert.rejects(other.auth.setSession({ token: 'none', refreshToken: 'none' }), {
        code: 'UNAUTHORIZED',
      })
    })

    test('is read from a storage that answers later, as that of React Native does', async () => {
      const { storage, entries } = storageOf()
      const account = newAccount()
      await client({ storage }).auth.signUp(account)
      const later: SessionStorage = {
        getItem: async (key) => (await delay(5), entries.get(key) ?? null),
        setItem: async (key, value) => entries.set(key, value),
        removeItem: async (key) => entries.delete(key),
      }
      const six = client({ storage: later })
      assert.equal(six.auth.user, undefined)
      assert.equal((await six.call('GET /auth/me')).user.email, account.email)
      const heard = await new Promise((resolve) => void client({ storage: later }).auth.onChange(resolve))
      assert.deepEqual(heard, six.auth.user)
      const other = newAccount()
      let read = () => {}
      const late = new Promise<void>((resolve) => (read = resolve))
      const waiting = client({
        storage: { ...later, getItem: (key) => late.then(() => entries.get(key) ?? null) },
      })
      const signedUp = waiting.auth.signUp(other)
      await delay(50)
      read()
      await signedUp
      assert.equal(waiting.auth.user?.email, other.email)
    })

    for (const text of ['', '{', 'null', '"text"', '{}', '[1]'])
      test(`does not begin with "${text}" in the storage`, async () => {
        const { storage } = storageOf(new Map([[`sixwire ${app().url}`, text]]))
        const six = client({ storage })
        assert.equal(six.auth.user, undefined)
        assert.equal(typeof (await six.call('GET /health')).uptime, 'number')
      })

    test('is refreshed once for all calls of all tabs, and each call is repeated once', async () => {
      const { storage, stored } = storageOf()
      const network = watched()
      const tabs = [1, 2, 3].map(() => client({ storage, fetch: network.fetch }))
      const { _id } = await tabs[0]!.auth.signUp(newAccount())
      // The others hear of it by an event, which only browsers have.
      for (const [at] of tabs.entries()) tabs[at] = client({ storage, fetch: network.fetch })
      const [before] = stored()
      app().clock.advance(HOUR_MS + 1_000)
      const calls = tabs.flatMap((tab) => [1, 2, 3].map(() => tab.call('GET /auth/me')))
      for (const { user } of await Promise.all(calls)) assert.equal(user._id, _id)
      const counted = (route: string) => network.sent.filter((one) => one === route).length
      assert.equal(counted('POST /auth/refresh'), 1)
      assert.equal(counted('GET /auth/me'), 18)
      const [after] = stored()
      assert.notEqual(after.refreshToken, before.refreshToken)
      assert.deepEqual(after.user, before.user)
    })

    test('is refreshed once without a storage, too', async () => {
      const network = watched()
      const six = client({ fetch: network.fetch })
      await six.auth.signUp(newAccount())
      app().clock.advance(HOUR_MS + 1_000)
      await Promise.all([1, 2, 3].map(() => six.call('GET /auth/me')))
      assert.equal(network.sent.filter((one) => one === 'POST /auth/refresh').length, 1)
    })

    test('is refreshed shortly before its token ends, before a call is sent', async () => {
      const { storage, stored, entries } = storageOf()
      const network = watched()
      await client({ storage }).auth.signUp(newAccount())
      const [session] = stored()
      const [key] = [...entries.keys()] as [string]
      const inMs = session.renewAt - Date.now()
      assert.ok(inMs > HOUR_MS - 60_000 && inMs < HOUR_MS, `${inMs}`)
      entries.set(key, JSON.stringify({ ...session, renewAt: Date.now() - 1 }))
      const six = client({ storage, fetch: network.fetch })
      await six.call('GET /auth/me')
      assert.deepEqual(network.sent, ['POST /auth/refresh', 'GET /auth/me'])
      assert.equal(await six.auth.token(), stored()[0].token)
    })

    test('lasts if it is unknown whether it was refreshed', async () => {
      const { storage, stored } = storageOf()
      const failures: (() => Promise<Response>)[] = [
        () => Promise.reject(new TypeError('no network')),
        async () => new Response('<h1>Bad gateway</h1>', { status: 502 }),
        async () => Response.json({ error: { code: 'RATE_LIMITED' } }, { status: 429 }),
        async () => new Response('<h1>Who are you?</h1>', { status: 401 }),
      ]
      const network = watched((route) => (route.endsWith('/refresh') ? failures.shift()?.() : undefined))
      const six = client({ storage, fetch: network.fetch })
      const account = newAccount()
      await six.auth.signUp(account)
      app().clock.advance(HOUR_MS + 1_000)
      for (const expected of [{ message: 'no network' }, { status: 502 }, { status: 429 }, { status: 401 }])
        await assert.rejects(six.call('GET /auth/me'), expected)
      assert.equal(six.auth.user?.email, account.email)
      assert.equal(stored().length, 1)
      assert.equal((await six.call('GET /auth/me')).user.email, account.email)
    })

    test('lets a call that is aborted wait for no refresh', async () => {
      const { promise: answered, resolve } = Promise.withResolvers<Response>()
      const network = watched((route) => (route.endsWith('/refresh') ? answered : undefined))
      const six = client({ fetch: network.fetch })
      await six.auth.signUp(newAccount())
      app().clock.advance(HOUR_MS + 1_000)
      const controller = new AbortController()
      const call = six.call('GET /auth/me', { signal: controller.signal })
      while (!network.sent.includes('POST /auth/refresh')) await delay(1)
      controller.abort()
      await assert.rejects(call, { name: 'AbortError' })
      resolve(new Response(null, { status: 502 }))
    })

    test('survives a refresh whose answer was lost: it is repeated while the server allows it', async () => {
      let lost = 0
      const network: typeof fetch = async (url, init) => {
        const response = await fetch(url, init)
        if ((url as string).endsWith('/refresh') && lost++ === 0) throw new TypeError('reset')
        return response
      }
      const six = client({ fetch: network, retries: 1 })
      await six.auth.signUp(newAccount())
      app().clock.advance(HOUR_MS + 1_000)
      await six.call('GET /auth/me')
      assert.equal(lost, 2)
    })

    test('ends everywhere if the server refuses to refresh it', async () => {
      const { storage, stored } = storageOf()
      const six = client({ storage })
      const heard: unknown[] = []
      const account = newAccount()
      const { _id } = await six.auth.signUp(account)
      six.auth.onChange((user) => heard.push(user?._id))
      const other = client()
      await other.auth.signIn(account)
      await other.call('POST /auth/change-password', {
        body: { currentPassword: PASSWORD, newPassword: 'another long passphrase' },
      })
      await assert.rejects(six.call('GET /auth/me'), (error) => isError(error, 'UNAUTHORIZED'))
      assert.deepEqual([six.auth.user, stored(), heard], [undefined, [], [_id, undefined]])
    })

    test('does not come back if the user signs out while it is refreshed', async () => {
      const { storage, stored } = storageOf()
      const six = client({
        storage,
        fetch: watched((route) => {
          if (!route.endsWith('/refresh')) return undefined
          // In another tab, by what it does there.
          void storage.removeItem(`sixwire ${app().url}`)
          return undefined
        }).fetch,
      })
      await six.auth.signUp(newAccount())
      app().clock.advance(HOUR_MS + 1_000)
      await assert.rejects(six.call('GET /auth/me'), { code: 'UNAUTHORIZED' })
      assert.deepEqual([six.auth.user, stored()], [undefined, []])
    })

    for (const [operation, doing] of [
      ['getItem', 'read after'],
      ['setItem', 'stored by'],
    ] as const)
      test(`does not come back if the user signs out while it is ${doing} a refresh`, async () => {
        const { storage, stored } = storageOf()
        const network = watched()
        let signedOut: Promise<void> | undefined
        const six = client({
          fetch: network.fetch,
          storage: {
            ...storage,
            async [operation](key: string, value: string) {
              const text = storage.getItem(key)
              if (network.sent.includes('POST /auth/refresh')) {
                signedOut ??= six.auth.signOut()
                while (six.auth.user) await delay(1)
                // Time for an operation that does not wait for this one.
                await delay(5)
              }
              return operation === 'getItem' ? text : storage.setItem(key, value)
            },
          },
        })
        await six.auth.signUp(newAccount())
        app().clock.advance(HOUR_MS + 1_000)
        await assert.rejects(six.call('GET /auth/me'), { code: 'UNAUTHORIZED' })
        await signedOut
        assert.deepEqual([six.auth.user, stored()], [undefined, []])
      })

    test('is not taken for the calls of another user who has signed in meanwhile', async () => {
      const { storage } = storageOf()
      const network = watched()
      const six = client({ storage, fetch: network.fetch })
      await six.auth.signUp(newAccount())
      const other = newAccount()
      await client({ storage }).auth.signUp(other)
      app().clock.advance(HOUR_MS + 1_000)
      await assert.rejects(six.collection('notes').create({ text: 'mine' }), { code: 'UNAUTHORIZED' })
      assert.deepEqual(network.sent.slice(1), ['POST /store/notes'])
      assert.equal(six.auth.user?.email, other.email)
    })

    describe('that has to be refreshed before a call', () => {
      /** A client with a service key, and the session of a user in its storage. */
      async function due(answer?: Answer) {
        const { storage, stored, entries } = storageOf()
        await client({ storage }).auth.signUp(newAccount())
        const [key] = [...entries.keys()] as [string]
        entries.set(key, JSON.stringify({ ...stored()[0], renewAt: Date.now() - 1 }))
        const { token } = await app().register()
        const network = watched(answer)
        const open = (of: SessionStorage = storage) => client({ storage: of, token, fetch: network.fetch })
        return { storage, open, sent: network.sent }
      }
      const create = (six: ReturnType<typeof client>) => six.collection('notes').create({ text: 'mine' })
      const refused: Answer = (route) =>
        route.endsWith('/refresh')
          ? Promise.resolve(Response.json({ error: { code: 'UNAUTHORIZED' } }, { status: 401 }))
          : undefined

      const only = (sent: string[]) =>
        assert.deepEqual(
          sent.filter((route) => !route.endsWith('/logout')),
          ['POST /auth/refresh'],
        )

      test('sends nothing if it has ended: not with the token of the client either', async () => {
        const { open, sent } = await due(refused)
        const expected = { code: 'UNAUTHORIZED', status: 401, route: 'POST /store/:collection' }
        await assert.rejects(create(open()), expected)
        only(sent)
      })

      test('sends nothing if it has ended and was read from a storage that answers later', async () => {
        const { storage, open, sent } = await due(refused)
        const later = { ...storage, getItem: async (key: string) => (await delay(5), storage.getItem(key)) }
        await assert.rejects(create(open(later)), { code: 'UNAUTHORIZED' })
        only(sent)
      })

      test('sends nothing if the user signs out, and the refresh fails for now', async () => {
        const { open, sent } = await due((route) =>
          route.endsWith('/refresh')
            ? six.auth.signOut().then(() => new Response(null, { status: 429 }))
            : undefined,
        )
        const six = open()
        await assert.rejects(create(six), { code: 'UNAUTHORIZED' })
        only(sent)
      })

      test('sends nothing if another user has signed in meanwhile', async () => {
        const { storage, open, sent } = await due((route, send) =>
          route.endsWith('/refresh') ? client({ storage }).auth.signUp(newAccount()).then(send) : undefined,
        )
        await assert.rejects(create(open()), { code: 'UNAUTHORIZED' })
        only(sent)
      })
    })

    test('refreshes, and does not repeat, a call whose body is a stream', async () => {
      const six = client()
      await six.auth.signUp(newAccount())
      app().clock.advance(HOUR_MS + 1_000)
      const stream = () => new Blob(['{"n":1}']).stream() as unknown as Record<string, unknown>
      const create = () =>
        six.call('POST /store/:collection', {
          params: { collection: 'streams' },
          body: stream(),
          headers: { 'content-type': 'application/json' },
        })
      await assert.rejects(create(), { code: 'UNAUTHORIZED' })
      assert.equal((await create())['n'], 1)
    })

    test('ends here even if the server cannot be told', async () => {
      const { storage, stored } = storageOf()
      const network = watched((route) =>
        route.endsWith('/logout') ? Promise.reject(new TypeError('no network')) : undefined,
      )
      const six = client({ storage, fetch: network.fetch })
      await six.auth.signUp(newAccount())
      await assert.rejects(six.auth.signOut(), { message: 'no network' })
      assert.deepEqual([six.auth.user, stored()], [undefined, []])
      await six.auth.signOut()
    })

    test('ends on the server, too', async () => {
      const six = client()
      await six.auth.signUp(newAccount())
      const token = (await six.auth.token())!
      await six.auth.signOut()
      await assert.rejects(six.call('GET /auth/me', { token }), { code: 'UNAUTHORIZED' })
    })

    describe('whose token has expired when the user signs out', () => {
      /** A user who is signed in twice, here with a token that has expired. */
      async function expired(answer?: Answer) {
        const { storage, stored } = storageOf()
        const network = watched(answer)
        const six = client({ storage, fetch: network.fetch })
        const account = newAccount()
        await six.auth.signUp(account)
        app().clock.advance(HOUR_MS + 1_000)
        const other = client()
        await other.auth.signIn(account)
        const alive = async () => (await other.call('GET /auth/sessions')).sessions.length
        return { six, other, stored, alive, sent: network.sent }
      }

      test('ends on the server, too', async () => {
        const { six, alive } = await expired()
        await six.auth.signOut()
        assert.equal(await alive(), 1)
      })

      test('ends on the server while it is refreshed', async () => {
        const signedOut = Promise.withResolvers<void>()
        const refreshed = Promise.withResolvers<void>()
        let refreshes = 0
        const { six, alive } = await expired((route, send) =>
          route.endsWith('/refresh') && refreshes++ === 0
            ? send().then(async (response) => {
                refreshed.resolve()
                await signedOut.promise
                return response
              })
            : undefined,
        )
        const call = assert.rejects(six.call('GET /auth/me'), { code: 'UNAUTHORIZED' })
        await refreshed.promise
        await six.auth.signOut()
        signedOut.resolve()
        await call
        assert.deepEqual([six.auth.user, await alive()], [undefined, 1])
      })

      test('ends here only, and the sign-out tells so, if the server does not refresh it for now', async () => {
        const { six, stored, alive } = await expired((route) =>
          route.endsWith('/refresh')
            ? Promise.resolve(Response.json({ error: { code: 'RATE_LIMITED' } }, { status: 429 }))
            : undefined,
        )
        await assert.rejects(six.auth.signOut(), { code: 'RATE_LIMITED' })
        assert.deepEqual([six.auth.user, stored(), await alive()], [undefined, [], 2])
      })

      test('has ended if the server refuses to refresh it', async () => {
        const { six, other, sent } = await expired()
        const { sessions } = await other.call('GET /auth/sessions')
        const { _id: id } = sessions.find(({ current }) => !current)!
        await other.call('DELETE /auth/sessions/:id', { params: { id } })
        await six.auth.signOut()
        assert.deepEqual(sent.slice(1), ['POST /auth/logout', 'POST /auth/refresh'])
      })
    })

    test('gives way to the token of a call, and takes the place of that of the client', async () => {
      const network = watched()
      const { token } = await app().register()
      const six = client({ token, fetch: network.fetch })
      const me = async (input?: { token: string | null }) => (await six.call('GET /auth/me', input)).user._id
      const own = await me()
      const { _id } = await six.auth.signUp(newAccount())
      assert.notEqual(_id, own)
      assert.deepEqual([await me(), await me({ token })], [_id, own])
      await assert.rejects(me({ token: null }), { code: 'UNAUTHORIZED' })
      await six.auth.signOut()
      assert.equal(await me(), own)
      assert.equal(network.tokens[1], null)
    })
  })
})
