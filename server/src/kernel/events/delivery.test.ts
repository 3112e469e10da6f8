// What a receiver gets, through HTTP: each event of an account once, signed, in order, however the receiver behaves.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'

import { sql } from '../../db/sql.ts'
import { startApp, type TestApp } from '../../testing/app.ts'
import { eachEngine, endOfSuite, someEngine, type Ending, type Engine } from '../../testing/engines.ts'
import { startReceiver, webhookSecret, type WebhookReceiver } from '../../testing/webhook-receiver.ts'
import { until } from '../../testing/until.ts'
import { defineWire } from '../wire/wire.ts'
import type { Events } from './events.ts'

const HOUR_MS = 3_600_000
const PASSWORD = 'correct horse battery'

type Delivery = {
  _id: string
  eventId: string
  type: string
  state: string
  attempts: number
  lastStatus?: number
  lastError?: string
}

const webhookOf = ({ url }: WebhookReceiver, more: object = {}) => ({
  name: 'shop',
  url,
  secret: webhookSecret(),
  events: ['auth.user.*'],
  ...more,
})

/** A server with a webhook, and an administrator, who is the first account. */
async function setUp(t: Ending, engine: Engine) {
  const receiver = await startReceiver(t)
  const app = await startApp(t, engine, { config: { webhooks: [webhookOf(receiver)] } })
  const { token } = await app.register('ada@example.com')
  await receiver.arrived(1)
  return { receiver, app, token, key: await keyOf(app) }
}

/** For calls after a session has ended. */
const keyOf = async (app: TestApp): Promise<string> =>
  (await app.app.service('auth').keys.create('operator', ['core'])).key

const rename = (app: TestApp, token: string, name: string) =>
  app.request('PATCH', '/auth/me', { token, body: { name } })

async function deliveriesOf(app: TestApp, token: string, query = ''): Promise<Delivery[]> {
  const { status, body } = await app.request('GET', `/core/webhooks/deliveries${query}`, { token })
  assert.equal(status, 200)
  return body.deliveries
}

const namesOf = ({ events }: WebhookReceiver) => events.map(({ data }) => data['name'])

async function webhookState(app: TestApp, token: string) {
  const { status, body } = await app.request('GET', '/core/webhooks', { token })
  assert.equal(status, 200)
  return body.webhooks[0]
}

/** Waits until no attempt is due or under way: a clock that is moved meanwhile would cut it off. */
const quiet = (app: TestApp): Promise<void> =>
  until(async () => {
    const row = await app.app.db.get(sql`
      select id from sixwire_jobs
      where kind like 'webhook:%' and state = 'ready' and (claimed_by is not null or run_at <= ${app.clock.now()})`)
    return row === undefined
  })

/** Sets the clock forward in steps until a condition holds. */
async function pass(app: TestApp, hours: number, condition: () => boolean | Promise<boolean>): Promise<void> {
  for (await quiet(app); !(await condition()); await quiet(app)) app.clock.advance(hours * HOUR_MS)
}

/** A server with a webhook of all accounts, one of their ends, whose secret is being rotated, and one of what a wire publishes. */
async function setUpForAll(ending: Ending, engine: Engine) {
  const rotated = [webhookSecret(1), webhookSecret(2)]
  const [receiver, ofEnds, ofBooks] = [
    await startReceiver(ending),
    await startReceiver(ending, rotated),
    await startReceiver(ending),
  ]
  let events: Events
  const publisher = defineWire({
    name: 'publisher',
    setup(context) {
      events = context.events
      return { routes: [], service: undefined }
    },
  })
  const app = await startApp(ending, engine, {
    environment: { SIXWIRE_RATE_LIMITS: 'off' },
    config: {
      wires: [publisher()],
      webhooks: [
        webhookOf(receiver),
        webhookOf(ofEnds, { name: 'ends', secret: rotated, events: ['auth.user.deleted'] }),
        webhookOf(ofBooks, { name: 'books', events: ['store.books.*'] }),
      ],
    },
  })
  return {
    receiver,
    ofEnds,
    ofBooks,
    app,
    events: events!,
    admin: await app.register(),
    key: await keyOf(app),
  }
}

