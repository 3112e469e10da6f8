// What both providers know of a payment, in one form: what is shown of it, and what can happen to it next.
import { choice, text } from './actions.js'
import { grouped, typedAmount } from './amounts.js'
import { serverUrl } from './api.js'

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
const FUNDING = {
  balance: 'the balance',
  declined: 'a card that is declined',
  pending: 'a bank transfer that stays pending',
}
const TONES = {
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

const lower = (status) => status.toLowerCase().replaceAll('_', ' ')

const isOpenDispute = (dispute) => OPEN_DISPUTES.includes(dispute?.status)

/** A payment that was paid, by what was refunded of it; `refunded` and `amount` have the same unit. */
function paidState({ refunded, amount, dispute }) {
  if (isOpenDispute(dispute)) return 'disputed'
  if (LOST_DISPUTES.includes(dispute?.status)) return 'lost'
  if (Number(refunded) === 0) return 'paid'
  return Number(refunded) < Number(amount) ? 'partly refunded' : 'refunded'
}

/** What can still be refunded, in minor units: what is disputed is the bank's, and what is lost the buyer's. */
function refundable({ amount, refunded, dispute }) {
  const isInquiry = dispute?.status.startsWith('warning_')
  const isTaken = LOST_DISPUTES.includes(dispute?.status) || (isOpenDispute(dispute) && !isInquiry)
  return amount - refunded - (isTaken ? dispute.amount : 0)
}

/** An amount as text, in minor units. Nothing is rounded: what the currency does not have is refused by the provider. */
function minorUnits(text, decimals) {
  const [whole, fraction = ''] = typedAmount(text).split('.')
  const amount = fraction.length > decimals ? NaN : Number(whole + fraction.padEnd(decimals, '0'))
  return Number.isSafeInteger(amount) ? amount : text
}

const majorUnits = (amount, decimals) => {
  const digits = String(amount).padStart(decimals + 1, '0')
  return decimals === 0 ? digits : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}

/**
 * A checkout session of the card provider.
 *
 * @param {Record<string, string>} cards what each test card does, by number
 */
export function cardPayment(payment, cards) {
  const { id, paymentIntent, currency, displayAmount, description, refunded, createdAt, dispute } = payment
  const decimals = displayAmount.split('.')[1]?.length ?? 0
  const money = (amount) => `${grouped(majorUnits(amount, decimals))} ${currency.toUpperCase()}`
  const state = payment.state === 'paid' ? paidState(payment) : payment.state
  const path = `/cardpay/sessions/${id}`
  const steps = {
    open: [
      {
        label: 'Pay',
        field: choice('With the card that', cardWords(cards)),
        path: `${path}/pay`,
        body: (card) => ({ card }),
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
    tone: TONES[state] ?? '',
    description,
    createdAt,
    facts: [
      ['Provider', 'Cards (Stripe)'],
      ['Transaction', payment.transactionId],
      ['Description', description],
      ['Session', id],
      ['Payment intent', paymentIntent],
      ['Refunded', refunded > 0 && money(refunded)],
      ['Created', new Date(createdAt).toLocaleString()],
    ],
    link: payment.url && payment.state === 'open' && { url: payment.url, text: 'Pay at the checkout page' },
    next: [
      ...(steps[payment.state] ?? []),
      rest > 0 && refundStep(path, majorUnits(rest, decimals), (typed) => minorUnits(typed, decimals)),
      rest > 0 && !dispute && disputeStep(path),
    ].filter(Boolean),
    refunds: payment.refunds.map(({ id: refundId, amount, status }) => ({
      title: `Refund of ${money(amount)}`,
      status: lower(status),
      next: ['pending', 'succeeded'].includes(status)
        ? settleSteps(
            `/cardpay/refunds/${refundId}/settle`,
            status === 'pending' ? ['succeeded', 'failed'] : ['failed'],
          )
        : [],
    })),
    dispute: dispute && disputeOf(dispute, money(dispute.amount), '/cardpay'),
  }
}

/** An order of the wallet provider. */
export function walletPayment(order) {
  const { id, status, capture, amount, currency, description, refunded, createdAt, dispute, funding } = order
  const captured = capture?.status.toLowerCase()
  const isPaid = ['completed', 'partially_refunded'].includes(captured)
  const money = (text) => `${grouped(text)} ${currency}`
  // All amounts of an order have the decimal places of its currency.
  const minor = (text) => Number(text.replace('.', ''))
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
    tone: TONES[state] ?? '',
    description,
    createdAt,
    facts: [
      ['Provider', 'Wallet (PayPal)'],
      ['Transaction', order.transactionId],
      ['Description', description],
      ['Order', id],
      ['Capture', capture?.id],
      ['Paid from', FUNDING[funding] ?? funding],
      ['Refunded', Number(refunded) > 0 && money(refunded)],
      ['Created', new Date(createdAt).toLocaleString()],
    ],
    capture:
      state === 'approved' &&
      `curl -X POST ${serverUrl}/pay/walletpay/capture/${id} \\\n  -H "authorization: Bearer $TOKEN"`,
    link: order.approvalUrl && { url: order.approvalUrl, text: 'Approve at the approval page' },
    next: [
      canApprove && {
        label: 'Approve',
        field: choice('Pay from', FUNDING),
        path: `${path}/approve`,
        body: (chosen) => ({ funding: chosen }),
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
        ? settleSteps(`/walletpay/captures/${capture.id}/settle`, ['completed', 'denied'])
        : []),
      canRefund && refundStep(path, 'all that is left', typedAmount),
      isPaid && !dispute && disputeStep(path),
      isPaid &&
        !isOpenDispute(dispute) && {
          label: 'Reverse',
          path: `${path}/reverse`,
          done: 'The payment is reversed',
        },
    ].filter(Boolean),
    refunds: order.refunds.map((refund) => ({
      title: `Refund of ${money(refund.amount)}`,
      status: lower(refund.status),
      next:
        refund.status === 'PENDING'
          ? settleSteps(`/walletpay/refunds/${refund.id}/settle`, ['completed', 'failed'])
          : [],
    })),
    dispute: dispute && disputeOf(dispute, money(dispute.amount), '/walletpay'),
  }
}

/** The last digits tell cards with the same effect apart. */
const cardWords = (cards) =>
  Object.fromEntries(
    Object.entries(cards).map(([number, words]) => [number, `${words} (…${number.slice(-4)})`]),
  )

const refundStep = (path, rest, amountOf) => ({
  label: 'Refund',
  field: text('Amount', rest),
  path: `${path}/refund`,
  body: (typed) => (typed === '' ? {} : { amount: amountOf(typed) }),
  done: 'The payment is refunded',
})

const disputeStep = (path) => ({
  label: 'Dispute',
  path: `${path}/dispute`,
  done: 'The payment is disputed',
})

const settleSteps = (path, statuses) =>
  statuses.map((status) => ({
    label: `Set to ${status}`,
    path,
    body: () => ({ status }),
    done: `It is ${status} now`,
  }))

const disputeOf = ({ id, status, reason }, amount, root) => ({
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
