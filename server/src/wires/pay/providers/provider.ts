import type { Outcome, Refused } from '../../../providers/outcome.ts'
import type { Receiver } from '../../../providers/receive.ts'

/** How a transaction is paid, as its `provider` says. */
export const PROVIDERS = ['cardpay', 'walletpay', 'onchain'] as const
export type ProviderName = (typeof PROVIDERS)[number]

/** The ways to pay at which we carry out operations. */
export type OperationProvider = Exclude<ProviderName, 'onchain'>

/** An amount in minor units of its currency, with the provider's own exponent. */
export type Money = {
  amount: bigint
  /** ISO 4217, upper case. */
  currency: string
}

/**
 * The currencies of a provider, by code in upper case: decimal places, and the multiple of minor units that an amount must
 * be. Stripe takes KWD with three decimal places, of which the last must be 0: `{ exponent: 3, multiple: 10 }`.
 */
export type Currencies = Readonly<Record<string, { exponent: number; multiple?: number }>>

/** What a buyer is asked to pay. */
export type Order = Money & {
  /** The id of our transaction: the idempotency key of the call, and kept by the provider as metadata of every object. */
  id: string
  /** When the transaction was created, in milliseconds since 1970. */
  createdAt: number
  /** Their amounts times quantities add up to `amount`. Absent if the order has a description only. */
  items?: readonly { name: string; amount: bigint; quantity: number }[]
  description?: string
  /** Where the buyer's browser is sent after paying, and after cancelling. */
  successUrl: string
  cancelUrl: string
  /** The buyer's, so that it need not be typed again. */
  email?: string
  /** What the merchant calls it. */
  merchantReference?: string
  /** Whether the provider asks the buyer where the goods go: to one of these countries, or anywhere. */
  shipping?: readonly string[] | 'anywhere'
  /**
   * When it can be paid no more, in milliseconds since 1970. A provider with a second step need not know it: what is over is
   * not captured.
   */
  expiresAt?: number
}

/**
 * The kinds of objects at a provider, each with its states in the order in which an object passes through them. Of two
 * states of the same object and version the later one counts, in whatever order they were seen.
 *
 * - `session`: a checkout session or order that ended without a payment;
 * - `charge`: the payment. `failed` is the provider's last word; a declined card that may be tried again is no entry;
 * - `refund`: `failed` after `completed` takes the refund back;
 * - `dispute`: `inquiry` moves no money and does not change the transaction's state;
 * - `reversal`: the payment was taken back without a dispute.
 */
export const ENTRY_STATES = {
  session: ['cancelled', 'expired', 'failed'],
  charge: ['pending', 'failed', 'completed'],
  refund: ['pending', 'completed', 'failed'],
  dispute: ['inquiry', 'open', 'won', 'lost'],
  reversal: ['completed'],
} as const

export type EntryKind = keyof typeof ENTRY_STATES

/** One fact of the ledger: an object at the provider was seen in a state. Entries are added and never changed. */
export type LedgerEntry = {
  [K in EntryKind]: Money & {
    kind: K
    /** The provider's id of the object. */
    objectId: string
    status: (typeof ENTRY_STATES)[K][number]
    /**
     * Grows each time the object changes, if the provider has something like it (the number of a dispute's money movements,
     * its time of update in milliseconds): a greater one counts before the state. Default 0.
     */
    version?: number
    /** The id of our operation that made the object: of a refund, the `id` of the `RefundOrder`. */
    callId?: string
    /** The provider's reason or status, one line. */
    reason?: string
    /** When the provider created the object, in milliseconds since 1970. */
    createdAt?: number
  }
}[EntryKind]

/** What a transaction is looked up by at the provider: at least one of the first three. */
export type PaymentSubject = {
  /** The id of our transaction. */
  transactionId?: string
  /** The id of the checkout session or order. */
  reference?: string
  /** The id of the payment: Stripe's payment intent, PayPal's capture. */
  paymentId?: string
  /** Objects to fetch that cannot be found from the payment, such as PayPal's disputes. */
  objects?: readonly { kind: 'refund' | 'dispute' | 'reversal'; id: string }[]
}

export type PostalAddress = {
  line1?: string
  line2?: string
  postalCode?: string
  city?: string
  /** A state, province or region. */
  state?: string
  /** ISO 3166-1 alpha-2. */
  country?: string
}

/** Who paid, as far as the provider knows. */
export type PaymentBuyer = {
  name?: string
  email?: string
  phone?: string
  address?: PostalAddress
  /** Where the goods go, if the order asked for it. */
  shipping?: { name?: string; address?: PostalAddress }
}

