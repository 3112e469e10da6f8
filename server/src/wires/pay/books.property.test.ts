// Whatever happens in whatever order, the books end equal to the provider's.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import { testClock } from '../../testing/app.ts'
import { someEngine } from '../../testing/engines.ts'
import { isLongRun } from '../../testing/long-run.ts'
import { sql } from '../../db/sql.ts'
import { booksOf, createBank, type Bank, type CallFault, type Session } from './bank.fixture.ts'
import { startTill, type Till } from './pay.fixture.ts'

type Action =
  | { kind: 'create'; wallet: boolean; amount: number; fault: CallFault | undefined }
  | { kind: 'sell'; wallet: boolean; amount: number }
  | {
      kind: 'buyer'
      at: number
      does: 'pay' | 'approve' | 'decline' | 'expire' | 'cancel' | 'pend' | 'clear' | 'fail'
    }
  | { kind: 'capture'; at: number; fault: CallFault | undefined }
  | { kind: 'refund'; at: number; amount: number | undefined; fault: CallFault | undefined }
  | { kind: 'dashboard'; at: number; amount: number }
  | { kind: 'refundFails'; at: number; refund: number }
  | {
      kind: 'dispute'
      at: number
      does: 'inquiry' | 'open' | 'won' | 'lost' | 'regain'
      /** Undefined: all of the payment. */
      amount: number | undefined
    }
  | { kind: 'deliver'; order: number[]; lost: boolean }
  | { kind: 'retrieveFault' }
  | { kind: 'reconcile' }
  | { kind: 'wait'; ms: number }
  | { kind: 'restart' }

const at = fc.nat(5)
const fault = fc.option(fc.constantFrom<CallFault>('lost', 'dropped', 'unsent', 'refused'), {
  nil: undefined,
  freq: 3,
})
const action = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('create'),
      wallet: fc.boolean(),
      amount: fc.integer({ min: 1, max: 5000 }),
      fault,
    }),
  },
  // Most of what happens later needs a payment that is known.
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('sell'),
      wallet: fc.boolean(),
      amount: fc.integer({ min: 1000, max: 5000 }),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('buyer'),
      at,
      does: fc.constantFrom(
        'pay',
        'pay',
        'pay',
        'approve',
        'approve',
        'decline',
        'expire',
        'cancel',
        'pend',
        'clear',
        'fail',
      ),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('capture'), at, fault }) },
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constant('refund'),
      at,
      amount: fc.option(fc.integer({ min: 1, max: 2500 }), { nil: undefined }),
      fault,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('dashboard'), at, amount: fc.integer({ min: 1, max: 3000 }) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('refundFails'), at, refund: fc.nat(3) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('dispute'),
      at,
      does: fc.constantFrom('inquiry', 'open', 'open', 'won', 'lost', 'lost', 'regain'),
      amount: fc.option(fc.integer({ min: 1, max: 800 }), { nil: undefined }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('deliver'),
      order: fc.array(fc.nat(20), { maxLength: 12 }),
      lost: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('retrieveFault') }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('reconcile') }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('wait'), ms: fc.constantFrom(1, 11_000, 60_000) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart') }) },
) as fc.Arbitrary<Action>

