import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import type { LedgerEntry } from '../providers/provider.ts'
import { STATUSES, stepsBetween, summaryOf, type PaymentStatus } from './state.ts'

const order = { amount: 1000n, currency: 'EUR' }
const entry = (kind: LedgerEntry['kind'], status: string, more: Partial<LedgerEntry> = {}): LedgerEntry =>
  ({ kind, status, objectId: `${kind}_1`, ...order, ...more }) as LedgerEntry

const paid = entry('charge', 'completed')
const refund = (amount: bigint, status = 'completed', objectId = 're_1') =>
  entry('refund', status, { amount, objectId })

/** What looked final, and was paid after all. */
const FROM_UNPAID = {
  completed: 'completed',
  partially_refunded: 'completed partially_refunded',
  refunded: 'completed refunded',
  disputed: 'completed disputed',
  lost: 'completed lost',
}

/** From each state to each other one: the states between and the last one, or `refused`. */
const STEPS: Record<PaymentStatus, Partial<Record<PaymentStatus, string>>> = {
  pending: {
    completed: 'completed',
    failed: 'failed',
    expired: 'expired',
    cancelled: 'cancelled',
    partially_refunded: 'completed partially_refunded',
    refunded: 'completed refunded',
    disputed: 'completed disputed',
    lost: 'completed lost',
  },
  completed: {
    partially_refunded: 'partially_refunded',
    refunded: 'refunded',
    disputed: 'disputed',
    lost: 'lost',
  },
  partially_refunded: {
    completed: 'completed',
    refunded: 'refunded',
    disputed: 'disputed',
    lost: 'lost',
  },
  refunded: {
    completed: 'completed',
    partially_refunded: 'partially_refunded',
    disputed: 'partially_refunded disputed',
    lost: 'partially_refunded lost',
  },
  disputed: {
    completed: 'completed',
    partially_refunded: 'partially_refunded',
    refunded: 'completed refunded',
    lost: 'lost',
  },
  failed: FROM_UNPAID,
  expired: FROM_UNPAID,
  cancelled: FROM_UNPAID,
  lost: {
    completed: 'completed',
    partially_refunded: 'partially_refunded',
    refunded: 'completed refunded',
    disputed: 'disputed',
  },
}

