import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'

import { Ajv } from 'ajv'
import fc from 'fast-check'
import official from 'twilio'

import type { OutgoingText, Outcome } from '../provider.ts'
import { twilio, validSignature } from './twilio.ts'

const PATIENCE = 20_000 // ms: no outcome but those of a limit waits for it
const SHORT = 250 // ms: for the outcomes of a limit

const ACCOUNT = `AC${'a1'.repeat(16)}`
const TOKEN = 'b2'.repeat(16)
const FROM = '+15005550006'
const ADA = '+14155552671'
const MESSAGES = `/2010-04-01/Accounts/${ACCOUNT}/Messages.json`

type Asked = {
  method: string
  path: string
  query: URLSearchParams
  form: URLSearchParams
  headers: IncomingMessage['headers']
}
type Held = Record<string, unknown> & {
  sid: string
  to: string
  body: string
  date_created: string
  date_sent: string | null
}
type Answer = (asked: Asked, response: ServerResponse) => void

/** A message as Twilio describes it. */
function held(more: Partial<Held> = {}): Held {
  const sid = `SM${randomBytes(16).toString('hex')}`
  const now = new Date().toUTCString().replace('GMT', '+0000')
  return {
    account_sid: ACCOUNT,
    api_version: '2010-04-01',
    body: 'Hello',
    date_created: now,
    date_sent: null,
    date_updated: now,
    direction: 'outbound-api',
    error_code: null,
    error_message: null,
    from: FROM,
    messaging_service_sid: null,
    num_media: '0',
    num_segments: '1',
    price: null,
    price_unit: 'USD',
    sid,
    status: 'queued',
    subresource_uris: { media: `/2010-04-01/Accounts/${ACCOUNT}/Messages/${sid}/Media.json` },
    to: ADA,
    uri: `/2010-04-01/Accounts/${ACCOUNT}/Messages/${sid}.json`,
    ...more,
  }
}

function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

/** The Messages resource and the account, over what is held in `messages`, newest first. */
function resource(messages: Held[], pageSize = 50): Answer {
  return ({ method, path, query, form }, response) => {
    if (path.endsWith(`/Accounts/${ACCOUNT}.json`))
      return json(response, 200, { sid: ACCOUNT, status: 'active', type: 'Full', friendly_name: 'Shop' })
    if (method === 'POST') {
      const message = held({ to: form.get('To')!, body: form.get('Body')!, from: form.get('From') })
      messages.unshift(message)
      return json(response, 201, message)
    }
    const [to, day] = [query.get('To'), query.get('DateSent>')]
    const found = messages.filter(
      (one) =>
        one.to === to &&
        (day === null ||
          (one.date_sent !== null && new Date(one.date_sent).toISOString().slice(0, 10) >= day)),
    )
    const page = Number(query.get('Page') ?? 0)
    const size = Math.min(pageSize, Number(query.get('PageSize') ?? 50))
    const address = (at: number): string => {
      const next = new URLSearchParams(query)
      next.set('Page', String(at))
      return `${path.slice(path.indexOf('/2010'))}?${next.toString()}`
    }
    json(response, 200, {
      end: page * size + size - 1,
      first_page_uri: address(0),
      next_page_uri: found.length > (page + 1) * size ? address(page + 1) : null,
      page,
      page_size: size,
      previous_page_uri: page > 0 ? address(page - 1) : null,
      start: page * size,
      uri: address(page),
      messages: found.slice(page * size, (page + 1) * size),
    })
  }
}

