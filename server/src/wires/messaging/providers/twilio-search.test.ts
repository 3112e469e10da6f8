import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { describe, test, type TestContext } from 'node:test'

import type { OutgoingText } from './provider.ts'
import {
  ADA,
  held,
  json,
  MESSAGES,
  open,
  resource,
  serve,
  text,
  type ScriptedAnswer,
  type ScriptedRequest,
  type Held,
} from './twilio.fixture.ts'

describe('a search for a text of which nobody knows', () => {
  const SINCE = Date.parse('2026-11-21T10:00:00.500Z')
  const PATIENCE = 10_000
  const at = (ms: number): string => new Date(SINCE + ms).toUTCString().replace('GMT', '+0000')
  const sent = (ms: number, more: Partial<Held> = {}) =>
    held({ date_created: at(ms), date_sent: at(ms), ...more })

  async function find(t: TestContext, messages: Held[], more: Partial<OutgoingText> = {}, pageSize?: number) {
    const { asked, apiBase } = await serve(t, resource(messages, pageSize))
    return { found: await open({ apiBase }).find!(text(more), SINCE, PATIENCE), asked }
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
    assert.deepEqual(found, [right.sid])
    assert.equal(asked[0]?.query.get('To'), ADA)
    assert.equal(asked[0]?.query.get('DateSent>'), '2026-11-21')
  })

  test('finds nothing where there is nothing', async (t) => {
    assert.deepEqual((await find(t, [])).found, [])
    assert.deepEqual((await find(t, [sent(-60_000), sent(100, { body: 'Goodbye' })])).found, [])
  })

  test('finds what is not sent yet', async (t) => {
    const waiting = held({ date_created: at(2000), date_sent: null })
    assert.deepEqual((await find(t, [waiting])).found, [waiting.sid])
    const before = sent(1000)
    assert.deepEqual(
      (await find(t, [waiting, before])).found,
      [before.sid, waiting.sid],
      'beside one that is',
    )
  })

  test('answers all that it may be, each once and the oldest first', async (t) => {
    const [last, later, first] = [sent(120_000), sent(60_000), sent(1000)]
    const { found } = await find(t, [last, later, first], {}, 2)
    assert.deepEqual(found, [first.sid, later.sid, last.sid])
  })

  test('finds what an account on trial has written before it', async (t) => {
    const trial = sent(0, { body: 'Sent from your Twilio trial account - Hello' })
    assert.deepEqual((await find(t, [trial])).found, [trial.sid])
  })

  test('leafs through all pages', async (t) => {
    const right = sent(0)
    const others = Array.from({ length: 7 }, (_, i) => sent(1000 + i, { body: `other ${i}` }))
    const { found, asked } = await find(t, [...others, right], {}, 3)
    assert.deepEqual(found, [right.sid])
    assert.deepEqual(
      asked.map(({ query }) => [query.has('DateSent>'), query.get('Page')]),
      [
        [true, null],
        [true, '1'],
        [true, '2'],
        [false, null],
      ],
    )
  })

  test('keeps to its base, also where a page sends it elsewhere', async (t) => {
    const other = await serve(t, resource([]))
    const pages =
      (next: string): ScriptedAnswer =>
      (_asked, response) =>
        json(response, 200, { messages: [], next_page_uri: next })
    const { asked, apiBase } = await serve(t, (one, response) =>
      pages(one.query.has('Page') ? '' : `${other.apiBase}${MESSAGES}?Page=1`)(one, response),
    )
    await open({ apiBase: `${apiBase}/sandbox/phone` }).find!(text(), SINCE, PATIENCE).catch(() => undefined)
    assert.ok(asked.every(({ path }) => path === `/sandbox/phone${MESSAGES}`))
    assert.deepEqual(other.asked, [])
  })

  test('for WhatsApp looks for its kind of number', async (t) => {
    const right = sent(0, { to: `whatsapp:${ADA}` })
    const { apiBase } = await serve(t, resource([sent(0), right]))
    assert.deepEqual(await open({ channel: 'whatsapp', apiBase }).find!(text(), SINCE, PATIENCE), [right.sid])
  })

  for (const [what, answer] of [
    ['an error', (_asked: ScriptedRequest, response: ServerResponse) => json(response, 500, {})],
    [
      'something else',
      (_asked: ScriptedRequest, response: ServerResponse) => json(response, 200, { messages: 'x' }),
    ],
    ['nothing', (_asked: ScriptedRequest, response: ServerResponse) => void response.destroy()],
  ] as const)
    test(`rejects where Twilio answers ${what}: that does not mean that there is none`, async (t) => {
      const { apiBase } = await serve(t, answer)
      await assert.rejects(open({ apiBase }).find!(text(), SINCE, PATIENCE))
    })
})
