import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { describe, test, type TestContext } from 'node:test'

import { startSilence } from '../../../testing/silence.ts'
import type { Outcome } from '../provider.ts'
import {
  json,
  MESSAGES,
  open,
  PATIENCE,
  resource,
  serve,
  text,
  TOKEN,
  type Answer,
  type Asked,
} from './twilio.fixture.ts'

const SHORT = 250 // ms: for the outcomes of a limit

/** The outcome of a send to a server that answers so. */
async function outcomeOf(t: TestContext, answer: Answer, limitMs = PATIENCE): Promise<Outcome> {
  const { apiBase } = await serve(t, answer)
  return open({ apiBase }).send(text(), limitMs)
}

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

  // It connects, but is not there: as with a network that drops everything, nothing was said to it.
  test('because connecting does not end is retry, long before the limit', async (t) => {
    const { host } = await startSilence(t)
    const outcome = await open({ apiBase: `https://${host}` }).send(text(), 2 * SHORT)
    assert.equal(outcome.kind, 'retry')
    assert.match(
      (outcome as { reason: string }).reason,
      /^Twilio can't be reached \(no connection within 0\.\d/,
    )
  })

  test('because it is somebody else is retry', async (t) => {
    const { apiBase, asked } = await serve(t, resource([]))
    const outcome = await open({ apiBase: apiBase.replace('http:', 'https:') }).send(text(), PATIENCE)
    assert.equal(outcome.kind, 'retry')
    assert.deepEqual(asked, [])
  })

  test('because a name is unknown is retry', async () => {
    const outcome = await open({ apiBase: 'https://twilio.invalid' }).send(text(), PATIENCE)
    assert.equal(outcome.kind, 'retry')
  })

  test('because the connection was cut is unknown', async (t) => {
    assert.equal((await outcomeOf(t, (_asked, response) => response.destroy())).kind, 'unknown')
    const half = await outcomeOf(t, (_asked, response) => {
      response.writeHead(201, { 'content-length': '1000' }).write('{"sid":')
      setImmediate(() => response.destroy())
    })
    assert.equal(half.kind, 'unknown')
  })

  test('is never asked for twice', async (t) => {
    let cut = 0
    const { apiBase, asked } = await serve(t, (one, response) =>
      cut++ % 2 === 0 ? resource([])(one, response) : void response.destroy(),
    )
    const provider = open({ apiBase })
    const kinds: string[] = []
    for (let i = 0; i < 6; i++) kinds.push((await provider.send(text(), PATIENCE)).kind)
    const pair = ['accepted', 'unknown']
    assert.deepEqual(kinds, [...pair, ...pair, ...pair])
    assert.equal(asked.length, 6)
  })

  test('within the limit is unknown', async (t) => {
    const outcome = await outcomeOf(t, () => undefined, SHORT + 0.5)
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