/** Forgets all events of earlier tests; none of them is under way then. */
async function forgetAll({ app, receiver }: { app: TestApp; receiver: WebhookReceiver }): Promise<void> {
  receiver.answer = 204
  receiver.refuses = undefined
  const { db } = app.app
  const later = app.clock.now() + HOUR_MS
  await db.write(
    sql`update sixwire_jobs set run_at = ${later} where kind like 'webhook:%' and claimed_by is null`,
  )
  await quiet(app)
  await db.batch([
    sql`delete from sixwire_jobs where kind like 'webhook:%'`,
    sql`delete from sixwire_deliveries`,
    sql`update sixwire_webhooks set off_at = null, off_reason = null, failing_since = null, paused_until = null`,
  ])
  receiver.forget()
}

eachEngine((engine) => {
  const ending = endOfSuite()
  let shared: Awaited<ReturnType<typeof setUpForAll>>
  before(async () => {
    shared = await setUpForAll(ending, engine)
  })

  /** The shared server with a new account, whose event is the only one, and what is logged from now on. */
  async function join() {
    await forgetAll(shared)
    const { app, receiver } = shared
    const start = app.log().length
    const { email, token } = await app.register()
    await receiver.arrived(1)
    return { ...shared, email, token, logged: () => app.log().slice(start) }
  }

  test('an account is published when it is created, changed and deleted, as administrators see it', async () => {
    const { receiver, app, email, token } = await join()
    await rename(app, token, 'Ada')
    const deleted = await app.request('DELETE', '/auth/me', { token, body: { password: PASSWORD } })
    assert.equal(deleted.status, 200)
    await receiver.arrived(3)
    assert.deepEqual(
      receiver.events.map(({ type, data }) => [type, data['name']]),
      [
        ['auth.user.created', undefined],
        ['auth.user.updated', 'Ada'],
        ['auth.user.deleted', 'Ada'],
      ],
    )
    const { data, body } = receiver.events[1]!
    const { _id, createdAt, ...rest } = data
    assert.match(String(_id), /^[0-9a-z]{26}$/)
    assert.deepEqual(rest, {
      email,
      name: 'Ada',
      metadata: {},
      role: 'user',
      emailVerified: false,
      disabled: false,
    })
    for (const time of [createdAt, body.timestamp]) assert.match(String(time), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
  })

  test('a change that is rolled back is not published', async () => {
    const { receiver, app, email } = await join()
    const taken = { email, password: PASSWORD }
    await assert.rejects(app.app.service('auth').users.create(taken), { code: 'EMAIL_TAKEN' })
    const bob = await app.register()
    await receiver.arrived(2)
    assert.deepEqual(
      receiver.events.map(({ data }) => data['email']),
      [email, bob.email],
    )
    const rows = await app.app.db.all(sql`select id from sixwire_deliveries`)
    assert.equal(rows.length, 2)
  })

  test('only the types that a webhook takes are written', async () => {
    const { ofEnds, app, email, token } = await join()
    const written = () => app.app.db.all(sql`select id from sixwire_deliveries where webhook = 'ends'`)
    assert.equal((await written()).length, 0)
    await app.request('DELETE', '/auth/me', { token, body: { password: PASSWORD } })
    await until(() => ofEnds.events.some(({ data }) => data['email'] === email))
    assert.deepEqual(new Set(ofEnds.events.map(({ type }) => type)), new Set(['auth.user.deleted']))
    assert.equal((await written()).length, 1)
  })

  test('while a secret is rotated, each event is signed with all of them', async () => {
    const { ofEnds, app, token } = await join()
    const { length } = ofEnds.events
    await app.request('DELETE', '/auth/me', { token, body: { password: PASSWORD } })
    await ofEnds.arrived(length + 1)
  })

  test('events of one account arrive in order although some fail, and those of others do not wait', async () => {
    const { receiver, app, email, token } = await join()
    let failures = 3
    receiver.refuses = ({ data }) => (data['email'] === email && failures-- > 0 ? 500 : 204)
    for (const name of ['A', 'B', 'C']) await rename(app, token, name)
    const bob = await app.register()
    await receiver.arrived(2)
    assert.equal(receiver.events[1]!.data['email'], bob.email)
    await pass(app, 1, () => receiver.events.length === 5)
    assert.deepEqual(namesOf(receiver), [undefined, undefined, 'A', 'B', 'C'])
  })

  test('a redirect is not followed, and a long answer is cut', async () => {
    const { receiver, app, token, key } = await join()
    receiver.answer = 302
    await rename(app, token, 'A')
    const newest = async () => (await deliveriesOf(app, key))[0]!
    await until(async () => (await newest()).attempts === 1)
    const { lastStatus, lastError } = await newest()
    assert.deepEqual([lastStatus, lastError], [302, 'it answered 302: redirects are not followed'])
    receiver.answer = (_event, response) => void response.writeHead(200).end(Buffer.alloc(300_000))
    app.clock.advance(HOUR_MS)
    await until(async () => (await newest()).attempts === 2)
    assert.match((await newest()).lastError!, /more than 262144 bytes/)
    assert.equal(receiver.attempts.length, 3)
  })

  test('a receiver that asks to wait gets nothing until then', async () => {
    const { receiver, app, token, key } = await join()
    receiver.answer = (_event, response) => void response.writeHead(429, { 'retry-after': '7200' }).end()
    await rename(app, token, 'A')
    await until(async () => (await deliveriesOf(app, key))[0]!.attempts === 1)
    receiver.answer = 204
    await app.register()
    app.clock.advance(1.9 * HOUR_MS)
    await app.register()
    // Each has been looked at, and put off.
    const later = () =>
      app.app.db.all(
        sql`select id from sixwire_jobs where kind = 'webhook:shop' and claimed_by is null and run_at > ${app.clock.now()}`,
      )
    await until(async () => (await later()).length === 3)
    assert.equal(receiver.events.length, 1)
    app.clock.advance(0.2 * HOUR_MS)
    await receiver.arrived(4)
  })

  test('a receiver that is down for a day gets everything then, in order', async () => {
    const { receiver, app, token, key } = await join()
    receiver.answer = 500
    for (const name of ['A', 'B', 'C']) await rename(app, token, name)
    const begin = app.clock.now()
    await pass(app, 1, () => app.clock.now() - begin > 24 * HOUR_MS)
    const { state, failingSince } = await webhookState(app, key)
    assert.equal(state, 'on')
    assert.ok(Date.parse(failingSince) - begin < HOUR_MS)
    receiver.answer = 204
    await pass(app, 4, () => receiver.events.length === 4)
    assert.deepEqual(namesOf(receiver), [undefined, 'A', 'B', 'C'])
  })

  test('a webhook that fails for three days is switched off; what waits is delivered once it is on', async (t) => {
    const { receiver, app, token, key } = await setUp(t, engine)
    receiver.answer = 500
    await rename(app, token, 'A')
    const begin = app.clock.now()
    await pass(app, 4, () => app.log().includes('a webhook is switched off'))
    const hours = (app.clock.now() - begin) / HOUR_MS
    assert.ok(hours >= 72 && hours < 90, `it took ${hours} hours`)
    const off = await webhookState(app, key)
    assert.deepEqual([off.state, off.waiting, off.offReason], ['off', 1, 'it answered 500'])
    const { text } = await app.request('GET', '/metrics')
    assert.match(text, /^sixwire_webhook_off\{webhook="shop"\} 1$/m)
    assert.match(text, /^sixwire_webhook_oldest_waiting_seconds\{webhook="shop"\} \d{6}/m)
    assert.match(text, /^sixwire_webhook_deliveries_total\{webhook="shop",result="delivered"\} 1$/m)
    const doctor = app.app.diagnoses().find(({ name }) => name === 'core: webhooks')!
    assert.match(
      (await doctor.find())[0]!.problem,
      /the webhook shop is switched off \(it answered 500\), and 1 /,
    )

    receiver.answer = 204
    await app.app.service('auth').users.verify('ada@example.com')
    const [newest] = await deliveriesOf(app, key)
    const refused = await app.request('POST', `/core/webhooks/deliveries/${newest!._id}/retry`, {
      token: key,
    })
    assert.equal(refused.status, 409)
    assert.equal(receiver.events.length, 1)
    const enabled = await app.request('POST', '/core/webhooks/shop/enable', { token: key })
    assert.deepEqual([enabled.status, enabled.body.state], [200, 'on'])
    await receiver.arrived(3)
    assert.deepEqual(
      receiver.events.map(({ data }) => [data['name'], data['emailVerified']]),
      [
        [undefined, false],
        ['A', false],
        ['A', true],
      ],
    )
  })

  test('410 switches a webhook off at once, and another address in the configuration switches it on', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const receiver = await startReceiver(t)
    const app = await startApp(t, engine, { databaseUrl, config: { webhooks: [webhookOf(receiver)] } })
    receiver.answer = 410
    const { token } = await app.register('ada@example.com')
    await until(async () => (await webhookState(app, token)).state === 'off')
    assert.equal((await webhookState(app, token)).offReason, 'it answered 410 (Gone)')
    await app.stop()
    receiver.answer = 204
    const other = { ...webhookOf(receiver), url: `${receiver.url}/other` }
    await startApp(t, engine, { databaseUrl, config: { webhooks: [other] } })
    await receiver.arrived(1)
  })

  test('an event that is never taken is given up after three days, and what is behind it arrives', async () => {
    const { receiver, app, email, token, key, logged } = await join()
    receiver.refuses = ({ data }) => (data['name'] === 'poison' ? 400 : 204)
    await rename(app, token, 'poison')
    await rename(app, token, 'behind')
    let count = 0
    await pass(app, 4, async () => {
      // What others get keeps the webhook on.
      await app.app.service('auth').users.create({ email: `p${count++}.${email}`, password: PASSWORD })
      await quiet(app)
      return logged().includes('it is given up')
    })
    assert.equal(receiver.events.filter(({ data }) => data['name'] === 'behind').length, 1)
    assert.equal((await webhookState(app, key)).state, 'on')
    const [failed] = await deliveriesOf(app, key, '?state=failed')
    assert.deepEqual([failed!.type, failed!.lastStatus], ['auth.user.updated', 400])

    receiver.refuses = undefined
    const again = await app.request('POST', `/core/webhooks/deliveries/${failed!._id}/retry`, { token: key })
    assert.deepEqual([again.status, again.body.state], [200, 'waiting'])
    await until(() => receiver.events.at(-1)!.data['name'] === 'poison')
  })

  test('administrators list deliveries by page and filter, and send one again; others are refused', async () => {
    const { receiver, app, admin, ...other } = await join()
    for (const name of ['A', 'B']) await rename(app, other.token, name)
    const { email, password } = admin
    const { token } = (await app.request('POST', '/auth/login', { body: { email, password } })).body
    await receiver.arrived(3)
    await until(async () => (await deliveriesOf(app, token, '?state=delivered')).length === 3)
    const page = await app.request('GET', '/core/webhooks/deliveries?limit=2', { token })
    assert.deepEqual([page.body.total, page.body.deliveries.length], [3, 2])
    const rest = await deliveriesOf(app, token, `?limit=2&cursor=${page.body.nextCursor}`)
    assert.deepEqual(
      rest.map(({ type, eventId }) => [type, eventId]),
      [['auth.user.created', receiver.events[0]!.id]],
    )
    for (const [query, count] of [
      ['?type=auth.user.updated', 2],
      ['?webhook=shop', 3],
      ['?webhook=none', 0],
      ['?state=failed', 0],
    ] as const)
      assert.equal((await deliveriesOf(app, token, query)).length, count, query)

    const id = rest[0]!._id
    const again = await app.request('POST', `/core/webhooks/deliveries/${id}/retry`, { token })
    assert.equal(again.status, 200)
    await receiver.arrived(4)
    assert.deepEqual(receiver.events[3]!.body, receiver.events[0]!.body)
    assert.equal(receiver.events[3]!.id, receiver.events[0]!.id)

    for (const [method, path] of [
      ['GET', '/core/webhooks'],
      ['GET', '/core/webhooks/deliveries'],
      ['POST', `/core/webhooks/deliveries/${id}/retry`],
      ['POST', '/core/webhooks/shop/enable'],
    ] as const)
      for (const [as, status] of [
        [other.token, 403],
        [undefined, 401],
      ] as const)
        assert.equal((await app.request(method, path, { token: as })).status, status, path)
    for (const path of ['/core/webhooks/none/enable', '/core/webhooks/deliveries/none/retry'])
      assert.equal((await app.request('POST', path, { token })).status, 404)
    const { text } = await app.request('GET', '/core/webhooks', { token })
    assert.doesNotMatch(text, /whsec/)
  })

  test('a publisher that has the data publishes once, however often it runs', async () => {
    const { ofBooks, app, events } = await join()
    assert.deepEqual(
      [events.takes('store.books.created'), events.takes('store.films.created')],
      [true, false],
    )
    for (const once of ['change-1', 'change-2', 'change-1'])
      await app.app.db.batch([
        ...events.publishSql({ type: 'store.books.created', record: 'a', data: { title: once }, once }),
        ...events.publishSql({ type: 'store.films.created', record: 'a', data: {}, once }),
      ])
    await ofBooks.arrived(2)
    await quiet(app)
    assert.deepEqual(
      ofBooks.events.map(({ type, data }) => [type, data]),
      [
        ['store.books.created', { title: 'change-1' }],
        ['store.books.created', { title: 'change-2' }],
      ],
    )
  })

  test('two replicas deliver each event once', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const receiver = await startReceiver(t)
    const config = { webhooks: [webhookOf(receiver)] }
    const [one, two] = [
      await startApp(t, engine, { databaseUrl, config }),
      await startApp(t, engine, { databaseUrl, config }),
    ]
    const people = await Promise.all([one, two, one, two].map((app) => app.register()))
    for (const name of ['A', 'B', 'C'])
      await Promise.all(people.map(({ token }, at) => rename(at % 2 === 0 ? one : two, token, name)))
    await receiver.arrived(16)
    await until(
      async () =>
        (await one.app.db.all(sql`select id from sixwire_jobs where kind = 'webhook:shop'`)).length === 0,
    )
    assert.equal(receiver.attempts.length, 16)
    for (const { _id } of people)
      assert.deepEqual(
        receiver.events.filter(({ data }) => data['_id'] === _id).map(({ data }) => data['name']),
        [undefined, 'A', 'B', 'C'],
      )
  })

  test('deliveries are deleted after 30 days, also those of a webhook that is gone', async () => {
    const { receiver, app, token, logged } = await join()
    receiver.answer = 410
    await rename(app, token, 'A')
    await until(() => logged().includes('a webhook is switched off'))
    app.clock.advance(31 * 24 * HOUR_MS)
    await until(async () => (await app.app.db.all(sql`select id from sixwire_deliveries`)).length === 0)
    await until(
      async () =>
        (await app.app.db.all(sql`select id from sixwire_jobs where kind = 'webhook:shop'`)).length === 0,
    )
  })
})

