import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import type { Config } from '../../../../app.ts'
import { newId } from '../../../../base/ids.ts'
import { startApp, type TestAnswer, type TestApp } from '../../../../testing/app.ts'
import { endOfSuite, someEngine } from '../../../../testing/engines.ts'

const collections = {
  notes: 'owner',
  board: 'shared',
  news: 'public-read',
  secrets: 'admin',
  inbox: { read: 'admin', update: 'user', delete: 'owner' },
  wall: { read: 'public', update: 'public', delete: 'public' },
  rules: { read: 'user', create: 'admin', update: 'admin', delete: 'admin' },
} satisfies NonNullable<NonNullable<Config['store']>['collections']>

const config: Config = { store: { collections } }
const CALLERS = ['admin', 'owner', 'other', 'key', 'reader', 'stranger', 'nobody'] as const
type CallerName = (typeof CALLERS)[number]
type Action = 'create' | 'read' | 'list' | 'update' | 'delete'

/** What each caller is answered, in the order of `CALLERS`; a list shows the owner's document (+) or not (-). */
type Expected = Record<Action, string>

// An operator's key with the scope of another wire is a stranger.
const everybodySignedIn: Expected = {
  create: '201 201 201 201 403 403 401',
  read: '200 200 200 200 200 403 401',
  list: '+ + + + + 403 401',
  update: '200 200 200 200 403 403 401',
  delete: '200 200 200 200 403 403 401',
}
const ownerOnly: Expected = {
  create: '201 201 201 201 403 403 401',
  read: '200 200 404 200 200 403 401',
  list: '+ + - + + 403 401',
  update: '200 200 404 200 403 403 401',
  delete: '200 200 404 200 403 403 401',
}
const adminOnly: Expected = {
  create: '201 403 403 201 403 403 401',
  read: '200 403 403 200 200 403 401',
  list: '+ 403 403 + + 403 401',
  update: '200 403 403 200 403 403 401',
  delete: '200 403 403 200 403 403 401',
}
const declared: Record<string, Expected> = {
  notes: ownerOnly,
  board: everybodySignedIn,
  // Who may read and not change is told so.
  news: {
    ...ownerOnly,
    read: '200 200 200 200 200 403 200',
    list: '+ + + + + 403 +',
    update: '200 200 403 200 403 403 401',
    delete: '200 200 403 200 403 403 401',
  },
  secrets: adminOnly,
  inbox: { ...everybodySignedIn, read: adminOnly.read, list: adminOnly.list, delete: ownerOnly.delete },
  wall: {
    create: everybodySignedIn.create,
    read: '200 200 200 200 200 403 200',
    list: '+ + + + + 403 +',
    update: '200 200 200 200 403 403 200',
    delete: '200 200 200 200 403 403 200',
  },
  rules: { ...adminOnly, read: everybodySignedIn.read, list: everybodySignedIn.list },
}

