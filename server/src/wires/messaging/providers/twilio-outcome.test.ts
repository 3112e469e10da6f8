import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'

import official from 'twilio'

import { startPeer } from '../../../outbound/peer.fixture.ts'
import type { WebhookRequest } from '../../../providers/receive.ts'
import { testClock } from '../../../testing/clock.ts'
import { describeProvider, type Conformance } from '../../../testing/provider-conformance.ts'
import { startSilence } from '../../../testing/silence.ts'
import type { OutgoingText } from './provider.ts'
import { twilioReceiver } from './twilio-report.ts'
import {
  ACCOUNT,
  json,
  MESSAGES,
  open,
  PATIENCE,
  resource,
  serve,
  text,
  TOKEN,
  type ScriptedAnswer,
  type Held,
} from './twilio.fixture.ts'

type Ends = Conformance<OutgoingText>['ends']

const posts = (asked: readonly { method: string }[]): number =>
  asked.filter(({ method }) => method === 'POST').length

/** A server that answers so. */
const answered =
  (answer: ScriptedAnswer): Ends[number][2] =>
  async (t, clock) => {
    const { apiBase, asked } = await serve(t, answer)
    return { provider: open({ apiBase }, clock), asked: () => posts(asked) }
  }

const problem = (status: number, code: number, message: string) => ({
  code,
  message,
  more_info: `https://www.twilio.com/docs/errors/${code}`,
  status,
})

const REPORTS = 'https://shop.example/messaging/twilio/status'
const DELIVERED = { MessageSid: 'SM1', MessageStatus: 'delivered', To: '+49 1', Body: 'ü' }

/** A report as Twilio signs it, over the fields, whatever their encoding. */
function report(
  fields: Record<string, string>,
  {
    publicUrl = `${REPORTS}?id=m1`,
    signedUrl = publicUrl,
    token = TOKEN,
    raw = new URLSearchParams(fields).toString(),
  }: { publicUrl?: string; signedUrl?: string; token?: string; raw?: string | Buffer } = {},
): WebhookRequest {
  const signature = official.getExpectedTwilioSignature(token, signedUrl, fields)
  return {
    headers: { 'x-twilio-signature': signature },
    bytes: Buffer.from(raw),
    contentType: 'application/x-www-form-urlencoded',
    url: '/messaging/twilio/status?id=m1',
    publicUrl,
  }
}

