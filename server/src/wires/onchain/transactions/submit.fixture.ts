// What the tests of sending share: a node, and servers on one database whose service is called as other wires call it.
import assert from 'node:assert/strict'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'

import { parseEther, parseGwei, parseTransaction, recoverTransactionAddress } from 'viem'
import { generatePrivateKey, privateKeyToAccount, sign } from 'viem/accounts'

import type { Hex } from '../../../base/hex.ts'
import type { ApiError } from '../../../base/errors.ts'
import { sql } from '../../../db/sql.ts'
import { defineWire } from '../../../kernel/wire/wire.ts'
import { startApp, testClock, type TestApp, type TestClock } from '../../../testing/app.ts'
import type { Ending, Engine } from '../../../testing/engines.ts'
import { startTestNode, type TestNode } from '../../../testing/node.ts'
import { startRpcProxy, type RpcProxy } from '../../../testing/rpc-proxy.ts'
import { onchain, type Intent, type Onchain, type Signer } from '../index.ts'
import type { OnchainTransactionRow } from './transaction-rows.ts'

export const RECIPIENT = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'

/** A server, and its service of the onchain wire. */
export type Sender = {
  app: TestApp
  service: Onchain
  /** Sends as a wallet does. Default: 1 wei to somebody. */
  submit: (signer: Signer, intent?: Partial<Intent> & { on?: string }) => Promise<OnchainTransactionRow>
}

export type Sending = {
  node: TestNode
  clock: TestClock
  /** Two addresses of the node, tried in this order. */
  proxies: readonly [RpcProxy, RpcProxy]
  one: Sender
  other: Sender
  /** A new account with an amount of the native coin. */
  funded: (ether?: string) => Promise<Signer>
  /** What is stored of an address, by nonce. */
  rows: (signer: Signer) => Promise<readonly (OnchainTransactionRow & { raw: Hex })[]>
  nextNonce: (signer: Signer) => Promise<number | undefined>
}

/**
 * Starts two replicas with a node that mines a block for each transaction.
 *
 * @param options.chains options of further chains, which are the same node under other names
 */
export async function startSending(
  ending: Ending,
  engine: Engine,
  options: { chains?: Readonly<Record<string, object>> } = {},
): Promise<Sending> {
  const clock = testClock()
  const node = await startTestNode(ending)
  const proxies = [await startRpcProxy(ending, node.url), await startRpcProxy(ending, node.url)] as const
  const databaseUrl = await engine.migratedUrl()

  async function sender(): Promise<Sender> {
    let service!: Onchain
    const probe = defineWire({
      name: 'probe',
      needs: [onchain],
      setup(context) {
        service = context.onchain
        return { routes: [], service: {} }
      },
    })
    const app = await startApp(ending, engine, {
      clock,
      databaseUrl,
      config: {
        onchain: {
          chains: Object.fromEntries(
            Object.entries({ ethereum: {}, ...options.chains }).map(([name, more]) => [
              name,
              // One address of two chains stops the start; the proxies do not look at the path.
              { rpcUrls: proxies.map(({ url }) => `${url}/${name}`), pollMs: 50, ...more },
            ]),
          ),
        },
        wires: [probe()],
      },
    })
    return {
      app,
      service,
      submit: (signer, { on = 'ethereum', ...intent } = {}) =>
        service.submit({
          chain: service.chains.of(on),
          signer,
          owner: 'somebody',
          walletId: 'a wallet',
          kind: 'transfer',
          to: RECIPIENT,
          value: 1n,
          ...intent,
        }),
    }
  }

  const one = await sender()
  const other = await sender()
  const { db } = one.app.app
  return {
    node,
    clock,
    proxies,
    one,
    other,
    async funded(ether = '1') {
      const signer = signerOf(generatePrivateKey())
      await node.client.setBalance({ address: signer.address, value: parseEther(ether) })
      return signer
    },
    async rows({ address }) {
      // What the other server has just committed shows in the next turn of the event loop.
      await nextTurn()
      return db.all(sql<OnchainTransactionRow & { raw: Hex }>`
        select t.*, s.raw from onchain_transactions t join onchain_signed s on s.hash = t.hash
        where t.sender = ${address} order by t.nonce`)
    },
    nextNonce: async ({ address }) =>
      (
        await db.get(
          sql<{ next_nonce: number }>`select next_nonce from onchain_lines where address = ${address}`,
        )
      )?.next_nonce,
  }
}

/** A signer of a private key. */
export function signerOf(privateKey: Hex): Signer {
  return {
    address: privateKeyToAccount(privateKey).address,
    async sign(hash) {
      const { r, s, yParity } = await sign({ hash, privateKey })
      return { kind: 'accepted', signature: { r, s, yParity: yParity === 1 ? 1 : 0 } }
    },
  }
}

/** Asserts that it is refused with this code, and answers the error. */
export async function refusalOf(work: Promise<unknown>, code: string): Promise<ApiError> {
  const error = await work.then(
    () => assert.fail(`was not refused with ${code}`),
    (own: unknown) => own as ApiError,
  )
  assert.equal(error.code, code, String(error.stack))
  assert.doesNotMatch(error.message, /\n|http/)
  return error
}

/** Asserts that the rows have all nonces from one on, that each is signed as its row says, and that a node takes them. */
export async function assertQueue(
  { node, rows, nextNonce }: Sending,
  signer: Signer,
  expected: { count: number; first?: number },
): Promise<void> {
  const { count, first = 0 } = expected
  const stored = await rows(signer)
  assert.deepEqual(
    stored.map(({ nonce }) => nonce),
    Array.from({ length: count }, (_one, at) => first + at),
  )
  assert.equal(new Set(stored.map(({ hash }) => hash)).size, count)
  assert.equal(await nextNonce(signer), first + count)
  for (const row of stored) {
    const signed = parseTransaction(row.raw)
    assert.equal(signed.nonce ?? 0, row.nonce)
    assert.equal(signed.chainId, node.chainId)
    assert.equal(signed.to, row.recipient.toLowerCase())
    assert.equal(String(signed.value ?? 0n), row.value)
    assert.equal(String((signed.value ?? 0n) + signed.gas! * signed.maxFeePerGas!), row.cost)
    assert.ok(signed.maxFeePerGas! <= parseGwei('500'))
    const serializedTransaction = row.raw as `0x02${string}`
    assert.equal(await recoverTransactionAddress({ serializedTransaction }), signer.address)
  }
  const { address } = signer
  const send = async (raw: Hex): Promise<void> => {
    // It may be there already: the queue of a server sends it as well.
    await node.call('eth_sendRawTransaction', [raw]).catch((error: unknown) => {
      assert.match(String(error), /already|nonce too low/i)
    })
  }
  for (const { raw } of stored) await send(raw)
  for (;;) {
    const mined = await node.client.getTransactionCount({ address })
    assert.ok(mined <= first + count)
    if (mined === first + count) return
    // If anvil mines a transaction while it takes the next one, that one waits for it for good, and those after it too.
    const { queued } = (await node.call('txpool_content', [])) as { queued: Record<string, object> }
    if (String(mined) in (queued[address.toLowerCase()] ?? {})) {
      await node.call('anvil_removePoolTransactions', [address])
      for (const { raw } of stored.slice(mined - first)) await send(raw)
    }
    await sleep(20)
  }
}
