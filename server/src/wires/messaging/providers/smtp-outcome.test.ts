import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { describe, test, type TestContext } from 'node:test'

import type { WebhookRequest } from '../../../providers/receive.ts'
import { startMailServer, type MailServerOptions } from '../../../testing/mail-server.ts'
import { describeProvider, type Conformance } from '../../../testing/provider-conformance.ts'
import { startScriptedSmtp } from '../../../testing/scripted-smtp.ts'
import type { OutgoingMail } from './provider.ts'
import { bounceReceiver } from '../reports/report-receivers.ts'
import { closedAddress, letter, open, PATIENCE, send } from './smtp.fixture.ts'

const SHORT = 250 // ms: for the outcome of a limit that nothing else can end
const USER = 'shop'
const PASSWORD = 'a-pass-word'
const SECRET = 'the secret of the bounces'

type Ends = Conformance<OutgoingMail>['ends']
type Replies = Parameters<typeof startScriptedSmtp>[1]

/** A real server that answers a step with a code. */
const answers =
  (step: 'sender' | 'recipient' | 'data', code: number, options: MailServerOptions): Ends[number][2] =>
  async (t, clock) => {
    const { url, next, begun } = await startMailServer(t, options)
    next({ [step]: code })
    return { provider: open(t, { url }, clock), asked: begun }
  }

/** A scripted server, for what a real one can't be told to do. */
const scripted =
  (replies: Replies): Ends[number][2] =>
  async (t, clock) => {
    const { url, lines } = await startScriptedSmtp(t, replies)
    return {
      provider: open(t, { url }, clock),
      asked: () => lines.filter((line) => line.startsWith('DATA')).length,
    }
  }

const reset = (socket: Socket): undefined => void socket.destroy()
const end = (socket: Socket): undefined => void socket.end()

const bounce = (
  body: unknown,
  { secret = SECRET, raw = JSON.stringify(body) }: { secret?: string; raw?: string } = {},
): WebhookRequest => ({
  headers: { authorization: `Bearer ${secret}` },
  bytes: Buffer.from(raw),
  contentType: 'application/json',
  url: '/messaging/email/bounce',
  publicUrl: 'https://shop.example/messaging/email/bounce',
})

describeProvider<OutgoingMail>({
  name: 'smtp',
  message: letter(),
  secrets: [PASSWORD],

  async working(t, clock) {
    const mail = await startMailServer(t, { accounts: { [USER]: PASSWORD } })
    const url = `smtp://${USER}:${PASSWORD}@127.0.0.1:${mail.port}`
    return {
      provider: open(t, { url }, clock),
      asked: mail.begun,
      taken: () => mail.received.length,
      hold: (wait) => void (mail.onMail = wait),
    }
  },

  ends: [
    ...[true, false].flatMap((pipelining) =>
      (['sender', 'recipient', 'data'] as const).flatMap((step) =>
        (
          [
            [421, 'retry'],
            [450, 'retry'],
            [452, 'retry'],
            [503, 'retry'],
            [550, 'refused'],
            [554, 'refused'],
          ] as const
        ).map(([code, kind]): Ends[number] => [
          `the server answers ${code} at ${step}${pipelining ? '' : ', without pipelining'}`,
          kind,
          answers(step, code, { hidePIPELINING: !pipelining }),
          new RegExp(`${code} .*as scripted`),
        ]),
      ),
    ),
    // Which wants a sign-in, and says nothing about the mail.
    ['the server answers 530 at sender', 'retry', answers('sender', 530, {})],
    ['the server answers 451 to DATA', 'retry', scripted({ DATA: '451 not now' })],
    ['the server answers 554 to DATA', 'refused', scripted({ DATA: '554 not now' })],
    ['the server greets with 421', 'retry', scripted({ greeting: '421 no service' })],
    ['the server greets with 554', 'retry', scripted({ greeting: '554 no service' })],
    [
      'the answer is long and has several lines',
      'refused',
      scripted({ MAIL: `550-first\r\n550-${'x'.repeat(2000)}\r\n550 last` }),
      /first .*…$/,
    ],
    [
      'there is no server',
      'retry',
      async (t, clock) => ({ provider: open(t, { url: await closedAddress() }, clock), asked: () => 0 }),
    ],
    ...(
      [
        ['reset', reset],
        ['ended', end],
      ] as const
    ).flatMap(([how, act]) => [
      ...['greeting', 'EHLO', 'MAIL', 'RCPT', 'DATA'].map((step): Ends[number] => [
        `the connection is ${how} at ${step}`,
        'retry',
        scripted({ [step]: act }),
      ]),
      ...['content', '.'].map((step): Ends[number] => [
        `the connection is ${how} ${step === '.' ? 'after' : 'within'} the mail`,
        'unknown',
        scripted({ [step]: act }),
      ]),
    ]),
    [
      'a real server cuts the connection after the mail',
      'unknown',
      async (t, clock) => {
        const { begun, next, url } = await startMailServer(t)
        next('lose and drop')
        return { provider: open(t, { url }, clock), asked: begun }
      },
    ],
    [
      'the answer to the mail is cut',
      'unknown',
      scripted({ '.': (socket) => void socket.end('550 5.7.1 no') }),
    ],
  ],

  silences: (
    [
      ['greeting', 'retry'],
      ['EHLO', 'retry'],
      ['MAIL', 'retry'],
      ['RCPT', 'retry'],
      ['DATA', 'retry'],
      ['.', 'unknown'],
    ] as const
  ).map(([step, kind]) => [
    `at ${step}`,
    kind,
    (t, clock, reach) =>
      scripted({
        [step]() {
          reach()
          return undefined
        },
      })(t, clock),
  ]),

  async garbled(t, bytes) {
    const url = `smtp://127.0.0.1:${await startGarbled(t, bytes)}`
    return { provider: open(t, { url }), asked: () => 0 }
  },

  unusable: [
    [
      'there is no server',
      async (t) => open(t, { url: await closedAddress() }),
      /^127\.0\.0\.1:\d+: .*ECONNREFUSED/,
    ],
    [
      'the password is wrong',
      async (t) => {
        const { port } = await startMailServer(t, { accounts: { [USER]: 'another' } })
        return open(t, { url: `smtp://${USER}:${PASSWORD}@127.0.0.1:${port}` })
      },
      /^127\.0\.0\.1:\d+: the server refused the user or the password \(535\)$/,
    ],
  ],

  reports: {
    receiver: bounceReceiver(SECRET),
    good: [
      [bounce({ messageId: '<a@b>' }), [{ messageId: '<a@b>', status: 'bounced' }]],
      [
        bounce({ messageId: 'a@b', status: 'bounced', reason: '550 no such mailbox' }),
        [{ messageId: 'a@b', status: 'bounced', reason: '550 no such mailbox' }],
      ],
      [
        bounce({ messageId: 'a@b', status: 'delivered', more: 1 }),
        [{ messageId: 'a@b', status: 'delivered' }],
      ],
    ],
    forged: [
      ['without a secret', { ...bounce({ messageId: 'a' }), headers: {} }],
      ...['', 'x', `${SECRET}x`, SECRET.slice(1), SECRET.toUpperCase()].map(
        (secret): [string, WebhookRequest] => [`under "${secret}"`, bounce({ messageId: 'a' }, { secret })],
      ),
    ],
    garbage: [
      '',
      '{',
      'null',
      '[]',
      '"a"',
      '{}',
      '{"messageId":""}',
      '{"messageId":7}',
      `{"messageId":"${'x'.repeat(999)}"}`,
      '{"messageId":"a","messageId":"b"}',
      '{"messageId":"a","status":"sent"}',
      '{"messageId":"a","status":"toString"}',
      '{"messageId":"a","reason":{}}',
      '\ufffd',
    ].map((raw) => [`of ${raw.slice(0, 40)}`, bounce(undefined, { raw })]),
  },
})

