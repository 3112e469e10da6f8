import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { Ajv } from 'ajv'

import {
  ACCOUNT,
  ADA,
  FROM,
  MESSAGES,
  open,
  PATIENCE,
  resource,
  serve,
  text,
  TOKEN,
  type ScriptedRequest,
  type Held,
} from './twilio.fixture.ts'

describe('a text', () => {
  test('is asked of Twilio with our credentials, and has its sid', async (t) => {
    const messages: Held[] = []
    const { asked, apiBase } = await serve(t, resource(messages))
    const outcome = await open({ apiBase }).send(text({ body: 'Grüße & =+ 👋' }), PATIENCE)
    assert.deepEqual(outcome, { kind: 'accepted', id: messages[0]?.sid })
    const [{ method, path, form, headers }] = asked as [ScriptedRequest]
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

  test('is reported to the address that comes with it', async (t) => {
    const { asked, apiBase } = await serve(t, resource([]))
    const reportTo = 'https://shop.example/messaging/twilio/status?id=m1'
    await open({ apiBase }).send(text({ reportTo }), PATIENCE)
    assert.equal(asked[0]?.form.get('StatusCallback'), reportTo)
  })

  test('is not reported to an address that only this machine can reach, unless Twilio is here as well', async (t) => {
    const { asked, apiBase } = await serve(t, resource([]))
    const locals = ['localhost', '127.0.0.1', '[::1]', 'app.localhost'].map((host) => `http://${host}:3000/x`)
    // Another name of this machine, which is not known as one: it stands for a Twilio that is elsewhere.
    const elsewhere = apiBase.replace('127.0.0.1', '0.0.0.0')
    for (const base of [apiBase, elsewhere])
      for (const reportTo of [...locals, 'https://shop.example/x'])
        assert.equal((await open({ apiBase: base }).send(text({ reportTo }), PATIENCE)).kind, 'accepted')
    assert.deepEqual(
      asked.map(({ form }) => form.get('StatusCallback')),
      [...locals, 'https://shop.example/x', null, null, null, null, 'https://shop.example/x'],
    )
  })

  test('is sent below a base with a path', async (t) => {
    const { asked, apiBase } = await serve(t, resource([]))
    await open({ apiBase: `${apiBase}/sandbox/phone/` }).send(text(), PATIENCE)
    assert.equal(asked[0]?.path, `/sandbox/phone${MESSAGES}`)
  })

  test('has a base that is an address', () => {
    for (const apiBase of ['', 'api.twilio.com', 'https://', 'https://a b', 'ftp://api.twilio.com'])
      assert.throws(() => open({ apiBase }), /^StartError: TWILIO_API_BASE, or the apiBase /)
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
})

const contracts =
  process.env['SIXWIRE_CONTRACTS'] ??
  fileURLToPath(new URL('../../../../../../shared/contracts', import.meta.url))
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
      const reportTo = 'https://shop.example/messaging/twilio/status?id=m1'
      const media = { url: 'https://shop.example/a.png' }
      await open({ apiBase }).send(text({ reportTo }), PATIENCE)
      await open({ apiBase, from: `MG${'c3'.repeat(16)}` }).send(text(), PATIENCE)
      await open({ channel: 'whatsapp', apiBase }).send(text({ media }), PATIENCE)
      await open({ apiBase }).find!(text({ body: 'never' }), Date.now(), 10_000)
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
