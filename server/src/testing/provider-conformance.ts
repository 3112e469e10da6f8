// What every provider of messages must do, whatever it speaks: one suite, run by each of them.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'

import { ApiError } from '../base/errors.ts'
import type { Clock } from '../base/clock.ts'
import type { Outcome } from '../providers/outcome.ts'
import type { Receiver, WebhookRequest } from '../providers/receive.ts'
import { testClock } from './clock.ts'

type Kind = Outcome['kind']

/** What mail and text providers have in common, with what they send. */
export type Conforming<M> = Partial<Receiver<unknown>> & {
  send(message: M, limitMs: number): Promise<Outcome<{ id: string }>>
  check(): Promise<void>
  close(): Promise<void>
  find?(message: M, since: number, limitMs: number): Promise<readonly string[]>
}

/** A provider with the far side that it calls. */
export type FarSide<M> = {
  provider: Conforming<M>
  /** How many messages the far side was asked to take, whole or in part. */
  asked: () => number
}

/** A far side that works, and waits where a test holds it. */
export type WorkingSide<M> = FarSide<M> & {
  /** How many messages it has. */
  taken: () => number
  /** Called with each message before it is answered. */
  hold: (wait: () => Promise<void>) => void
}

export type Conformance<M> = {
  name: string
  message: M
  /** What no reason may hold: passwords, tokens. */
  secrets: readonly string[]
  working(t: TestContext, clock: Clock): Promise<WorkingSide<M>>
  /** A far side that ends the call in one way, and what the outcome must be. */
  ends: readonly [
    what: string,
    kind: Kind,
    start: (t: TestContext, clock: Clock) => Promise<FarSide<M>>,
    reason?: RegExp | string,
  ][]
  /** A far side that falls silent; `reach` is called when it does. The limit of time must end the call then. */
  silences: readonly [
    what: string,
    kind: Kind,
    start: (t: TestContext, clock: Clock, reach: () => void) => Promise<FarSide<M>>,
  ][]
  /** A far side that answers everything with these bytes. */
  garbled(t: TestContext, bytes: string): Promise<FarSide<M>>
  /** Providers of which `check` must say why they cannot send. */
  unusable: readonly [what: string, start: (t: TestContext) => Promise<Conforming<M>>, sentence: RegExp][]
  /** How the provider's own reports are verified. */
  reports?: {
    receiver: Receiver<unknown>
    good: readonly [request: WebhookRequest, events: readonly unknown[]][]
    forged: readonly [what: string, request: WebhookRequest][]
    /** Verified, but not what the provider sends. */
    garbage: readonly [what: string, request: WebhookRequest][]
  }
}

const LIMIT_MS = 20_000
const KINDS: ReadonlySet<string> = new Set(['accepted', 'refused', 'retry', 'unknown'])
/** Answers that no provider gives. */
export const GARBAGE = [
  '',
  '\n',
  '\r\n\r\n',
  '\0',
  '{}',
  'HTTP/1.1 200 OK\r\n\r\n',
  'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]',
  'HTTP/1.1 201 Created\r\ncontent-length: 4\r\n\r\nnull',
  'HTTP/1.1 99999 x\r\n\r\n',
  'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n',
  '220 here\r\n220 here\r\n220 here\r\n250 ok\r\n354 go\r\n250 ok\r\n',
  '999 what\r\n',
  '250',
  '\x16\x03\x01\x02\x00',
  `220 ${'x'.repeat(10_000)}\r\n`,
]

/** A rejection for the operator: one line that says what is wrong, without secrets. */
export const rejectsWithSentence = (
  check: Promise<void>,
  sentence: RegExp,
  secrets: readonly string[],
): Promise<void> =>
  assert.rejects(check, (error: Error) => {
    assert.match(error.message, sentence)
    assert.match(error.message, /^[^\r\n]{1,400}$/)
    for (const secret of secrets) assert.ok(!error.message.includes(secret), error.message)
    return true
  })

