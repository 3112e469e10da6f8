// What every provider of payments must do, whatever it speaks: one suite, run by each of them.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'

import { ApiError } from '../base/errors.ts'
import type { Clock } from '../base/clock.ts'
import type { Outcome } from '../providers/outcome.ts'
import type { Receiver, WebhookRequest } from '../providers/receive.ts'
import type {
  CaptureOrder,
  Order,
  PaymentProvider,
  ProviderEvent,
  RefundOrder,
  RefusalCode,
  PaymentSubject,
} from '../wires/pay/providers/provider.ts'
import { testClock } from './clock.ts'
import { closesAfterCall, GARBAGE, rejectsWithSentence } from './provider-conformance.ts'

/** What each verb is called with. */
export type Calls = {
  create: Order
  capture?: CaptureOrder
  refund: RefundOrder
  retrieve: PaymentSubject & { since: number }
  /** Milliseconds since 1970. */
  events: number
}
type Verb = keyof Calls

/** A provider with the server that it calls. */
export type Called = {
  provider: PaymentProvider
  /** How many calls the server got that create, capture or refund. */
  asked: () => number
}

/** A call that the server ends in one way, and what the outcome must be. */
export type CallEnd = {
  what: string
  verb: Verb
  kind: Outcome['kind']
  /** The `code` of a refusal; by default it must have none. */
  code?: RefusalCode
  details?: Readonly<Record<string, string>>
  afterMs?: number
  reason?: RegExp | string
  start: (t: TestContext, clock: Clock) => Promise<Called>
}

/** What a provider of payments is tested with. */
export type PaymentConformance = {
  name: string
  calls: Calls
  /** What no reason may contain: keys, tokens. */
  secrets: readonly string[]
  /** A server that accepts each of the calls, and waits where a test tells it to. */
  working(t: TestContext, clock: Clock): Promise<Called & { hold: (wait: () => Promise<void>) => void }>
  ends: readonly CallEnd[]
  /** A server that falls silent; it calls `reach` when it does. The call must end at its limit. */
  silences: readonly {
    what: string
    verb: Verb
    kind: Outcome['kind']
    start: (t: TestContext, clock: Clock, reach: () => void) => Promise<Called>
  }[]
  /** A server that answers everything with these bytes. */
  garbled(t: TestContext, bytes: string): Promise<Called>
  /** Providers of which `check` must say why they cannot be used. */
  unusable: readonly {
    what: string
    start: (t: TestContext) => Promise<PaymentProvider>
    sentence: RegExp
  }[]
  webhooks: {
    start(t: TestContext): Promise<Receiver<ProviderEvent>>
    good: readonly { what: string; request: () => WebhookRequest; events: readonly ProviderEvent[] }[]
    forged: readonly { what: string; request: () => WebhookRequest }[]
    /** Verified, but not what the provider sends. */
    garbage: readonly { what: string; request: () => WebhookRequest }[]
  }
}

const LIMIT_MS = 10_000
const KINDS: ReadonlySet<string> = new Set(['accepted', 'refused', 'retry', 'unknown'])

/** Calls a verb of a provider with what the conformance has for it. */
function call(provider: PaymentProvider, verb: Verb, calls: Calls): Promise<Outcome> {
  switch (verb) {
    case 'create':
      return provider.create(calls.create, LIMIT_MS)
    case 'capture':
      assert.ok(provider.capture && calls.capture, 'this provider has no capture')
      return provider.capture(calls.capture, LIMIT_MS)
    case 'refund':
      return provider.refund(calls.refund, LIMIT_MS)
    case 'retrieve':
      return provider.retrieve(calls.retrieve, LIMIT_MS)
    case 'events':
      return provider.events(calls.events, LIMIT_MS)
  }
}

