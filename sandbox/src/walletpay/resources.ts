import { isoTime } from '../../../server/src/base/clock.ts'
import { moneyOf } from './amounts.ts'
import type { Link } from './errors.ts'
import {
  captureStatusOf,
  refundedOf,
  type Capture,
  type PaypalDispute,
  type Funding,
  type PaypalOrder,
  type PaypalRefund,
} from './order.ts'

export type Resource = Record<string, unknown>

/** The only buyer. */
export const BUYER = {
  payer_id: 'BUYERSANDBX22',
  email_address: 'buyer@sandbox.test',
  name: { given_name: 'Ada', surname: 'Lovelace' },
  address: { country_code: 'DE' },
}

/** Where the goods go, as an order shows it once the buyer has approved it. */
const SHIPPING = {
  name: { full_name: 'Ada Lovelace' },
  address: {
    address_line_1: 'Rosenweg 1',
    admin_area_2: 'Berlin',
    postal_code: '10115',
    country_code: 'DE',
  },
}

const MERCHANT = { merchant_id: 'SHPSANDBX2222', email_address: 'merchant@sandbox.test' }

const PENDING_REASONS: Partial<Record<Funding, string>> = { pending: 'ECHECK' }

const defined = (fields: Resource): Resource =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

/** PayPal's resources of an order, as its API and its webhooks show them. */
export type Resources = ReturnType<typeof createResources>

