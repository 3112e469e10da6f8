// What the providers of the sandbox have, compared with the books of the server.
import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'

import { sql } from '../../db/sql.ts'
import type { TestApp } from '../../testing/app.ts'
import type { TransactionDetails } from './ledger/transactions.ts'

/** What both say of one payment. */
export type Books = {
  status: string
  amount: string
  refunded: string
  disputed: string
  lost: string
  refunds: string[]
}

type CardPayment = {
  id: string
  state: string
  displayAmount: string
  amount: number
  refunds: { id: string; amount: number; status: string }[]
  dispute: { id: string; status: string; amount: number } | null
}

type WalletOrder = {
  id: string
  status: string
  amount: string
  capture: { id: string; status: string } | null
  refunds: { id: string; amount: string; status: string }[]
  dispute: { id: string; status: string; amount: string } | null
}

export type Sandbox = { payments: CardPayment[]; orders: WalletOrder[] }

export async function readSandbox(app: TestApp): Promise<Sandbox> {
  const { payments } = (await app.request('GET', '/sandbox/api/cardpay')).body
  const { orders } = (await app.request('GET', '/sandbox/api/walletpay')).body
  return { payments, orders }
}

const cents = (decimal: string): number => Math.round(Number(decimal) * 100)
const decimal = (minor: number): string => (minor / 100).toFixed(2)

const REFUNDS: Record<string, string> = {
  succeeded: 'completed',
  COMPLETED: 'completed',
  pending: 'pending',
  PENDING: 'pending',
  requires_action: 'pending',
  failed: 'failed',
  canceled: 'failed',
  FAILED: 'failed',
  CANCELLED: 'failed',
}
const OPEN_DISPUTE = /^(needs_response|under_review|OPEN|UNDER_REVIEW|WAITING.*)$/
const LOST_DISPUTE = /^(lost|RESOLVED_BUYER_FAVOUR|ACCEPTED)$/

function booksOf(
  state: 'paid' | 'pending' | 'failed' | 'expired' | 'cancelled',
  amount: string,
  refunds: readonly { amount: number; status: string }[],
  dispute: { status: string; amount: number } | null,
  isReversed = false,
): Books {
  const normalizedRefunds = refunds.map((one) => ({ ...one, status: REFUNDS[one.status] ?? one.status }))
  const refunded = normalizedRefunds.reduce(
    (sum, one) => sum + (one.status === 'completed' ? one.amount : 0),
    0,
  )
  const amountIf = (pattern: RegExp): number =>
    state === 'paid' && dispute && pattern.test(dispute.status) ? dispute.amount : 0
  const disputed = amountIf(OPEN_DISPUTE)
  // All that was left is reversed; a refund that fails later was never away.
  const pending = normalizedRefunds.reduce((sum, one) => sum + (one.status === 'pending' ? one.amount : 0), 0)
  const lost = isReversed ? cents(amount) - refunded - pending : amountIf(LOST_DISPUTE)
  const status = (): string => {
    if (state !== 'paid') return state
    if (refunded >= cents(amount)) return 'refunded'
    if (lost > 0 && refunded + lost >= cents(amount)) return 'lost'
    if (disputed > 0) return 'disputed'
    return refunded > 0 ? 'partially_refunded' : 'completed'
  }
  return {
    status: status(),
    amount,
    refunded: decimal(refunded),
    disputed: decimal(disputed),
    lost: decimal(lost),
    refunds: normalizedRefunds.map((one) => `${decimal(one.amount)} ${one.status}`).toSorted(),
  }
}

const CARD_STATES = {
  open: 'pending',
  processing: 'pending',
  paid: 'paid',
  failed: 'failed',
  expired: 'expired',
  canceled: 'cancelled',
} as const

/** What the providers have, by the reference of each session or order. */
export function booksOfSandbox(
  { payments, orders }: Sandbox,
  reversed: ReadonlySet<string>,
): Map<string, Books> {
  const books = new Map<string, Books>()
  for (const { id, state, displayAmount, refunds, dispute } of payments)
    books.set(id, booksOf(CARD_STATES[state as keyof typeof CARD_STATES], displayAmount, refunds, dispute))
  for (const { id, status, amount, capture, refunds, dispute } of orders) {
    const isPaid = capture !== null && /^(COMPLETED|PARTIALLY_REFUNDED|REFUNDED)$/.test(capture.status)
    const isFailed = status === 'COMPLETED' && capture !== null && /^(DECLINED|FAILED)$/.test(capture.status)
    const state = isPaid ? 'paid' : isFailed ? 'failed' : status === 'VOIDED' ? 'cancelled' : 'pending'
    const isReversed = reversed.has(id)
    const all = refunds.map((one) => ({ ...one, amount: cents(one.amount) }))
    const disputed = dispute && { ...dispute, amount: cents(dispute.amount) }
    books.set(id, booksOf(state, amount, all, disputed, isReversed))
  }
  return books
}

/** What the server has, by reference. */
export async function booksOfServer(app: TestApp, token: string): Promise<Map<string, Books>> {
  const books = new Map<string, Books>()
  const { transactions } = (await app.request('GET', '/pay/transactions?limit=1000', { token })).body
  for (const { _id } of transactions) {
    const one = (await app.request('GET', `/pay/transactions/${_id}`, { token })).body as TransactionDetails
    if (one.reference === undefined) continue
    const minor = (amount: number): number => (one.provider === 'cardpay' ? amount : Math.round(amount * 100))
    books.set(one.reference, {
      status: one.status,
      amount: one.displayAmount,
      refunded: decimal(minor(one.refundedAmount)),
      disputed: decimal(minor(one.disputedAmount)),
      lost: decimal(minor(one.lostAmount)),
      refunds: one.refunds.map(({ amount, status }) => `${decimal(minor(amount))} ${status}`).toSorted(),
    })
  }
  return books
}

/** Rechecks everything, as reconciliation and the lists of events do, until the books are equal; fails if they stay apart. */
export async function assertEqualBooks(
  app: TestApp,
  token: string,
  reversed: ReadonlySet<string> = new Set(),
): Promise<void> {
  const { clock } = app
  const { db } = app.app
  const pay = app.app.service('pay')
  const hasDueEvents = () => db.get(sql`select 1 as one from pay_events where due_at is not null limit 1`)
  for (let round = 1; ; round++) {
    clock.advance(65_000)
    await clock.through(pay.listEvents())
    const unsettled = await db.all<{ id: string }>(sql`select id from pay_transactions where is_settled = 0`)
    for (const { id } of unsettled) await clock.through(pay.retrieve(id))
    // Set forward now and then only: a call that is under way would reach its time limit.
    for (let turn = 1; await hasDueEvents(); turn++) {
      if (turn % 20 === 0) clock.advance(11_000)
      await delay(5)
    }
    const ours = Object.fromEntries(await booksOfServer(app, token))
    const theirs = Object.fromEntries(booksOfSandbox(await readSandbox(app), reversed))
    // Sessions whose answer was lost for good are known to the provider only.
    for (const reference of Object.keys(theirs))
      if (ours[reference] === undefined && theirs[reference]!.status === 'pending') delete theirs[reference]
    try {
      return assert.deepEqual(ours, theirs)
    } catch (error) {
      if (round === 6) throw error
    }
  }
}