/** A server that answers whatever comes, its greeting included, with these bytes, and then ends the connection. */
async function startGarbled(t: TestContext, bytes: string): Promise<number> {
  const server = createServer((socket) => void socket.on('error', () => undefined).end(bytes, 'latin1'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => void server.close())
  return (server.address() as AddressInfo).port
}

describe('an answer of the server', () => {
  test('that is 250 instead of 354 is taken as it is meant', async (t) => {
    const { url } = await startScriptedSmtp(t, { DATA: '354 go', '.': '250 queued as 42' })
    assert.deepEqual(await send(t, url), { kind: 'accepted', id: 'fixed.1@shop.example' })
  })

  test('by which some recipients are refused is accepted, and names them', async (t) => {
    const { received, url, next } = await startMailServer(t)
    next({ recipient: { 'bad@example.com': 550 } })
    const outcome = await send(t, url, { to: ['ada@example.com', 'bad@example.com'] })
    assert.deepEqual(
      received.map(({ to }) => to),
      [['ada@example.com']],
    )
    assert.deepEqual(outcome, {
      kind: 'accepted',
      id: 'fixed.1@shop.example',
      refusedRecipients: [
        { address: 'bad@example.com', reason: 'Recipient command failed: 550 as scripted' },
      ],
    })
  })

  test('by which all of them are refused, some for now, is retry', async (t) => {
    const { url, next } = await startMailServer(t)
    next({ recipient: { 'bad@example.com': 550, 'ada@example.com': 450 } })
    assert.equal((await send(t, url, { to: ['bad@example.com', 'ada@example.com'] })).kind, 'retry')
  })
})

test('the limit of time counts while others hold every connection, and the mail that waited is not sent later', async (t) => {
  const answer = Promise.withResolvers<void>()
  const mail = await startMailServer(t)
  mail.onBegun = () => answer.promise
  const provider = open(t, { url: `${mail.url}?maxConnections=1` })
  const first = provider.send(letter({ messageId: 'first@shop.example' }), PATIENCE)
  const second = await provider.send(letter({ messageId: 'second@shop.example' }), SHORT)
  assert.equal(second.kind, 'retry')
  answer.resolve()
  assert.equal((await first).kind, 'accepted')
  assert.equal((await provider.send(letter({ messageId: 'third@shop.example' }), PATIENCE)).kind, 'accepted')
  assert.deepEqual(
    mail.received.map(({ messageId }) => messageId),
    ['first@shop.example', 'third@shop.example'],
  )
})
