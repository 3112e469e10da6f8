import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { describe, test } from 'node:test'

import { startMailServer } from '../../../testing/mail-server.ts'
import { startScriptedSmtp } from '../../../testing/scripted-smtp.ts'
import { closedAddress, letter, open, PATIENCE, send } from './smtp.fixture.ts'

const SHORT = 250 // ms: for the outcomes of a limit

describe('an answer of the server', () => {
  for (const pipelining of [true, false])
    for (const step of ['sender', 'recipient', 'data'] as const)
      for (const [code, kind] of [
        [421, 'retry'],
        [450, 'retry'],
        [452, 'retry'],
        [503, 'retry'],
        [550, 'refused'],
        [554, 'refused'],
      ] as const)
        test(`${code} at ${step} is ${kind}${pipelining ? '' : ', without pipelining'}`, async (t) => {
          const { url, next } = await startMailServer(t, { hidePIPELINING: !pipelining })
          next({ [step]: code })
          const outcome = await send(t, url)
          assert.equal(outcome.kind, kind)
          assert.match((outcome as { reason: string }).reason, new RegExp(`${code} .*as scripted`))
        })

  for (const [code, kind] of [
    [451, 'retry'],
    [554, 'refused'],
  ] as const)
    test(`${code} to DATA itself is ${kind}`, async (t) => {
      const { url } = await startScriptedSmtp(t, { DATA: `${code} not now` })
      assert.equal((await send(t, url)).kind, kind)
    })

  test('that wants a sign-in says nothing about the mail', async (t) => {
    const { url, next } = await startMailServer(t)
    next({ sender: 530 })
    assert.equal((await send(t, url)).kind, 'retry')
  })

  for (const code of [421, 554])
    test(`${code} as its greeting is retry`, async (t) => {
      const { url } = await startScriptedSmtp(t, { greeting: `${code} no service` })
      assert.equal((await send(t, url)).kind, 'retry')
    })

  test('that is long or has several lines is one short line in the reason', async (t) => {
    const { url } = await startScriptedSmtp(t, { MAIL: `550-first\r\n550-${'x'.repeat(2000)}\r\n550 last` })
    const { kind, reason } = (await send(t, url)) as { kind: string; reason: string }
    assert.equal(kind, 'refused')
    assert.doesNotMatch(reason, /[\r\n]/)
    assert.ok(reason.length < 400)
  })

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

describe('a connection', () => {
  test('that is refused is retry', async (t) => {
    assert.equal((await send(t, await closedAddress())).kind, 'retry')
  })

  const hangUp = (socket: Socket): undefined => void socket.destroy()
  const end = (socket: Socket): undefined => void socket.end()

  for (const [how, act] of [
    ['reset', hangUp],
    ['ended', end],
  ] as const) {
    for (const step of ['greeting', 'EHLO', 'MAIL', 'RCPT', 'DATA'])
      test(`${how} at ${step} is retry`, async (t) => {
        const { url } = await startScriptedSmtp(t, { [step]: act })
        assert.equal((await send(t, url)).kind, 'retry')
      })

    for (const step of ['content', '.'])
      test(`${how} ${step === '.' ? 'after the mail was sent' : 'while the mail is sent'} is unknown`, async (t) => {
        const { lines, url } = await startScriptedSmtp(t, { [step]: act })
        assert.equal((await send(t, url)).kind, 'unknown')
        assert.equal(lines.filter((line) => line.startsWith('DATA')).length, 1, 'not sent again')
      })
  }

  test('cut by a real server after DATA is unknown, and the mail is not sent again', async (t) => {
    const { begun, next, url } = await startMailServer(t)
    next('lose and drop')
    const provider = open(t, { url })
    assert.equal((await provider.send(letter(), PATIENCE)).kind, 'unknown')
    assert.equal(begun(), 1)
  })

  test('cut with half an answer is unknown', async (t) => {
    const { url } = await startScriptedSmtp(t, { '.': (socket) => void socket.end('550 5.7.1 no') })
    assert.equal((await send(t, url)).kind, 'unknown')
  })
})

describe('the limit of time', () => {
  const silent = (): undefined => undefined

  for (const [step, kind] of [
    ['greeting', 'retry'],
    ['EHLO', 'retry'],
    ['MAIL', 'retry'],
    ['RCPT', 'retry'],
    ['DATA', 'retry'],
    ['.', 'unknown'],
  ] as const)
    test(`ends a send to a server that is silent at ${step}: ${kind}`, async (t) => {
      const { lines, url } = await startScriptedSmtp(t, { [step]: silent })
      const outcome = await open(t, { url }).send(letter(), SHORT)
      assert.equal(outcome.kind, kind)
      assert.match((outcome as { reason: string }).reason, /within 0\.25 seconds/)
      if (kind === 'retry') assert.doesNotMatch(lines.join('\n'), /^Subject/m)
    })

  test('counts while others hold every connection, and the mail that waited is not sent later', async (t) => {
    const answer = Promise.withResolvers<void>()
    const mail = await startMailServer(t)
    mail.onBegun = () => answer.promise
    const provider = open(t, { url: `${mail.url}?maxConnections=1` })
    const first = provider.send(letter({ messageId: 'first@shop.example' }), PATIENCE)
    const second = await provider.send(letter({ messageId: 'second@shop.example' }), SHORT)
    assert.equal(second.kind, 'retry')
    answer.resolve()
    assert.equal((await first).kind, 'accepted')
    assert.equal(
      (await provider.send(letter({ messageId: 'third@shop.example' }), PATIENCE)).kind,
      'accepted',
    )
    assert.deepEqual(
      mail.received.map(({ messageId }) => messageId),
      ['first@shop.example', 'third@shop.example'],
    )
  })
})
