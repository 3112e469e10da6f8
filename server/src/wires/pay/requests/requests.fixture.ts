// What the tests of payment requests share: a server that takes payments on a real node.
import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'

import type { Address } from '../../../base/hex.ts'
import { sql } from '../../../db/sql.ts'
import { startApp, type TestAnswer, type StartOptions, type TestApp } from '../../../testing/app.ts'
import type { Ending, Engine } from '../../../testing/engines.ts'
import type { TestNode } from '../../../testing/node.ts'
import type { TransactionDetails } from '../ledger/transactions.ts'
import type { PaymentRequestDetails } from './request-record.ts'
import { isFollowed } from './watch.ts'

export const DEPTH = 3
export const ETHER = 10n ** 18n
/** Of no wallet that anybody uses. */
export const MNEMONIC = 'legal winner thank year wave sausage worth useful legal winner thank yellow'

export type Shop = {
  app: TestApp
  call(route: string, body?: unknown, options?: { token?: string; key?: string }): Promise<TestAnswer>
  /** Creates a payment request, by default of 1 ETH. */
  request(
    amount?: string,
    token?: string,
    chain?: string,
  ): Promise<{ _id: string; receiverAddress: Address; amount: bigint }>
  /** Waits until all blocks of the node are applied, if they have to be, and the ledger has what they mean. */
  settled(node: TestNode, chain?: string): Promise<void>
  read(id: string): Promise<PaymentRequestDetails>
  transaction(id: string): Promise<TransactionDetails>
  /** The statuses of the request and of its transaction, once everything is settled. */
  statuses(id: string, node: TestNode): Promise<[string, string]>
}

/** Starts a server with the chain `ethereum` at one address, and others if they are named. */
export async function startShop(
  ending: Ending,
  engine: Engine,
  rpcUrls: Readonly<Record<string, string>>,
  options: StartOptions & { tokens?: Readonly<Record<string, string>> } = {},
): Promise<Shop> {
  const { tokens = {}, ...rest } = options
  const chains = Object.fromEntries(
    Object.entries(rpcUrls).map(([name, url]) => [
      name,
      { rpcUrls: [url], confirmations: DEPTH, pollMs: 50, tokens: name === 'ethereum' ? tokens : {} },
    ]),
  )
  const app = await startApp(ending, engine, {
    ...rest,
    config: { onchain: { chains }, pay: { onchain: { mnemonic: MNEMONIC } }, ...rest.config },
  })
  const { key: bearer } = await app.app.service('auth').keys.create('shop', ['*'])

  const shop: Shop = {
    app,
    async call(route, body, { token = bearer, key } = {}) {
      const [method = '', path = ''] = route.split(' ')
      return app.request(method, path, {
        token,
        body,
        ...(key !== undefined && { headers: { 'idempotency-key': key } }),
      })
    },
    async request(amount = '1', token = 'ETH', chain = 'ethereum') {
      const answered = await shop.call('POST /pay/onchain/payment', { amount, token, chain })
      assert.equal(answered.status, 200, answered.text)
      return { ...answered.body, amount: BigInt(answered.body.amount) }
    },
    async settled(node, chain = 'ethereum') {
      for (;;) {
        const block = await node.client.getBlock()
        const cursor = await app.app.db.get<{ number: number; hash: string }>(
          sql`select number, hash from onchain_cursors where chain = ${chain} and consumer = 'payments'`,
        )
        const unsettled = await app.app.db.get(
          sql`select 1 as one from pay_requests where changes > settled_changes limit 1`,
        )
        const isApplied =
          cursor?.hash === block.hash ||
          !(await isFollowed(app.app.db, { name: chain, depth: DEPTH }, app.clock.now()))
        if (isApplied && !unsettled) return
        await delay(10)
      }
    },
    async read(id) {
      const { status, body, text } = await shop.call(`GET /pay/onchain/payment/${id}`)
      assert.equal(status, 200, text)
      return body as PaymentRequestDetails
    },
    async transaction(id) {
      const { status, body, text } = await shop.call(`GET /pay/transactions/${id}`)
      assert.equal(status, 200, text)
      return body as TransactionDetails
    },
    async statuses(id, node) {
      await shop.settled(node)
      return [(await shop.read(id)).status, (await shop.transaction(id)).status]
    },
  }
  return shop
}
