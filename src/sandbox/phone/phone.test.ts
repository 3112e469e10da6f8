import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

import { Ajv } from 'ajv'
import twilio from 'twilio'

import { sql } from '../../db/sql.ts'
import { startApp, type StartOptions, type TestApp, type Answered } from '../../testing/app.ts'
import { eachEngine, type Engine, type Ending } from '../../testing/engines.ts'
import { MESSAGES_KEPT } from './messages.ts'
import { segmentsOf } from './segments.ts'

type Json = Answered['body']

const ADA = '+4915112345678'
const BOB = '+14155552671'

async function begin(t: TestContext, engine: Engine, options: StartOptions = {}) {
  const app = await startApp(t, engine, { ...options, sandbox: true })
  const { phone } = (await app.request('GET', '/sandbox/api')).body
  return { app, phone, client: clientOf(phone) }
}

/** The official client, of which nothing is changed but the address. */
function clientOf(phone: Json, token: string = phone.authToken) {
  const client = twilio(phone.accountSid, token)
  client.api.baseUrl = phone.address
  return client
}

const shown = async (app: TestApp, to?: string): Promise<Json[]> => {
  const query = to === undefined ? '' : `?to=${encodeURIComponent(to)}`
  return (await app.request('GET', `/sandbox/api/phone${query}`)).body.messages
}

const setFault = (app: TestApp, fault: unknown) =>
  app.request('PUT', '/sandbox/api/faults/phone', { body: fault })

type Reported = { url: string; headers: IncomingHttpHeaders; params: Record<string, string> }

/** An application's address for status callbacks. */
async function startListener(ending: Ending) {
  const reports: Reported[] = []
  const listener = { refusing: 0, reports, url: '', statuses: () => reports.map(statusOf) }
  const server = createServer((request, response) => void take(request, response)).listen(0, '127.0.0.1')
  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks = (await Array.fromAsync(request)) as Buffer[]
    const params = Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString()))
    reports.push({ url: request.url!, headers: request.headers, params })
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

const waiting = async (app: TestApp): Promise<number> =>
  (await app.request('GET', '/sandbox/api')).body.phone.callbacksWaiting

