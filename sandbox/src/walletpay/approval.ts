import type { FastifyInstance, FastifyReply } from 'fastify'

import { formatAmount } from '../../../server/src/base/money.ts'
import type { Faults } from '../faults.ts'
import { formOf, takeForms } from '../forms.ts'
import { sendPage } from '../provider-page.ts'
import { approvalPage, noticePage, type ApprovalPage } from './approval-page.ts'
import { CURRENCIES } from './currencies.ts'
import { PayPalError } from './errors.ts'
import { queryOf } from './notifications-api.ts'
import { FUNDINGS, type Funding, type PaypalOrder } from './order.ts'
import { BUYER } from './resources.ts'
import { callbackFault } from './simulation-api.ts'
import { approve } from './steps.ts'
import type { WalletProvider } from './wallet.ts'

const PATH = '/walletpay/approve'

/** The address to which the buyer returns: the merchant's own query stays. */
function backTo(url: string, parameters: Readonly<Record<string, string>>): string {
  const target = new URL(url)
  for (const [name, value] of Object.entries(parameters)) target.searchParams.set(name, value)
  return target.href
}

/** The page at which the buyer approves or cancels; the links `approve` and `payer-action` lead there. */
export function addApprovalRoutes(
  engine: FastifyInstance,
  options: { wallet: WalletProvider; faults: Faults; name: string; root: string },
): void {
  const { wallet, faults, name, root } = options
  const assets = { common: `${root}/page`, own: `${root}/walletpay/page` }

  const notice = (reply: FastifyReply, status: number, title: string, text: string) =>
    sendPage(reply, status, noticePage(assets, title, text))

  async function orderOf(url: string): Promise<PaypalOrder | undefined> {
    const id = queryOf(url).get('token') ?? ''
    try {
      return await wallet.orders.find({ order: id.replaceAll('\0', '') })
    } catch (error) {
      if (error instanceof PayPalError && error.status === 404) return undefined
      throw error
    }
  }

  const unknown = (reply: FastifyReply) =>
    notice(
      reply,
      404,
      'There is no such order',
      'It does not exist, or it was not paid in time. Start again in the shop.',
    )

  function over(reply: FastifyReply, { status }: PaypalOrder) {
    const text =
      status === 'VOIDED'
        ? 'It was given up, and nothing was paid. Start again in the shop.'
        : 'It is paid. There is nothing left to do here.'
    return notice(reply, 409, 'This order is over', text)
  }

  const isOver = ({ status }: PaypalOrder): boolean => status === 'COMPLETED' || status === 'VOIDED'

  function viewOf({ request, wasDeclined }: PaypalOrder): ApprovalPage {
    const amountText = (amount: bigint | string) => formatAmount(BigInt(amount), request.currency, CURRENCIES)
    return {
      assets,
      merchant: request.brandName ?? name,
      buyer: BUYER.email_address,
      amount: amountText(request.amount),
      currency: request.currency,
      description: request.description,
      items: (request.items ?? []).map((one) => ({
        name: one.name,
        quantity: one.quantity,
        amount: amountText(BigInt(one.unitAmount) * BigInt(one.quantity)),
      })),
      returnsTo: request.returnUrl === undefined ? undefined : new URL(request.returnUrl).host,
      wasDeclined,
    }
  }

  engine.get(PATH, async ({ url }, reply) => {
    const order = await orderOf(url)
    if (!order) return unknown(reply)
    return isOver(order) ? over(reply, order) : sendPage(reply, 200, approvalPage(viewOf(order)))
  })

  async function decide(url: string, form: URLSearchParams, reply: FastifyReply) {
    const order = await orderOf(url)
    if (!order) return unknown(reply)
    if (isOver(order)) return over(reply, order)
    const { id, request } = order
    if (form.get('action') === 'cancel')
      return request.cancelUrl === undefined
        ? notice(reply, 200, 'Nothing was paid', 'You can close this page.')
        : reply.redirect(backTo(request.cancelUrl, { token: id }), 303)
    const funding = FUNDINGS.find((one) => one === form.get('funding'))
    if (form.get('action') !== 'approve' || !funding) return sendPage(reply, 400, approvalPage(viewOf(order)))
    return (await approved(id, funding))
      ? goOn(reply, order)
      : over(reply, await wallet.orders.find({ order: id }))
  }

  /** Whether the order could still be approved. */
  async function approved(id: string, funding: Funding): Promise<boolean> {
    try {
      await wallet.change({ order: id }, (order, now) => approve(order, funding, now), {
        callback: await callbackFault(faults),
      })
      return true
    } catch (error) {
      if (error instanceof PayPalError && error.status === 422) return false
      throw error
    }
  }

  const goOn = (reply: FastifyReply, { id, request }: PaypalOrder) =>
    request.returnUrl === undefined
      ? notice(
          reply,
          200,
          'The order is approved',
          'The shop can take the payment now. You can close this page.',
        )
      : reply.redirect(backTo(request.returnUrl, { token: id, PayerID: BUYER.payer_id }), 303)

  void engine.register(async (forms) => {
    takeForms(forms)
    forms.post(PATH, ({ url, body }, reply) => decide(url, formOf(body), reply))
  })
}
