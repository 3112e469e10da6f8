// What the tests of the pay wire share: a server whose providers are banks in memory.
import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'

import { sql } from '../../db/sql.ts'
import type { ProviderEvent } from './providers/provider.ts'
import { startApp, testClock, type TestAnswer, type StartOptions, type TestApp } from '../../testing/app.ts'
import type { Ending, Engine } from '../../testing/engines.ts'
import type { TransactionDetails } from './ledger/transactions.ts'
import { createBank, webhookOf, type Bank } from './bank.fixture.ts'

export const URLS = { successUrl: 'https://shop.example/paid', cancelUrl: 'https://shop.example/cart' }
export const RETURN_URLS = { returnUrl: 'https://shop.example/paid', cancelUrl: 'https://shop.example/cart' }

export type Till = {
  app: TestApp
  /** Another server on the same database, if asked for. */
  other: TestApp
  card: Bank
  wallet: Bank
  /** Calls as a service key with all scopes. */
  call(route: string, body?: unknown, options?: CallOptions): Promise<TestAnswer>
  /** Creates a checkout of 10.00 EUR, or of an amount, and answers the transaction. */
  checkout(amount?: number): Promise<{ _id: string; reference: string }>
  /** Likewise one that is paid. */
  paid(amount?: number): Promise<{ _id: string; reference: string }>
  order(amount?: number): Promise<{ _id: string; reference: string }>
  /** Likewise an order that is approved and captured. */
  captured(amount?: number): Promise<{ _id: string; reference: string }>
  transaction(id: string): Promise<TransactionDetails>
  /** Delivers all events that were not delivered yet, and waits until they are handled. */
  deliver(): Promise<void>
  /** Delivers these webhooks, and waits until they are handled. */
  receive(provider: string, events: readonly ProviderEvent[]): Promise<void>
  /** Waits until every event is handled. */
  quiet(): Promise<void>
  /** Rechecks everything that is not settled, as reconciliation does. */
  reconcile(): Promise<void>
  /** The buyer pays a checkout session. */
  pay(reference: string): void
}

type CallOptions = { token?: string; key?: string; app?: TestApp }

/** Starts a server, or two, with banks as providers. */
export async function startTill(
  ending: Ending,
  engine: Engine,
  options: StartOptions & { replicas?: boolean; banks?: [Bank, Bank] } = {},
): Promise<Till> {
  const clock = options.clock ?? testClock()
  const [card, wallet] = options.banks ?? [createBank('cardpay', clock), createBank('walletpay', clock)]
  const databaseUrl = options.databaseUrl ?? (await engine.migratedUrl())
  const start = () =>
    startApp(ending, engine, {
      clock,
      databaseUrl,
      ...options,
      config: { ...options.config, pay: { ...options.config?.pay, cardpay: card, walletpay: wallet } },
    })
  const listed = [card.counts.events, wallet.counts.events] as const
  const app = await start()
  const other = options.replicas ? await start() : app
  // What the server finds in the list of events after its start is not to be mistaken for what a test sees later.
  while (card.counts.events <= listed[0] || wallet.counts.events <= listed[1]) await delay(2)
  const { key } = await app.app.service('auth').keys.create('till', ['*'])

  const till: Till = {
    app,
    other,
    card,
    wallet,
    async call(route, body, { token = key, key: idempotencyKey, app: at = app } = {}) {
      const [method = '', path = ''] = route.split(' ')
      return at.request(method, path, {
        token,
        body,
        ...(idempotencyKey !== undefined && { headers: { 'idempotency-key': idempotencyKey } }),
      })
    },
    async checkout(amount = 1000) {
      const { status, body, text } = await till.call('POST /pay/cardpay/checkout', {
        items: [{ name: 'Book', amount, currency: 'eur' }],
        ...URLS,
      })
      assert.equal(status, 200, text)
      return { _id: body.transactionId, reference: body.sessionId }
    },
    async paid(amount) {
      const one = await till.checkout(amount)
      till.pay(one.reference)
      await till.deliver()
      return one
    },
    async order(amount = 10) {
      const { status, body, text } = await till.call('POST /pay/walletpay/order', {
        amount,
        currency: 'EUR',
        ...RETURN_URLS,
      })
      assert.equal(status, 200, text)
      return { _id: body.transactionId, reference: body.orderId }
    },
    async captured(amount) {
      const one = await till.order(amount)
      wallet.act(one.reference, (session) => (session.status = 'approved'), 'order.approved')
      const { status, text } = await till.call(`POST /pay/walletpay/capture/${one.reference}`)
      assert.equal(status, 200, text)
      await till.deliver()
      return one
    },
    async transaction(id) {
      const { status, body, text } = await till.call(`GET /pay/transactions/${id}`)
      assert.equal(status, 200, text)
      return body as TransactionDetails
    },
    async deliver() {
      for (const [name, bank] of [
        ['cardpay', card],
        ['walletpay', wallet],
      ] as const)
        await till.receive(name, bank.outgoing.splice(0))
    },
    async receive(name, events) {
      for (const event of events) {
        const { status, text } = await app.request('POST', `/pay/${name}/webhook`, webhookOf(event))
        assert.equal(status, 200, text)
      }
      await till.quiet()
    },
    async quiet() {
      for (;;) {
        const due = await app.app.db.get(
          sql`select 1 as one from pay_events where due_at is not null limit 1`,
        )
        if (!due) return
        await delay(2)
      }
    },
    async reconcile() {
      await till.quiet()
      const unsettled = await app.app.db.all<{ id: string }>(
        sql`select id from pay_transactions where is_settled = 0`,
      )
      for (const { id } of unsettled) await app.app.service('pay').retrieve(id)
    },
    pay(reference) {
      card.act(
        reference,
        (session) => {
          session.status = 'paid'
          session.paidAt = clock.now()
        },
        'checkout.completed',
      )
    },
  }
  return till
}