describeProvider<OutgoingText>({
  name: 'twilio',
  message: text(),
  secrets: [TOKEN, Buffer.from(`${ACCOUNT}:${TOKEN}`).toString('base64')],

  async working(t, clock) {
    const messages: Held[] = []
    const take = resource(messages)
    let wait = async (): Promise<void> => undefined
    const { apiBase, asked } = await serve(t, (one, response) => void wait().then(() => take(one, response)))
    return {
      provider: open({ apiBase }, clock),
      asked: () => posts(asked),
      taken: () => messages.length,
      hold: (next) => void (wait = next),
    }
  },

  ends: [
    ...(
      [
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
      ] as const
    ).map(([status, code, message, kind]): Ends[number] => [
      `Twilio answers ${status} with ${code}`,
      kind,
      answered((_asked, response) => json(response, status, problem(status, code, message))),
      `Twilio ${code}: ${message}`,
    ]),
    ...(
      [
        [400, 'refused'],
        [413, 'refused'],
        [429, 'retry'],
        [502, 'unknown'],
        [504, 'unknown'],
      ] as const
    ).map(([status, kind]): Ends[number] => [
      `a proxy answers ${status} with a page`,
      kind,
      answered((_asked, response) =>
        response.writeHead(status, { 'content-type': 'text/html' }).end('<h1>no</h1>'),
      ),
      `Twilio answered ${status}`,
    ]),
    ...['', 'null', '[]', '{}', '{"sid":null}', '{"sid":""}', '<html>'].map((body): Ends[number] => [
      `Twilio answers 201 with ${JSON.stringify(body)}`,
      'unknown',
      answered((_asked, response) => response.writeHead(201).end(body)),
      'Twilio answered 201 without a message',
    ]),
    [
      'the answer is long and has several lines',
      'refused',
      answered((_asked, response) => json(response, 400, problem(400, 1, `a\r\nb ${'x'.repeat(5000)}`))),
      /^Twilio 1: a b x+…$/,
    ],
    [
      'the connection is cut',
      'unknown',
      answered((_asked, response) => void response.destroy()),
      /^the connection to Twilio was lost/,
    ],
    [
      'the connection is cut within the answer',
      'unknown',
      answered((_asked, response) => {
        response.writeHead(201, { 'content-length': '1000' }).write('{"sid":')
        setImmediate(() => response.destroy())
      }),
    ],
    [
      'nobody is there',
      'retry',
      async (t, clock) => {
        const { apiBase, server } = await serve(t, resource([]))
        server.close()
        await once(server, 'close')
        return { provider: open({ apiBase }, clock), asked: () => 0 }
      },
      "Twilio can't be reached (ECONNREFUSED)",
    ],
    [
      'it is another server, without TLS',
      'retry',
      async (t, clock) => {
        const { apiBase, asked } = await serve(t, resource([]))
        return {
          provider: open({ apiBase: apiBase.replace('http:', 'https:') }, clock),
          asked: () => asked.length * 2,
        }
      },
    ],
    [
      'its name is unknown',
      'retry',
      async (_t, clock) => ({
        provider: open({ apiBase: 'https://twilio.invalid' }, clock),
        asked: () => 0,
      }),
    ],
  ],

  silences: [
    ['after it was asked', 'unknown', (t, clock, reach) => answered(() => reach())(t, clock)],
    [
      'within its answer',
      'unknown',
      (t, clock, reach) =>
        answered((_asked, response) => {
          response.writeHead(201).write('{"sid":')
          reach()
        })(t, clock),
    ],
    [
      'while TLS begins',
      'retry',
      async (t, clock, reach) => {
        const silence = await startSilence(t)
        const watch = async (): Promise<void> => {
          while (silence.requests() === 0) await turn()
          reach()
        }
        void watch()
        return { provider: open({ apiBase: `https://${silence.host}` }, clock), asked: () => 0 }
      },
    ],
  ],

  async garbled(t, bytes) {
    const peer = await startPeer(t, (socket) => socket.end(bytes, 'latin1'))
    return { provider: open({ apiBase: `http://127.0.0.1:${peer.port}` }), asked: () => 0 }
  },

  unusable: [
    [
      'nobody is there',
      async (t) => {
        const { apiBase, server } = await serve(t, resource([]))
        server.close()
        await once(server, 'close')
        return open({ apiBase })
      },
      /^Twilio can't be reached \(ECONNREFUSED\)$/,
    ],
    ...(
      [
        [401, { code: 20003, message: 'Authenticate' }, /^Twilio does not know this account or its token$/],
        [200, { status: 'suspended' }, /^the Twilio account is suspended$/],
        [200, null, /^the Twilio account is undefined$/],
        [500, {}, /^Twilio answered 500$/],
      ] as const
    ).map(([status, body, sentence]): Conformance<OutgoingText>['unusable'][number] => [
      `Twilio answers ${status} with ${JSON.stringify(body)}`,
      async (t) =>
        open({ apiBase: (await serve(t, (_asked, response) => json(response, status, body))).apiBase }),
      sentence,
    ]),
  ],

  reports: {
    receiver: twilioReceiver(TOKEN),
    good: [
      [report(DELIVERED), [{ id: 'm1', messageId: 'SM1', status: 'delivered' }]],
      [
        // In another encoding than a program would choose; a signature is over what it means.
        report(DELIVERED, { raw: 'MessageSid=SM1&MessageStatus=%64elivered&To=%2B49+1&Body=%c3%bc' }),
        [{ id: 'm1', messageId: 'SM1', status: 'delivered' }],
      ],
      [
        report({ ...DELIVERED, MessageStatus: 'read' }),
        [{ id: 'm1', messageId: 'SM1', status: 'delivered' }],
      ],
      [report({ ...DELIVERED, MessageStatus: 'queued' }), [{ id: 'm1', messageId: 'SM1', status: 'sent' }]],
      [
        report({ ...DELIVERED, MessageStatus: 'undelivered', ErrorCode: '30003' }),
        [{ id: 'm1', messageId: 'SM1', status: 'failed', error: 'Twilio 30003: undelivered' }],
      ],
      [
        report({ ...DELIVERED, MessageStatus: 'failed' }),
        [{ id: 'm1', messageId: 'SM1', status: 'failed', error: 'The provider reported: failed.' }],
      ],
      [report({ ...DELIVERED, MessageStatus: 'something new' }), []],
      [report({ ...DELIVERED, MessageStatus: 'toString' }), []],
      [report({ MessageStatus: 'delivered' }), []],
      [report(DELIVERED, { publicUrl: REPORTS }), []],
      [report({}), []],
    ],
    forged: [
      ['without a signature', { ...report(DELIVERED), headers: {} }],
      ['with an empty signature', { ...report(DELIVERED), headers: { 'x-twilio-signature': '' } }],
      ['with another signature', { ...report(DELIVERED), headers: { 'x-twilio-signature': 'AAAA' } }],
      ['signed with another token', report(DELIVERED, { token: 'another' })],
      ['signed for another message', report(DELIVERED, { signedUrl: `${REPORTS}?id=m2` })],
      [
        'signed for another host',
        report(DELIVERED, { signedUrl: `${REPORTS}?id=m1`.replace('shop', 'evil') }),
      ],
      ['with a field more', report(DELIVERED, { raw: `${new URLSearchParams(DELIVERED).toString()}&x=y` })],
      ['with a field less', report(DELIVERED, { raw: 'MessageSid=SM1&MessageStatus=delivered' })],
      ['in another format', report(DELIVERED, { raw: JSON.stringify(DELIVERED) })],
    ],
    garbage: [
      ['with a field twice', report({ a: '1' }, { raw: 'a=1&a=1' })],
      ['that is not UTF-8', report({}, { raw: Buffer.from([0x61, 0xff]) })],
    ],
  },
})

