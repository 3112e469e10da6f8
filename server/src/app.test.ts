import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Type } from './base/schema.ts'
import { startApp } from './testing/app.ts'
import { assemble, refused, routed } from './testing/assemble.ts'
import { stillClock } from './testing/clock.ts'
import { someEngine } from './testing/engines.ts'
import { until } from './testing/until.ts'
import { defineWire, type ConfiguredWire } from './kernel/wire/wire.ts'
import { auth } from './wires/auth/index.ts'

const wire = (name: string, needs: { wireName: string; isOptional: boolean }[] = []): ConfiguredWire =>
  defineWire({ name, needs, setup: () => ({ routes: [], service: undefined }) })()

const titled = (title: string, options = {}) =>
  Type.Object({ inner: Type.Optional(Type.String({ title, ...options })) })

describe('the wires of an application', () => {
  test('stand in the order of their needs, whatever the order in which they are given', async (t) => {
    const app = await assemble(t, {
      config: {
        wires: [
          wire('c', [
            { wireName: 'b', isOptional: false },
            { wireName: 'store', isOptional: false },
          ]),
          wire('a', [{ wireName: 'nowhere', isOptional: true }]),
          wire('b', [{ wireName: 'a', isOptional: true }]),
        ],
      },
    })
    assert.deepEqual(app.wires, ['core', 'messaging', 'onchain', 'auth', 'pay', 'store', 'a', 'b', 'c'])
  })

  test('are handed what they need, and nothing where an optional one is not loaded', async (t) => {
    const given: Record<string, unknown> = {}
    const points = defineWire({
      name: 'points',
      setup: () => ({ routes: [], service: { of: () => 7 } }),
    })
    const shop = defineWire({
      name: 'shop',
      needs: [auth, points.optional],
      setup({ auth: accounts, points: earned }) {
        given['auth'] = typeof accounts.users.list
        given['points'] = earned?.of()
        return { routes: [], service: undefined }
      },
    })
    await assemble(t, { config: { wires: [shop(), points()] } })
    assert.deepEqual(given, { auth: 'function', points: 7 })
    await assemble(t, {
      config: { wires: [shop(), points()] },
      environment: { SIXWIRE_WIRES: 'auth,shop' },
    })
    assert.deepEqual(given, { auth: 'function', points: undefined })
  })

  test('get their options with the defaults, and leave what they were given as it is', async (t) => {
    const given: unknown[] = []
    const Options = Type.Object({
      inner: Type.Object({ size: Type.Integer({ default: 3 }), name: Type.String() }, { default: {} }),
      pick: Type.Unsafe<() => string>({}),
      at: Type.Unsafe<Date>({}),
    })
    const shop = defineWire({
      name: 'shop',
      options: Options,
      setup(_context, options) {
        given.push(options)
        return { routes: [], service: undefined }
      },
    })
    const pick = () => 'x'
    const at = new Date(0)
    const options = { inner: { name: 'n' }, pick, at }
    await assemble(t, { config: { wires: [shop(options)] } })
    assert.deepEqual(given, [{ inner: { size: 3, name: 'n' }, pick, at }])
    assert.deepEqual(options, { inner: { name: 'n' }, pick, at })
  })

  const A = { wireName: 'a', isOptional: false }
  const B = { wireName: 'b', isOptional: false }
  for (const [what, wires, line] of [
    ['a need that is not there', [wire('a', [B])], /^SIXWIRE_WIRES: a needs b, which is not loaded: add it$/],
    ['a circle', [wire('a', [B]), wire('b', [A])], /^wires: a needs b needs a$/],
    ['a wire that needs itself', [wire('a', [A])], /^wires: a needs a$/],
    ['a name twice', [wire('a'), wire('a')], /^wires: two wires are called "a"$/],
    ['the name of one of ours', [wire('auth')], /^wires: two wires are called "auth"$/],
    ['a name that hides the database from others', [wire('db')], /^wires: "db" can't be a name/],
    ['the frame’s own name', [wire('sixwire')], /^wires: "sixwire" can't be a name/],
    ['a name that is no word of a scope', [wire('My Wire')], /^wires: "My Wire" can't be a name/],
    [
      'an address twice',
      [routed('a', 'GET /x/:id'), routed('b', 'GET /x/:name')],
      /^wires: GET \/x\/:name of b is answered by a already$/,
    ],
    [
      'an address of ours',
      [routed('a', 'GET /health')],
      /^wires: GET \/health of a is answered by core already$/,
    ],
    [
      'the description’s',
      [routed('a', 'GET /openapi.json')],
      /^wires: GET \/openapi\.json of a is answered by/,
    ],
    [
      'two schemas of one name',
      [routed('a', 'GET /a', titled('Thing')), routed('b', 'GET /b', titled('Thing', { maxLength: 1 }))],
      /^wires: the schemas titled "Thing" of GET \/a and of GET \/b differ: give one of them another title$/,
    ],
    [
      'a schema with the name of ours',
      [routed('a', 'GET /a', titled('User'))],
      /^wires: the schemas titled "User" of POST \/auth\/register and of GET \/a differ: /,
    ],
    [
      'a schema whose title is no name',
      [routed('a', 'GET /a', titled('A thing'))],
      /^wires: GET \/a has a schema titled "A thing": a title is the name .* letters, digits, \., - and _ only$/,
    ],
  ] as const)
    test(`are refused with one line for ${what}`, async (t) => {
      await refused(t, line, { config: { wires } })
    })

  test('let go of what they hold where a later one can not be set up', async (t) => {
    const held: string[] = []
    const first = defineWire({
      name: 'first',
      setup() {
        held.push('a connection')
        return { routes: [], service: undefined, close: async () => void held.pop() }
      },
    })
    const second = defineWire({
      name: 'second',
      setup() {
        throw new Error('no')
      },
    })
    await assert.rejects(
      assemble(t, { config: { wires: [first(), second()] } }),
      /^StartError: wires: second: setup: Error: no \(.*app\.test\.ts:\d+:\d+\)$/,
    )
    assert.deepEqual(held, [])
  })

  test('end all the same where one of them fails to', async (t) => {
    const ended: string[] = []
    const ending = (name: string, fails: boolean) =>
      defineWire({
        name,
        setup: () => ({
          routes: [],
          service: undefined,
          async close() {
            ended.push(name)
            if (fails) throw new Error('no')
          },
        }),
      })()
    const app = await assemble(t, { config: { wires: [ending('a', false), ending('b', true)] } })
    await app.close()
    assert.deepEqual(ended, ['b', 'a'])
    await assert.rejects(app.db.ping(), 'the database has ended too')
  })
})

// What a program in plain JavaScript may say, which no compiler has seen.
someEngine((engine) => {
  describe('SIXWIRE_WIRES', () => {
    for (const [names, wires] of [
      ['core', ['core']],
      ['auth', ['core', 'auth']],
      ['core, auth', ['core', 'auth']],
      ['store,auth', ['core', 'auth', 'store']],
    ] as const)
      test(`${names} loads ${wires.join(', ')}`, async (t) => {
        const app = await startApp(t, engine, { environment: { SIXWIRE_WIRES: names } })
        const { body } = await app.request('GET', '/health')
        assert.deepEqual(Object.keys(body.wires), wires)
        for (const [path, of] of [
          ['/auth/health', 'auth'],
          ['/store/health', 'store'],
        ] as const) {
          const isLoaded = (wires as readonly string[]).includes(of)
          assert.equal((await app.request('GET', path)).status, isLoaded ? 200 : 404, path)
          const description = (await app.request('GET', '/openapi.json')).body
          assert.equal(Object.hasOwn(description.paths, path), isLoaded, path)
        }
      })

    test('store alone is refused: nobody could sign in', async (t) => {
      await refused(t, /^SIXWIRE_WIRES: store answers signed-in callers only, .*: add auth$/, {
        environment: { SIXWIRE_WIRES: 'store', DATABASE_URL: await engine.freshUrl() },
      })
    })

    test('a wire that is left out keeps its tables as they are', async (t) => {
      const databaseUrl = await engine.freshUrl()
      const first = await startApp(t, engine, { databaseUrl })
      const { email, password } = await first.register()
      await first.stop()
      const without = await startApp(t, engine, { databaseUrl, environment: { SIXWIRE_WIRES: 'core' } })
      await without.stop()
      const again = await startApp(t, engine, { databaseUrl })
      assert.equal((await again.request('POST', '/auth/login', { body: { email, password } })).status, 200)
    })
  })

  test('scheduled work gets what a wire offers', async (t) => {
    const shop = defineWire({
      name: 'shop',
      setup: () => ({ routes: [], service: undefined, scheduleContext: { shop: { open: true } } }),
    })
    const clock = stillClock()
    let found: object | undefined
    const run = (context: object) => void (found = context)
    await startApp(t, engine, {
      clock,
      config: { wires: [shop()], schedule: { daily: { cron: '@daily', run } } },
    })
    clock.advance(86_400_000)
    await until(() => found !== undefined)
    assert.partialDeepStrictEqual(found, { shop: { open: true }, due: new Date(clock.now()) })
  })

  test('two applications in one process have nothing to do with each other', async (t) => {
    const one = await startApp(t, engine, { config: { name: 'one', policy: 'open' } })
    const two = await startApp(t, engine, {
      config: { name: 'two', policy: 'guarded', wires: [routed('extra', 'GET /extra')] },
    })
    const [first, second] = [await one.register('same@example.com'), await two.register('same@example.com')]
    for (const [app, own, other] of [
      [one, first, second],
      [two, second, first],
    ] as const) {
      assert.equal((await app.request('GET', '/auth/me', { token: own.token })).status, 200)
      assert.equal((await app.request('GET', '/auth/me', { token: other.token })).status, 401)
    }
    assert.equal((await one.request('GET', '/extra')).status, 404)
    assert.equal((await two.request('GET', '/extra')).status, 200)
    const figures = (await one.request('GET', '/metrics')).text
    assert.doesNotMatch(figures, /path="\/extra"/)
    assert.doesNotMatch(one.log(), /\/extra.*200/)
    await one.stop()
    assert.equal((await two.request('GET', '/auth/me', { token: second.token })).status, 200)
  })

  test('an application that is told to end while it starts finishes its step and no more', async (t) => {
    const begun = Promise.withResolvers<void>()
    const mayGoOn = Promise.withResolvers<void>()
    const started: string[] = []
    const step = (name: string, work: () => Promise<void>) =>
      defineWire({
        name,
        setup: () => ({
          routes: [],
          service: undefined,
          async start() {
            await work()
            started.push(name)
          },
        }),
      })()
    const app = await assemble(t, {
      environment: { DATABASE_URL: await engine.freshUrl() },
      config: {
        wires: [
          step('first', async () => {
            begun.resolve()
            await mayGoOn.promise
            await app.db.ping()
          }),
          step('second', async () => undefined),
        ],
      },
    })
    const listening = app.listen()
    const ended = assert.rejects(listening, /^StartError: the server was told to stop before it had started$/)
    await begun.promise
    const closed = app.close()
    mayGoOn.resolve()
    await Promise.all([ended, closed])
    assert.deepEqual(started, ['first'])
    assert.equal(app.server.isListening(), false)
  })

  test('a port that is taken is told in one line', async (t) => {
    const app = await startApp(t, engine)
    const { port } = new URL(app.url)
    const other = await assemble(t, {
      environment: { PORT: port, DATABASE_URL: await engine.freshUrl() },
    })
    await assert.rejects(other.listen(), {
      name: 'StartError',
      message: `PORT: another program listens at 127.0.0.1:${port} already: end it, or choose another port`,
    })
    const elsewhere = await assemble(t, { environment: { HOST: 'not.a.host.invalid' } })
    await assert.rejects(elsewhere.listen(), /^StartError: HOST: "not\.a\.host\.invalid" is not an address/)
  })

  describe('pages of other origins', () => {
    const allowed = async (app: Awaited<ReturnType<typeof startApp>>, origin: string) =>
      (await app.request('GET', '/health', { headers: { origin } })).headers.get(
        'access-control-allow-origin',
      )

    test('in production only those of APP_URL and SIXWIRE_ORIGINS may read', async (t) => {
      const environment = { NODE_ENV: 'production', HOST: '127.0.0.1' }
      const none = await startApp(t, engine, { environment })
      assert.equal(await allowed(none, 'https://shop.example'), null)
      const own = await startApp(t, engine, {
        environment: { ...environment, APP_URL: 'https://shop.example/app/' },
      })
      assert.equal(await allowed(own, 'https://shop.example'), 'https://shop.example')
      for (const other of [
        'https://evil.example',
        'http://shop.example',
        'https://shop.example.evil',
        'null',
      ])
        assert.equal(await allowed(own, other), null, other)
      const { headers } = await own.request('GET', '/health', { headers: { origin: 'https://shop.example' } })
      assert.match(headers.get('vary')!, /origin/i)
      assert.equal(headers.get('access-control-allow-credentials'), null)
      assert.match(headers.get('strict-transport-security')!, /max-age=\d{8}/)
      const named = await startApp(t, engine, {
        environment: { ...environment, SIXWIRE_ORIGINS: 'https://a.example/,https://b.example' },
      })
      assert.equal(await allowed(named, 'https://a.example'), 'https://a.example')
      assert.equal(await allowed(named, 'https://b.example'), 'https://b.example')
    })

    test('OPTIONS from whatever is no browser is answered without a body', async (t) => {
      const app = await startApp(t, engine)
      for (const path of ['/auth/login', '/store/things']) {
        const { status, text } = await app.request('OPTIONS', path)
        assert.equal(status, 204, path)
        assert.equal(text, '')
      }
      const head = await app.request('HEAD', '/auth/login')
      assert.equal(head.status, 405)
      assert.equal(head.headers.get('allow'), 'OPTIONS, POST')
    })
  })
})
