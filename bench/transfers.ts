import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { privateKeyToAccount } from 'viem/accounts'
import type { Hex } from 'viem'

import type { Bench } from './bench.ts'
import { FUNDS, startChain } from './chain-node.ts'
import { askFor } from './client.ts'
import { posts } from './load.ts'
import { median } from './statistics.ts'

/** Transfers a second that the node has taken; `ratio` is the median of `ratios`, one a round, against `bare`. */
export type TransferResult = {
  callers: number
  rows: {
    wallets: number
    /** viem as it is: it asks the node for gas and fees of each transfer, as a server has to. */
    bare: number
    /** viem with gas and fees given: nothing is checked. */
    blind: number
    subject: number
    ratio: number
    ratios: number[]
  }[]
}

const CALLERS = 16
const PATIENCE_MS = 60_000
const TO = '0x00000000000000000000000000000000000000b1'
const run = promisify(execFile)

/** How many transfers a second are accepted, signed, stored and broadcast, against viem used bare on the same node. */
export async function runTransfers(bench: Bench, faults: string[]): Promise<TransferResult> {
  const { rounds, seconds } = bench.options
  const node = await startChain()
  const server = await bench.open('sixwire', 'transfers', { environment: node.environment })
  const count = async (address: string): Promise<number> =>
    Number(await node.call('eth_getTransactionCount', [address, 'pending']))
  const fund = (address: string) => node.call('anvil_setBalance', [address, FUNDS])

  async function bareRound(keys: Hex[], isGiven: boolean, limit: number): Promise<number> {
    const nonces = await Promise.all(keys.map((key) => count(privateKeyToAccount(key).address)))
    const job = { url: node.url, keys, nonces, to: TO, callers: CALLERS, seconds: limit, isGiven }
    const program = fileURLToPath(new URL('./transfer-floor.ts', import.meta.url))
    return Number((await run(process.execPath, [program, JSON.stringify(job)])).stdout) / limit
  }

  type Wallet = { _id: string; address: string }
  async function subjectRound(wallets: readonly Wallet[]): Promise<number> {
    const total = async () =>
      (await Promise.all(wallets.map(({ address }) => count(address)))).reduce((sum, one) => sum + one, 0)
    const before = await total()
    const requests = posts(
      bench.folder,
      '/onchain/transactions',
      wallets.map(({ _id }) => JSON.stringify({ walletId: _id, to: TO, value: '0.000000000000000001' })),
    )
    const begun = performance.now()
    const { requests: accepted, failed } = await bench.load.run(server, requests, CALLERS)
    if (failed > 0) faults.push(`onchain: ${failed} transfers failed`)
    while ((await total()) - before < accepted - failed) {
      if (performance.now() - begun > PATIENCE_MS) {
        faults.push('onchain: the node has not got all transfers that were accepted')
        break
      }
      await delay(10)
    }
    return (accepted - failed) / ((performance.now() - begun) / 1000)
  }

  const rows: TransferResult['rows'] = []
  for (const size of [1, 10]) {
    const keys = Array.from({ length: size }, (): Hex => `0x${randomBytes(32).toString('hex')}`)
    await Promise.all(keys.map((key) => fund(privateKeyToAccount(key).address)))
    const wallets: Wallet[] = []
    for (let at = 0; at < size; at++) {
      const { token } = server
      wallets.push(await askFor<Wallet>(server.base, 'POST /onchain/wallets', { token, body: '{}' }))
    }
    await Promise.all(wallets.map(({ address }) => fund(address)))
    const taken: { bare: number; blind: number; subject: number }[] = []
    for (let round = 0; round <= rounds; round++) {
      bench.note(`onchain: transfers of ${size} wallets, round ${round} of ${rounds}`)
      const limit = round === 0 ? 1 : seconds
      const one = {
        bare: await bareRound(keys, false, limit),
        blind: await bareRound(keys, true, limit),
        subject: await subjectRound(wallets),
      }
      // The first round warms up.
      if (round > 0) taken.push(one)
    }
    const ratios = taken.map(({ bare, subject }) => subject / bare)
    rows.push({
      wallets: size,
      bare: median(taken.map(({ bare }) => bare)),
      blind: median(taken.map(({ blind }) => blind)),
      subject: median(taken.map(({ subject }) => subject)),
      ratio: median(ratios),
      ratios,
    })
  }
  await server.stop()
  await node.close()
  return { callers: CALLERS, rows }
}
