// A payment provider in memory, behind the port of all providers: it forgets nothing, and fails as a test wants it to.
import type { Clock } from '../../base/clock.ts'
import { decodeUtf8 } from '../../base/json.ts'
import { receiveErrors } from '../../providers/receive.ts'
import type {
  LedgerEntry,
  Order,
  Outcome,
  PaymentProvider,
  ProviderEvent,
  RefundOrder,
  PaymentSnapshot,
  PaymentSubject,
} from './providers/provider.ts'

/** How the next call ends that changes something. */
export type CallFault =
  /** It is done, and the answer is lost. */
  | 'lost'
  /** It is not done, and nobody knows. */
  | 'dropped'
  /** It is not sent. */
  | 'unsent'
  /** It is refused for good. */
  | 'refused'

type Refund = {
  id: string
  callId?: string
  amount: bigint
  status: 'pending' | 'completed' | 'failed'
  at: number
}
type Dispute = {
  id: string
  amount: bigint
  status: 'inquiry' | 'open' | 'won' | 'lost'
  version: number
  at: number
}

/** A checkout session or an order with its payment. */
export type Session = {
  transactionId: string
  reference: string
  amount: bigint
  currency: string
  status: 'open' | 'approved' | 'paid' | 'pending' | 'failed' | 'expired' | 'cancelled'
  /** Whether the buyer's bank declines the next capture. */
  isDeclined: boolean
  /** Whether it is captured in a second step. */
  wallet: boolean
  paidAt: number
  refunds: Refund[]
  disputes: Dispute[]
  at: number
}

export type Bank = PaymentProvider & {
  sessions: Map<string, Session>
  /** What it was asked to create last. */
  ordered?: Order
  /** Events that were not delivered yet; `deliver` them as webhooks. */
  readonly outgoing: ProviderEvent[]
  /** Faults of the next calls that change something, in their order. */
  faults: (CallFault | undefined)[]
  /** Fault of all calls after these. */
  lastingFault?: CallFault | undefined
  /** How many retrievals fail, and how. */
  retrieveFaults: ('unknown' | undefined)[]
  /** How often each verb was called. */
  counts: Record<'create' | 'capture' | 'cancel' | 'refund' | 'retrieve' | 'events', number>
  /** Answers up to when a list of events is complete; undefined if it cannot be read. */
  listedUntil: (since: number) => number | undefined
  /** Called before a call answers. */
  hold: () => Promise<void>
  /** The reasons of refunds, of each call. */
  readonly refundReasons: (string | undefined)[]
  /** What a buyer, a bank or the merchant's dashboard does. */
  act(reference: string, change: (session: Session) => void, type: string): void
  sessionOf(transactionId: string): Session
}

export const WEBHOOK_SECRET = 'a secret of the bank'

export const BUYER = {
  name: 'Carol Buyer',
  email: 'carol.buyer@example.com',
  shipping: { address: { line1: 'Rosenweg 1', city: 'Berlin', country: 'DE' } },
}

const CURRENCIES = {
  walletpay: { EUR: { exponent: 2 }, USD: { exponent: 2 }, JPY: { exponent: 0 } },
  cardpay: {
    EUR: { exponent: 2 },
    USD: { exponent: 2 },
    JPY: { exponent: 0 },
    KWD: { exponent: 3, multiple: 10 },
  },
}

/** The headers and body of an event's webhook. */
export const webhookOf = (event: ProviderEvent, secret = WEBHOOK_SECRET) => ({
  headers: { 'content-type': 'application/json', 'bank-signature': secret },
  raw: JSON.stringify(event),
})

