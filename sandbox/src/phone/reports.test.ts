// What the phone reports of a message, and what becomes of a report that nobody takes.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import twilio from 'twilio'

import { sql } from '../../../server/src/db/sql.ts'
import { someEngine, type Ending } from '../../../server/src/testing/engines.ts'
import { sandboxForAll } from '../sandbox.fixture.ts'
import { ADA, begin, setFault, shown, waiting, withPhone } from './phone.fixture.ts'

type Reported = { url: string; headers: IncomingHttpHeaders; params: Record<string, string> }

/** An application's address for status callbacks. */
async function startListener(ending: Ending) {
  const reports: Reported[] = []
  let held = 0
  const listener = {
    refusing: 0,
    isSilent: false,
    reports,
    url: '',
    statuses: () => reports.map(statusOf),
    /** How many requests wait for an answer. */
    held: () => held,
  }
  const server = createServer((request, response) => void take(request, response)).listen(0, '127.0.0.1')
  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks = (await Array.fromAsync(request)) as Buffer[]
    const params = Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString()))
    reports.push({ url: request.url!, headers: request.headers, params })
    if (listener.isSilent) {
      held++
      response.on('close', () => held--)
      return
    }
    response.writeHead(listener.refusing-- > 0 ? 503 : 204).end()
  }
  await once(server, 'listening')
  ending.after(async () => {
    server.close()
    server.closeAllConnections()
  })
  listener.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/status?id=17`
  return listener
}

const statusOf = ({ params }: Reported): string | undefined => params['MessageStatus']

/** Waits until something is so. */
async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await delay(10)
}

someEngine((engine) => {
  const empty = sandboxForAll(engine)

  test('status callbacks come signed and in their order', async (t) => {
    const { client, phone, app } = await withPhone(await empty())
    const listener = await startListener(t)
    const sent = await client.messages.create({
      to: ADA,
      from: phone.from,
      body: 'x',
      statusCallback: listener.url,
    })
    await until(() => listener.reports.length === 3)
    assert.deepEqual(listener.statuses(), ['queued', 'sent', 'delivered'])
    for (const { headers, params, url } of listener.reports) {
      assert.equal(url, '/status?id=17')
      assert.deepEqual([params['MessageSid'], params['To'], params['From']], [sent.sid, ADA, phone.from])
      const signature = String(headers['x-twilio-signature'])
      assert.ok(twilio.validateRequest(phone.authToken, signature, listener.url, params))
      assert.ok(!twilio.validateRequest('another', signature, listener.url, params))
      const text = Object.keys(params)
        .toSorted()
        .map((name) => name + params[name])
        .join('')
      assert.equal(
        createHmac('sha1', phone.authToken)
          .update(listener.url + text)
          .digest('base64'),
        signature,
      )
    }
    await until(async () => (await waiting(app)) === 0)
  })

  test('a status callback is signed when it is sent: what waits holds neither headers nor a signature', async () => {
    const { client, phone, app } = await withPhone(await empty())
    await setFault(app, { callback: 'late' })
    const statusCallback = 'http://127.0.0.1:9/status?id=17'
    await client.messages.create({ to: ADA, from: phone.from, body: 'x', statusCallback })
    const rows = await app.app.db.all<{ payload: string }>(
      sql`select payload from sixwire_jobs where kind like 'sandbox.%'`,
    )
    const waitingPayloads = rows.map(({ payload }) => payload).filter((text) => text.includes(statusCallback))
    assert.equal(waitingPayloads.length, 3)
    for (const payload of waitingPayloads) {
      assert.doesNotMatch(payload, /signature|headers/i)
      assert.ok(!payload.includes(phone.authToken))
    }
  })

  test('numbers that nothing reaches: accepted, then undelivered or failed, and not on the phone', async (t) => {
    const { app, client, phone } = await withPhone(await empty())
    for (const [to, outcome, code, statuses] of [
      ['+15005550010', 'undelivered', 30003, ['queued', 'sent', 'undelivered']],
      ['+15005550011', 'failed', 30008, ['queued', 'failed']],
    ] as const) {
      const listener = await startListener(t)
      const sent = await client.messages.create({
        to,
        from: phone.from,
        body: 'x',
        statusCallback: listener.url,
      })
      assert.deepEqual([sent.status, sent.errorCode], ['queued', null])
      await until(() => listener.reports.length === statuses.length)
      assert.deepEqual(listener.statuses(), statuses)
      assert.equal(listener.reports.at(-1)!.params['ErrorCode'], String(code))
      assert.equal(listener.reports[0]!.params['ErrorCode'], undefined)
      const fetched = await client.messages(sent.sid).fetch()
      assert.deepEqual([fetched.status, fetched.errorCode], [outcome, code])
      assert.ok(fetched.errorMessage)
    }
    assert.deepEqual(await shown(app), [])
    const { messages } = (await app.request('GET', '/sandbox/api/phone?all=true')).body
    assert.deepEqual(
      new Set(
        messages.map((one: Record<string, unknown>) =>
          [one['to'], one['status'], one['errorCode']].join(' '),
        ),
      ),
      new Set(['+15005550010 undelivered 30003', '+15005550011 failed 30008']),
    )
  })

  test('a callback that is not answered does not hold up others', async (t) => {
    const { client, phone } = await withPhone(await empty())
    const [silent, listener] = [await startListener(t), await startListener(t)]
    silent.isSilent = true
    const send = (statusCallback: string) =>
      client.messages.create({ to: ADA, from: phone.from, body: 'x', statusCallback })
    await send(silent.url)
    await until(() => silent.held() > 0)
    await send(listener.url)
    await until(() => listener.reports.length === 3)
    // The first is not given up yet, so nobody waited for it.
    assert.deepEqual([silent.held(), silent.reports.length], [1, 1])
  })

  test('a callback that is not answered comes again, the same', async (t) => {
    const { client, phone, app } = await withPhone(await empty())
    const listener = await startListener(t)
    listener.refusing = 1
    await client.messages.create({ to: ADA, from: phone.from, body: 'x', statusCallback: listener.url })
    await until(async () => (app.clock.advance(1_000), (await waiting(app)) === 0))
    assert.deepEqual(listener.statuses(), ['queued', 'queued', 'sent', 'delivered'])
    const [first, second, third] = listener.reports.map(
      ({ headers }) => headers['i-twilio-idempotency-token'],
    )
    assert.equal(first, second)
    assert.notEqual(second, third)
  })

  test('a restart loses neither messages nor callbacks, and changes no credentials', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const { app, client, phone } = await begin(t, engine, { databaseUrl })
    const listener = await startListener(t)
    listener.refusing = Infinity
    await client.messages.create({ to: ADA, from: phone.from, body: 'x', statusCallback: listener.url })
    await until(() => listener.reports.length > 0)
    const withoutState = async (one: typeof app) =>
      (await shown(one)).map(({ status: _, ...message }) => message)
    const before = await withoutState(app)
    await app.stop()
    listener.reports.length = 0
    listener.refusing = 0
    const again = await begin(t, engine, { databaseUrl, clock: app.clock })
    assert.deepEqual([again.phone.accountSid, again.phone.authToken], [phone.accountSid, phone.authToken])
    assert.deepEqual(await withoutState(again.app), before)
    app.clock.advance(60_000)
    await until(() => listener.reports.length >= 3)
    assert.deepEqual(listener.statuses(), ['queued', 'sent', 'delivered'])
  })

  test('two servers on one database send each callback once', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const servers = [await begin(t, engine, { databaseUrl }), await begin(t, engine, { databaseUrl })]
    const listener = await startListener(t)
    const texts = Array.from({ length: 10 }, (_, at) => String(at))
    await Promise.all(
      texts.map((body, at) =>
        servers[at % 2]!.client.messages.create({
          to: ADA,
          from: servers[0]!.phone.from,
          body,
          statusCallback: listener.url,
        }),
      ),
    )
    await until(async () => (await waiting(servers[0]!.app)) === 0)
    assert.equal(listener.reports.length, 30)
    for (const reports of Object.values(
      Object.groupBy(listener.reports, ({ params }) => params['MessageSid']!),
    ))
      assert.deepEqual(reports!.map(statusOf), ['queued', 'sent', 'delivered'])
    assert.equal((await shown(servers[1]!.app)).length, 10)
  })

  test('faults: callbacks that are lost, doubled or late', async (t) => {
    const { app, client, phone } = await withPhone(await empty())
    const send = async (body: string) => {
      const listener = await startListener(t)
      await client.messages.create({ to: ADA, from: phone.from, body, statusCallback: listener.url })
      return listener
    }
    await setFault(app, { callback: 'lost', times: 1 })
    const lost = await send('lost')
    assert.equal(await waiting(app), 0)
    await setFault(app, { callback: 'doubled', times: 1 })
    const doubled = await send('doubled')
    await until(() => doubled.reports.length === 6)
    assert.deepEqual(doubled.statuses(), ['queued', 'queued', 'sent', 'sent', 'delivered', 'delivered'])
    await setFault(app, { callback: 'late', times: 1 })
    const late = await send('late')
    const prompt = await send('prompt')
    await until(() => prompt.reports.length === 3)
    assert.deepEqual(late.statuses(), [])
    app.clock.advance(30_000)
    await until(() => late.reports.length === 3)
    assert.deepEqual(late.statuses(), ['queued', 'sent', 'delivered'])
    assert.deepEqual(lost.statuses(), [])
  })
})