async function serve(t: TestContext, answer: Answer) {
  const asked: Asked[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const url = new URL(request.url!, 'http://localhost')
      const one: Asked = {
        method: request.method!,
        path: url.pathname,
        query: url.searchParams,
        form: new URLSearchParams(Buffer.concat(chunks).toString()),
        headers: request.headers,
      }
      asked.push(one)
      answer(one, response)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    server.close()
    server.closeAllConnections()
    if (server.listening) await once(server, 'close')
  })
  return { asked, server, apiBase: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

const open = (more: Partial<Parameters<typeof twilio>[0]>) =>
  twilio({ channel: 'sms', accountSid: ACCOUNT, authToken: TOKEN, from: FROM, ...more })

const text = (more: Partial<OutgoingText> = {}): OutgoingText => ({
  id: 'm1',
  to: ADA,
  body: 'Hello',
  ...more,
})

/** The outcome of a send to a server that answers so. */
async function outcomeOf(t: TestContext, answer: Answer, limitMs = PATIENCE): Promise<Outcome> {
  const { apiBase } = await serve(t, answer)
  return open({ apiBase }).send(text(), limitMs)
}

describe('a text', () => {
  test('is asked of Twilio with our credentials, and has its sid', async (t) => {
    const messages: Held[] = []
    const { asked, apiBase } = await serve(t, resource(messages))
    const outcome = await open({ apiBase }).send(text({ body: 'Grüße & =+ 👋' }), PATIENCE)
    assert.deepEqual(outcome, { kind: 'accepted', id: messages[0]?.sid })
    const [{ method, path, form, headers }] = asked as [Asked]
    assert.equal(asked.length, 1)
    assert.deepEqual([method, path], ['POST', MESSAGES])
    assert.equal(headers.authorization, `Basic ${Buffer.from(`${ACCOUNT}:${TOKEN}`).toString('base64')}`)
    assert.match(headers['content-type']!, /^application\/x-www-form-urlencoded/)
    assert.deepEqual(Object.fromEntries(form), { To: ADA, From: FROM, Body: 'Grüße & =+ 👋' })
  })

  test('for WhatsApp has its numbers marked so, and a picture', async (t) => {
    const { asked, apiBase } = await serve(t, resource([]))
    const provider = open({ channel: 'whatsapp', apiBase })
    await provider.send(text({ media: { url: 'https://shop.example/a.png?x=1&y=2' } }), PATIENCE)
    await open({ channel: 'whatsapp', apiBase, from: `whatsapp:${FROM}` }).send(text(), PATIENCE)
    assert.deepEqual(Object.fromEntries(asked[0]!.form), {
      To: `whatsapp:${ADA}`,
      From: `whatsapp:${FROM}`,
      Body: 'Hello',
      MediaUrl: 'https://shop.example/a.png?x=1&y=2',
    })
    assert.equal(asked[1]?.form.get('From'), `whatsapp:${FROM}`)
  })

  test('comes from a messaging service where that is the sender', async (t) => {
    const { asked, apiBase } = await serve(t, resource([]))
    const service = `MG${'c3'.repeat(16)}`
    await open({ apiBase, from: service }).send(text(), PATIENCE)
    assert.equal(asked[0]?.form.get('MessagingServiceSid'), service)
    assert.equal(asked[0]?.form.get('From'), null)
  })

  test('is reported to our address with our id', async (t) => {
    const { asked, apiBase } = await serve(t, resource([]))
    const statusCallback = 'https://shop.example/messaging/twilio/status?a=1'
    await open({ apiBase, statusCallback }).send(text({ id: 'id&1' }), PATIENCE)
    assert.equal(asked[0]?.form.get('StatusCallback'), `${statusCallback}&id=id%261`)
  })

  test('is not reported to an address that only this machine can reach, unless Twilio is here as well', async (t) => {
    const { asked, apiBase } = await serve(t, resource([]))
    for (const host of ['localhost', '127.0.0.1', '[::1]', 'app.localhost'])
      await open({ apiBase, statusCallback: `http://${host}:3000/status` }).send(text(), PATIENCE)
    assert.ok(asked.every(({ form }) => form.get('StatusCallback')?.endsWith('/status?id=m1')))
    // The one that is elsewhere is spoken to through a proxy of this test: only what it is asked matters.
    const fetched = t.mock.method(globalThis, 'fetch', async () => Response.json(held(), { status: 201 }))
    await open({ statusCallback: 'http://localhost:3000/status' }).send(text(), PATIENCE)
    await open({ statusCallback: 'https://shop.example/status' }).send(text(), PATIENCE)
    const callbacks = fetched.mock.calls.map(({ arguments: [url, init] }) => {
      assert.equal(url, `https://api.twilio.com${MESSAGES}`)
      return (init!.body as URLSearchParams).get('StatusCallback')
    })
    assert.deepEqual(callbacks, [null, 'https://shop.example/status?id=m1'])
  })

  test('is sent below a base with a path', async (t) => {
    const { asked, apiBase } = await serve(t, resource([]))
    await open({ apiBase: `${apiBase}/sandbox/phone/` }).send(text(), PATIENCE)
    assert.equal(asked[0]?.path, `/sandbox/phone${MESSAGES}`)
  })
})

describe('an answer of Twilio', () => {
  const problem = (status: number, code: number, message: string) => ({
    code,
    message,
    more_info: `https://www.twilio.com/docs/errors/${code}`,
    status,
  })

  for (const [status, code, message, kind] of [
    [400, 21211, "The 'To' number +1415 is not a valid phone number.", 'refused'],
    [400, 21610, 'Attempt to send to unsubscribed recipient', 'refused'],
    [400, 21408, 'Permission to send an SMS has not been enabled', 'refused'],
    [404, 20404, 'The requested resource was not found', 'refused'],
    [403, 20403, 'Forbidden', 'refused'],
    [400, 21611, "This 'From' number has exceeded the maximum number of queued messages", 'retry'],
    [400, 14107, 'Message rate limit exceeded', 'retry'],
    [401, 20003, 'Authenticate', 'retry'],
    [403, 20003, 'Permission denied', 'retry'],
    [403, 20005, 'Account not active', 'retry'],
    [429, 20429, 'Too many requests', 'retry'],
    [408, 20408, 'Request timeout', 'unknown'],
    [500, 20500, 'Internal Server Error', 'unknown'],
    [503, 20503, 'Service unavailable', 'unknown'],
  ] as const)
    test(`${status} with ${code} is ${kind}`, async (t) => {
      const outcome = await outcomeOf(t, (_asked, response) =>
        json(response, status, problem(status, code, message)),
      )
      assert.deepEqual(outcome, { kind, reason: `Twilio ${code}: ${message}` })
    })

  for (const [status, kind] of [
    [400, 'refused'],
    [413, 'refused'],
    [429, 'retry'],
    [502, 'unknown'],
    [504, 'unknown'],
  ] as const)
    test(`${status} with a page of a proxy is ${kind}`, async (t) => {
      const outcome = await outcomeOf(t, (_asked, response) =>
        response.writeHead(status, { 'content-type': 'text/html' }).end('<h1>no</h1>'),
      )
      assert.deepEqual(outcome, { kind, reason: `Twilio answered ${status}` })
    })

  test('that says how long to wait is heeded', async (t) => {
    const outcome = await outcomeOf(t, (_asked, response) =>
      json(response, 429, problem(429, 20429, 'Too many requests'), { 'retry-after': '7' }),
    )
    assert.deepEqual(outcome, { kind: 'retry', reason: 'Twilio 20429: Too many requests', afterMs: 7000 })
  })

  for (const body of ['', 'null', '[]', '{}', '{"sid":null}', '{"sid":""}', '<html>'])
    test(`201 with ${JSON.stringify(body)} is unknown`, async (t) => {
      const outcome = await outcomeOf(t, (_asked, response) => response.writeHead(201).end(body))
      assert.deepEqual(outcome, { kind: 'unknown', reason: 'Twilio answered 201 without a message' })
    })

  test('that sends us elsewhere is not followed', async (t) => {
    const other = await serve(t, resource([]))
    for (const status of [301, 302, 307, 308]) {
      const outcome = await outcomeOf(t, (_asked, response) =>
        response.writeHead(status, { location: other.apiBase + MESSAGES }).end(),
      )
      assert.equal(outcome.kind, 'retry')
    }
    assert.deepEqual(other.asked, [])
  })

  test('that is long or has several lines is one short line', async (t) => {
    const { reason } = (await outcomeOf(t, (_asked, response) =>
      json(response, 400, problem(400, 1, `a\r\nb ${'x'.repeat(5000)}`)),
    )) as { reason: string }
    assert.match(reason, /^Twilio 1: a b x+…$/)
    assert.ok(reason.length < 400)
  })
})

describe('no answer of Twilio', () => {
  test('because nobody is there is retry', async (t) => {
    const { apiBase, server } = await serve(t, resource([]))
    server.close()
    await once(server, 'close')
    const outcome = await open({ apiBase }).send(text(), PATIENCE)
    assert.deepEqual(outcome, { kind: 'retry', reason: "Twilio can't be reached (ECONNREFUSED)" })
  })

  test('because the connection was cut is unknown', async (t) => {
    assert.equal((await outcomeOf(t, (_asked, response) => response.destroy())).kind, 'unknown')
    const half = await outcomeOf(t, (_asked, response) => {
      response.writeHead(201, { 'content-length': '1000' }).write('{"sid":')
      setImmediate(() => response.destroy())
    })
    assert.equal(half.kind, 'unknown')
  })

  test('within the limit is unknown', async (t) => {
    const outcome = await outcomeOf(t, () => undefined, SHORT)
    assert.equal(outcome.kind, 'unknown')
    assert.match((outcome as { reason: string }).reason, /has not answered for [\d.]+ seconds/)
    const half = await outcomeOf(
      t,
      (_asked, response) => void response.writeHead(201).write('{"sid":'),
      SHORT,
    )
    assert.equal(half.kind, 'unknown')
  })

  test('tells nothing of the token', async (t) => {
    for (const answer of [
      () => undefined,
      (_asked: Asked, response: ServerResponse) => void response.destroy(),
    ])
      assert.ok(!JSON.stringify(await outcomeOf(t, answer, SHORT)).includes(TOKEN))
  })
})

describe('a look for a text of which nobody knows', () => {
  const SINCE = Date.parse('2026-11-21T10:00:00.500Z')
  const at = (ms: number): string => new Date(SINCE + ms).toUTCString().replace('GMT', '+0000')
  const sent = (ms: number, more: Partial<Held> = {}) =>
    held({ date_created: at(ms), date_sent: at(ms), ...more })

  async function find(t: TestContext, messages: Held[], more: Partial<OutgoingText> = {}, pageSize?: number) {
    const { asked, apiBase } = await serve(t, resource(messages, pageSize))
    return { found: await open({ apiBase }).find!(text(more), SINCE), asked }
  }

  test('finds it by number, time and words', async (t) => {
    const right = sent(0)
    const { found, asked } = await find(t, [
      sent(500, { to: '+14155550000' }),
      sent(400, { body: 'Goodbye' }),
      sent(300, { direction: 'inbound' }),
      right,
      sent(-60_000),
    ])
    assert.equal(found, right.sid)
    assert.equal(asked[0]?.query.get('To'), ADA)
    assert.equal(asked[0]?.query.get('DateSent>'), '2026-11-21')
  })

  test('finds nothing where there is nothing', async (t) => {
    assert.equal((await find(t, [])).found, undefined)
    assert.equal((await find(t, [sent(-60_000), sent(100, { body: 'Goodbye' })])).found, undefined)
  })

  test('finds what is not sent yet', async (t) => {
    const waiting = held({ date_created: at(0), date_sent: null })
    assert.equal((await find(t, [waiting])).found, waiting.sid)
  })

  test('takes the oldest of several', async (t) => {
    const [later, first] = [sent(60_000), sent(1000)]
    assert.equal((await find(t, [later, first])).found, first.sid)
  })

  test('finds what an account on trial has written before it', async (t) => {
    const trial = sent(0, { body: 'Sent from your Twilio trial account - Hello' })
    assert.equal((await find(t, [trial])).found, trial.sid)
  })

  test('leafs through all pages', async (t) => {
    const right = sent(0)
    const others = Array.from({ length: 7 }, (_, i) => sent(1000 + i, { body: `other ${i}` }))
    const { found, asked } = await find(t, [...others, right], {}, 3)
    assert.equal(found, right.sid)
    assert.deepEqual(
      asked.map(({ query }) => query.get('Page')),
      [null, '1', '2'],
    )
  })

  test('keeps to its base, also where a page sends it elsewhere', async (t) => {
    const other = await serve(t, resource([]))
    const pages =
      (next: string): Answer =>
      (_asked, response) =>
        json(response, 200, { messages: [], next_page_uri: next })
    const { asked, apiBase } = await serve(t, (one, response) =>
      pages(one.query.has('Page') ? '' : `${other.apiBase}${MESSAGES}?Page=1`)(one, response),
    )
    await open({ apiBase: `${apiBase}/sandbox/phone` }).find!(text(), SINCE).catch(() => undefined)
    assert.ok(asked.every(({ path }) => path === `/sandbox/phone${MESSAGES}`))
    assert.deepEqual(other.asked, [])
  })

  test('for WhatsApp looks for its kind of number', async (t) => {
    const right = sent(0, { to: `whatsapp:${ADA}` })
    const { apiBase } = await serve(t, resource([sent(0), right]))
    assert.equal(await open({ channel: 'whatsapp', apiBase }).find!(text(), SINCE), right.sid)
  })

  for (const [what, answer] of [
    ['an error', (_asked: Asked, response: ServerResponse) => json(response, 500, {})],
    ['something else', (_asked: Asked, response: ServerResponse) => json(response, 200, { messages: 'x' })],
    ['nothing', (_asked: Asked, response: ServerResponse) => void response.destroy()],
  ] as const)
    test(`rejects where Twilio answers ${what}: that does not mean that there is none`, async (t) => {
      const { apiBase } = await serve(t, answer)
      await assert.rejects(open({ apiBase }).find!(text(), SINCE))
    })
})

describe('a check', () => {
  test('is content with an account that works, and sends nothing', async (t) => {
    const { asked, apiBase } = await serve(t, resource([]))
    await open({ apiBase }).check()
    assert.deepEqual(
      asked.map(({ method, path }) => [method, path]),
      [['GET', `/2010-04-01/Accounts/${ACCOUNT}.json`]],
    )
  })

  for (const [status, body, message] of [
    [
      401,
      { code: 20003, message: 'Authenticate' },
      /^Error: Twilio does not know this account or its token$/,
    ],
    [200, { status: 'suspended' }, /^Error: the Twilio account is suspended$/],
    [500, {}, /^Error: Twilio answered 500$/],
  ] as const)
    test(`says why not, for ${status} ${JSON.stringify(body)}`, async (t) => {
      const { apiBase } = await serve(t, (_asked, response) => json(response, status, body))
      await assert.rejects(open({ apiBase }).check(), message)
    })

  test('says where nobody answers', async (t) => {
    const { apiBase, server } = await serve(t, resource([]))
    server.close()
    await once(server, 'close')
    await assert.rejects(open({ apiBase }).check(), /^Error: Twilio can't be reached \(ECONNREFUSED\)$/)
  })
})

describe('a signature', () => {
  const URL_ = 'https://shop.example/messaging/twilio/status?id=m1'
  const PARAMS = { MessageSid: 'SM1', MessageStatus: 'delivered', To: ADA, Body: 'Grüße' }
  const signed = (url: string, params: Record<string, string | string[]>, token = TOKEN): string =>
    official.getExpectedTwilioSignature(token, url, params)

  test("is Twilio's own example's", () => {
    // https://www.twilio.com/docs/usage/security#explore-the-algorithm-yourself
    const params = {
      Digits: '1234',
      To: '+18005551212',
      From: '+14158675310',
      Caller: '+14158675310',
      CallSid: 'CA1234567890ABCDE',
    }
    const url = 'https://example.com/myapp.php?foo=1&bar=2'
    assert.ok(validSignature('12345', url, params, signed(url, params, '12345')))
  })

  test('is as the official package makes it', () => {
    const value = fc.oneof(fc.string({ unit: 'grapheme' }), fc.array(fc.string(), { maxLength: 3 }))
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), value),
        fc.webUrl({ withQueryParameters: true }),
        (given, url) => {
          const params = { ...given }
          const signature = signed(url, params)
          assert.ok(validSignature(TOKEN, url, params, signature))
          assert.ok(official.validateRequest(TOKEN, signature, url, params))
        },
      ),
    )
  })

  test('holds with the standard port and without it', () => {
    const ported = URL_.replace('shop.example', 'shop.example:443')
    for (const [asked, signedFor] of [
      [URL_, ported],
      [ported, URL_],
      ['http://shop.example/x', 'http://shop.example:80/x'],
      ['https://shop.example:8443/x', 'https://shop.example/x'],
    ] as const)
      assert.ok(validSignature(TOKEN, asked, PARAMS, signed(signedFor, PARAMS)), asked)
  })

  test('does not hold for anything else', () => {
    const signature = signed(URL_, PARAMS)
    assert.ok(validSignature(TOKEN, URL_, PARAMS, signature))
    assert.ok(!validSignature(TOKEN, URL_.replace('m1', 'm2'), PARAMS, signature))
    assert.ok(!validSignature(TOKEN, URL_.replace('shop', 'evil'), PARAMS, signature))
    assert.ok(!validSignature(TOKEN, URL_, { ...PARAMS, MessageStatus: 'failed' }, signature))
    assert.ok(!validSignature(TOKEN, URL_, { ...PARAMS, More: '' }, signature))
    assert.ok(!validSignature(`${TOKEN}x`, URL_, PARAMS, signature))
    assert.ok(!validSignature(TOKEN, URL_, PARAMS, signature.toLowerCase()))
    for (const wrong of ['', ' ', 'x', `${signature} `, signature.slice(1), 'é'.repeat(14)])
      assert.ok(!validSignature(TOKEN, URL_, PARAMS, wrong))
  })

  test('of a token that is not set never holds', () => {
    const blank = createHmac('sha1', '').update(URL_).digest('base64')
    assert.ok(!validSignature('', URL_, {}, blank))
  })
})