/** Shows that `close` waits for a call that the server holds, and may be called again. */
export async function closesAfterCall(
  provider: { close(): Promise<void> },
  hold: (wait: () => Promise<void>) => void,
  call: () => Promise<Outcome>,
): Promise<void> {
  const [begun, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  hold(() => (begun.resolve(), goOn.promise))
  const calling = call()
  await begun.promise
  let isClosed = false
  const closing = provider.close().then(() => (isClosed = true))
  for (let i = 0; i < 5; i++) await turn()
  const wasClosed = isClosed
  goOn.resolve()
  assert.equal((await calling).kind, 'accepted')
  await closing
  assert.equal(wasClosed, false)
  await provider.close()
}

export function describeProvider<M>(conformance: Conformance<M>): void {
  const { name, message, secrets } = conformance

  const reasonOf = (outcome: Outcome): string => {
    assert.ok(KINDS.has(outcome.kind), outcome.kind)
    if (outcome.kind === 'accepted') return ''
    const { reason } = outcome
    assert.match(reason, /^[^\r\n\0]{1,400}$/)
    for (const secret of secrets) assert.ok(!reason.includes(secret), reason)
    return reason
  }

  describe(`${name} as a provider`, () => {
    test('answers accepted, with an id, for what the far side has', async (t) => {
      const { provider, taken, asked } = await conformance.working(t, testClock())
      const outcome = await provider.send(message, LIMIT_MS)
      assert.equal(outcome.kind, 'accepted')
      assert.ok((outcome as { id: string }).id.length > 0)
      assert.deepEqual([taken(), asked()], [1, 1])
    })

    for (const [what, kind, start, expected] of conformance.ends)
      test(`answers ${kind} if ${what}, and calls once`, async (t) => {
        const { provider, asked } = await start(t, testClock())
        const outcome = await provider.send(message, LIMIT_MS)
        const reason = reasonOf(outcome)
        assert.equal(outcome.kind, kind, reason)
        if (typeof expected === 'string') assert.equal(reason, expected)
        else if (expected) assert.match(reason, expected)
        await turn()
        assert.ok(asked() <= 1, 'it was asked again')
      })

    for (const [what, kind, start] of conformance.silences)
      test(`ends at its limit with ${kind} if the far side is silent ${what}`, async (t) => {
        const clock = testClock()
        let isReached = false
        const { provider, asked } = await start(t, clock, () => (isReached = true))
        let isOver = false
        const sending = provider.send(message, LIMIT_MS).finally(() => (isOver = true))
        while (!isReached) await turn()
        assert.equal(isOver, false)
        clock.advance(LIMIT_MS)
        const outcome = await sending
        assert.match(reasonOf(outcome), /\d seconds/)
        assert.equal(outcome.kind, kind)
        assert.ok(asked() <= 1, 'it was asked again')
      })

    for (const [at, bytes] of GARBAGE.entries())
      test(`answers an outcome, but not accepted, to garbage (${at + 1})`, async (t) => {
        const { provider } = await conformance.garbled(t, bytes)
        const outcome = await provider.send(message, LIMIT_MS)
        reasonOf(outcome)
        assert.notEqual(outcome.kind, 'accepted')
      })

    test('checks a far side that works, and sends nothing', async (t) => {
      const { provider, asked, taken } = await conformance.working(t, testClock())
      await provider.check()
      assert.deepEqual([asked(), taken()], [0, 0])
    })

    for (const [what, start, sentence] of conformance.unusable)
      test(`says in one sentence why it cannot send if ${what}`, async (t) => {
        const provider = await start(t)
        await rejectsWithSentence(provider.check(), sentence, secrets)
      })

    test('finds what it sent, and no more, if it can look for messages', async (t) => {
      const { provider } = await conformance.working(t, testClock())
      if (!provider.find) return
      const since = Date.now() - 1_000
      assert.deepEqual(await provider.find(message, since, LIMIT_MS), [])
      const outcome = await provider.send(message, LIMIT_MS)
      assert.deepEqual(await provider.find(message, since, LIMIT_MS), [(outcome as { id: string }).id])
    })

    // "None" would mean that it was certainly not sent.
    test('rejects if it cannot look for messages', async (t) => {
      for (const bytes of GARBAGE) {
        const { provider } = await conformance.garbled(t, bytes)
        if (!provider.find) return
        await assert.rejects(provider.find(message, 0, LIMIT_MS), JSON.stringify(bytes))
      }
    })

    test('waits in close for what is under way', async (t) => {
      const { provider, taken, hold } = await conformance.working(t, testClock())
      await closesAfterCall(provider, hold, () => provider.send(message, LIMIT_MS))
      assert.equal(taken(), 1)
    })

    const { reports } = conformance
    if (!reports) return
    const refusal = (request: WebhookRequest) => async (): Promise<never> => {
      const { receiver } = reports
      receiver.authorize?.(request.headers)
      throw Object.assign(new Error('it was read'), { events: await receiver.receive(request) })
    }

    for (const [at, [request, events]] of reports.good.entries())
      test(`reads a report that is its own (${at + 1})`, async () => {
        reports.receiver.authorize?.(request.headers)
        assert.deepEqual(await reports.receiver.receive(request), events)
      })
    for (const [what, request] of reports.forged)
      test(`refuses a report ${what}`, () =>
        assert.rejects(refusal(request), { code: 'INVALID_SIGNATURE', status: 400 }))
    test('refuses a forged report without its headers being looked at before', async () => {
      for (const [what, request] of reports.forged)
        await assert.rejects(reports.receiver.receive(request), { code: 'INVALID_SIGNATURE' }, what)
    })
    for (const [what, request] of reports.garbage)
      test(`answers 400 to a report ${what}`, () =>
        assert.rejects(refusal(request), (error) => error instanceof ApiError && error.status === 400))
  })
}
