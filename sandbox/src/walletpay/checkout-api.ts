import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'

import type { ProviderFault, FaultyHandler } from '../faults.ts'
import { readMoney } from './amounts.ts'
import { malformed, notFound, unprocessable } from './errors.ts'
import { newObjectId } from './ids.ts'
import type { PaypalOrder } from './order.ts'
import { readObject, readOrderRequest, readText } from './order-request.ts'
import { requestKey, type PaypalAnswer, type RequestKey } from './requests.ts'
import { capture, refund, type PaypalRefundRequest } from './steps.ts'
import type { WalletProvider } from './wallet.ts'

type Params = { id: string }

const REQUEST_ID_MAX = 108

/** The idempotency key of a request, if it has one. */
function keyOf(operation: 'order' | 'capture' | 'refund', request: FastifyRequest): RequestKey | undefined {
  const id = readText(request.headers['paypal-request-id'], 'PayPal-Request-Id', REQUEST_ID_MAX)
  const [path] = request.url.split('?', 1)
  return id === undefined ? undefined : requestKey(operation, id, `${path} ${JSON.stringify(request.body)}`)
}

/** RFC 7240. */
const wantsRepresentation = ({ headers }: FastifyRequest): boolean =>
  /\breturn=representation\b/.test([headers['prefer']].flat().join())

function send(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: PaypalAnswer,
  replayStatus = 200,
): unknown {
  reply.code(answer.isReplay ? replayStatus : 201)
  return wantsRepresentation(request) ? answer.full : answer.minimal
}

/**
 * PayPal's Orders v2 and Payments v2.
 *
 * @see https://developer.paypal.com/docs/api/orders/v2/
 * @see https://developer.paypal.com/docs/api/payments/v2/
 */
export function addCheckoutRoutes(
  engine: FastifyInstance,
  options: { wallet: WalletProvider; answering: (handle: FaultyHandler) => RouteHandlerMethod },
): void {
  const { wallet, answering } = options
  const { orders, resources } = wallet

  const orderAnswer = (order: PaypalOrder): PaypalAnswer => ({
    full: resources.orderOf(order),
    minimal: resources.minimalOrderOf(order),
  })

  async function createOrder(request: FastifyRequest, reply: FastifyReply) {
    const input = readOrderRequest(request.body)
    const key = keyOf('order', request)
    if (!key && input.isWalletOrder)
      throw malformed('PAYPAL_REQUEST_ID_REQUIRED', 'With a payment source, PayPal-Request-Id is required.')
    const make = (now: number): PaypalOrder => ({
      id: newObjectId(),
      status: input.isWalletOrder ? 'PAYER_ACTION_REQUIRED' : 'CREATED',
      request: input,
      wasDeclined: false,
      declined: [],
      refunds: [],
      createdAt: now,
      updatedAt: now,
    })
    return send(request, reply, await orders.create(make, { request: key, answer: orderAnswer }))
  }

  async function captureOrder(request: FastifyRequest, reply: FastifyReply, fault: ProviderFault) {
    readObject(request.body ?? undefined, '')
    const answer = await wallet.change(
      { order: (request.params as Params).id },
      (order, now) => capture(order, now, resources.approvalLink(order)),
      { request: keyOf('capture', request), callback: fault.callback },
    )
    return send(request, reply, answer)
  }

  async function showCapture({ params }: FastifyRequest) {
    const { id } = params as Params
    const order = await orders.find({ object: id })
    const captureOfId = [order.capture, ...order.declined].find((one) => one?.id === id)
    if (!captureOfId) throw notFound()
    return resources.captureAlone(order, captureOfId)
  }

  function readRefund(body: unknown): PaypalRefundRequest & { currency?: string } {
    const input = readObject(body ?? undefined, '')
    const money = input['amount'] === undefined ? undefined : readMoney(input['amount'], '/amount')
    const [customId, invoiceId, note] = [
      readText(input['custom_id'], '/custom_id'),
      readText(input['invoice_id'], '/invoice_id'),
      readText(input['note_to_payer'], '/note_to_payer', 255),
    ]
    return {
      ...money,
      ...(customId !== undefined && { customId }),
      ...(invoiceId !== undefined && { invoiceId }),
      ...(note !== undefined && { note }),
    }
  }

  async function refundCapture(request: FastifyRequest, reply: FastifyReply, fault: ProviderFault) {
    const { id } = request.params as Params
    const { currency, ...input } = readRefund(request.body)
    const answer = await wallet.change(
      { object: id },
      (order, now) => {
        if (order.capture?.id !== id && !order.declined.some((one) => one.id === id)) throw notFound()
        if (currency !== undefined && currency !== order.request.currency)
          throw unprocessable(
            'REFUND_CAPTURE_CURRENCY_MISMATCH',
            `The capture is in ${order.request.currency}.`,
            { field: '/amount/currency_code' },
          )
        return refund(order, input, now)
      },
      {
        request: keyOf('refund', request),
        callback: fault.callback,
        answer(order) {
          const full = resources.refundOf(order, order.refunds.at(-1)!)
          const { id: refundId, status, links } = full
          return { full, minimal: { id: refundId, status, links } }
        },
      },
    )
    return send(request, reply, answer, 201)
  }

  async function showRefund({ params }: FastifyRequest) {
    const { id } = params as Params
    const order = await orders.find({ object: id })
    const refundOfId = [...order.refunds, order.reversal].find((one) => one?.id === id)
    if (!refundOfId) throw notFound()
    return resources.refundOf(order, refundOfId)
  }

  engine.post('/v2/checkout/orders', answering(createOrder))
  engine.get(
    '/v2/checkout/orders/:id',
    answering(async ({ params }) => resources.orderOf(await orders.find({ order: (params as Params).id }))),
  )
  engine.post('/v2/checkout/orders/:id/capture', answering(captureOrder))
  engine.get('/v2/payments/captures/:id', answering(showCapture))
  engine.post('/v2/payments/captures/:id/refund', answering(refundCapture))
  engine.get('/v2/payments/refunds/:id', answering(showRefund))
}
