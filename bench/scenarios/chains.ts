import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'

import { createWalletClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

import { startNode, type LocalNode } from '../../sandbox/src/chains/node.ts'
import { defineScenario, type Bench, type Server } from '../bench.ts'
import { callers, compare, type Side } from '../compare.ts'
import { sendLoad, type LoadRequest } from '../load.ts'
import { askFor } from '../servers.ts'

const CHAIN_ID = 77_000_099
const FUNDS = `0x${(1_000_000n * 10n ** 18n).toString(16)}`
const CALLERS = 16
const PATIENCE_MS = 60_000
const TO = '0x00000000000000000000000000000000000000b1'

const fund = (node: LocalNode, address: string): Promise<unknown> =>
  node.call('anvil_setBalance', [address, FUNDS])

/** viem as it is: it asks the node for gas and fees of each transfer, as a server has to; nonces are kept by hand. */
async function viemSide(bench: Bench, node: LocalNode, wallets: number): Promise<Side> {
  const nativeCurrency = { name: 'Ether', symbol: 'ETH', decimals: 18 }
  const chain = { id: CHAIN_ID, name: 'bench', nativeCurrency, rpcUrls: { default: { http: [node.url] } } }
  const transport = http(node.url, { retryCount: 0 })
  const senders = Array.from({ length: wallets }, () => {
    const account = privateKeyToAccount(`0x${randomBytes(32).toString('hex')}`)
    return { client: createWalletClient({ account, chain, transport }), address: account.address, nonce: 0 }
  })
  for (const { address } of senders) await fund(node, address)
  return callers(bench, CALLERS, (caller) => {
    const sender = senders[caller % wallets]!
    return sender.client.sendTransaction({ to: TO, value: 1n, nonce: sender.nonce++ })
  })
}

/** Transfers that the node has taken: accepted, checked, signed, stored and broadcast. */
async function sixwireSide(bench: Bench, node: LocalNode, server: Server, count: number): Promise<Side> {
  const { base, token, pid } = server
  const wallets: { _id: string; address: string }[] = []
  for (let at = 0; at < count; at++)
    wallets.push(await askFor(base, 'POST /onchain/wallets', { token, body: {} }))
  for (const { address } of wallets) await fund(node, address)
  const requests = wallets.map(({ _id: walletId }): LoadRequest => {
    const body = JSON.stringify({ walletId, to: TO, value: '0.000000000000000001' })
    return { method: 'POST', path: '/onchain/transactions', body }
  })
  const total = async () => {
    const calls = wallets.map(({ address }) => node.call('eth_getTransactionCount', [address, 'pending']))
    return (await Promise.all(calls)).reduce<number>((sum, one) => sum + Number(one), 0)
  }
  return {
    pid,
    async measure() {
      const before = await total()
      const begun = performance.now()
      const { requests: accepted } = await sendLoad(bench, server, requests, CALLERS)
      while ((await total()) - before < accepted && performance.now() - begun < PATIENCE_MS) await delay(10)
      const seconds = (performance.now() - begun) / 1000
      const missing = accepted - (await total()) + before
      if (missing > 0) bench.fault(`the node has not got ${missing} transfers that were accepted`)
      return { 'a second': (accepted - missing) / seconds }
    },
  }
}

export default defineScenario({
  name: 'chains',
  summary: 'transfers of a coin against viem used bare on the same node',

  async prepare(bench) {
    const options = ['--block-time', '1', '--gas-limit', '1000000000']
    const node = await startNode({ chainId: CHAIN_ID, arguments: options })
    bench.after(() => node.close())
    const environment = { ETHEREUM_RPC_URL: node.url, ETHEREUM_ID: String(CHAIN_ID) }
    return { node, server: await bench.open('sixwire', 'sixwire', { environment }) }
  },

  async *run(bench, { node, server }) {
    for (const wallets of [1, 10]) {
      const name = `transfers of ${CALLERS} callers, wallets: ${wallets}`
      const viem = await viemSide(bench, node, wallets)
      yield* compare(bench, name, ['viem', viem], await sixwireSide(bench, node, server, wallets))
    }
  },
})