/** Runs the suite. */
export function describePaymentProvider(conformance: PaymentConformance): void {
  const { name, calls, secrets, webhooks } = conformance
  const verbs: readonly Verb[] = [
    'create',
    ...(calls.capture ? (['capture'] as const) : []),
    'refund',
    'retrieve',
    'events',
  ]

  const reasonOf = (outcome: Outcome): string => {
    assert.ok(KINDS.has(outcome.kind), outcome.kind)
    if (outcome.kind === 'accepted') return ''
    const { reason } = outcome
    assert.match(reason, /^[^\r\n\0]{1,400}$/)
    for (const secret of secrets) assert.ok(!reason.includes(secret), reason)
    return reason
  }

  describe(`${name} as a provider of payments`, () => {
    for (const verb of verbs)
      test(`answers accepted to ${verb} if the server does it`, async (t) => {
        const { provider, asked } = await conformance.working(t, testClock())
        const outcome = await call(provider, verb, calls)
        assert.equal(outcome.kind, 'accepted', reasonOf(outcome))
        assert.equal(asked(), verb === 'retrieve' || verb === 'events' ? 0 : 1)
      })

    for (const { what, verb, kind, code, details, afterMs, reason: expected, start } of conformance.ends)
      test(`answers ${code ?? kind} to ${verb} if ${what}, and calls once`, async (t) => {
        const { provider, asked } = await start(t, testClock())
        const outcome = await call(provider, verb, calls)
        const reason = reasonOf(outcome)
        assert.equal(outcome.kind, kind, reason)
        if (outcome.kind === 'refused') assert.deepEqual([outcome.code, outcome.details], [code, details])
        if (outcome.kind === 'retry') assert.equal(outcome.afterMs, afterMs)
        if (typeof expected === 'string') assert.equal(reason, expected)
        else if (expected) assert.match(reason, expected)
        await turn()
        assert.ok(asked() <= 1, 'it was called again')
      })

    for (const { what, verb, kind, start } of conformance.silences)
      test(`ends ${verb} at its limit with ${kind} if the server is silent ${what}`, async (t) => {
        const clock = testClock()
        const reached = Promise.withResolvers<void>()
        const { provider, asked } = await start(t, clock, () => reached.resolve())
        let isOver = false
        const calling = call(provider, verb, calls).finally(() => (isOver = true))
        await reached.promise
        assert.equal(isOver, false)
        clock.advance(LIMIT_MS)
        const outcome = await calling
        assert.match(reasonOf(outcome), /\d seconds/)
        assert.equal(outcome.kind, kind)
        assert.ok(asked() <= 1, 'it was called again')
      })

    for (const verb of verbs)
      test(`answers an outcome that decides nothing to ${verb} if the server answers garbage`, async (t) => {
        for (const bytes of GARBAGE) {
          const { provider } = await conformance.garbled(t, bytes)
          const outcome = await call(provider, verb, calls)
          reasonOf(outcome)
          assert.ok(['retry', 'unknown'].includes(outcome.kind), `${outcome.kind}: ${JSON.stringify(bytes)}`)
        }
      })

    test('checks a server that works, and moves no money', async (t) => {
      const { provider, asked } = await conformance.working(t, testClock())
      await provider.check()
      assert.equal(asked(), 0)
    })

    for (const { what, start, sentence } of conformance.unusable)
      test(`says in one sentence why it cannot be used if ${what}`, async (t) => {
        const provider = await start(t)
        await rejectsWithSentence(provider.check(), sentence, secrets)
      })

    test('waits in close for calls under way', async (t) => {
      const { provider, hold } = await conformance.working(t, testClock())
      await closesAfterCall(provider, hold, () => provider.create(calls.create, LIMIT_MS))
    })

    for (const { what, request, events } of webhooks.good)
      test(`reads a webhook ${what}`, async (t) => {
        const receiver = await webhooks.start(t)
        const webhook = request()
        receiver.authorize?.(webhook.headers)
        const received = await receiver.receive(webhook)
        // The payload is for the console: tests of its routes show it.
        assert.deepEqual(
          received.map(({ payload: _payload, ...event }) => event),
          events,
        )
      })
    for (const { what, request } of webhooks.forged)
      test(`refuses a webhook ${what}`, async (t) => {
        const receiver = await webhooks.start(t)
        await assert.rejects(receiver.receive(request()), { code: 'INVALID_SIGNATURE', status: 400 })
      })
    for (const { what, request } of webhooks.garbage)
      test(`answers 400 to a webhook ${what}`, async (t) => {
        const receiver = await webhooks.start(t)
        const webhook = request()
        receiver.authorize?.(webhook.headers)
        await assert.rejects(
          receiver.receive(webhook),
          (error) => error instanceof ApiError && error.status === 400 && error.code === 'VALIDATION_ERROR',
        )
      })
  })
}
