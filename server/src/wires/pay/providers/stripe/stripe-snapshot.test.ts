import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'

import type Stripe from 'stripe'
import fc from 'fast-check'

import { ENTRY_STATES, type LedgerEntry } from '../provider.ts'
import { eventOf } from './stripe-events.ts'
import { refundEntryOf, snapshotOf } from './stripe-snapshot.ts'
import {
  CHARGE,
  complete,
  disputed,
  DISPUTED,
  EUR,
  retrieve,
  movements,
  paid,
  PAID,
  REFUNDED,
  SESSION,
} from './stripe-retrieve.fixture.ts'
import {
  charge,
  CREATED,
  dispute,
  event,
  ORDER,
  payment,
  refund,
  session,
  type Account,
} from '../stripe.fixture.ts'

type Case = [what: string, account: Partial<Account>, entries: readonly LedgerEntry[]]
const CASES: readonly Case[] = [
  ['an open session', { sessions: [session()] }, []],
  [
    'a declined card in an open session',
    {
      sessions: [
        session({
          payment_intent: payment({
            status: 'requires_payment_method',
            last_payment_error: { code: 'card_declined', type: 'card_error' },
          }),
        }),
      ],
    },
    [],
  ],
  [
    'a card that must be authenticated',
    { sessions: [session({ payment_intent: payment({ status: 'requires_action' }) })] },
    [],
  ],
  [
    'an expired session',
    { sessions: [session({ status: 'expired', url: null })] },
    [{ ...SESSION, status: 'expired' }],
  ],
  [
    'an expired session whose payment intent is cancelled',
    { sessions: [session({ status: 'expired', payment_intent: payment({ status: 'canceled' }) })] },
    [{ ...SESSION, status: 'expired' }],
  ],
  [
    'a cancelled payment intent in an open session',
    { sessions: [session({ payment_intent: payment({ status: 'canceled' }) })] },
    [{ ...SESSION, status: 'cancelled' }],
  ],
  ['a debit under way', { sessions: [complete('processing')] }, [{ ...CHARGE, status: 'pending' }]],
  ['a voucher that is not paid yet', { sessions: [complete('requires_action')] }, []],
  [
    'a debit that failed',
    {
      sessions: [
        complete('requires_payment_method', {
          last_payment_error: { code: 'insufficient_funds', type: 'card_error' },
        }),
      ],
    },
    [{ ...SESSION, status: 'failed', reason: 'insufficient_funds' }],
  ],
  ['a payment', { sessions: [paid] }, [PAID]],
  [
    'another amount and currency than asked for',
    { sessions: [complete('succeeded', { amount_received: 1, currency: 'usd' })] },
    [{ ...PAID, amount: 1n, currency: 'USD' }],
  ],
  ['a payment intent in a new state', { sessions: [complete('resting')] }, []],
  [
    'a session in a new state',
    { sessions: [session({ status: 'resting' as unknown as 'open', url: null })] },
    [],
  ],
  [
    'refunds in each state',
    {
      sessions: [paid],
      refunds: [
        refund({ status: 'requires_action' }),
        refund({ id: 're_2', status: 'succeeded', metadata: null }),
        refund({ id: 're_3', status: 'failed', failure_reason: 'lost_or_stolen_card' }),
        refund({ id: 're_4', status: 'canceled' }),
        refund({ id: 're_5', status: 'pending' }),
        refund({ id: 're_6', status: 'resting' }),
        refund({ id: 're_7', status: null }),
        refund({ id: 're_8', payment_intent: 'pi_2' }),
      ],
    },
    [
      PAID,
      { ...REFUNDED, status: 'pending' },
      {
        kind: 'refund',
        objectId: 're_2',
        amount: 1000n,
        currency: 'EUR',
        createdAt: (CREATED + 2) * 1000,
        status: 'completed',
      },
      { ...REFUNDED, objectId: 're_3', status: 'failed', reason: 'lost_or_stolen_card' },
      { ...REFUNDED, objectId: 're_4', status: 'failed', reason: 'canceled' },
      { ...REFUNDED, objectId: 're_5', status: 'pending' },
    ],
  ],
  ...(
    [
      ['warning_needs_response', 0, 'inquiry'],
      ['warning_under_review', 0, 'inquiry'],
      ['warning_closed', 0, 'won'],
      ['prevented', 0, 'won'],
      ['needs_response', 1, 'open'],
      ['under_review', 1, 'open'],
      ['appeal_needs_response', 1, 'open'],
      ['appeal_under_review', 1, 'open'],
      ['won', 2, 'won'],
      ['lost', 1, 'lost'],
    ] as const
  ).map(([word, version, status]): Case => [
    `a dispute that is ${word}`,
    {
      sessions: [disputed],
      disputes: [dispute({ status: word, balance_transactions: movements(version) })],
    },
    [PAID, { ...DISPUTED, status, version }],
  ]),
  ...(
    [
      ['gave a part back', [-3599, 400], 'eur', 3199n],
      ['took all', [-3599], 'eur', 3599n],
      ['moved money of another currency', [-4000, 500], 'usd', 3599n],
    ] as const
  ).map(([what, amounts, currency, lost]): Case => [
    `a lost dispute that ${what}`,
    {
      sessions: [disputed],
      disputes: [
        dispute({
          status: 'lost',
          balance_transactions: amounts.map((amount) => ({ amount, currency }) as Stripe.BalanceTransaction),
        }),
      ],
    },
    [PAID, { ...DISPUTED, amount: lost, status: 'lost', version: amounts.length }],
  ]),
  [
    'a dispute whose reason is no text to show',
    {
      sessions: [disputed],
      disputes: [dispute({ reason: '\0' }), dispute({ id: 'dp_2', reason: ' a\nb ' })],
    },
    [
      PAID,
      {
        kind: 'dispute',
        objectId: 'dp_1',
        createdAt: (CREATED + 3) * 1000,
        ...EUR,
        status: 'open',
        version: 0,
      },
      { ...DISPUTED, objectId: 'dp_2', status: 'open', version: 0, reason: 'a b' },
    ],
  ],
  [
    'a dispute in a new state',
    { sessions: [disputed], disputes: [dispute({ status: 'resting' }), dispute({ amount: 0.5 })] },
    [PAID],
  ],
]

