// What GET /core/logs answers, through HTTP: the requests and problems of all replicas, within bounds, and no secret.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { Type } from '../../../base/schema.ts'
import { sql } from '../../../db/sql.ts'
import { route } from '../../../http/route.ts'
import { defineWire } from '../../../kernel/wire/wire.ts'
import { startApp, type TestApp } from '../../../testing/app.ts'
import { login, PASSWORD, startReplicas } from '../../../testing/auth.ts'
import { anyEngine, eachEngine, endOfSuite, testOnOne } from '../../../testing/engines.ts'
import { until } from '../../../testing/until.ts'

const DAY_MS = 86_400_000

const failAt = (amount: number): never => {
  throw new TypeError(`the till has ${amount} coins, and token=abc123def`)
}

/** A wire that fails in two places, and whose path has a secret. */
const till = defineWire({
  name: 'till',
  setup: ({ log }) => ({
    service: undefined,
    routes: [
      route(
        'GET /till/open/:amount',
        {
          summary: 'Fail',
          access: 'public',
          params: Type.Object({ amount: Type.String() }),
          reply: { 200: Type.String() },
        },
        ({ params }) => failAt(Number(params.amount)),
      ),
      route('GET /till/close', { summary: 'Fail', access: 'public', reply: { 200: Type.String() } }, () => {
        throw new RangeError('it is closed')
      }),
      route(
        'GET /till/links/:token',
        {
          summary: 'Warn',
          access: 'public',
          params: Type.Object({ token: Type.String() }),
          reply: { 200: Type.String() },
        },
        () => {
          log.warn({ provider: 'smtp', password: 'hunter22' }, 'refused: Bearer sk_live_abcdef123456')
          return 'ok'
        },
      ),
    ],
  }),
})

/** An entry or a fault; a test reads the fields that its own has. */
type Shown = Record<
  '_id' | 'at' | 'process' | 'ip' | 'path' | 'place' | 'stack' | 'message' | 'requestId' | 'name' | 'state',
  string
> & { ms: number; count: number; lastRequestId: string; fault: string }

/** Reads the log until it holds what a test waits for; it is written each second. */
const entriesOf = async (
  app: TestApp,
  token: string,
  query: string,
  isThere: (entries: Shown[]) => boolean,
): Promise<Shown[]> => {
  let entries: Shown[] = []
  app.clock.advance(1_000)
  await until(async () => {
    const { status, body, text } = await app.request('GET', `/core/logs?${query}`, { token })
    assert.equal(status, 200, text)
    entries = body.entries
    return isThere(entries)
  })
  return entries
}

const keyOf = async ({ app }: TestApp, scope = 'core'): Promise<string> =>
  (await app.service('auth').keys.create('operator', [scope])).key