describe('an answer of Twilio', () => {
  test('that says how long to wait is heeded', async (t) => {
    const { apiBase } = await serve(t, (_asked, response) =>
      json(response, 429, problem(429, 20429, 'Too many requests'), { 'retry-after': '7' }),
    )
    assert.deepEqual(await open({ apiBase }).send(text(), PATIENCE), {
      kind: 'retry',
      reason: 'Twilio 20429: Too many requests',
      afterMs: 7000,
    })
  })

  test('that sends us elsewhere is not followed', async (t) => {
    const other = await serve(t, resource([]))
    for (const status of [301, 302, 307, 308]) {
      const { apiBase } = await serve(t, (_asked, response: ServerResponse) =>
        response.writeHead(status, { location: other.apiBase + MESSAGES }).end(),
      )
      assert.equal((await open({ apiBase }).send(text(), PATIENCE)).kind, 'retry')
    }
    assert.deepEqual(other.asked, [])
  })
})

// It connects, but is not there: as with a network that drops everything, nothing was said to it.
test('connecting ends long before the limit, so that another provider can take over', async (t) => {
  const clock = testClock()
  const silence = await startSilence(t)
  const sending = open({ apiBase: `https://${silence.host}` }, clock).send(text(), 5_000)
  while (silence.requests() === 0) await turn()
  clock.advance(2_000)
  const outcome = await sending
  assert.equal(outcome.kind, 'retry')
  assert.match(
    (outcome as { reason: string }).reason,
    /^Twilio can't be reached \(no connection within 2(\.\d)? seconds\)$/,
  )
})
