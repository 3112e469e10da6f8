import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import { requestState, type PaymentReceipt, type RequestFacts, type RequestStatus } from './request-state.ts'

const DEPTH = 3
/** Block n is made at this time; the request expires with block 10. */
const timeOf = (block: number): number => block * 1000
const EXPIRES_AT = timeOf(10)
const FIRST_AFTER = 11

const request = (head: number, more: Partial<RequestFacts> = {}): RequestFacts => ({
  amount: 100n,
  expiresAt: EXPIRES_AT,
  head,
  depth: DEPTH,
  expiredBlock: head >= FIRST_AFTER ? FIRST_AFTER : null,
  ...more,
})

const receipt = (amount: number, block: number, transactionHash?: string): PaymentReceipt => ({
  amount: BigInt(amount),
  block,
  time: timeOf(block),
  transactionHash,
})

describe('the state of a payment request', () => {
  for (const [what, head, receipts, status, isPaid = false, isFinal = false] of [
    ['nothing yet', 5, [], 'pending'],
    ['nothing in time', 11, [], 'expired'],
    ['nothing in time, and deep', 13, [], 'expired', false, true],
    ['all, in the head', 5, [receipt(100, 5)], 'detected'],
    ['all, one block short', 6, [receipt(100, 5)], 'detected'],
    ['all, deep', 7, [receipt(100, 5)], 'confirmed', true],
    ['all in two parts, of which one is deep', 7, [receipt(50, 5), receipt(50, 6)], 'detected'],
    ['all in two parts', 8, [receipt(50, 5), receipt(50, 6)], 'confirmed', true],
    ['more than all', 7, [receipt(101, 5)], 'overpaid', true],
    ['more later, not deep yet', 7, [receipt(100, 5), receipt(1, 6)], 'confirmed', true],
    ['more later', 8, [receipt(100, 5), receipt(1, 6)], 'overpaid', true],
    ['a part, not deep', 5, [receipt(50, 5)], 'detected'],
    ['a part', 7, [receipt(50, 5)], 'underpaid'],
    ['a part, and no time left', 13, [receipt(50, 5)], 'underpaid', false, true],
    ['all in the last block that is in time', 12, [receipt(100, 10)], 'confirmed', true],
    ['all in the first block after it', 11, [receipt(100, 11)], 'late'],
    ['all after it, and deep', 13, [receipt(100, 11)], 'late', false, true],
    ['a part in time, the rest after it', 13, [receipt(50, 9), receipt(50, 11)], 'late', false, true],
    ['all in time, and more after it', 13, [receipt(100, 9), receipt(5, 11)], 'overpaid', true, true],
  ] as [string, number, PaymentReceipt[], RequestStatus, boolean?, boolean?][])
    test(`${what}: ${status}`, () => {
      const state = requestState(request(head), receipts)
      assert.deepEqual([state.status, state.isPaid, state.isFinal], [status, isPaid, isFinal])
    })

  test('on a chain that makes no block any more, the time is over by the clock', () => {
    assert.equal(requestState(request(5, { isSilent: true }), []).status, 'expired')
    const paid = requestState(request(7, { isSilent: true }), [receipt(100, 5)])
    assert.deepEqual([paid.status, paid.isFinal], ['confirmed', true])
  })

  test('counts confirmations from the block that made the amount whole', () => {
    const { confirmations, transactionHashes } = requestState(request(9), [
      receipt(60, 6, '0xb'),
      receipt(40, 4, '0xa'),
      receipt(1, 8),
      receipt(1, 8, '0xb'),
    ])
    assert.deepEqual([confirmations, transactionHashes], [4, ['0xa', '0xb']])
  })

  const receipts = fc.array(
    fc.record({ amount: fc.integer({ min: 1, max: 120 }), block: fc.integer({ min: 1, max: 16 }) }),
    { maxLength: 6 },
  )

  test('does not depend on the order of the receipts, and a block more takes nothing back', () => {
    fc.assert(
      fc.property(
        receipts.chain((list) =>
          fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
        ),
        fc.integer({ min: 1, max: 16 }),
        ([list, shuffled], head) => {
          const shown = (all: typeof list) =>
            all.filter(({ block }) => block <= head).map(({ amount, block }) => receipt(amount, block))
          const { transactionHashes: _one, ...state } = requestState(request(head), shown(list))
          const { transactionHashes: _other, ...mixed } = requestState(request(head), shown(shuffled))
          assert.deepEqual(mixed, state)
          const next = requestState(request(head + 1), shown(list))
          assert.ok(!state.isPaid || next.isPaid)
          assert.ok(!state.isFinal || (next.isFinal && next.isPaid === state.isPaid))
        },
      ),
      { numRuns: 1000 },
    )
  })

  test('is paid if, and only if, enough arrived in time and is deep', () => {
    fc.assert(
      fc.property(receipts, fc.integer({ min: 1, max: 16 }), (list, head) => {
        const receiptsUntilHead = list.filter(({ block }) => block <= head)
        let [settled, arrived] = [0, 0]
        for (const { amount, block } of receiptsUntilHead) {
          if (block <= 10) arrived += amount
          if (block <= 10 && block <= head - DEPTH + 1) settled += amount
        }
        const { isPaid, status, received } = requestState(
          request(head),
          receiptsUntilHead.map(({ amount, block }) => receipt(amount, block)),
        )
        assert.equal(isPaid, settled >= 100)
        assert.equal(status === 'confirmed' || status === 'overpaid', isPaid)
        assert.equal(status === 'detected' || isPaid, arrived > settled || settled >= 100)
        assert.equal(received, BigInt(receiptsUntilHead.reduce((sum, { amount }) => sum + amount, 0)))
      }),
      { numRuns: 1000 },
    )
  })
})
