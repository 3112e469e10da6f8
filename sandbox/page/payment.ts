// What both providers know of a payment, in one form: what is shown of it, and what can happen to it next.
import type { Tone } from '../../console/src/parts/text.tsx'
import { choice, text, type PageAction } from './actions.tsx'
import { grouped, typedAmount } from './amounts.ts'
import { serverUrl } from './server.ts'

type Dispute<Amount> = { id: string; status: string; reason: string; amount: Amount }
type Refund<Amount> = { id: string; status: string; amount: Amount }

/** A checkout session as the sandbox lists it; amounts are in minor units. */
export type CardSession = {
  id: string
  state: string
  transactionId: string | null
  paymentIntent: string | null
  amount: number
  currency: string
  displayAmount: string
  description: string | null
  refunded: number
  createdAt: string
  url: string | null
  dispute: Dispute<number> | null
  refunds: Refund<number>[]
}

/** An order as the sandbox lists it; amounts are decimal texts. */
export type WalletOrder = {
  id: string
  status: string
  transactionId: string | null
  capture: { id: string; status: string } | null
  amount: string
  currency: string
  description: string | null
  refunded: string
  createdAt: string
  approvalUrl: string | null
  funding: string | null
  dispute: Dispute<string> | null
  refunds: Refund<string>[]
}

/** What is shown of a payment of either provider, and what can happen to it next. */
export type Payment = {
  id: string
  amount: string
  state: string
  tone: Tone | undefined
  description: string | null
  createdAt: string
  /** What has no value is not known of it. */
  facts: readonly (readonly [string, string | false | null | undefined])[]
  link: { url: string; text: string } | undefined
  /** The command that captures an order. */
  capture: string | undefined
  next: readonly PageAction[]
  refunds: readonly { id: string; title: string; status: string; next: readonly PageAction[] }[]
  dispute: { title: string; text: string; next: readonly PageAction[] } | undefined
}

// States of a dispute, of both providers; any other one is over.
const OPEN_DISPUTES = [
  'warning_needs_response',
  'warning_under_review',
  'needs_response',
  'under_review',
  'OPEN',
  'WAITING_FOR_SELLER_RESPONSE',
  'WAITING_FOR_BUYER_RESPONSE',
  'UNDER_REVIEW',
]
const LOST_DISPUTES = ['lost', 'RESOLVED_BUYER_FAVOUR', 'ACCEPTED']
const FUNDING: Readonly<Record<string, string>> = {
  balance: 'the balance',
  declined: 'a card that is declined',
  pending: 'a bank transfer that stays pending',
}
const TONES: Readonly<Record<string, Tone>> = {
  paid: 'good',
  approved: 'good',
  open: 'warning',
  pending: 'warning',
  processing: 'warning',
  failed: 'bad',
  declined: 'bad',
  denied: 'bad',
  disputed: 'bad',
  reversed: 'bad',
  lost: 'bad',
}

const lower = (status: string): string => status.toLowerCase().replaceAll('_', ' ')

const isOpenDispute = (dispute: { status: string } | null): boolean =>
  dispute !== null && OPEN_DISPUTES.includes(dispute.status)

const isLost = (dispute: { status: string } | null): boolean =>
  dispute !== null && LOST_DISPUTES.includes(dispute.status)

type Paid = { refunded: number | string; amount: number | string; dispute: { status: string } | null }

/** A payment that was paid, by what was refunded of it; `refunded` and `amount` have the same unit. */
function paidState({ refunded, amount, dispute }: Paid): string {
  if (isOpenDispute(dispute)) return 'disputed'
  if (isLost(dispute)) return 'lost'
  if (Number(refunded) === 0) return 'paid'
  return Number(refunded) < Number(amount) ? 'partly refunded' : 'refunded'
}

/** What can still be refunded, in minor units: what is disputed is the bank's, and what is lost the buyer's. */
function refundable({
  amount,
  refunded,
  dispute,
}: Pick<CardSession, 'amount' | 'refunded'> & {
  dispute: { status: string; amount: number } | null
}): number {
  const isInquiry = dispute?.status.startsWith('warning_')
  const isTaken = isLost(dispute) || (isOpenDispute(dispute) && !isInquiry)
  return amount - refunded - (isTaken ? dispute!.amount : 0)
}