describe('a snapshot', () => {
  for (const [what, account, entries] of CASES)
    test(`reads ${what}`, async (t) => {
      const { outcome } = await retrieve(t, account)
      assert.ok(outcome.kind === 'accepted')
      const { snapshot } = outcome
      assert.deepEqual(snapshot.entries, entries)
      assert.deepEqual([snapshot.reference, snapshot.transactionId], ['cs_1', ORDER.id])
    })

  const words = fc.constantFrom(
    ...'open complete expired paid unpaid succeeded canceled processing won lost eur'.split(' '),
    ...'toString __proto__ constructor \0 https:// javascript:1'.split(' '),
  )
  const value = fc.oneof(
    { depthSize: 'small' },
    fc.jsonValue(),
    words,
    fc.double(),
    fc.constantFrom(null, undefined, -1, 2 ** 60),
  )
  /** An object of Stripe of which some fields are something else. */
  const garbled = (object: object): fc.Arbitrary<unknown> =>
    fc.oneof(
      { weight: 1, arbitrary: value },
      {
        weight: 4,
        arbitrary: fc
          .array(fc.tuple(fc.constantFrom(...Object.keys(object)), value), { maxLength: 2 })
          .map((changes) => ({ ...object, ...Object.fromEntries(changes) })),
      },
    )

  test('of garbage never throws, and has only entries that are whole', () => {
    let entries = 0
    fc.assert(
      fc.property(
        garbled(session({ status: 'complete' })),
        garbled(payment({ latest_charge: charge() as never })),
        fc.array(garbled(refund()), { maxLength: 3 }),
        fc.array(garbled(dispute()), { maxLength: 3 }),
        (one, intent, refunds, disputes) => {
          const snapshot = snapshotOf({ session: one, payment: intent, refunds, disputes })
          if (!snapshot) return
          assert.match(snapshot.reference, /^[\w-]{1,255}$/)
          if (snapshot.url !== undefined) assert.match(snapshot.url, /^https?:/)
          for (const {
            kind,
            objectId,
            status,
            amount,
            currency,
            createdAt = 0,
            reason = '-',
          } of snapshot.entries) {
            entries++
            assert.ok((ENTRY_STATES[kind] as readonly string[]).includes(status))
            assert.match(objectId, /^[\w-]{1,255}$/)
            assert.match(currency, /^[A-Z]{3}$/)
            assert.ok(amount >= 0n && amount <= BigInt(Number.MAX_SAFE_INTEGER))
            assert.ok(Number.isSafeInteger(createdAt))
            assert.match(reason, /^[^\r\n\0]{1,100}$/)
          }
        },
      ),
      { numRuns: 500 },
    )
    assert.ok(entries > 100, `${entries} entries`)
  })

  test('of an event that is garbage never throws', () => {
    fc.assert(
      fc.property(garbled(event(session())), garbled(refund()), fc.boolean(), (one, object, isLive) => {
        for (const candidate of [one, event(object as object)]) {
          const read = eventOf(candidate, isLive)
          if (read) assert.match(read.id, /^[\w-]{1,255}$/)
        }
      }),
    )
  })
})

const contracts =
  process.env['SIXWIRE_CONTRACTS'] ??
  fileURLToPath(new URL('../../../../../../../shared/contracts', import.meta.url))
const samples = join(contracts, 'stripe-fixtures.json')

test(
  'reads the sample objects that Stripe publishes',
  { skip: existsSync(samples) ? false : `there is no ${samples}: SIXWIRE_CONTRACTS names its folder` },
  () => {
    const { resources } = JSON.parse(readFileSync(samples, 'utf8')) as {
      resources: Record<string, Record<string, unknown>>
    }
    const published = (name: string, more = {}) => ({ ...resources[name], ...more })
    // Each field of our fixtures is one of theirs.
    for (const [name, ours] of Object.entries({
      'checkout.session': session(),
      payment_intent: payment(),
      charge: charge(),
      refund: refund(),
      dispute: dispute(),
      event: event({}),
    }))
      for (const field of Object.keys(ours)) assert.ok(field in resources[name]!, `${name}.${field}`)
    const snapshot = snapshotOf({
      session: published('checkout.session', { currency: 'usd', status: 'expired' }),
      refunds: [resources['refund']],
      disputes: [resources['dispute']],
    })
    assert.deepEqual(
      snapshot?.entries.map(({ kind, status }) => [kind, status]),
      [
        ['session', 'expired'],
        ['refund', 'completed'],
        ['dispute', 'inquiry'],
      ],
    )
    assert.deepEqual(
      snapshotOf({
        session: resources['checkout.session'],
        payment: published('payment_intent', { status: 'succeeded', amount_received: 1099 }),
      })?.entries.map(({ kind, amount }) => [kind, amount]),
      [['charge', 1099n]],
    )
    assert.equal(refundEntryOf(resources['refund'])?.amount, 100n)
    const { id, type, subject } = eventOf(resources['event'], false)!
    assert.deepEqual([typeof id, type, subject], ['string', 'plan.created', undefined])
  },
)