someEngine((engine) => {
  for (const policy of ['open', 'guarded'] as const)
    describe(`under the policy ${policy}`, () => {
      let app: TestApp
      let ownerId: string
      const tokens = {} as Record<CallerName, string | undefined>
      const ending = endOfSuite()
      before(async () => {
        app = await startApp(ending, engine, { config, environment: { SIXWIRE_POLICY: policy } })
        // The first account of a server that is not in production is an administrator.
        tokens.admin = (await app.register()).token
        const owner = await app.register()
        ownerId = owner._id
        tokens.owner = owner.token
        tokens.other = (await app.register()).token
        const { keys } = app.app.service('auth')
        tokens.key = (await keys.create('key', ['store'])).key
        tokens.reader = (await keys.create('reader', ['store:read'])).key
        tokens.stranger = (await keys.create('stranger', ['auth'])).key
      })

      const ask = (caller: CallerName, method: string, path: string, body?: unknown): Promise<TestAnswer> =>
        app.request(method, `/store/${path}`, { token: tokens[caller], body })
      let documents = 0
      /** A new document of the owner's. */
      async function owned(collection: string, fields = {}): Promise<string> {
        const id = `${documents++}`.padStart(26, '0')
        await app.app.service('store').documents.create(collection, fields, { id, owner: ownerId })
        return id
      }

      const tables = { ...declared, undeclared: policy === 'open' ? everybodySignedIn : ownerOnly }
      for (const [collection, expected] of Object.entries(tables)) {
        const actions: Record<Action, (caller: CallerName) => Promise<string>> = {
          create: async (caller) => String((await ask(caller, 'POST', collection, {})).status),
          read: async (caller) =>
            String((await ask(caller, 'GET', `${collection}/${await owned(collection)}`)).status),
          async list(caller) {
            const id = await owned(collection)
            const { status, body, text } = await ask(caller, 'GET', `${collection}?limit=1000`)
            if (status !== 200) return String(status)
            assert.equal(body.total, body.data.length)
            return text.includes(id) ? '+' : '-'
          },
          async update(caller) {
            const id = await owned(collection, { a: 1 })
            const { status } = await ask(caller, 'PUT', `${collection}/${id}`, { a: 2 })
            const document = await app.app.service('store').documents.get(collection, id)
            assert.equal(document?.['a'] === 2, status === 200)
            return String(status)
          },
          async delete(caller) {
            const id = await owned(collection)
            const { status } = await ask(caller, 'DELETE', `${collection}/${id}`)
            const there = await ask('key', 'GET', `${collection}/${id}`)
            assert.equal(there.status, status === 200 ? 404 : 200)
            return String(status)
          },
        }
        for (const [action, run] of Object.entries(actions) as [Action, (typeof actions)[Action]][])
          test(`${collection}: who may ${action}`, async () => {
            const answers: string[] = []
            for (const caller of CALLERS) answers.push(await run(caller))
            assert.deepEqual(pairs(answers), pairs(expected[action].split(' ')))
          })
      }

      test('the document of somebody else is answered as one that is not there', async () => {
        const id = await owned('notes')
        const never = '0'.repeat(26).replace(/0$/, 'z')
        for (const [method, body] of [['GET'], ['PUT', { a: 1 }], ['DELETE']] as const) {
          const theirs = await ask('other', method, `notes/${id}`, body)
          const none = await ask('other', method, `notes/${never}`, body)
          assert.equal(theirs.status, 404)
          assert.equal(theirs.text, none.text.replaceAll(never, id))
        }
        // Nor does a version tell that it is there.
        for (const tag of ['"1"', '"2"', 'nonsense'])
          for (const method of ['PUT', 'DELETE']) {
            const { status } = await app.request(method, `/store/notes/${id}`, {
              token: tokens.other,
              headers: { 'if-match': tag },
              ...(method === 'PUT' && { body: {} }),
            })
            assert.equal(status, 404)
          }
      })

      test('a list of what is one’s own counts, finds, sorts and walks over nothing else', async () => {
        const name = 'notes'
        const { token } = await app.register()
        const own: string[] = []
        for (let n = 0; n < 3; n++) {
          await owned(name, { n, code: 'theirs' })
          const { body } = await app.request('POST', `/store/${name}`, { token, body: { n, code: 'mine' } })
          own.unshift(body._id)
        }
        const list = async (query: Record<string, string>, as = token) => {
          const path = `/store/${name}?${new URLSearchParams(query).toString()}`
          const { status, body, text } = await app.request('GET', path, { token: as })
          assert.equal(status, 200, text)
          return { ids: body.data.map(({ _id }: { _id: string }) => _id), ...body }
        }
        assert.equal((await list({ limit: '1' })).total, 3)
        assert.deepEqual((await list({})).ids, own)
        assert.deepEqual((await list({ sort: '-n' })).ids, own)
        assert.equal((await list({ filter: '{"code":"theirs"}' })).total, 0)
        assert.equal((await list({ filter: '{"code":{"$ne":"nothing"}}' })).total, 3)
        assert.equal(
          (await list({ filter: '{"$or":[{"code":"theirs"},{"n":{"$gte":1}}]}', sort: 'n' })).total,
          2,
        )
        const someoneElses = (await list({ limit: '1', filter: '{"code":"theirs"}' }, tokens.key)).ids[0]
        assert.equal((await list({ filter: JSON.stringify({ _id: someoneElses }) })).total, 0)

        // A cursor carries its list's total, so it leads on for nobody whose list is another one.
        const { nextCursor } = await list({ limit: '1', sort: 'n' }, tokens.key)
        const path = `/store/${name}?${new URLSearchParams({ cursor: nextCursor, sort: 'n' }).toString()}`
        const refused = await app.request('GET', path, { token })
        assert.equal(refused.status, 400)
        assert.equal(refused.body.error.details.issues[0].path, '/query/cursor')
      })

      test('the same Idempotency-Key makes a document for each user', async () => {
        const headers = { 'idempotency-key': 'same' }
        const make = (token: string | undefined) =>
          app.request('POST', '/store/notes', { token, headers, body: { same: true } })
        const [one, two] = [await make(tokens.owner), await make(tokens.other)]
        assert.deepEqual([one.status, two.status], [201, 201])
        assert.notEqual(one.body._id, two.body._id)
      })
    })

  describe('a collection’s name', () => {
    let app: TestApp
    let token: string
    const ending = endOfSuite()
    before(async () => {
      app = await startApp(ending, engine)
      token = (await app.register()).token
    })
    const create = (name: string) =>
      app.request('POST', `/store/${encodeURIComponent(name)}`, { token, body: {} })

    for (const name of ['a', 'Z9', 'a-b_c', 'a'.repeat(64), 'Files', 'uploads-1', 'backup-1', 'toString'])
      test(`may be ${name}`, async () => {
        assert.equal((await create(name)).status, 201)
        assert.equal((await app.request('GET', `/store/${name}`, { token })).body.total, 1)
      })

    for (const name of ['1a', '-a', '_a', 'a.b', 'a b', 'ä', 'a\n', 'a/b'])
      test(`may not be ${JSON.stringify(name)}`, async () => {
        const { status, body } = await create(name)
        assert.equal(status, 400)
        assert.equal(body.error.details.issues[0].path, '/params/collection')
      })

    test('the words of other routes are no collections', async () => {
      const id = newId()
      const put = (name: string) => app.request('PUT', `/store/${name}/${id}`, { token, body: {} })
      for (const name of ['upload', 'backup', 'health', 'changes']) {
        const { status, body } = await put(name)
        assert.equal(status, 400, name)
        assert.equal(body.error.details.issues[0].path, '/params/collection')
      }
      for (const name of ['files', 'backups']) assert.equal((await put(name)).status, 405, name)
    })

    test('has at most 64 characters', async () => {
      assert.equal((await create('a'.repeat(65))).status, 400)
    })

    test('tells large letters from small ones', async () => {
      await create('case')
      assert.equal((await app.request('GET', '/store/Case', { token })).body.total, 0)
    })
  })
})

