import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { Ajv } from 'ajv'

import { sql } from '../../../server/src/db/sql.ts'
import type { TestAnswer } from '../../../server/src/testing/app.ts'
import { stillClock } from '../../../server/src/testing/clock.ts'
import { someEngine } from '../../../server/src/testing/engines.ts'
import { MESSAGES_KEPT } from './messages.ts'
import { sandboxForAll } from '../sandbox.fixture.ts'
import { ADA, begin, BOB, clientOf, setFault, shown, waiting, withPhone } from './phone.fixture.ts'

type Json = TestAnswer['body']

someEngine((engine) => {
  const empty = sandboxForAll(engine)

  test('the official client sends an SMS, and it is on the phone', async () => {
    const { app, client, phone } = await withPhone(await empty())
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
    assert.match(message.status, /^(?:queued|sent|delivered)$/)
    assert.deepEqual(
      { ...message, status: '' },
      { channel: 'sms', to: ADA, body: 'Hello 👋', media: [], status: '', errorCode: null },
    )
    app.clock.advance(1_000)
    const fetched = await client.messages(sent.sid).fetch()
    assert.deepEqual([fetched.status, fetched.dateSent instanceof Date], ['delivered', true])
    assert.equal((await shown(app))[0]!.status, 'delivered')
  })

  test('the newest messages are kept, and the oldest go as others come', async () => {
    const { app, client, phone } = await withPhone(await empty())
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
      insert into sixwire_jobs (id, kind, payload, lane, state, run_at, attempts, created_at)
      values ('c', 'sandbox.phone-callback', '{}', '000001', 'ready', ${Date.now() + 3_600_000}, 0, 0)`)
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

  test('WhatsApp messages carry media, and the number finds both channels', async () => {
    const { app, client, phone } = await withPhone(await empty())
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
    const { app, client, phone } = await begin(t, engine, { clock: stillClock(Date.now()) })
    const before = new Date(app.clock.now() - 1_000)
    for (const body of ['1', '2', '3']) {
      await client.messages.create({ to: ADA, from: phone.from, body })
      app.clock.advance(1) // ids made by the real clock in between would end the order within a millisecond
    }
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

  test('wrong credentials, unknown messages and addresses are refused as Twilio does', async () => {
    const { phone, client, app } = await withPhone(await empty())
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

  test('a message that cannot be sent is refused with Twilio’s code, and not kept', async () => {
    const { app, client, phone } = await withPhone(await empty())
    const good = { to: ADA, from: phone.from, body: 'x' }
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

  test('faults: an error, a late answer, and one that is lost after the message was taken', async () => {
    const { app, client, phone } = await withPhone(await empty())
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

  test('the phone can be emptied, and forgets what it had still to report', async () => {
    const { app, client, phone } = await withPhone(await empty())
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
    someEngine((engine) => {
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