const contracts =
  process.env['SIXWIRE_CONTRACTS'] ??
  fileURLToPath(new URL('../../../../../shared/contracts', import.meta.url))
const contractFile = join(contracts, 'twilio-messages.json')

describe(
  "Twilio's own description of its API",
  {
    skip: existsSync(contractFile)
      ? false
      : `there is no ${contractFile}: SIXWIRE_CONTRACTS names its folder`,
  },
  () => {
    const PATH = '/2010-04-01/Accounts/{AccountSid}/Messages.json'
    const step = (text: string): string => text.replaceAll('~', '~0').replaceAll('/', '~1')

    test('knows every field and parameter that we send, and what this test answers', async (t) => {
      const contract = JSON.parse(readFileSync(contractFile, 'utf8'))
      const ajv = new Ajv({ strict: false, allErrors: true, formats: { 'phone-number': true, uri: true } })
      for (const format of ['date-time', 'date-time-rfc-2822', 'uri-map', 'currency', 'int64'])
        ajv.addFormat(format, true)
      ajv.addSchema(contract, 'twilio')
      const fits = (pointer: string, value: unknown): void => {
        const isRight = ajv.compile({ $ref: `twilio#${pointer}` })
        assert.ok(isRight(value), JSON.stringify([pointer, value, isRight.errors]))
      }
      const paths = `/paths/${step(PATH)}`

      const messages: Held[] = []
      const { asked, apiBase } = await serve(t, resource(messages))
      const statusCallback = 'https://shop.example/messaging/twilio/status'
      const media = { url: 'https://shop.example/a.png' }
      await open({ apiBase, statusCallback }).send(text(), PATIENCE)
      await open({ apiBase, from: `MG${'c3'.repeat(16)}` }).send(text(), PATIENCE)
      await open({ channel: 'whatsapp', apiBase }).send(text({ media }), PATIENCE)
      await open({ apiBase }).find!(text({ body: 'never' }), Date.now())
      await open({ apiBase }).check()
      assert.deepEqual(
        asked.map(({ method }) => method),
        ['POST', 'POST', 'POST', 'GET', 'GET', 'GET'],
      )

      const described =
        contract.paths[PATH].post.requestBody.content['application/x-www-form-urlencoded'].schema
      for (const { method, path, form, query } of asked) {
        const template = path.replace(ACCOUNT, path.endsWith('/Messages.json') ? '{AccountSid}' : '{Sid}')
        const operation = contract.paths[template]?.[method.toLowerCase()]
        assert.ok(operation, `${method} ${template}`)
        if (method === 'POST') {
          const body = Object.fromEntries(
            [...form].map(([name, value]) => [
              name,
              described.properties[name]?.type === 'array' ? [value] : value,
            ]),
          )
          for (const name of form.keys()) assert.ok(described.properties[name], name)
          fits(`${paths}/post/requestBody/content/application~1x-www-form-urlencoded/schema`, body)
        }
        for (const name of query.keys())
          assert.ok(
            operation.parameters.some(
              (one: { name: string; in: string }) => one.in === 'query' && one.name === name,
            ),
            name,
          )
      }
      assert.equal(messages.length, 3)
      for (const message of messages) fits('/components/schemas/api.v2010.account.message', message)
      const listed = await (await fetch(`${apiBase}${MESSAGES}?To=${encodeURIComponent(ADA)}`)).json()
      fits(`${paths}/get/responses/200/content/application~1json/schema`, listed)
    })
  },
)
