import type { FastifyInstance, FastifyRequest } from 'fastify'

import { isoTime } from '../../../server/src/base/clock.ts'
import { errors, invalid } from '../../../server/src/base/errors.ts'
import { formatAmount } from '../../../server/src/base/money.ts'
import { Type } from '../../../server/src/base/schema.ts'
import type { ProviderFault, Faults } from '../faults.ts'
import { readerOf } from '../reader.ts'
import { readMoney } from './amounts.ts'
import { CURRENCIES } from './currencies.ts'
import { notFound, PayPalError } from './errors.ts'
import { captureStatusOf, FUNDINGS, refundedOf, type PaypalOrder } from './order.ts'
import type { OrderChange, Target } from './orders.ts'
import type { Resource } from './resources.ts'
import {
  approve,
  closeDispute,
  disputeOrder,
  refund,
  reverse,
  reviewDispute,
  settleCapture,
  settleRefund,
  voidOrder,
} from './steps.ts'
import type { WalletProvider } from './wallet.ts'

const LIST_MAX = 200

const REASONS = [
  'MERCHANDISE_OR_SERVICE_NOT_RECEIVED',
  'MERCHANDISE_OR_SERVICE_NOT_AS_DESCRIBED',
  'UNAUTHORISED',
  'CREDIT_NOT_PROCESSED',
  'DUPLICATE_TRANSACTION',
  'INCORRECT_AMOUNT',
  'PAYMENT_BY_OTHER_MEANS',
  'CANCELED_RECURRING_BILLING',
  'PROBLEM_WITH_REMITTANCE',
  'OTHER',
] as const

/** An order as `/sandbox` lists it. */
function listedOrder(order: PaypalOrder, approvalUrl: string): Resource {
  const { id, status, request, capture, refunds, dispute, funding, createdAt } = order
  const amountText = (amount: string | bigint) => formatAmount(BigInt(amount), request.currency, CURRENCIES)
  const isOver = status === 'COMPLETED' || status === 'VOIDED'
  return {
    id,
    status,
    transactionId: request.customId ?? null,
    capture: capture ? { id: capture.id, status: captureStatusOf(order, capture) } : null,
    amount: amountText(request.amount),
    currency: request.currency,
    description: request.description ?? null,
    approvalUrl: isOver ? null : approvalUrl,
    funding: funding ?? null,
    refunded: amountText(refundedOf(order)),
    refunds: refunds.map((one) => ({ id: one.id, amount: amountText(one.amount), status: one.status })),
    dispute: dispute
      ? {
          id: dispute.id,
          status: dispute.outcome ?? dispute.status,
          reason: dispute.reason,
          amount: amountText(dispute.amount),
        }
      : null,
    createdAt: isoTime(createdAt),
  }
}

/** An amount of the body in minor units. */
const minorOf = ({ request: { currency } }: PaypalOrder, amount: string | undefined): bigint | undefined =>
  amount === undefined ? undefined : readMoney({ currency_code: currency, value: amount }, '/amount').amount

/** The callback fault in force for what happens outside of an API call. A call counts only if there is one. */
export async function callbackFault(faults: Faults): Promise<ProviderFault['callback']> {
  const { walletpay } = await faults.all()
  return walletpay?.callback === undefined ? undefined : (await faults.next('walletpay')).callback
}

/** Waits for a step, and turns PayPal's refusals into errors of the sandbox's own API. */
async function asApiErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof PayPalError)) throw error
    if (error.status === 404) throw errors.not_found({ message: 'The wallet provider has no such object.' })
    const [{ description, field = '' } = { description: error.message }] = error.issues
    if (error.status === 400 || field.startsWith('/amount'))
      throw invalid({ path: `/body${field}`, message: description })
    throw errors.conflict({ message: description })
  }
}

/**
 * What the buyer, the merchant at their dashboard, and banks do, for tests and the page: below `/sandbox/api/walletpay`.
 * Each route answers the order as the provider shows it.
 */