export function createBank(name: 'cardpay' | 'walletpay', clock: Clock): Bank {
  const sessions = new Map<string, Session>()
  const answers = new Map<string, Outcome>()
  const outgoing: ProviderEvent[] = []
  const sent: (ProviderEvent & { at: number })[] = []
  const counts = { create: 0, capture: 0, cancel: 0, refund: 0, retrieve: 0, events: 0 }
  let number = 0
  const idOf = (kind: string): string => `${kind}_${++number}`

  function report(type: string, { transactionId, reference, disputes, refunds }: Session): void {
    const objects = [
      ...disputes.map(({ id }) => ({ kind: 'dispute' as const, id })),
      ...refunds.map(({ id }) => ({ kind: 'refund' as const, id })),
    ]
    const event = { id: idOf('evt'), type, subject: { transactionId, reference, objects } }
    outgoing.push(event)
    sent.push({ ...event, at: clock.now() })
  }

  function snapshotOf(session: Session): PaymentSnapshot {
    const { transactionId, reference, amount, currency, status, refunds, disputes, at } = session
    const paymentId = `pay_${reference}`
    const charge = (state: 'pending' | 'failed' | 'completed'): LedgerEntry => ({
      kind: 'charge',
      objectId: paymentId,
      status: state,
      amount,
      currency,
      createdAt: session.paidAt,
    })
    const sessionEnd = (state: 'expired' | 'cancelled'): LedgerEntry => ({
      kind: 'session',
      objectId: reference,
      status: state,
      amount: 0n,
      currency,
      createdAt: at,
    })
    const CHARGES = { paid: 'completed', pending: 'pending', failed: 'failed' } as const
    return {
      transactionId,
      reference,
      ...(status in CHARGES && { paymentId, buyer: BUYER }),
      ...((status === 'open' || status === 'approved') && { url: `https://bank.example/${reference}` }),
      entries: [
        ...(status in CHARGES ? [charge(CHARGES[status as keyof typeof CHARGES])] : []),
        ...(status === 'expired' || status === 'cancelled' ? [sessionEnd(status)] : []),
        ...refunds.map((one): LedgerEntry => entryOf(session, one)),
        ...disputes.map(({ id, amount: disputed, status: state, version, at: createdAt }): LedgerEntry => ({
          kind: 'dispute',
          objectId: id,
          status: state,
          amount: disputed,
          currency,
          version,
          reason: 'product_not_received',
          createdAt,
        })),
      ],
    }
  }

  const entryOf = (
    { currency }: Session,
    { id, callId, amount, status, at }: Refund,
  ): LedgerEntry & { kind: 'refund' } => ({
    kind: 'refund',
    objectId: id,
    status,
    amount,
    currency,
    createdAt: at,
    ...(callId !== undefined && { callId }),
  })

  /** Makes a call that changes something: once for each key, and with the fault that is next. */
  async function change<T extends object>(
    verb: 'create' | 'capture' | 'cancel' | 'refund',
    key: string,
    work: () => Outcome<T>,
  ): Promise<Outcome<T>> {
    counts[verb]++
    const fault = bank.faults.shift() ?? bank.lastingFault
    await bank.hold()
    if (fault === 'unsent') return { kind: 'retry', reason: 'no connection' }
    if (fault === 'dropped') return { kind: 'unknown', reason: 'no answer' }
    if (fault === 'refused') return { kind: 'refused', reason: 'the bank does not want to' }
    const answer = (answers.get(key) as Outcome<T> | undefined) ?? work()
    answers.set(key, answer)
    return fault === 'lost' ? { kind: 'unknown', reason: 'the answer was lost' } : answer
  }

  function findSession({ transactionId, reference, paymentId }: PaymentSubject): Session | undefined {
    const byReference = reference ?? paymentId?.replace('pay_', '')
    if (byReference !== undefined) return sessions.get(byReference)
    return [...sessions.values()].find((one) => one.transactionId === transactionId)
  }

  const bank: Bank = {
    name: 'bank',
    currencies: CURRENCIES[name],
    sessions,
    outgoing,
    faults: [],
    retrieveFaults: [],
    counts,
    listedUntil: () => clock.now(),
    hold: async () => undefined,
    refundReasons: [],
    sessionOf: (transactionId) => findSession({ transactionId })!,

    act(reference, apply, type) {
      const session = sessions.get(reference)!
      apply(session)
      report(type, session)
    },

    create: (order: Order) =>
      change<{ reference: string; url: string }>('create', order.id, () => {
        const { id, amount, currency } = order
        bank.ordered = order
        const reference = idOf('cs')
        const session: Session = {
          transactionId: id,
          reference,
          amount,
          currency,
          status: 'open',
          isDeclined: false,
          wallet: name === 'walletpay',
          paidAt: 0,
          refunds: [],
          disputes: [],
          at: clock.now(),
        }
        sessions.set(reference, session)
        return { kind: 'accepted', reference, url: `https://bank.example/${reference}` }
      }),

    ...(name === 'walletpay' &&
      ({
        capture: ({ id, reference }) =>
          change<{ snapshot: PaymentSnapshot }>('capture', id, () => {
            const session = sessions.get(reference)
            if (!session) return { kind: 'refused', reason: 'no such order', code: 'gone' }
            const url = `https://bank.example/${reference}`
            if (session.status === 'open')
              return { kind: 'refused', reason: 'not approved', code: 'not_approved', details: { url } }
            if (session.isDeclined) {
              session.isDeclined = false
              session.status = 'open'
              return { kind: 'refused', reason: 'the card was declined', code: 'declined', details: { url } }
            }
            if (session.status === 'approved') {
              session.status = 'paid'
              session.paidAt = clock.now()
              report('capture.completed', session)
            } else return { kind: 'unknown', reason: 'captured already' }
            return { kind: 'accepted', snapshot: snapshotOf(session) }
          }),
      } satisfies Partial<PaymentProvider>)),

    ...(name === 'cardpay' && {
      cancel: ({ reference }: { reference: string }) =>
        change<object>('cancel', idOf('cancel'), () => {
          const session = sessions.get(reference)!
          if (session.status !== 'open') return { kind: 'refused', reason: 'the session is not open' }
          session.status = 'expired'
          report('checkout.expired', session)
          return { kind: 'accepted' }
        }),
    }),

    refund({ id, reference, amount, reason }: RefundOrder) {
      bank.refundReasons.push(reason)
      return change<{ entry: LedgerEntry & { kind: 'refund' } }>('refund', id, () => {
        const session = sessions.get(reference)!
        const given = session.refunds.reduce(
          (sum, one) => sum + (one.status === 'failed' ? 0n : one.amount),
          0n,
        )
        const { disputed, lost } = booksOf(session)
        if (session.status !== 'paid' || given + disputed + lost + amount > session.amount)
          return { kind: 'refused', reason: 'more than is left', code: 'state' }
        const refund: Refund = { id: idOf('re'), callId: id, amount, status: 'completed', at: clock.now() }
        session.refunds.push(refund)
        report('refund.created', session)
        return { kind: 'accepted', entry: entryOf(session, refund) }
      })
    },

    async retrieve(subject) {
      counts.retrieve++
      await bank.hold()
      if (bank.retrieveFaults.shift() === 'unknown') return { kind: 'unknown', reason: 'the bank is closed' }
      const session = findSession(subject)
      if (!session) return { kind: 'refused', reason: 'no such session', code: 'gone' }
      return { kind: 'accepted', snapshot: snapshotOf(session) }
    },

    async events(since) {
      counts.events++
      const events = sent.filter(({ at }) => at >= since).map(({ at: _at, ...event }) => event)
      const until = bank.listedUntil(since)
      if (until === undefined) return { kind: 'unknown', reason: 'the bank is closed' }
      return { kind: 'accepted', events, until }
    },

    authorize(headers) {
      if (headers['bank-signature'] === undefined) throw receiveErrors.invalid_signature()
    },
    async receive({ headers, bytes }) {
      if (headers['bank-signature'] !== WEBHOOK_SECRET) throw receiveErrors.invalid_signature()
      return [JSON.parse(decodeUtf8(bytes)) as ProviderEvent]
    },
    check: async () => undefined,
    close: async () => undefined,
  }
  return bank
}

/** What the bank has of a session, to be compared with a transaction. */
export function booksOf({
  status,
  amount,
  refunds,
  disputes,
}: Session): Record<'captured' | 'refunded' | 'disputed' | 'lost', bigint> {
  const captured = status === 'paid' ? amount : 0n
  const sum = (list: readonly { status: string; amount: bigint }[], state: string): bigint =>
    list.reduce((total, one) => total + (one.status === state ? one.amount : 0n), 0n)
  const upTo = (value: bigint): bigint => (value < captured ? value : captured)
  return {
    captured,
    refunded: sum(refunds, 'completed'),
    disputed: upTo(sum(disputes, 'open')),
    lost: upTo(sum(disputes, 'lost')),
  }
}
