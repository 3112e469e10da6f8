import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { stillClock } from '../testing/clock.ts'
import { guarded } from './guard.ts'
import type { Outcome } from './outcome.ts'

type Sent = { id: string }
const isAccepted = ({ id }: Readonly<Record<string, unknown>>): boolean => typeof id === 'string'

/** What becomes of what a provider answers, whatever its type says. */
const answered = (answer: unknown): Promise<Outcome<Sent>> =>
  guarded<Sent>(async () => answer as Outcome<Sent>, { limitMs: 60_000, clock: stillClock(), isAccepted })

describe('a guarded call', () => {
  for (const outcome of [
    { kind: 'accepted', id: 'a', more: [1] },
    { kind: 'refused', reason: 'no' },
    { kind: 'retry', reason: 'later' },
    { kind: 'retry', reason: 'later', afterMs: 5 },
    { kind: 'unknown', reason: 'lost' },
  ])
    test(`answers ${JSON.stringify(outcome)} as it is`, async () =>
      assert.deepEqual(await answered(outcome), outcome))

  for (const [answer, outcome] of [
    [{ kind: 'refused' }, { kind: 'refused', reason: 'the provider did not say why' }],
    [
      { kind: 'refused', reason: 7, afterMs: 5 },
      { kind: 'refused', reason: '7' },
    ],
    [
      { kind: 'refused', reason: 'a\r\nb' },
      { kind: 'refused', reason: 'a b' },
    ],
    [
      { kind: 'retry', reason: 'x', afterMs: 'soon' },
      { kind: 'retry', reason: 'x' },
    ],
    [
      { kind: 'retry', reason: 'x', afterMs: Infinity },
      { kind: 'retry', reason: 'x' },
    ],
    [
      { kind: 'retry', reason: 'x', afterMs: -1 },
      { kind: 'retry', reason: 'x' },
    ],
  ])
    test(`puts ${JSON.stringify(answer)} right`, async () =>
      assert.deepEqual(await answered(answer), outcome))

  const cycle: Record<string, unknown> = {}
  cycle['self'] = cycle
  for (const garbage of [
    undefined,
    null,
    true,
    'accepted',
    5n,
    [],
    {},
    { kind: 'accepted' },
    { kind: 'accepted', id: 7 },
    { kind: 'sent' },
    { kind: 'toString' },
    { kind: ['refused'] },
    cycle,
    { kind: 'refused', reason: 5n },
    {
      get kind(): string {
        throw new Error('a getter')
      },
    },
  ])
    test(`leaves it unknown what ${typeof garbage === 'object' ? Object.keys(garbage ?? {}).join() : String(garbage)} means`, async () => {
      const outcome = await answered(garbage)
      assert.equal(outcome.kind, 'unknown')
      assert.ok((outcome as { reason: string }).reason.length < 400)
    })

  test('leaves it unknown if the provider throws, at once or later', async () => {
    const clock = stillClock()
    const now = await guarded(
      () => {
        throw new Error('at\nonce')
      },
      { limitMs: 60_000, clock },
    )
    assert.deepEqual(now, { kind: 'unknown', reason: 'Error: at once' })
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- a provider may
    const later = await guarded(() => Promise.reject('a text'), { limitMs: 60_000, clock })
    assert.deepEqual(later, { kind: 'unknown', reason: 'a text' })
  })

  test('ends if the provider does not, half a second after its limit', async () => {
    const clock = stillClock()
    let isOver = false
    const call = guarded(() => new Promise<never>(() => undefined), { limitMs: 60_000, clock })
    void call.then(() => (isOver = true))
    await new Promise(setImmediate)
    clock.advance(60_000)
    await new Promise(setImmediate)
    assert.equal(isOver, false)
    clock.advance(500)
    assert.equal((await call).kind, 'unknown')
  })
})