/** An amount as text, in minor units. Nothing is rounded: what the currency does not have is refused by the provider. */
function minorUnits(text: string, decimals: number): number | string {
  const [whole = '', fraction = ''] = typedAmount(text).split('.')
  const amount = fraction.length > decimals ? NaN : Number(whole + fraction.padEnd(decimals, '0'))
  return Number.isSafeInteger(amount) ? amount : text
}

const majorUnits = (amount: number, decimals: number): string => {
  const digits = String(amount).padStart(decimals + 1, '0')
  return decimals === 0 ? digits : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}

type Step = PageAction | false

/**
 * A checkout session of the card provider.
 *
 * @param cards what each test card does, by number
 */
export function cardPayment(payment: CardSession, cards: Readonly<Record<string, string>>): Payment {
  const { id, paymentIntent, currency, displayAmount, description, refunded, createdAt, dispute } = payment
  const decimals = displayAmount.split('.')[1]?.length ?? 0
  const money = (amount: number) => `${grouped(majorUnits(amount, decimals))} ${currency.toUpperCase()}`
  const state = payment.state === 'paid' ? paidState(payment) : payment.state
  const path = `/cardpay/sessions/${id}`
  const steps: Readonly<Record<string, readonly PageAction[]>> = {
    open: [
      {
        label: 'Pay',
        field: choice('card', 'With the card that', cardWords(cards)),
        path: `${path}/pay`,
        body: (card: string) => ({ card }),
        done: 'The payment is paid',
        isPrimary: true,
      },
      {
        label: 'Pay by bank debit',
        path: `${path}/pay`,
        body: () => ({ outcome: 'processing' }),
        done: 'The bank debit is being processed',
      },
      { label: 'Expire', path: `${path}/expire`, done: 'The session is expired' },
    ],
    processing: [true, false].map((succeeded) => ({
      label: succeeded ? 'The bank debit succeeds' : 'The bank debit fails',
      path: `${path}/settle`,
      body: () => ({ succeeded }),
      done: succeeded ? 'The bank debit succeeded' : 'The bank debit failed',
    })),
  }
  const isPaid = payment.state === 'paid'
  const rest = isPaid ? refundable(payment) : 0
  return {
    id,
    amount: `${grouped(displayAmount)} ${currency.toUpperCase()}`,
    state,
    tone: TONES[state],
    description,
    createdAt,
    facts: [
      ['Provider', 'Cards (Stripe)'],
      ['Transaction', payment.transactionId],
      ['Description', description],
      ['Session', id],
      ['Payment intent', paymentIntent],
      ['Refunded', refunded > 0 && money(refunded)],
    ],
    link:
      payment.url && payment.state === 'open'
        ? { url: payment.url, text: 'Pay at the checkout page' }
        : undefined,
    capture: undefined,
    next: stepsOf([
      ...(steps[payment.state] ?? []),
      rest > 0 && refundStep(path, majorUnits(rest, decimals), (typed) => minorUnits(typed, decimals)),
      rest > 0 && !dispute && disputeStep(path),
    ]),
    refunds: payment.refunds.map(({ id: refundId, amount, status }) => ({
      id: refundId,
      title: `Refund of ${money(amount)}`,
      status: lower(status),
      next: ['pending', 'succeeded'].includes(status)
        ? settleSteps(
            `/cardpay/refunds/${refundId}/settle`,
            status === 'pending' ? ['succeeded', 'failed'] : ['failed'],
          )
        : [],
    })),
    dispute: dispute ? disputeOf(dispute, money(dispute.amount), '/cardpay') : undefined,
  }
}

