import { Agent } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'

import { startRpcProxy } from '../src/testing/rpc-proxy.ts'
import type { Bench } from './bench.ts'
import { FUNDS, startChain } from './chain-node.ts'
import { askFor } from './client.ts'
import type { Server } from './servers.ts'
import { median } from './statistics.ts'

/** What watching on-chain payments costs the node, and how soon a payment is seen. */
export type WatchResult = {
  /** HTTP requests and calls of JSON-RPC a block, by how many payment requests are open. */
  perBlock: { open: number; requests: number; calls: number }[]
  /** How many blocks after its own a payment was shown as detected, at most; and milliseconds after its block. */
  detection: { payments: number; blocks: number; ms: number }
  /** From the start of the process to the first answer that shows a payment made while the server was down. */
  restart: { open: number; readyMs: number; answerMs: number }
}

const FEW = 10
const MANY = 10_000
const BLOCKS = 10
const CALLERS = 32
const PATIENCE_MS = 30_000
const PAYER = '0x00000000000000000000000000000000000000d1'
const MNEMONIC = 'test test test test test test test test test test test junk'

type Request = { _id: string; receiverAddress: string }

export async function runPaymentWatch(bench: Bench, faults: string[]): Promise<WatchResult> {
  const node = await startChain()
  const endings: (() => Promise<void>)[] = []
  const proxy = await startRpcProxy({ after: (work) => void endings.push(work) }, node.url)
  const environment = {
    ...node.environment,
    ETHEREUM_RPC_URL: proxy.url,
    PAYMENT_MNEMONIC: MNEMONIC,
    PAYMENT_EXPIRES: '600',
  }
  const many = Math.min(MANY, bench.options.documents)
  const agent = new Agent({ keepAlive: true, maxSockets: CALLERS })
  await node.call('anvil_setBalance', [PAYER, FUNDS])
  await node.call('anvil_impersonateAccount', [PAYER])
  const open = () => bench.open('sixwire', 'paymentwatch', { environment })
  let server = await open()

  const create = (): Promise<Request> =>
    askFor<Request>(server.base, 'POST /pay/onchain/payment', {
      token: server.token,
      body: JSON.stringify({ amount: '0.001', token: 'ETH', chain: 'ethereum' }),
      agent,
    })
  const head = async (): Promise<number> => Number(await node.call('eth_blockNumber'))

  /** Pays a request, and answers the payment's block once it is mined. */
  async function pay({ receiverAddress }: Request): Promise<number> {
    const hash = await node.call('eth_sendTransaction', [
      { from: PAYER, to: receiverAddress, value: `0x${(10n ** 15n).toString(16)}`, gas: '0x5208' },
    ])
    for (;;) {
      const receipt = (await node.call('eth_getTransactionReceipt', [hash])) as { blockNumber: string } | null
      if (receipt) return Number(receipt.blockNumber)
      await delay(5)
    }
  }

  async function seen(from: Server, { _id }: Request): Promise<void> {
    const begun = performance.now()
    for (;;) {
      const { status } = await askFor<{ status: string }>(from.base, `GET /pay/onchain/payment/${_id}`, {
        token: from.token,
        agent,
      })
      if (status !== 'pending') return
      if (performance.now() - begun > PATIENCE_MS) {
        faults.push(`onchain: a payment was not seen within ${PATIENCE_MS / 1000} s`)
        return
      }
      await delay(5)
    }
  }

  async function costOf(openRequests: number): Promise<WatchResult['perBlock'][number]> {
    const from = await head()
    proxy.forget()
    while ((await head()) < from + BLOCKS) await delay(20)
    return { open: openRequests, requests: proxy.requests() / BLOCKS, calls: proxy.calls() / BLOCKS }
  }

  bench.note(`onchain: ${FEW} payment requests`)
  const few: Request[] = []
  for (let at = 0; at < FEW; at++) few.push(await create())
  const perBlock = [await costOf(FEW)]

  const lags: { blocks: number; ms: number }[] = []
  for (const [at, request] of few.slice(0, FEW - 1).entries()) {
    bench.note(`onchain: payment ${at + 1} of ${FEW - 1}`)
    const block = await pay(request)
    const begun = performance.now()
    await seen(server, request)
    lags.push({ ms: performance.now() - begun, blocks: (await head()) - block })
  }

  let made = few.length
  const restOf = async () => {
    while (made < many) {
      made++
      await create()
      if (made % 500 === 0) bench.note(`seeding: ${made} of ${many} payment requests`)
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, restOf))
  await delay(3_000)
  perBlock.push(await costOf(many))

  const last = await create()
  await server.stop()
  await pay(last)
  bench.note(`onchain: a start with ${many} open requests`)
  const begun = performance.now()
  server = await open()
  await seen(server, last)
  const answerMs = performance.now() - begun
  const { startMs } = server

  agent.destroy()
  await server.stop()
  for (const end of endings) await end()
  await node.close()
  return {
    perBlock,
    detection: {
      payments: lags.length,
      blocks: Math.max(...lags.map(({ blocks }) => blocks)),
      ms: median(lags.map(({ ms }) => ms)),
    },
    restart: { open: many, readyMs: startMs, answerMs },
  }
}
