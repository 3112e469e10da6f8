// A server whose chain is a real node, behind an address that can be made to fail.
import assert from 'node:assert/strict'

import type { Address, Hex } from '../../../base/hex.ts'
import {
  startApp,
  type StartOptions,
  type TestAnswer,
  type TestApp,
  type TestClock,
} from '../../../testing/app.ts'
import type { WebhookOption } from '../../../kernel/events/webhook-option.ts'
import type { Ending, Engine } from '../../../testing/engines.ts'
import { startTestNode, type TestNode } from '../../../testing/node.ts'
import { startRpcProxy, type RpcProxy } from '../../../testing/rpc-proxy.ts'
import type { SentTransaction } from './transactions.ts'

export const DEPTH = 3
/** The policy of most tests: all see everything. */
const ENVIRONMENT = { SIXWIRE_RATE_LIMITS: 'off' }

/** A transaction as it is answered. */
export type Shown = SentTransaction & { hash: Hex; replacedBy?: Hex }

export type Sending = {
  readonly app: TestApp
  readonly token: string
  node: TestNode
  proxy: RpcProxy
  /** The options of a server on the same database and chain. */
  options: StartOptions
  /** A new wallet with ten coins. */
  wallet(): Promise<{ _id: string; address: Address }>
  send(
    wallet: { _id: string },
    to: Address,
    value: string,
    more?: { key?: string; app?: TestApp },
  ): Promise<TestAnswer>
  /** The same, answered with 200. */
  sent(wallet: { _id: string }, to: Address, value: string): Promise<{ hash: Hex; nonce: number }>
  get(hash: Hex, app?: TestApp): Promise<Shown>
  list(query?: string): Promise<{ transactions: Shown[]; total: number; nextCursor?: string }>
  /** Stops the server and starts another one on the same database. */
  restart(): Promise<void>
}

export type SendingOptions = {
  stuckSeconds?: number
  maxFeeGwei?: number
  environment?: Record<string, string>
  /** Further addresses of nodes, before that of the proxy. */
  before?: readonly string[]
  webhooks?: readonly WebhookOption[]
}

export async function startSending(
  ending: Ending,
  engine: Engine,
  { stuckSeconds = 60, maxFeeGwei = 500, environment, before = [], webhooks = [] }: SendingOptions = {},
): Promise<Sending> {
  const node = await startTestNode(ending)
  const proxy = await startRpcProxy(ending, node.url)
  const options: StartOptions = {
    databaseUrl: await engine.migratedUrl(),
    environment: { ...ENVIRONMENT, ...environment },
    config: {
      webhooks,
      // On a busy machine the tests move the clock on for hours.
      auth: { accessTokenSeconds: 86_400 },
      onchain: {
        stuckSeconds,
        chains: {
          ethereum: { rpcUrls: [...before, proxy.url], confirmations: DEPTH, pollMs: 50, maxFeeGwei },
        },
      },
    },
  }
  let app = await startApp(ending, engine, options)
  const { token } = await app.register()
  const post = (path: string, body: object, headers: Record<string, string> = {}, by = app) =>
    by.request('POST', path, { token, body, headers })

  const send: Sending['send'] = (wallet, to, value, { key, app: by } = {}) =>
    post(
      '/onchain/transactions',
      { to, value, walletId: wallet._id },
      key === undefined ? {} : { 'idempotency-key': key },
      by,
    )

  return {
    get app() {
      return app
    },
    token,
    node,
    proxy,
    options,
    async wallet() {
      const { status, text, body } = await post('/onchain/wallets', {})
      assert.equal(status, 201, text)
      await node.client.setBalance({ address: body.address, value: 10n ** 19n })
      return body
    },
    send,
    async sent(wallet, to, value) {
      const { status, text, body } = await send(wallet, to, value)
      assert.equal(status, 200, text)
      return body
    },
    async get(hash, by = app) {
      const { status, text, body } = await by.request('GET', `/onchain/transactions/${hash}`, { token })
      assert.equal(status, 200, text)
      return body
    },
    async list(query = '') {
      const { status, text, body } = await app.request('GET', `/onchain/transactions?${query}`, { token })
      assert.equal(status, 200, text)
      // The owner is for operators, and only in lists.
      for (const transaction of body.transactions) delete transaction.owner
      return body
    },
    async restart() {
      await app.stop()
      app = await startApp(ending, engine, { ...options, clock: app.clock })
    },
  }
}

/** Waits until something holds, for a minute at most. */
export async function eventually<T>(check: () => Promise<T | undefined | false>): Promise<T> {
  const until = Date.now() + 60_000
  for (;;) {
    const result = await check()
    if (result) return result
    assert.ok(Date.now() < until, `this was never so: ${check.toString()}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Moves the clock until something holds; slower and slower, because calls to a node are given up by this clock. */
export function eventuallyLater<T>(
  clock: TestClock,
  check: () => Promise<T | undefined | false>,
  stepMs = 5_000,
): Promise<T> {
  let pauseMs = 1
  return eventually(async () => {
    const result = await check()
    if (result) return result
    clock.advance(stepMs)
    await new Promise((resolve) => setTimeout(resolve, (pauseMs *= 1.2)))
    return false
  })
}
