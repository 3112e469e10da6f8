import { ENTRY_STATES, type LedgerEntry, type Money } from '../providers/provider.ts'

/** The states of a transaction. */
export const STATUSES = [
  'pending',
  'completed',
  'failed',
  'expired',
  'cancelled',
  'partially_refunded',
  'refunded',
  'disputed',
  'lost',
] as const
export type PaymentStatus = (typeof STATUSES)[number]

const NEXT: Readonly<Record<PaymentStatus, readonly PaymentStatus[]>> = {
  pending: ['completed', 'failed', 'expired', 'cancelled'],
  completed: ['partially_refunded', 'refunded', 'disputed', 'lost'],
  partially_refunded: ['refunded', 'completed', 'disputed', 'lost'],
  refunded: ['partially_refunded', 'completed'],
  disputed: ['completed', 'partially_refunded', 'lost'],
  // Money decides over a state that looked final.
  failed: ['completed'],
  expired: ['completed'],
  cancelled: ['completed'],
  lost: ['completed', 'partially_refunded', 'disputed'],
}

/**
 * The states that a transaction passes through to another one, by the shortest way: several if what happened between was
 * not seen, none if it is there already.
 *
 * @returns undefined if a transaction never gets from the one to the other
 */
export function stepsBetween(from: PaymentStatus, to: PaymentStatus): readonly PaymentStatus[] | undefined {
  const ways = new Map<PaymentStatus, readonly PaymentStatus[]>([[from, []]])
  // A map is read in the order in which it grows.
  for (const [status, way] of ways) {
    if (status === to) return way
    for (const next of NEXT[status]) if (!ways.has(next)) ways.set(next, [...way, next])
  }
  return undefined
}

/** A refund as the ledger has it. */
export type RefundState = LedgerEntry & { kind: 'refund' }
/** A dispute as the ledger has it. */
export type DisputeState = LedgerEntry & { kind: 'dispute' }

/** What the ledger says about a transaction. */
export type Summary = {
  status: PaymentStatus
  captured: bigint
  /** What completed refunds gave back. */
  refunded: bigint
  /** What open disputes concern. */
  disputed: bigint
  /** What disputes and reversals took. */
  lost: bigint
  refunds: readonly RefundState[]
  disputes: readonly DisputeState[]
  /** A payment that is completed, but not the one that was asked for. */
  mismatch: Money | undefined
  /** Whether the provider has a payment that is neither completed nor failed. */
  isChargePending: boolean
}

/**
 * Computes a transaction from its entries. Their order and repetitions do not matter.
 *
 * @param order what the buyer was asked to pay
 */
export function summaryOf(order: Money, entries: readonly LedgerEntry[]): Summary {
  const objects = latestOf(entries)
  const has = (kind: LedgerEntry['kind'], status: string): boolean =>
    objects.some((one) => one.kind === kind && one.status === status)
  const charges = objects.filter(({ kind }) => kind === 'charge')
  const completedCharge = charges.find((one) => one.status === 'completed' && isSameMoney(one, order))
  const reversals = new Set(objects.flatMap((one) => (one.kind === 'reversal' ? [one.objectId] : [])))
  // PayPal shows a reversal among the refunds, too.
  const refunds = objects.filter(
    (one) => one.kind === 'refund' && one.currency === order.currency && !reversals.has(one.objectId),
  ) as RefundState[]
  const disputes = objects.filter(({ kind }) => kind === 'dispute') as DisputeState[]
  const refunded = refunds.reduce((sum, one) => sum + (one.status === 'completed' ? one.amount : 0n), 0n)
  const captured = completedCharge?.amount ?? 0n
  /** A bank may dispute several payments at once, or in another currency: of this one it is all at most. */
  function shareOf(entriesOfKind: readonly LedgerEntry[]): bigint {
    const isOfOther = entriesOfKind.some(({ currency }) => currency !== order.currency)
    const sum = entriesOfKind.reduce((total, one) => total + one.amount, 0n)
    return isOfOther || sum > captured ? captured : sum
  }
  const disputed = shareOf(disputes.filter((one) => one.status === 'open'))
  const lostByDispute = shareOf(disputes.filter((one) => one.status === 'lost'))
  const reversed = shareOf(objects.filter(({ kind }) => kind === 'reversal'))
  const facts = {
    captured,
    refunded,
    disputed,
    // PayPal may show what a dispute took as a reversal, too.
    lost: lostByDispute > reversed ? lostByDispute : reversed,
    refunds,
    disputes,
    mismatch: completedCharge ? undefined : charges.find(({ status }) => status === 'completed'),
    // An asynchronous payment that failed ends the session; its charge stays as it was.
    isChargePending: !completedCharge && has('charge', 'pending') && !has('session', 'failed'),
  }

  function status(): PaymentStatus {
    if (completedCharge) {
      if (refunded >= completedCharge.amount) return 'refunded'
      if (facts.lost > 0n && refunded + facts.lost >= completedCharge.amount) return 'lost'
      if (has('dispute', 'open')) return 'disputed'
      return refunded > 0n ? 'partially_refunded' : 'completed'
    }
    if (facts.mismatch || facts.isChargePending) return 'pending'
    if (has('session', 'failed') || has('charge', 'failed')) return 'failed'
    if (has('session', 'expired')) return 'expired'
    return has('session', 'cancelled') ? 'cancelled' : 'pending'
  }
  return { status: status(), ...facts }
}

/** The entry that counts of each object: the one with the greatest version, and among these the furthest state. */
function latestOf(entries: readonly LedgerEntry[]): LedgerEntry[] {
  const objects = new Map<string, LedgerEntry>()
  for (const entry of entries) {
    const key = `${entry.kind} ${entry.objectId}`
    const latest = objects.get(key)
    if (!latest || isLater(entry, latest)) objects.set(key, entry)
  }
  return [...objects.values()]
}

function isLater(one: LedgerEntry, other: LedgerEntry): boolean {
  const byVersion = (one.version ?? 0) - (other.version ?? 0)
  const byState = rankOf(one) - rankOf(other)
  if (byVersion !== 0) return byVersion > 0
  // The same object never has two amounts; if it has, the order must not matter either.
  return byState === 0 ? one.amount > other.amount : byState > 0
}

const rankOf = ({ kind, status }: LedgerEntry): number =>
  (ENTRY_STATES[kind] as readonly string[]).indexOf(status)

const isSameMoney = (one: Money, other: Money): boolean =>
  one.amount === other.amount && one.currency === other.currency