// No statement decides these.
someEngine((engine) => {
  test('a receiver that hangs is given 15 seconds, and holds up no other webhook', async (t) => {
    const [hanging, other] = [await startReceiver(t), await startReceiver(t)]
    hanging.answer = () => undefined
    const webhooks = [webhookOf(hanging, { name: 'hanging' }), webhookOf(other, { name: 'other' })]
    const app = await startApp(t, engine, { config: { webhooks } })
    const { token } = await app.register('ada@example.com')
    for (let i = 0; i < 11; i++) await app.register()
    await other.arrived(12)
    // Eight at once, and no more.
    await until(() => hanging.attempts.length === 8)
    hanging.answer = 204
    app.clock.advance(15_000)
    await hanging.arrived(4)
    const failed = await deliveriesOf(app, token, '?webhook=hanging&state=waiting')
    assert.equal(failed.length, 8)
    for (const { lastError } of failed) assert.match(lastError!, /has not answered for \d+(\.\d)? seconds/)
    app.clock.advance(15_000)
    await hanging.arrived(12)
  })

  test('a private address is refused when it is connected to', async (t) => {
    const { url } = await startReceiver(t)
    const webhooks = ['https://10.1.2.3/hooks', url.replace('http', 'https')].map((address, at) => ({
      name: `private-${at}`,
      url: address,
      secret: webhookSecret(),
      events: ['auth.*'],
    }))
    const app = await startApp(t, engine, {
      environment: { NODE_ENV: 'production', HOST: '127.0.0.1' },
      config: { webhooks },
    })
    await app.app.service('auth').users.create({ email: 'ada@example.com', password: PASSWORD })
    const token = await keyOf(app)
    await until(async () => (await deliveriesOf(app, token)).every(({ attempts }) => attempts === 1))
    for (const { lastError } of await deliveriesOf(app, token))
      assert.match(lastError!, /has an address that is refused: it is not one of the public internet/)
  })
})