/** Does what a buyer, a bank or a dashboard does, if it can be done now; answers the type of its event. */
function change(session: Session, one: Action, now: number): string | undefined {
  const { status, amount, refunds, disputes } = session
  const given = refunds.reduce((sum, refund) => sum + (refund.status === 'failed' ? 0n : refund.amount), 0n)
  const dispute = disputes.find((each) => each.status === 'open' || each.status === 'inquiry')
  const { disputed, lost } = booksOf(session)
  // Money may come after a session has ended.
  const isUnpaid = ['open', 'expired', 'cancelled'].includes(status)
  if (one.kind === 'buyer') {
    const to = {
      pay: isUnpaid && !session.wallet && 'paid',
      approve: status === 'open' && session.wallet && 'approved',
      decline: undefined,
      expire: status === 'open' && 'expired',
      cancel: status === 'open' && 'cancelled',
      pend: (status === 'open' || status === 'approved') && 'pending',
      clear: (status === 'pending' || status === 'failed') && 'paid',
      fail: status === 'pending' && 'failed',
    }[one.does] as Session['status'] | false | undefined
    if (one.does === 'decline') session.isDeclined = true
    if (!to) return undefined
    session.status = to
    session.paidAt = now
    return `session.${to}`
  }
  if (status !== 'paid') return undefined
  if (one.kind === 'dashboard') {
    const value = BigInt(one.amount)
    if (given + disputed + lost + value > amount) return undefined
    refunds.push({
      id: `re_${session.reference}_${refunds.length}`,
      amount: value,
      status: 'completed',
      at: now,
    })
    return 'refund.created'
  }
  if (one.kind === 'refundFails') {
    const refund = refunds[one.refund]
    if (refund?.status !== 'completed') return undefined
    refund.status = 'failed'
    return 'refund.failed'
  }
  if (one.kind !== 'dispute') return undefined
  if (one.does === 'regain') {
    const regained = disputes.find((each) => each.status === 'lost')
    if (!regained) return undefined
    regained.status = 'won'
    regained.version++
    return 'dispute.won'
  }
  if (one.does === 'inquiry' || one.does === 'open') {
    if (given >= amount || (dispute && (dispute.status === 'open' || one.does === 'inquiry')))
      return undefined
    if (dispute) dispute.status = one.does
    else
      disputes.push({
        id: `dp_${session.reference}_${disputes.length}`,
        amount: one.amount === undefined || BigInt(one.amount) > amount ? amount : BigInt(one.amount),
        status: one.does,
        version: 0,
        at: now,
      })
  } else if (dispute?.status === 'open') dispute.status = one.does
  else return undefined
  const changed = dispute ?? disputes.at(-1)!
  changed.version++
  return `dispute.${one.does}`
}

/** The state that a person would read from the bank's books. */
function stateAtBank(session: Session): string {
  const { status, amount, disputes } = session
  if (status === 'open' || status === 'approved' || status === 'pending') return 'pending'
  if (status !== 'paid') return status
  const { refunded, lost } = booksOf(session)
  if (refunded >= amount) return 'refunded'
  if (lost > 0n && refunded + lost >= amount) return 'lost'
  if (disputes.some((one) => one.status === 'open')) return 'disputed'
  return refunded > 0n ? 'partially_refunded' : 'completed'
}