describe('the states of a transaction', () => {
  for (const from of STATUSES)
    for (const to of STATUSES) {
      const expected = from === to ? '' : (STEPS[from][to] ?? 'refused')
      test(`from ${from} to ${to}: ${expected || 'no step'}`, () => {
        assert.equal(stepsBetween(from, to)?.join(' ') ?? 'refused', expected)
      })
    }

  for (const [what, entries, status, refunded = 0n] of [
    ['nothing', [], 'pending'],
    ['a pending payment', [entry('charge', 'pending')], 'pending'],
    ['a payment', [paid], 'completed'],
    ['a payment that was pending', [paid, entry('charge', 'pending')], 'completed'],
    ['a payment that failed', [entry('charge', 'pending'), entry('charge', 'failed')], 'failed'],
    [
      'an asynchronous payment that failed',
      [entry('charge', 'pending'), entry('session', 'failed')],
      'failed',
    ],
    ['a session that expired', [entry('session', 'expired')], 'expired'],
    ['a session that was cancelled', [entry('session', 'cancelled')], 'cancelled'],
    ['a payment of a session that expired', [entry('session', 'expired'), paid], 'completed'],
    ['a payment of another amount', [entry('charge', 'completed', { amount: 999n })], 'pending'],
    ['a payment in another currency', [entry('charge', 'completed', { currency: 'USD' })], 'pending'],
    ['a refund of a part', [paid, refund(400n)], 'partially_refunded', 400n],
    ['two refunds of all', [paid, refund(400n), refund(600n, 'completed', 're_2')], 'refunded', 1000n],
    ['a pending refund', [paid, refund(400n, 'pending')], 'completed'],
    ['a refund that failed later', [paid, refund(400n, 'failed'), refund(400n)], 'completed'],
    ['a refund without a payment', [refund(400n)], 'pending', 400n],
    ['a dispute', [paid, entry('dispute', 'open')], 'disputed'],
    ['an inquiry', [paid, entry('dispute', 'inquiry')], 'completed'],
    ['a dispute that was won', [paid, entry('dispute', 'won'), entry('dispute', 'open')], 'completed'],
    ['a dispute that was lost', [paid, entry('dispute', 'lost'), entry('dispute', 'open')], 'lost'],
    [
      'a dispute that was opened again',
      [paid, entry('dispute', 'lost', { version: 1 }), entry('dispute', 'open', { version: 2 })],
      'disputed',
    ],
    [
      'one of two disputes that is open',
      [paid, entry('dispute', 'won'), entry('dispute', 'open', { objectId: 'dp_2' })],
      'disputed',
    ],
    ['a refund and a dispute', [paid, refund(400n), entry('dispute', 'open')], 'disputed', 400n],
    ['a refund of all and a dispute', [paid, refund(1000n), entry('dispute', 'lost')], 'refunded', 1000n],
    ['a reversal', [paid, entry('reversal', 'completed')], 'lost'],
    [
      'a dispute that was lost and then won',
      [paid, entry('dispute', 'lost', { version: 1 }), entry('dispute', 'won', { version: 2 })],
      'completed',
    ],
    ['a part that is disputed', [paid, entry('dispute', 'open', { amount: 1n })], 'disputed'],
    ['a part that was lost', [paid, entry('dispute', 'lost', { amount: 1n })], 'completed'],
    [
      'a part that was lost, and a refund of another one',
      [paid, refund(400n), entry('dispute', 'lost', { amount: 1n })],
      'partially_refunded',
      400n,
    ],
    [
      'a part that was lost, and a refund of the rest',
      [paid, refund(999n), entry('dispute', 'lost', { amount: 1n })],
      'lost',
      999n,
    ],
    [
      'a reversal that is shown as a refund, too',
      [paid, refund(1000n), entry('reversal', 'completed', { objectId: 're_1' })],
      'lost',
    ],
  ] as [what: string, entries: LedgerEntry[], status: PaymentStatus, refunded?: bigint][])
    test(`${what}: ${status}`, () => {
      const summary = summaryOf(order, entries)
      assert.equal(summary.status, status)
      assert.equal(summary.refunded, refunded)
      assert.deepEqual(summaryOf(order, entries.toReversed()).status, status)
    })

  test('what disputes and reversals concern is all of the payment at most, and counted once', () => {
    const dispute = (status: string, more: Partial<LedgerEntry> = {}) => entry('dispute', status, more)
    for (const [entries, disputed, lost] of [
      [[dispute('open', { amount: 300n })], 300n, 0n],
      [[dispute('open', { amount: 300n }), dispute('lost', { amount: 200n, objectId: 'dp_2' })], 300n, 200n],
      [[dispute('lost', { amount: 5000n })], 0n, 1000n],
      [[dispute('lost', { amount: 300n, currency: 'USD' })], 0n, 1000n],
      [[dispute('lost', { amount: 300n }), entry('reversal', 'completed', { amount: 300n })], 0n, 300n],
      [[dispute('won'), dispute('inquiry', { objectId: 'dp_2' })], 0n, 0n],
    ] as [LedgerEntry[], bigint, bigint][]) {
      const summary = summaryOf(order, [paid, ...entries])
      assert.deepEqual([summary.disputed, summary.lost], [disputed, lost])
    }
  })

  test('order and repetition of entries do not matter', () => {
    const entries = fc.array(
      fc.oneof(
        fc.record({
          kind: fc.constant('charge'),
          status: fc.constantFrom('pending', 'failed', 'completed'),
          objectId: fc.constantFrom('pi_1', 'pi_2'),
          amount: fc.constantFrom(1000n, 999n),
        }),
        fc.record({
          kind: fc.constant('refund'),
          status: fc.constantFrom('pending', 'failed', 'completed'),
          objectId: fc.constantFrom('re_1', 're_2', 're_3'),
          amount: fc.constantFrom(300n, 1000n),
        }),
        fc.record({
          kind: fc.constant('dispute'),
          status: fc.constantFrom('inquiry', 'open', 'won', 'lost'),
          objectId: fc.constantFrom('dp_1', 'dp_2'),
          version: fc.nat(2),
          amount: fc.constantFrom(1000n, 300n),
        }),
        fc.record({
          kind: fc.constant('session'),
          status: fc.constantFrom('cancelled', 'expired', 'failed'),
          objectId: fc.constant('cs_1'),
          amount: fc.constant(0n),
        }),
        fc.record({
          kind: fc.constant('reversal'),
          status: fc.constant('completed'),
          objectId: fc.constantFrom('re_1', 'rv_1'),
          amount: fc.constant(1000n),
        }),
      ),
      { maxLength: 12 },
    )
    const facts = (list: readonly LedgerEntry[]) => {
      const { status, captured, refunded, disputed, lost, isChargePending } = summaryOf(order, list)
      return { status, captured, refunded, disputed, lost, isChargePending }
    }
    fc.assert(
      fc.property(
        entries.chain((list) =>
          fc.tuple(
            fc.constant(list),
            fc.shuffledSubarray([...list, ...list], { minLength: list.length * 2 }),
          ),
        ),
        ([list, shuffled]) => {
          const all = list.map((one) => ({ currency: 'EUR', ...one })) as LedgerEntry[]
          const mixed = shuffled.map((one) => ({ currency: 'EUR', ...one })) as LedgerEntry[]
          assert.deepEqual(facts(mixed), facts(all))
        },
      ),
      { numRuns: 500 },
    )
  })
})