/** All that the provider knows about a transaction now. */
export type PaymentSnapshot = {
  /** The id of our transaction by the provider's metadata; absent if the payment is not one of ours. */
  transactionId?: string
  reference: string
  paymentId?: string
  /** Where the buyer pays or approves, while that is possible. */
  url?: string
  /** What the provider took of the payment and what it left, before refunds, in minor units of the currency it pays out in. */
  fees?: { fee: bigint; net: bigint; currency: string; exponent: number }
  /** Who paid. It is stored with the first sight of a charge. */
  buyer?: PaymentBuyer
  /** Every object that the provider has for it. An open session or order without a payment has none. */
  entries: readonly LedgerEntry[]
}

/** A refund of a payment, or of a part of it. */
export type RefundOrder = Money & {
  /** The id of our row of this operation: the idempotency key, and kept by the provider as metadata. */
  id: string
  transactionId: string
  reference: string
  paymentId: string
  /** Why, one line of at most 255 characters: one of `REFUND_WORDS`, or text that the buyer may see. */
  reason?: string
}

/** Reasons that Stripe counts, and that are no text for a buyer. */
export const REFUND_WORDS = ['duplicate', 'fraudulent', 'requested_by_customer'] as const

/**
 * What a refusal is about, in `code` of the outcome:
 * - `parameter`: a parameter that the caller gave; `details.parameter` may name it in the provider's words;
 * - `state`: the state of the payment, such as one that is refunded already;
 * - `declined`: the buyer's bank; the buyer may choose another way to pay at `details.url`;
 * - `not_approved`: the buyer has not approved the order yet; `details.url` is where that is done, if known;
 * - `gone`: the provider certainly has no such session, order or payment.
 */
export type RefusalCode = 'parameter' | 'state' | 'declined' | 'not_approved' | 'gone'

/** A webhook, verified. The object that is fetched afterwards decides, not the event. */
export type ProviderEvent = {
  id: string
  /** The provider's word: `checkout.session.completed`. */
  type: string
  /** Which transaction it is about; absent for kinds that are not used, and for events of another mode (live or test). */
  subject?: PaymentSubject
  /** The body, for operators: texts and numbers that may be personal or secret are masked before it is stored. */
  payload?: unknown
}

/** Outcomes of the verbs below; `code` of a refusal is a `RefusalCode`. */
export type { Outcome, Refused }

/**
 * A provider of payments. Each verb makes its calls within `limitMs` milliseconds, never repeats one, and never rejects.
 *
 * The ids in an `Order`, a `CaptureOrder` or a `RefundOrder` are its idempotency keys: the same one again does nothing
 * again, and answers the first answer.
 */
export type PaymentProvider = Receiver<ProviderEvent> & {
  /** The service, for logs: `stripe`, `paypal`. */
  readonly name: string
  readonly currencies: Currencies
  /** Whether it moves real money, if its credentials or its address tell: such a provider is not used under `open` unasked. */
  readonly isLive?: boolean
  /** Creates a checkout session or an order, at whose `url` the buyer pays. */
  create(order: Order, limitMs: number): Promise<Outcome<{ reference: string; url: string }>>
  /** Takes the money of an order that the buyer approved. Absent where paying needs no second step. */
  capture?(capture: CaptureOrder, limitMs: number): Promise<Outcome<{ snapshot: PaymentSnapshot }>>
  /**
   * Ends a session that is not paid, so that it cannot be paid any more; refused if it is paid. Absent where a session cannot
   * be ended.
   */
  cancel?(session: { transactionId: string; reference: string }, limitMs: number): Promise<Outcome>
  /** Gives money back. */
  refund(refund: RefundOrder, limitMs: number): Promise<Outcome<{ entry: LedgerEntry & { kind: 'refund' } }>>
  /**
   * Fetches all that the provider has about a transaction. Refused with the code `gone` if it certainly has nothing.
   * Without `reference` and `paymentId` it is found by our id, created since `since` (milliseconds since 1970).
   */
  retrieve(
    subject: PaymentSubject & { since: number },
    limitMs: number,
  ): Promise<Outcome<{ snapshot: PaymentSnapshot }>>
  /**
   * Lists the events since a time (milliseconds since 1970), oldest first, to find those whose webhook was lost. It lists as
   * many as fit into the time; `until` is the time up to which the list is complete.
   */
  events(
    since: number,
    limitMs: number,
  ): Promise<Outcome<{ events: readonly ProviderEvent[]; until: number }>>
  /** Rejects, with a sentence for the operator, if the provider cannot be reached or refuses the credentials. */
  check(): Promise<void>
  /** Resolves when no call is in progress. */
  close(): Promise<void>
}

/** A capture of an approved order. */
export type CaptureOrder = {
  /** The id of our row of this operation; after a decline the next capture has another one. */
  id: string
  transactionId: string
  reference: string
}