// No database changes what was configured.
someEngine((engine) => {
  describe('SIXWIRE_POLICY', () => {
    const seesOthers = async (app: TestApp): Promise<boolean> => {
      const { users } = app.app.service('auth')
      const [first, second, third] = [await app.register(), await app.register(), await app.register()]
      // The first account has no special rights here.
      await users.promote((await app.register()).email)
      await users.demote(first.email)
      const { body } = await app.request('POST', '/store/things', { token: second.token, body: {} })
      const { status } = await app.request('GET', `/store/things/${body._id}`, { token: third.token })
      assert.ok(status === 200 || status === 404, String(status))
      return status === 200
    }

    for (const [what, environment, settings, open] of [
      ['is open outside production', {}, {}, true],
      ['is guarded in production', { NODE_ENV: 'production' }, {}, false],
      ['can be opened in production', { NODE_ENV: 'production', SIXWIRE_POLICY: 'open' }, {}, true],
      ['is what the configuration says', {}, { policy: 'guarded' }, false],
      ['wins over the configuration', { SIXWIRE_POLICY: 'open' }, { policy: 'guarded' }, true],
    ] as [string, Record<string, string>, Config, boolean][])
      test(what, async (t) => {
        const app = await startApp(t, engine, {
          environment: { HOST: '127.0.0.1', ...environment },
          config: settings,
        })
        assert.equal(await seesOthers(app), open)
      })

    test('of another name stops the start', async (t) => {
      await assert.rejects(
        startApp(t, engine, { environment: { SIXWIRE_POLICY: 'closed' } }),
        /SIXWIRE_POLICY/,
      )
    })
  })

  // Which ones, and what is said of each: start.test.ts.
  test('a declaration that cannot work stops the start', async (t) => {
    const wrong = { store: { collections: { notes: { read: 'everybody' } } } } as unknown as Config
    await assert.rejects(
      startApp(t, engine, { config: wrong }),
      /^StartError: store\.collections\.notes\.read/,
    )
  })
})

const pairs = (answers: readonly string[]): Record<string, string> =>
  Object.fromEntries(CALLERS.map((caller, at) => [caller, answers[at]!]))
