import { deriveKey, type Key } from '../../../server/src/base/crypto.ts'
import type { Step as DatabaseStep } from '../../../server/src/db/database.ts'
import type { ProviderFault } from '../faults.ts'
import type { StandInContext } from '../stand-in.ts'
import type { WebhookDeliveries } from '../webhooks.ts'
import { newEvent, insertEventSql, type PaypalEvent } from './events.ts'
import { createOrders, type OrderChange, type Orders, type Target } from './orders.ts'
import type { PaypalOrder } from './order.ts'
import type { PaypalAnswer } from './requests.ts'
import { createResources, type Resource, type Resources } from './resources.ts'
import { signWebhook } from './signature.ts'
import { createSigningKeyStore, type SigningKeyStore } from './signing-key.ts'
import type { PaypalReport, OrderStep } from './steps.ts'

/** The wallet provider without its HTTP: its orders, and what it reports of them. */
export type WalletProvider = {
  readonly address: string
  readonly credentials: { clientId: string; clientSecret: string; webhookId: string }
  readonly key: Key
  readonly keys: SigningKeyStore
  readonly orders: Orders
  readonly resources: Resources
  readonly webhooks: WebhookDeliveries
  readonly webhookUrl: string
  /** The id of the webhook that the application has configured; undefined before `start`. */
  webhookId(): string | undefined
  /** @param webhookId the final value of `PAYPAL_WEBHOOK_ID` */
  start(webhookId: string | undefined): Promise<void>
  /** Changes an order, and reports it. */
  change(
    target: Target,
    step: OrderChange['step'],
    more?: Pick<OrderChange, 'request'> & {
      callback?: ProviderFault['callback']
      answer?: (order: PaypalOrder, step: OrderStep) => PaypalAnswer
    },
  ): Promise<PaypalAnswer>
  /** The steps that send events to the application. */
  sendSql(events: readonly PaypalEvent[], fault: ProviderFault['callback']): DatabaseStep[]
}

const SUMMARIES: Partial<Record<string, string>> = {
  'CHECKOUT.ORDER.APPROVED': 'The buyer approved an order',
  'CHECKOUT.ORDER.COMPLETED': 'An order is completed',
}

export function createWallet({ db, clock, settings, webhooks: log, base }: StandInContext): WalletProvider {
  const key = deriveKey(settings.secret, 'sandbox.walletpay')
  const secret = (purpose: string, length: number): string =>
    key
      .mac(purpose)
      .replaceAll(/[^A-Za-z0-9]/g, '')
      .padEnd(length, '0')
      .slice(0, length)
  const address = `${base}/walletpay`
  const credentials = {
    clientId: `A${secret('client id', 31)}`,
    clientSecret: `E${secret('client secret', 31)}`,
    webhookId: secret('webhook id', 17).toUpperCase(),
  }
  const resources = createResources(address)
  const keys = createSigningKeyStore({ db }, { secret: settings.secret })
  const orders = createOrders({ db, clock })
  let configuredId: string | undefined

  const webhookUrl = new URL('pay/walletpay/webhook', new URL('.', base)).href
  const webhooks = log.of('walletpay', {
    url: webhookUrl,
    sign({ body }) {
      const signingKey = keys.cached()
      if (signingKey && configuredId !== undefined)
        return signWebhook(signingKey, { address, webhookId: configuredId, body, now: clock.now() })
      // Another server has made it: the next attempt finds it.
      void keys.load().catch(() => undefined)
      throw new Error('the key that signs webhooks is not read yet')
    },
  })

  function resourceOf(order: PaypalOrder, { about }: PaypalReport): { id: string; resource: Resource } {
    if (about === 'order') return { id: order.id, resource: resources.orderOf(order) }
    if (about === 'approval') {
      const { purchase_units, payment_source } = resources.orderOf(order)
      return { id: order.id, resource: { order_id: order.id, purchase_units, payment_source } }
    }
    const { id } = about
    if ('fee' in about) return { id, resource: resources.captureAlone(order, about) }
    if ('reason' in about) return { id, resource: resources.disputeOf(order, about) }
    return { id, resource: resources.refundOf(order, about) }
  }

  function eventsOf(order: PaypalOrder, reports: readonly PaypalReport[], now: number): PaypalEvent[] {
    return reports.map((report) => {
      const { id, resource } = resourceOf(order, report)
      const { type } = report
      const summary = SUMMARIES[type] ?? type.toLowerCase().replaceAll('.', ' ')
      return newEvent({ type, objectId: id, summary, resource, now }, resources.link)
    })
  }

  const sendSql: WalletProvider['sendSql'] = (events, fault) =>
    configuredId === undefined
      ? []
      : webhooks.insertSql(
          events.map(({ id, type, objectId, body }) => ({
            eventId: id,
            type,
            objectId,
            body,
            dueAt: clock.now(),
          })),
          fault,
        )

  return {
    address,
    credentials,
    key,
    keys,
    orders,
    resources,
    webhooks,
    webhookUrl,
    webhookId: () => configuredId,
    async start(webhookId) {
      configuredId = webhookId
      await keys.load()
    },
    async change(target, step, { request, callback, answer } = {}) {
      // It takes long to make, and must not be made in the transaction.
      if (configuredId !== undefined) await keys.get()
      return orders.change(target, {
        request,
        step,
        answer:
          answer ??
          ((order) => ({ full: resources.orderOf(order), minimal: resources.minimalOrderOf(order) })),
        write(order, reports, now) {
          const events = eventsOf(order, reports, now)
          return [...events.map(insertEventSql), ...sendSql(events, callback)]
        },
      })
    },
    sendSql,
  }
}