eachEngine((engine) => {
  test('the official client sends an SMS, and it is on the phone', async (t) => {
    const { app, client, phone } = await begin(t, engine)
    const sent = await client.messages.create({ to: ADA, from: phone.from, body: 'Hello 👋' })
    assert.match(sent.sid, /^SM[0-9a-f]{32}$/)
    assert.deepEqual(
      [sent.status, sent.to, sent.from, sent.body, sent.numSegments, sent.numMedia, sent.errorCode],
      ['queued', ADA, phone.from, 'Hello 👋', '1', '0', null],
    )
    const [{ id, receivedAt, ...message }, ...more] = (await shown(app)) as [Json]
    assert.equal(more.length, 0)
    assert.match(id, /^[0-9a-z]{26}$/)
    assert.match(receivedAt, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
    assert.deepEqual(message, { channel: 'sms', to: ADA, body: 'Hello 👋', media: [] })
    app.clock.advance(1_000)
    const fetched = await client.messages(sent.sid).fetch()
    assert.deepEqual([fetched.status, fetched.dateSent instanceof Date], ['delivered', true])
  })

  test('the newest messages are kept, and the oldest go as others come', async (t) => {
    const { app, client, phone } = await begin(t, engine)
    const past = (at: number) => sql`
      insert into sandbox_phone_messages
        (id, sid, channel, to_number, from_number, body, media, outcome, created_at)
      values (${`0${String(at).padStart(5, '0')}`}, ${`SM${at}`}, 'sms', ${ADA}, ${phone.from}, ${`message ${at}`},
        '[]', 'delivered', ${at})`
    await app.app.db.batch(Array.from({ length: MESSAGES_KEPT }, (_, at) => past(at)))
    await client.messages.create({ to: ADA, from: phone.from, body: 'new' })
    const bodies = (await shown(app)).map(({ body }) => body)
    assert.equal(bodies.length, MESSAGES_KEPT)
    assert.deepEqual([bodies[0], bodies.at(-1)], ['new', 'message 1'])

    // One that is still to be reported stays.
    await app.app.db.write(sql`
      insert into sandbox_phone_callbacks (id, message_id, url, status, due_at, attempts)
      values ('c', '000001', 'http://127.0.0.1:1/', 'delivered', ${Date.now() + 3_600_000}, 0)`)
    await client.messages.create({ to: ADA, from: phone.from, body: 'newer' })
    await client.messages.create({ to: ADA, from: phone.from, body: 'newest' })
    const later = (await shown(app)).map(({ body }) => body)
    assert.deepEqual(later.slice(-2), ['message 3', 'message 1'])
    assert.equal(await waiting(app), 1)

    // So does the newest after the clock was set back.
    await app.app.db.write(sql`update sandbox_phone_messages set id = 'z' || id where id <> '000001'`)
    await client.messages.create({ to: ADA, from: phone.from, body: 'behind' })
    assert.ok((await shown(app)).some(({ body }) => body === 'behind'))
  })

  test('WhatsApp messages carry media, and the number finds both channels', async (t) => {
    const { app, client, phone } = await begin(t, engine)
    const sent = await client.messages.create({
      to: `whatsapp:${ADA}`,
      from: `whatsapp:${phone.whatsappFrom}`,
      body: 'Look',
      mediaUrl: ['https://example.com/a.png', 'https://example.com/b.png'],
    })
    assert.match(sent.sid, /^MM/)
    assert.deepEqual([sent.to, sent.numMedia], [`whatsapp:${ADA}`, '2'])
    await client.messages.create({ to: ADA, from: phone.from, body: 'second' })
    await client.messages.create({ to: BOB, from: phone.from, body: 'third' })
    const bodies = async (to?: string) => (await shown(app, to)).map(({ body }) => body)
    assert.deepEqual(await bodies(), ['third', 'second', 'Look'])
    assert.deepEqual(await bodies(ADA), ['second', 'Look'])
    assert.deepEqual(await bodies(`whatsapp:${ADA}`), ['second', 'Look'])
    const plain = await app.request('GET', `/sandbox/api/phone?to=${BOB}`)
    assert.equal(plain.body.messages.length, 1)
    const [, , whatsapp] = (await shown(app)) as [Json, Json, Json]
    assert.deepEqual(
      [whatsapp.channel, whatsapp.to, whatsapp.media],
      ['whatsapp', ADA, ['https://example.com/a.png', 'https://example.com/b.png']],
    )
  })

  test('a list is filtered by receiver, sender and date, and comes in pages', async (t) => {
    let now = Date.now()
    const clock = { now: () => now, advance: (ms: number) => void (now += ms) }
    const { app, client, phone } = await begin(t, engine, { clock })
    const before = new Date(app.clock.now() - 1_000)
    for (const body of ['1', '2', '3']) await client.messages.create({ to: ADA, from: phone.from, body })
    const since = () => client.messages.list({ to: ADA, dateSentAfter: before })
    app.clock.advance(5_000)
    await client.messages.create({ to: BOB, from: phone.from, body: '4' })
    assert.deepEqual(
      (await since()).map(({ body }) => body),
      ['3', '2', '1'],
    )
    const list = async (filter: Json) => (await client.messages.list(filter)).map(({ body }) => body)
    assert.deepEqual(await list({}), ['4', '3', '2', '1'])
    assert.deepEqual(await list({ pageSize: 2 }), ['4', '3', '2', '1'])
    assert.deepEqual(await list({ from: phone.from, to: BOB }), ['4'])
    assert.deepEqual(await list({ from: BOB }), [])
    assert.deepEqual(await list({ to: `whatsapp:${ADA}` }), [])
    assert.deepEqual(await list({ dateSentBefore: before }), [])
    // Still queued: it has no date yet.
    assert.deepEqual(await list({ to: BOB, dateSentAfter: before }), [])
    app.clock.advance(5_000)
    assert.deepEqual(await list({ to: BOB, dateSentAfter: before }), ['4'])
    assert.deepEqual(await list({ dateSentAfter: new Date(app.clock.now() + 5_000) }), [])
    assert.deepEqual(await list({ dateSent: '2001-02-03' }), [])
  })

  test('wrong credentials, unknown messages and addresses are refused as Twilio does', async (t) => {
    const { phone, client, app } = await begin(t, engine)
    await assert.rejects(clientOf(phone, 'wrong').messages.create({ to: ADA, from: phone.from, body: 'x' }), {
      status: 401,
      code: 20003,
    })
    await assert.rejects(client.messages('SM00000000000000000000000000000000').fetch(), {
      status: 404,
      code: 20404,
    })
    const authorization = `Basic ${Buffer.from(`${phone.accountSid}:${phone.authToken}`).toString('base64')}`
    const ask = (method: string, path: string, options = {}) =>
      app.request(method, `/sandbox/phone/2010-04-01/Accounts/${path}`, {
        ...options,
        headers: { authorization },
      })
    for (const path of [
      'AC00000000000000000000000000000000/Messages.json',
      `${phone.accountSid}/Calls.json`,
    ]) {
      const { status, body } = await ask('GET', path)
      assert.equal(status, 404)
      assert.deepEqual(body, {
        code: 20404,
        message: `The requested resource /2010-04-01/Accounts/${path} was not found`,
        more_info: 'https://www.twilio.com/docs/errors/20404',
        status: 404,
      })
    }
    const json = await ask('POST', `${phone.accountSid}/Messages.json`, { body: { To: ADA } })
    assert.deepEqual([json.status, json.body.code], [415, 20415])
    const stranger = await app.request('GET', `/sandbox/phone/2010-04-01/Accounts/${phone.accountSid}.json`)
    assert.deepEqual([stranger.status, stranger.body.code], [401, 20003])
    assert.equal((await client.api.v2010.accounts(phone.accountSid).fetch()).status, 'active')
  })

  test('what cannot be sent is refused with its code, and nothing is kept', async (t) => {
    const { app, client, phone } = await begin(t, engine)
    const good = { to: ADA, from: phone.from as string, body: 'x' }
    const refused: [code: number, status: number, message: Record<string, unknown>][] = [
      [21211, 400, { to: '+15005550001' }],
      [21211, 400, { to: 'nobody' }],
      [21612, 400, { to: '+15005550002' }],
      [21408, 400, { to: '+15005550003' }],
      [21610, 400, { to: '+15005550004' }],
      [21614, 400, { to: '+15005550009' }],
      [21212, 400, { from: '+15005550001' }],
      [21606, 400, { from: '+15005550007' }],
      [21606, 400, { from: BOB }],
      [21611, 429, { from: '+15005550008' }],
      [21603, 400, { from: '' }],
      [21604, 400, { to: '' }],
      [21619, 400, { body: '' }],
      [21617, 400, { body: 'x'.repeat(1_601) }],
      [21620, 400, { mediaUrl: ['ftp://x'] }],
      [21609, 400, { statusCallback: 'nowhere' }],
      [21910, 400, { to: `whatsapp:${ADA}` }],
      [63007, 400, { to: `whatsapp:${ADA}`, from: `whatsapp:${BOB}` }],
    ]
    for (const [code, status, message] of refused)
      await assert.rejects(
        client.messages.create({ ...good, ...message }),
        { code, status, moreInfo: `https://www.twilio.com/docs/errors/${code}` },
        JSON.stringify(message),
      )
    assert.deepEqual(await shown(app), [])
    assert.deepEqual(await client.messages.list(), [])
    await client.messages.create({ ...good, body: 'x'.repeat(1_600) })
  })

  test('status callbacks come signed and in their order', async (t) => {
    const { client, phone, app } = await begin(t, engine)
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

  test('numbers that nothing reaches: accepted, then undelivered or failed, and not on the phone', async (t) => {
    const { app, client, phone } = await begin(t, engine)
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
  })

  test('a callback that is not answered comes again, the same', async (t) => {
    const { client, phone, app } = await begin(t, engine)
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
    const databaseUrl = await engine.freshUrl()
    const { app, client, phone } = await begin(t, engine, { databaseUrl })
    const listener = await startListener(t)
    listener.refusing = Infinity
    await client.messages.create({ to: ADA, from: phone.from, body: 'x', statusCallback: listener.url })
    await until(() => listener.reports.length > 0)
    const before = await shown(app)
    await app.stop()
    listener.reports.length = 0
    listener.refusing = 0
    const again = await begin(t, engine, { databaseUrl, clock: app.clock })
    assert.deepEqual([again.phone.accountSid, again.phone.authToken], [phone.accountSid, phone.authToken])
    assert.deepEqual(await shown(again.app), before)
    app.clock.advance(60_000)
    await until(() => listener.reports.length >= 3)
    assert.deepEqual(listener.statuses(), ['queued', 'sent', 'delivered'])
  })

  test('of two servers on one database each callback is sent by one', async (t) => {
    const databaseUrl = await engine.freshUrl()
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
    const { app, client, phone } = await begin(t, engine)
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

  test('faults: an error, a late answer, and one that is lost after the message was taken', async (t) => {
    const { app, client, phone } = await begin(t, engine)
    const send = (body: string) => client.messages.create({ to: ADA, from: phone.from, body })
    await setFault(app, { error: 503, times: 1 })
    await assert.rejects(send('refused'), { status: 503, code: 20503 })
    assert.deepEqual(await shown(app), [])
    await setFault(app, { loseAnswer: true, times: 1 })
    await assert.rejects(send('lost'), /socket hang up|ECONNRESET/)
    await setFault(app, { delayMs: 200, times: 1 })
    const before = performance.now()
    await send('slow')
    assert.ok(performance.now() - before >= 190)
    assert.deepEqual(
      (await shown(app)).map(({ body }) => body),
      ['slow', 'lost'],
    )
  })

  test('the phone can be emptied, and forgets what it had still to report', async (t) => {
    const { app, client, phone } = await begin(t, engine)
    await setFault(app, { callback: 'late' })
    await client.messages.create({
      to: ADA,
      from: phone.from,
      body: 'x',
      statusCallback: 'http://127.0.0.1:9/',
    })
    assert.equal(await waiting(app), 3)
    assert.equal((await app.request('DELETE', '/sandbox/api/phone')).status, 200)
    assert.deepEqual([await waiting(app), await shown(app)], [0, []])
  })
})

const contracts =
  process.env['SIXWIRE_CONTRACTS'] ?? fileURLToPath(new URL('../../../../shared/contracts', import.meta.url))
const contractFile = join(contracts, 'twilio-messages.json')

describe(
  "Twilio's own description of its API",
  {
    skip: existsSync(contractFile)
      ? false
      : `there is no ${contractFile}: SIXWIRE_CONTRACTS names its folder`,
  },
  () => {
    eachEngine((engine) => {
      test('what is answered is what it describes', async (t) => {
        const contract = JSON.parse(readFileSync(contractFile, 'utf8'))
        const { app, phone } = await begin(t, engine)
        const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true })
        ajv.addSchema(contract, 'twilio')
        const authorization = `Basic ${Buffer.from(`${phone.accountSid}:${phone.authToken}`).toString('base64')}`
        const messages = '/2010-04-01/Accounts/{AccountSid}/Messages.json'
        const step = (text: string) => text.replaceAll('~', '~0').replaceAll('/', '~1')

        async function check(
          method: string,
          template: string,
          status: number,
          more: Json = {},
        ): Promise<Json> {
          const path = template
            .replace('{AccountSid}', phone.accountSid)
            .replace('{Sid}', more.sid ?? phone.accountSid)
          const answered = await app.request(method, `/sandbox/phone${path}${more.query ?? ''}`, {
            ...(more.form && { raw: new URLSearchParams(more.form).toString() }),
            headers: { authorization, 'content-type': 'application/x-www-form-urlencoded' },
          })
          assert.equal(answered.status, status, answered.text)
          const described = contract.paths[template][method.toLowerCase()]
          assert.ok(described.responses[status], `${method} ${template} answers no ${status}`)
          const at = `twilio#/paths/${step(template)}/${method.toLowerCase()}/responses/${status}/content/application~1json/schema`
          const isRight = ajv.compile({ $ref: at })
          assert.ok(isRight(answered.body), JSON.stringify(isRight.errors))
          return answered.body
        }

        const known = Object.keys(
          contract.components.schemas['api.v2010.account.message'].properties,
        ).toSorted()
        const form = { To: ADA, From: phone.from, Body: 'Hello' }
        const made = await check('POST', messages, 201, { form })
        assert.deepEqual(Object.keys(made).toSorted(), known)
        await check('POST', messages, 201, {
          form: {
            ...form,
            To: `whatsapp:${ADA}`,
            From: `whatsapp:${phone.whatsappFrom}`,
            MediaUrl: 'https://x.test/i',
          },
        })
        await check('POST', messages, 201, { form: { ...form, To: '+15005550010' } })
        app.clock.advance(1_000)
        const one = messages.replace('.json', '/{Sid}.json')
        assert.equal((await check('GET', one, 200, { sid: made.sid })).status, 'delivered')
        const listed = await check('GET', messages, 200, { query: '?PageSize=2' })
        assert.equal(listed.messages.length, 2)
        const next = listed.next_page_uri.slice(listed.next_page_uri.indexOf('?'))
        assert.equal((await check('GET', messages, 200, { query: next })).messages[0].sid, made.sid)
        await check('GET', '/2010-04-01/Accounts/{Sid}.json', 200)
      })
    })
  },
)

test('a text is counted in the segments that it is sent in', () => {
  for (const [body, segments] of [
    ['x'.repeat(160), 1],
    ['x'.repeat(161), 2],
    ['x'.repeat(307), 3],
    ['€'.repeat(80), 1],
    ['€'.repeat(81), 2],
    ['ж'.repeat(70), 1],
    ['ж'.repeat(71), 2],
    ['👋'.repeat(36), 2],
    ['', 1],
  ] as const)
    assert.equal(segmentsOf(body), segments, body)
})
