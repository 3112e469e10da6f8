import type { FastifyInstance, FastifyRequest, RouteHandlerMethod } from 'fastify'

import type { ProviderFault, FaultyHandler } from '../faults.ts'
import { malformed, notFound, PayPalError } from './errors.ts'
import { queryOf } from './notifications-api.ts'
import type { PaypalOrder } from './order.ts'
import { closeDispute } from './steps.ts'
import type { WalletProvider } from './wallet.ts'

type Params = { id: string }

/**
 * PayPal's disputes, as far as a merchant needs them.
 *
 * @see https://developer.paypal.com/docs/api/customer-disputes/v1/
 */
export function addDisputeRoutes(
  engine: FastifyInstance,
  { wallet, answering }: { wallet: WalletProvider; answering: (handle: FaultyHandler) => RouteHandlerMethod },
): void {
  const { orders, resources } = wallet
  const { link } = resources

  async function orderOf(id: string): Promise<PaypalOrder> {
    const order = await orders.find({ object: id })
    if (order.dispute?.id !== id) throw notFound()
    return order
  }

  /** Only by transaction: the real API lists all disputes otherwise. */
  async function list({ url }: FastifyRequest) {
    const query = queryOf(url)
    const transactionId = query.get('disputed_transaction_id')
    if (transactionId === null)
      throw malformed(
        'MISSING_REQUIRED_PARAMETER',
        'The sandbox lists disputes of a transaction only.',
        'disputed_transaction_id',
      )
    const order = await orders.find({ object: transactionId }).catch((error: unknown) => {
      if (error instanceof PayPalError && error.status === 404) return undefined
      throw error
    })
    const isFound = order?.dispute && order.capture?.id === transactionId
    return {
      ...(isFound && { items: [resources.disputeSummaryOf(order, order.dispute!)] }),
      links: [link('self', `/v1/customer/disputes?${query.toString()}`)],
    }
  }

  async function show({ params }: FastifyRequest) {
    const order = await orderOf((params as Params).id)
    return resources.disputeOf(order, order.dispute!)
  }

  async function accept({ params }: FastifyRequest, _reply: unknown, fault: ProviderFault) {
    const { id } = params as Params
    await wallet.change(
      { object: id },
      (order, now) => {
        if (order.dispute?.id !== id) throw notFound()
        return closeDispute(order, 'ACCEPTED', now)
      },
      { callback: fault.callback },
    )
    return { links: [link('self', `/v1/customer/disputes/${id}`)] }
  }

  engine.get('/v1/customer/disputes', answering(list))
  engine.get('/v1/customer/disputes/:id', answering(show))
  engine.post('/v1/customer/disputes/:id/accept-claim', answering(accept))
}
