// What the tests of NFTs share: a node, a proxy before it, and servers that ask it.
import assert from 'node:assert/strict'

import type { Address } from '../../../base/hex.ts'
import { startApp, type TestAnswer, type StartOptions, type TestApp } from '../../../testing/app.ts'
import type { Ending, Engine } from '../../../testing/engines.ts'
import { startTestNode, type TestNode } from '../../../testing/node.ts'
import { startRpcProxy, type RpcProxy } from '../../../testing/rpc-proxy.ts'

/** Blocks that make a transfer final. */
export const DEPTH = 3

export type Gallery = {
  node: TestNode
  proxy: RpcProxy
  app: TestApp
  /** Another server on the same database, if asked for. */
  other: TestApp
  /** Calls as a service key with all scopes. */
  call(
    route: string,
    body?: unknown,
    options?: { app?: TestApp; headers?: Record<string, string> },
  ): Promise<TestAnswer>
  /** The tokens of an owner by the API: ids of ERC-721, or balances by id of ERC-1155. */
  held(contract: Address, owner: Address, app?: TestApp): Promise<Record<string, string>>
}

/** Starts a node and a server, or two. */
export async function startGallery(
  ending: Ending,
  engine: Engine,
  options: StartOptions & { replicas?: boolean; node?: TestNode } = {},
): Promise<Gallery> {
  const node = options.node ?? (await startTestNode(ending))
  const proxy = await startRpcProxy(ending, node.url)
  const databaseUrl = await engine.migratedUrl()
  const start = () =>
    startApp(ending, engine, {
      databaseUrl,
      ...options,
      environment: {
        ETHEREUM_RPC_URL: proxy.url,
        ETHEREUM_CONFIRMATIONS: String(DEPTH),
        ...options.environment,
      },
    })
  const app = await start()
  const other = options.replicas ? await start() : app
  const { key } = await app.app.service('auth').keys.create('gallery', ['*'])
  const gallery: Gallery = {
    node,
    proxy,
    app,
    other,
    call(route, body, { app: at = app, headers } = {}) {
      const [method = '', path = ''] = route.split(' ')
      return at.request(method, path, { token: key, body, ...(headers && { headers }) })
    },
    async held(contract, owner, at) {
      // A head that is known is not asked for again within half a second.
      ;(at ?? app).clock.advance(1_000)
      const { status, body, text } = await gallery.call(
        `GET /onchain/nft/${contract}/owner/${owner}?limit=1000`,
        undefined,
        at ? { app: at } : {},
      )
      assert.equal(status, 200, text)
      assert.equal(body.total, body.nfts.length)
      return Object.fromEntries(
        body.nfts.map((one: { tokenId: string; balance?: string }) => [one.tokenId, one.balance ?? '1']),
      )
    },
  }
  return gallery
}