/** An order of the wallet provider. */
export function walletPayment(order: WalletOrder): Payment {
  const { id, status, capture, amount, currency, description, refunded, createdAt, dispute, funding } = order
  const captured = capture?.status.toLowerCase()
  const isPaid = ['completed', 'partially_refunded'].includes(captured ?? '')
  const money = (text: string) => `${grouped(text)} ${currency}`
  // All amounts of an order have the decimal places of its currency.
  const minor = (text: string) => Number(text.replace('.', ''))
  const canRefund =
    isPaid &&
    refundable({
      amount: minor(amount),
      refunded: minor(refunded),
      dispute: dispute && { ...dispute, amount: minor(dispute.amount) },
    }) > 0
  const canApprove = ['CREATED', 'PAYER_ACTION_REQUIRED', 'APPROVED'].includes(status)
  const isOpen = canApprove && status !== 'APPROVED'
  const path = `/walletpay/orders/${id}`
  const state = isPaid ? paidState(order) : isOpen ? 'open' : lower(captured ?? status)
  return {
    id,
    amount: money(amount),
    state,
    tone: TONES[state],
    description,
    createdAt,
    facts: [
      ['Provider', 'Wallet (PayPal)'],
      ['Transaction', order.transactionId],
      ['Description', description],
      ['Order', id],
      ['Capture', capture?.id],
      ['Paid from', FUNDING[funding ?? ''] ?? funding],
      ['Refunded', Number(refunded) > 0 && money(refunded)],
    ],
    capture:
      state === 'approved'
        ? `curl -X POST ${serverUrl}/pay/walletpay/capture/${id} \\\n  -H "authorization: Bearer $TOKEN"`
        : undefined,
    link: order.approvalUrl ? { url: order.approvalUrl, text: 'Approve at the approval page' } : undefined,
    next: stepsOf([
      canApprove && {
        label: 'Approve',
        field: choice('funding', 'Pay from', FUNDING),
        path: `${path}/approve`,
        body: (chosen: string) => ({ funding: chosen }),
        done: 'The order is approved',
        isPrimary: true,
      },
      isOpen && {
        label: 'Cancel',
        path: `${path}/cancel`,
        done: 'The buyer went back: the order stays open',
      },
      canApprove && { label: 'Void', path: `${path}/void`, done: 'The order is void' },
      ...(captured === 'pending'
        ? settleSteps(`/walletpay/captures/${capture!.id}/settle`, ['completed', 'denied'])
        : []),
      canRefund && refundStep(path, 'all that is left', typedAmount),
      isPaid && !dispute && disputeStep(path),
      isPaid &&
        !isOpenDispute(dispute) && {
          label: 'Reverse',
          path: `${path}/reverse`,
          done: 'The payment is reversed',
        },
    ]),
    refunds: order.refunds.map((refund) => ({
      id: refund.id,
      title: `Refund of ${money(refund.amount)}`,
      status: lower(refund.status),
      next:
        refund.status === 'PENDING'
          ? settleSteps(`/walletpay/refunds/${refund.id}/settle`, ['completed', 'failed'])
          : [],
    })),
    dispute: dispute ? disputeOf(dispute, money(dispute.amount), '/walletpay') : undefined,
  }
}

const stepsOf = (steps: readonly Step[]): readonly PageAction[] => steps.filter((one) => one !== false)

/** The last digits tell cards with the same effect apart. */
const cardWords = (cards: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(cards).map(([number, words]) => [number, `${words} (…${number.slice(-4)})`]),
  )

const refundStep = (
  path: string,
  rest: string,
  amountOf: (typed: string) => number | string,
): PageAction => ({
  label: 'Refund',
  field: text('amount', 'Amount', rest),
  path: `${path}/refund`,
  body: (typed) => (typed === '' ? {} : { amount: amountOf(typed) }),
  done: 'The payment is refunded',
})

const disputeStep = (path: string): PageAction => ({
  label: 'Dispute',
  path: `${path}/dispute`,
  done: 'The payment is disputed',
})

const settleSteps = (path: string, statuses: readonly string[]): readonly PageAction[] =>
  statuses.map((status) => ({
    label: `Set to ${status}`,
    path,
    body: () => ({ status }),
    done: `It is ${status} now`,
  }))

const disputeOf = (
  { id, status, reason }: Omit<Dispute<unknown>, 'amount'>,
  amount: string,
  root: string,
): NonNullable<Payment['dispute']> => ({
  title: `Dispute of ${amount}`,
  text: `${lower(status)}: ${lower(reason)}`,
  next: isOpenDispute({ status })
    ? ['won', 'lost'].map((outcome) => ({
        label: outcome === 'won' ? 'The merchant wins' : 'The merchant loses',
        path: `${root}/disputes/${id}/close`,
        body: () => ({ outcome }),
        done: `The dispute is ${outcome}`,
      }))
    : [],
})