export function addSimulationRoutes(engine: FastifyInstance, wallet: WalletProvider, faults: Faults): void {
  const { orders, resources } = wallet
  const readFunding = readerOf(
    'body',
    Type.Object({ funding: Type.Enum([...FUNDINGS], { default: 'balance' }) }),
  )
  const readAmount = readerOf('body', Type.Object({ amount: Type.Optional(Type.String({ maxLength: 32 })) }))
  const readDispute = readerOf(
    'body',
    Type.Object({
      reason: Type.Enum([...REASONS], { default: REASONS[0] }),
      amount: Type.Optional(Type.String({ maxLength: 32 })),
    }),
  )
  const readCaptureStatus = readerOf('body', Type.Object({ status: Type.Enum(['completed', 'denied']) }))
  const readRefundStatus = readerOf('body', Type.Object({ status: Type.Enum(['completed', 'failed']) }))
  const readOutcome = readerOf('body', Type.Object({ outcome: Type.Enum(['won', 'lost']) }))

  const change = (target: Target, step: OrderChange['step']): Promise<Resource> =>
    asApiErrors(
      async () => (await wallet.change(target, step, { callback: await callbackFault(faults) })).full,
    )

  function add(
    path: string,
    kind: 'order' | 'object',
    read: (body: unknown) => (order: PaypalOrder, now: number, id: string) => ReturnType<OrderChange['step']>,
  ): void {
    engine.post(`/api/walletpay/${path}`, async ({ params, body }: FastifyRequest) => {
      const { id } = params as { id: string }
      const step = read(body ?? {})
      return change(kind === 'order' ? { order: id } : { object: id }, (order, now) => step(order, now, id))
    })
  }

  engine.get('/api/walletpay', async () => ({
    orders: (await orders.list(LIST_MAX)).map((one) => listedOrder(one, resources.approvalUrl(one))),
  }))

  add('orders/:id/approve', 'order', (body) => {
    const { funding } = readFunding(body)
    return (order, now) => approve(order, funding, now)
  })
  // A buyer who cancels goes back to the application; the provider keeps the order as it is.
  engine.post('/api/walletpay/orders/:id/cancel', ({ params }) =>
    asApiErrors(async () => resources.orderOf(await orders.find({ order: (params as { id: string }).id }))),
  )
  add('orders/:id/void', 'order', () => voidOrder)
  add('orders/:id/refund', 'order', (body) => {
    const { amount } = readAmount(body)
    return (order, now) => {
      const minor = minorOf(order, amount)
      return refund(order, minor === undefined ? {} : { amount: minor }, now)
    }
  })
  add('orders/:id/dispute', 'order', (body) => {
    const { reason, amount } = readDispute(body)
    return (order, now) => disputeOrder(order, { reason, amount: minorOf(order, amount) }, now)
  })
  add('orders/:id/reverse', 'order', () => reverse)
  add('captures/:id/settle', 'object', (body) => {
    const { status } = readCaptureStatus(body)
    return (order, now, id) => {
      if (order.capture?.id !== id) throw notFound()
      return settleCapture(order, status, now)
    }
  })
  add('refunds/:id/settle', 'object', (body) => {
    const { status } = readRefundStatus(body)
    return (order, now, id) => settleRefund(order, id, status, now)
  })
  const disputeStep =
    (step: (order: PaypalOrder, now: number) => ReturnType<OrderChange['step']>) =>
    (order: PaypalOrder, now: number, id: string) => {
      if (order.dispute?.id !== id) throw notFound()
      return step(order, now)
    }
  add('disputes/:id/review', 'object', () => disputeStep(reviewDispute))
  add('disputes/:id/close', 'object', (body) => {
    const { outcome } = readOutcome(body)
    return disputeStep((order, now) =>
      closeDispute(order, outcome === 'won' ? 'RESOLVED_SELLER_FAVOUR' : 'RESOLVED_BUYER_FAVOUR', now),
    )
  })
}