/** @param address the address of the API */
export function createResources(address: string) {
  const link = (rel: string, path: string, method = 'GET'): Link => ({ href: address + path, rel, method })
  const orderPath = (id: string) => `/v2/checkout/orders/${id}`
  const capturePath = (id: string) => `/v2/payments/captures/${id}`

  const approvalUrl = ({ id }: Pick<PaypalOrder, 'id'>): string => `${address}/approve?token=${id}`

  /** The link to the page where the buyer approves. */
  const approvalLink = (order: PaypalOrder): Link => ({
    href: approvalUrl(order),
    rel: order.request.isWalletOrder ? 'payer-action' : 'approve',
    method: 'GET',
  })

  function orderLinks(order: PaypalOrder): Link[] {
    const { id, status } = order
    const self = link('self', orderPath(id))
    if (status === 'COMPLETED' || status === 'VOIDED') return [self]
    const capture = link('capture', `${orderPath(id)}/capture`, 'POST')
    if (status === 'APPROVED') return [self, ...(order.wasDeclined ? [approvalLink(order)] : []), capture]
    return [self, approvalLink(order), ...(status === 'CREATED' ? [capture] : [])]
  }

  function captureOf(order: PaypalOrder, capture: Capture): Resource {
    const { id, status, amount, fee, createdAt, updatedAt } = capture
    const { request } = order
    const { currency } = request
    const isCompleted = status === 'COMPLETED'
    return defined({
      id,
      status: captureStatusOf(order, capture),
      status_details:
        status === 'PENDING' ? { reason: PENDING_REASONS[order.funding ?? 'balance'] ?? 'OTHER' } : undefined,
      amount: moneyOf(amount, currency),
      final_capture: true,
      seller_protection: {
        status: 'ELIGIBLE',
        dispute_categories: ['ITEM_NOT_RECEIVED', 'UNAUTHORIZED_TRANSACTION'],
      },
      seller_receivable_breakdown: isCompleted
        ? {
            gross_amount: moneyOf(amount, currency),
            paypal_fee: moneyOf(fee, currency),
            net_amount: moneyOf(BigInt(amount) - BigInt(fee), currency),
          }
        : undefined,
      invoice_id: request.invoiceId,
      custom_id: request.customId,
      links: [
        link('self', capturePath(id)),
        ...(isCompleted ? [link('refund', `${capturePath(id)}/refund`, 'POST')] : []),
        link('up', orderPath(order.id)),
      ],
      create_time: isoTime(createdAt),
      update_time: isoTime(Math.max(updatedAt, isCompleted ? order.updatedAt : 0)),
    })
  }

  /** A capture that is asked for alone, or that an event is about. */
  const captureAlone = (order: PaypalOrder, capture: Capture): Resource => ({
    ...captureOf(order, capture),
    payee: MERCHANT,
    supplementary_data: { related_ids: { order_id: order.id } },
  })

  function refundOf(order: PaypalOrder, refund: PaypalRefund): Resource {
    const { currency } = order.request
    const amount = moneyOf(refund.amount, currency)
    return defined({
      id: refund.id,
      status: refund.status,
      status_details: refund.status === 'PENDING' ? { reason: 'ECHECK' } : undefined,
      amount,
      invoice_id: refund.invoiceId,
      custom_id: refund.customId,
      note_to_payer: refund.note,
      seller_payable_breakdown: {
        gross_amount: amount,
        paypal_fee: moneyOf(0n, currency),
        net_amount: amount,
        total_refunded_amount: moneyOf(refundedOf(order), currency),
      },
      links: [link('self', `/v2/payments/refunds/${refund.id}`), link('up', capturePath(order.capture!.id))],
      create_time: isoTime(refund.createdAt),
      update_time: isoTime(refund.updatedAt),
    })
  }

  function paymentsOf(order: PaypalOrder): Resource | undefined {
    const { capture, refunds } = order
    if (!capture) return undefined
    return {
      captures: [captureOf(order, capture)],
      ...(refunds.length > 0 && { refunds: refunds.map((one) => refundOf(order, one)) }),
    }
  }

  function unitOf(order: PaypalOrder): Resource {
    const { request } = order
    const { currency } = request
    return defined({
      reference_id: request.referenceId,
      amount: defined({
        ...moneyOf(request.amount, currency),
        breakdown:
          request.breakdown &&
          Object.fromEntries(
            Object.entries(request.breakdown).map(([name, part]) => [name, moneyOf(part, currency)]),
          ),
      }),
      payee: MERCHANT,
      description: request.description,
      custom_id: request.customId,
      invoice_id: request.invoiceId,
      soft_descriptor: request.softDescriptor,
      items: request.items?.map(({ unitAmount, tax, ...item }) =>
        defined({
          ...item,
          unit_amount: moneyOf(unitAmount, currency),
          tax: tax === undefined ? undefined : moneyOf(tax, currency),
        }),
      ),
      shipping: request.hasShipping && order.approvedAt !== undefined ? SHIPPING : undefined,
      payments: paymentsOf(order),
    })
  }

  function sourceOf({ request, approvedAt }: PaypalOrder): Resource | undefined {
    const { payer_id, email_address, name, address: home } = BUYER
    if (approvedAt !== undefined)
      return {
        paypal: { email_address, account_id: payer_id, account_status: 'VERIFIED', name, address: home },
      }
    return request.isWalletOrder ? { paypal: {} } : undefined
  }

  const payerOf = ({ approvedAt }: PaypalOrder): Resource | undefined =>
    approvedAt === undefined ? undefined : BUYER

  const orderOf = (order: PaypalOrder): Resource =>
    defined({
      id: order.id,
      intent: 'CAPTURE',
      status: order.status,
      payment_source: sourceOf(order),
      purchase_units: [unitOf(order)],
      payer: payerOf(order),
      create_time: isoTime(order.createdAt),
      update_time: order.updatedAt > order.createdAt ? isoTime(order.updatedAt) : undefined,
      links: orderLinks(order),
    })

  /** The answer without `Prefer: return=representation`. */
  const minimalOrderOf = (order: PaypalOrder): Resource =>
    defined({
      id: order.id,
      status: order.status,
      payment_source: sourceOf(order),
      ...(order.capture && {
        purchase_units: [{ reference_id: order.request.referenceId, payments: paymentsOf(order) }],
        payer: payerOf(order),
      }),
      links: orderLinks(order),
    })

  function summaryOf(order: PaypalOrder, dispute: PaypalDispute): Resource {
    const { id, status, reason, amount, createdAt, updatedAt } = dispute
    return {
      dispute_id: id,
      create_time: isoTime(createdAt),
      update_time: isoTime(updatedAt),
      reason,
      status,
      dispute_state:
        status === 'RESOLVED'
          ? 'RESOLVED'
          : status === 'UNDER_REVIEW'
            ? 'UNDER_PAYPAL_REVIEW'
            : 'REQUIRED_ACTION',
      dispute_amount: moneyOf(amount, order.request.currency),
      dispute_life_cycle_stage: 'CHARGEBACK',
      dispute_channel: 'INTERNAL',
      links: [link('self', `/v1/customer/disputes/${id}`)],
    }
  }

  function disputeOf(order: PaypalOrder, dispute: PaypalDispute): Resource {
    const { request, capture } = order
    const { id, status, outcome, amount, createdAt, updatedAt } = dispute
    const { dispute_state: _state, links: _links, ...summary } = summaryOf(order, dispute)
    const money = moneyOf(amount, request.currency)
    const isLost = outcome !== undefined && outcome !== 'RESOLVED_SELLER_FAVOUR'
    return defined({
      ...summary,
      disputed_transactions: [
        defined({
          seller_transaction_id: capture!.id,
          create_time: isoTime(capture!.createdAt),
          transaction_status: captureStatusOf(order, capture!),
          gross_amount: moneyOf(capture!.amount, request.currency),
          invoice_number: request.invoiceId,
          custom: request.customId,
          buyer: { name: `${BUYER.name.given_name} ${BUYER.name.surname}` },
          seller: { merchant_id: MERCHANT.merchant_id },
        }),
      ],
      dispute_outcome: outcome && {
        outcome_code: outcome,
        ...(isLost && { amount_refunded: money }),
      },
      money_movements: [
        movement('DEBIT', createdAt),
        ...(status === 'RESOLVED' && !isLost ? [movement('CREDIT', updatedAt)] : []),
      ],
      links: [
        link('self', `/v1/customer/disputes/${id}`),
        ...(status === 'RESOLVED'
          ? []
          : [link('accept_claim', `/v1/customer/disputes/${id}/accept-claim`, 'POST')]),
      ],
    })

    function movement(type: 'DEBIT' | 'CREDIT', at: number): Resource {
      return {
        affected_party: 'SELLER',
        amount: money,
        initiated_time: isoTime(at),
        type,
        reason: 'DISPUTE_SETTLEMENT',
      }
    }
  }

  return {
    approvalUrl,
    approvalLink,
    orderOf,
    minimalOrderOf,
    captureAlone,
    refundOf,
    disputeOf,
    disputeSummaryOf: summaryOf,
    link,
  }
}