eachEngine((engine) => {
  const testOnce = testOnOne(engine)
  describe('the request log of two replicas', () => {
    let one: TestApp
    let two: TestApp
    let key: string
    const ending = endOfSuite()
    before(async () => {
      ;[one, two] = await startReplicas(ending, engine, {
        config: { wires: [till()] },
        // A probe that takes long would be there.
        environment: { SIXWIRE_REQUEST_LOG: 'slowMs=600000' },
      })
      key = await keyOf(one)
    })
    const faultsOf = async (query = ''): Promise<Shown[]> =>
      (await one.request('GET', `/core/logs/faults${query}`, { token: key })).body.faults

    test('has the requests of both, newest first, with who called and how it ended', async () => {
      const ada = await one.register('ada@example.com')
      await one.request('GET', '/store/things', { token: ada.token, headers: { 'x-request-id': 'first' } })
      await two.request('GET', '/store/things/none', {
        token: ada.token,
        headers: { 'x-request-id': 'second' },
      })
      const entries = await entriesOf(two, key, 'caller=ADA@example.com', (all) => all.length >= 2)
      const [last, before] = [entries[0]!, entries[1]!]
      const { _id, at, process, ms, ip, ...rest } = last
      assert.deepEqual(rest, {
        kind: 'request',
        requestId: 'second',
        method: 'GET',
        route: '/store/:collection/:id',
        path: '/store/things/none',
        status: 404,
        caller: { kind: 'user', id: ada._id },
        code: 'NOT_FOUND',
      })
      assert.ok(ms > 0 && Date.parse(at) > 0 && ip === '127.0.0.1' && _id > before._id)
      assert.equal(before.requestId, 'first')
      assert.notEqual(before.process, process)
    })

    test('is filtered, and read page by page', async () => {
      const since = new Date(one.clock.now()).toISOString()
      for (const id of ['p1', 'p2', 'p3'])
        await one.request('GET', `/nowhere/${id}`, { headers: { 'x-request-id': id } })
      await one.request('GET', '/till/links/x')
      const ids = async (query: string) =>
        (await entriesOf(one, key, `since=${since}&${query}`, (all) => all.length > 0)).map(
          ({ requestId, message }) => requestId ?? message,
        )
      await entriesOf(one, key, `since=${since}&q=nowhere`, (all) => all.length === 3)
      assert.deepEqual(await ids('status=4xx'), ['p3', 'p2', 'p1'])
      assert.deepEqual(await ids('status=404&q=P2'), ['p2'])
      assert.deepEqual(await ids('requestId=p1'), ['p1'])
      assert.deepEqual(await ids('method=get&q=nowhere/p3'), ['p3'])
      assert.deepEqual(await ids('kind=problem'), ['refused: ***'])
      assert.equal((await ids('route=/till/links/:token')).length, 1)
      const none = await one.request('GET', `/core/logs?until=${since}&q=nowhere`, { token: key })
      assert.deepEqual(none.body.entries, [])
      const first = await one.request('GET', `/core/logs?q=nowhere&since=${since}&limit=2`, { token: key })
      const next = `cursor=${first.body.nextCursor}`
      const second = await one.request('GET', `/core/logs?q=nowhere&since=${since}&${next}`, { token: key })
      assert.deepEqual(
        [first, second].map(({ body }) => body.entries.map((entry: Shown) => entry.requestId)),
        [['p3', 'p2'], ['p1']],
      )
      assert.equal(second.body.nextCursor, undefined)
      for (const query of ['status=9xx', 'statuses=4xx', 'since=yesterday', 'cursor=nonsense'])
        assert.equal((await one.request('GET', `/core/logs?${query}`, { token: key })).status, 400, query)
    })

    testOnce('holds no body, no query, no token, and no secret of a path or a message', async () => {
      const secrets = [
        'q-secret',
        'b-secret',
        'eyJhbGciOiJIUzI1NiJ9.e30.abc',
        'link-secret',
        '4f9c1b2a7d6e5f4a3b2c1d0e',
      ]
      await one.request('POST', `/store/things?apiKey=${secrets[0]}`, { body: { password: secrets[1] } })
      await one.request('GET', `/verify/${secrets[2]}?x=1`, { token: 'sk_wrongwrongwrong' })
      await one.request('GET', `/till/links/${secrets[3]}`)
      await one.request('GET', `/reset/${secrets[4]}`)
      await one.request('GET', '/till/open/7')
      await entriesOf(one, key, 'q=/reset/', (all) => all.length > 0)
      const { text } = await one.request('GET', '/core/logs?limit=1000', { token: key })
      const { text: faults } = await one.request('GET', '/core/logs/faults', { token: key })
      for (const secret of [...secrets, 'sk_', 'hunter22', 'abc123def'])
        assert.equal(`${text}${faults}`.includes(secret), false, secret)
      assert.match(text, /"path":"\/verify\/\*\*\*"/)
      assert.match(text, /"path":"\/till\/links\/\*\*\*"/)
      assert.match(text, /"fields":\{"provider":"smtp","password":"\[redacted\]"\}/)
    })

    testOnce('does not log who reads it, nor probes', async () => {
      const since = new Date(one.clock.now()).toISOString()
      for (const path of ['/health', '/ready', '/auth/health', '/core/logs', '/core/overview'])
        assert.equal((await one.request('GET', path, { token: key })).status, 200)
      await one.request('GET', '/store/things', { token: key, headers: { 'x-request-id': 'shown' } })
      const entries = await entriesOf(one, key, `since=${since}&kind=request`, (all) => all.length > 0)
      assert.deepEqual(
        entries.map(({ path }) => path),
        ['/store/things'],
      )
    })

    testOnce('counts neither probes nor calls of the console, and can leave out the latter', async () => {
      const since = new Date(one.clock.now()).toISOString()
      const email = 'desk@example.com'
      await one.app.service('auth').users.create({ email, password: PASSWORD, role: 'admin' })
      const opened = await one.request('POST', '/console/session', {
        body: { refreshToken: (await login(one, email)).body.refreshToken },
        headers: { 'sec-fetch-site': 'same-origin' },
      })
      const seen = async (id: string, token: string, path: string) => {
        await one.request('GET', path, { token, headers: { 'x-request-id': id } })
        await entriesOf(one, key, `requestId=${id}`, (all) => all.length > 0)
      }
      const totals = async (): Promise<{ requests: number; refusals: number }[]> =>
        (await one.request('GET', '/core/overview', { token: key })).body.requests
      const sum = async () =>
        (await totals()).reduce(
          (all, { requests, refusals }) => [all[0]! + requests, all[1]! + refusals],
          [0, 0],
        )
      await seen('before', key, '/core/jobs')
      const [requests, refusals] = await sum()
      assert.equal((await one.request('POST', '/ready')).status, 405)
      await one.request('GET', '/core/jobs', { token: opened.body.token })
      await seen('of-the-console', opened.body.token, '/core/jobs/none')
      await seen('refused', key, '/core/jobs/none')
      assert.deepEqual(await sum(), [requests! + 1, refusals! + 1])

      const listed = async (query: string) =>
        (
          await entriesOf(one, key, `since=${since}&route=/core/jobs/:id${query}`, (all) => all.length > 0)
        ).map(({ requestId }) => requestId)
      assert.deepEqual(await listed(''), ['refused', 'of-the-console'])
      assert.deepEqual(await listed('&console=false'), ['refused'])
    })

    test('groups unexpected errors by their name and place, until an operator resolves them', async () => {
      for (const [app, amount] of [
        [one, 1],
        [two, 2],
        [one, 3],
      ] as const)
        await app.request('GET', `/till/open/${amount}`, { headers: { 'x-request-id': `open-${amount}` } })
      await one.request('GET', '/till/close')
      const problems = await entriesOf(one, key, 'kind=problem&q=coins', (all) => all.length >= 3)
      // Each replica writes on its own.
      await until(async () => (await faultsOf('?q=the till has'))[0]?.lastRequestId === 'open-3')
      const fault = (await faultsOf('?q=the till has'))[0]!
      assert.equal(await faultsOf('?q=it is closed').then((all) => all.length), 1)
      assert.ok(fault.count >= 3)
      assert.deepEqual(
        [fault.name, fault.state, fault.lastRequestId, problems[0]!.fault],
        ['TypeError', 'open', 'open-3', fault._id],
      )
      assert.match(fault.message, /^the till has 3 coins/)
      assert.match(fault.place, /logs\.test\.ts:\d+$/)
      assert.match(fault.stack, /at failAt /)
      const byFault = await one.request('GET', `/core/logs?fault=${fault._id}`, { token: key })
      assert.ok(byFault.body.entries.length >= 3)

      const path = `/core/logs/faults/${fault._id}/resolve`
      const resolved = await one.request('POST', path, { token: key })
      assert.deepEqual([resolved.status, resolved.body.state], [200, 'resolved'])
      assert.equal(
        (await faultsOf('?state=open')).some(({ _id }) => _id === fault._id),
        false,
      )
      assert.equal((await one.request('POST', '/core/logs/faults/00/resolve', { token: key })).status, 404)
      const [entry] = await one.app.db.all(
        sql`select action, target, actor_kind from sixwire_audit where target = ${`fault:${fault._id}`}`,
      )
      assert.deepEqual(entry, { action: 'fault.resolved', target: `fault:${fault._id}`, actor_kind: 'key' })

      await two.request('GET', '/till/open/4')
      two.clock.advance(1_000)
      await until(async () => (await faultsOf('?state=open')).some(({ _id }) => _id === fault._id))
    })

    test('is followed live, whichever replica answers', async () => {
      const aborting = new AbortController()
      const stream = await fetch(`${one.url}/core/logs/stream?q=tailed`, {
        headers: { authorization: `Bearer ${key}` },
        signal: aborting.signal,
      })
      assert.equal(stream.status, 200)
      let text = ''
      const reading = (async () => {
        for await (const bytes of stream.body!) text += Buffer.from(bytes).toString()
      })().catch(() => undefined)
      for (const [app, id] of [
        [one, 't1'],
        [two, 't2'],
      ] as const)
        await app.request('GET', `/tailed/${id}`, { headers: { 'x-request-id': id } })
      await one.request('GET', '/other')
      await until(() => {
        one.clock.advance(1_000)
        return text.includes('"requestId":"t1"') && text.includes('"requestId":"t2"')
      })
      const entries = text.split('\n\n').filter((event) => event.startsWith('event: entry'))
      assert.equal(entries.length, 2, text)
      const [, id] = /^id: (\w+)$/m.exec(entries[0]!)!
      aborting.abort()
      await reading

      const again = new AbortController()
      const resumed = await fetch(`${one.url}/core/logs/stream?q=tailed`, {
        headers: { authorization: `Bearer ${key}`, 'last-event-id': id! },
        signal: again.signal,
      })
      let later = ''
      const rereading = (async () => {
        for await (const bytes of resumed.body!) later += Buffer.from(bytes).toString()
      })().catch(() => undefined)
      await until(() => {
        one.clock.advance(1_000)
        return later.includes('"path":"/tailed/')
      })
      again.abort()
      await rereading
      assert.equal(later.includes(`id: ${id}`), false, 'the client has the last one')
    })

    testOnce('is for operators only', async () => {
      const { token } = await one.register()
      await one.app.db.write(sql`update auth_users set role = 'user'`)
      const member = await one.register()
      for (const path of [
        '/core/logs',
        '/core/logs/faults',
        '/core/logs/stream',
        '/core/overview',
        '/core/config',
        '/core/screens',
      ]) {
        assert.equal((await one.request('GET', path)).status, 401, path)
        assert.equal((await one.request('GET', path, { token: member.token })).status, 403, path)
        assert.equal((await one.request('GET', path, { token: await keyOf(one, 'store') })).status, 403, path)
      }
      assert.ok(token)
    })
  })

  describe('the bounds of the request log', () => {
    let app: TestApp
    let key: string
    const ending = endOfSuite()
    before(async () => {
      const environment = { SIXWIRE_REQUEST_LOG: 'days=2,rows=1000,perSecond=3' }
      app = await startApp(ending, engine, { environment, config: { wires: [till()] } })
      key = await keyOf(app)
    })

    test('of a second: some that succeed, all that fail; the others are counted', async () => {
      for (let i = 0; i < 10; i++) await app.request('GET', '/till/links/x')
      for (let i = 0; i < 10; i++) await app.request('GET', '/nowhere')
      await entriesOf(app, key, 'status=404', (all) => all.length === 10)
      const { body } = await app.request('GET', '/core/logs?status=2xx&limit=1000', { token: key })
      assert.deepEqual(body.keeps, { days: 2, rows: 1_000, perSecond: 3, slowMs: 1_000 })
      // A second may have passed while they were sent.
      assert.ok(body.entries.length >= 3 && body.entries.length < 10, String(body.entries.length))
      assert.equal(body.entries.length + body.omitted, 10)
      const { body: overview } = await app.request('GET', '/core/overview', { token: key })
      const { requests, refusals, failures } = overview.requests.at(-1)
      assert.deepEqual([overview.requests.length, requests, refusals, failures], [24, 20, 10, 0])
    })

    test('of days and of rows', async () => {
      await app.request('GET', '/old/1')
      await entriesOf(app, key, 'q=/old/', (all) => all.length === 1)
      app.clock.advance(2 * DAY_MS)
      await app.request('GET', '/new/1')
      await entriesOf(app, key, 'q=/new/', (all) => all.length === 1)
      await entriesOf(app, key, 'q=/old/', (all) => {
        app.clock.advance(60_000)
        return all.length === 0
      })
      await app.app.db.write(sql`
        insert into sixwire_log (id, kind, process)
        with recursive n (n) as (select 1 union all select n + 1 from n where n < 2500)
        select 'z' || cast(100000 + n as text), 'request', 'p' from n`)
      let count = 0
      await until(async () => {
        app.clock.advance(60_000)
        const row = await app.app.db.get<{ count: number }>(sql`select count(*) as count from sixwire_log`)
        count = row!.count
        return count <= 1_000
      })
      assert.equal(count, 1_000)
      const { id } = (await app.app.db.get<{ id: string }>(sql`select min(id) as id from sixwire_log`))!
      assert.equal(id, 'z101501', 'the newest are kept')
    })
  })
})

anyEngine((engine) => {
  test('a request log that is off has nothing', async (t) => {
    const app = await startApp(t, engine, { config: { requestLog: false } })
    const key = await keyOf(app)
    await app.request('GET', '/nowhere')
    app.clock.advance(2_000)
    const { body } = await app.request('GET', '/core/logs', { token: key })
    assert.deepEqual([body.entries, body.keeps], [[], undefined])
  })
})