async function run(till: Till, actions: readonly Action[], restart: () => Promise<Till>): Promise<void> {
  const { card, wallet } = till
  const { clock } = till.app
  const banks: [string, Bank][] = [
    ['cardpay', card],
    ['walletpay', wallet],
  ]
  const all = () =>
    banks.flatMap(([, bank]) => [...bank.sessions.values()].map((session) => ({ bank, session })))
  const pick = (index: number) => all()[all().length === 0 ? 0 : index % all().length]
  const fail = (bank: Bank, one: CallFault | undefined) => (bank.faults = one === undefined ? [] : [one])
  // Answers that are lost are rechecked within the request: its time passes by itself.
  const ticking = setInterval(() => clock.advance(300), 1)
  let current = till
  /** The refunds that callers know of. */
  const refundIds = new Set<string>()
  try {
    for (const one of actions) {
      if (one.kind === 'create') {
        const bank = one.wallet ? wallet : card
        fail(bank, one.fault)
        await (one.wallet ? current.order(one.amount / 100) : current.checkout(one.amount)).catch(
          (error: unknown) => assert.ok(one.fault, String(error)),
        )
      } else if (one.kind === 'sell')
        await (one.wallet ? current.captured(one.amount / 100) : current.paid(one.amount))
      else if (one.kind === 'deliver') {
        for (const [name, bank] of banks) {
          const { outgoing } = bank
          const events = one.order.flatMap((index) => outgoing[index % outgoing.length] ?? [])
          await current.receive(name, events)
          // In place: the bank adds to this list.
          outgoing.splice(0, Infinity, ...outgoing.filter((event) => !one.lost && !events.includes(event)))
        }
      } else if (one.kind === 'reconcile') await current.reconcile()
      else if (one.kind === 'wait') clock.advance(one.ms)
      else if (one.kind === 'retrieveFault')
        for (const [, bank] of banks) bank.retrieveFaults = ['unknown', 'unknown']
      else if (one.kind === 'restart') current = await restart()
      else {
        const picked = pick(one.at)
        if (!picked) continue
        const { bank, session } = picked
        const transactionId = session.transactionId
        if (one.kind === 'capture') {
          fail(bank, one.fault)
          const { status, text } = await current.call(`POST /pay/walletpay/capture/${session.reference}`)
          assert.ok([200, 404, 409, 422, 502].includes(status), text)
        } else if (one.kind === 'refund') {
          fail(bank, one.fault)
          const route = bank === card ? 'cardpay' : 'walletpay'
          const amount = one.amount === undefined ? undefined : bank === card ? one.amount : one.amount / 100
          const { status, body, text } = await current.call(`POST /pay/${route}/refund`, {
            transactionId,
            amount,
          })
          assert.ok([200, 404, 409, 422, 502].includes(status), text)
          if (status === 200) refundIds.add(body.refundId)
        } else {
          const type = change(session, one, clock.now())
          if (type !== undefined) bank.act(session.reference, () => undefined, type)
        }
      }
      for (const [, bank] of banks) bank.faults = []
    }
    // What was lost is found by the lists of events and by reconciliation.
    for (const [, bank] of banks) {
      bank.faults = []
      bank.retrieveFaults = []
    }
    clock.advance(60_000)
    await current.reconcile()
    await current.app.app.service('pay').listEvents()
    clock.advance(60_000)
    await current.reconcile()
    await current.reconcile()
    for (const { session } of all()) {
      const where = JSON.stringify(session, (_key, value: unknown) =>
        typeof value === 'bigint' ? Number(value) : value,
      )
      const ours = await current.transaction(session.transactionId)
      assert.equal(ours.status, stateAtBank(session), where)
      const minor = (amount: number) => (ours.provider === 'cardpay' ? amount : Math.round(amount * 100))
      assert.equal(BigInt(minor(ours.amount)), session.amount, where)
      const { refunded, disputed, lost } = booksOf(session)
      const { refundedAmount, disputedAmount, lostAmount } = ours
      assert.deepEqual(
        [refundedAmount, disputedAmount, lostAmount].map((one) => BigInt(minor(one))),
        [refunded, disputed, lost],
        where,
      )
      assert.deepEqual(
        ours.refunds.map((one) => `${one.refundId} ${minor(one.amount)} ${one.status}`).toSorted(),
        session.refunds.map((one) => `${one.callId ?? one.id} ${one.amount} ${one.status}`).toSorted(),
        where,
      )
    }
    // Money is given back for what a caller was told only, and once.
    for (const { session } of all())
      for (const { callId } of session.refunds)
        if (callId !== undefined) assert.ok(refundIds.delete(callId), callId)
    const { total } = (await current.call('GET /pay/transactions?limit=1000')).body
    const counted = await current.app.app.db.get<{ n: number }>(
      sql`select count(*) as n from pay_transactions`,
    )
    assert.equal(total, counted!.n)
  } finally {
    clearInterval(ticking)
  }
}

describe('the books', () => {
  someEngine((engine) => {
    test('end equal to the provider’s', async (t) => {
      await fc.assert(
        fc.asyncProperty(fc.array(action, { minLength: 20, maxLength: 60, size: 'max' }), async (actions) => {
          const clock = testClock()
          const banks: [Bank, Bank] = [createBank('cardpay', clock), createBank('walletpay', clock)]
          const databaseUrl = await engine.migratedUrl()
          let till = await startTill(t, engine, { clock, banks, databaseUrl })
          const restart = async (): Promise<Till> => {
            await till.app.stop()
            return (till = await startTill(t, engine, { clock, banks, databaseUrl }))
          }
          await run(till, actions, restart)
          await till.app.stop()
        }),
        { numRuns: isLongRun ? 300 : 8, endOnFailure: true },
      )
    })
  })
})
