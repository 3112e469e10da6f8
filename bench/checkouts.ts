import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import type { Bench } from './bench.ts'
import { CHECKOUT, startCardProvider } from './card-provider.ts'
import { posts } from './load.ts'
import { median } from './statistics.ts'

/** Checkouts a second; `ratio` is the median of `ratios`, one a round. */
export type CheckoutResult = {
  callers: number
  bare: number
  subject: number
  ratio: number
  ratios: number[]
}

const CALLERS = 16
const run = promisify(execFile)

/** How many checkouts a second, each with its rows before and after the call, against the `stripe` package used bare. */
export async function runCheckouts(bench: Bench, faults: string[]): Promise<CheckoutResult> {
  const { rounds, seconds } = bench.options
  const provider = await startCardProvider(bench, 'checkoutprovider')
  const server = await bench.open('sixwire', 'checkouts', { environment: provider.environment })
  const requests = posts(bench.folder, '/pay/cardpay/checkout', [CHECKOUT])

  async function bareRound(limit: number): Promise<number> {
    const program = fileURLToPath(new URL('./checkout-floor.ts', import.meta.url))
    const words = [program, provider.address, provider.secretKey, String(CALLERS), String(limit)]
    return Number((await run(process.execPath, words)).stdout) / limit
  }
  async function subjectRound(): Promise<number> {
    const { perSecond, failed } = await bench.load.run(server, requests, CALLERS)
    if (failed > 0) faults.push(`pay: ${failed} checkouts failed`)
    return perSecond
  }

  bench.note('pay: checkouts, warming up')
  await bareRound(1)
  await subjectRound()
  const pairs: { bare: number; subject: number }[] = []
  for (let round = 1; round <= rounds; round++) {
    bench.note(`pay: checkouts, round ${round} of ${rounds}`)
    pairs.push({ bare: await bareRound(seconds), subject: await subjectRound() })
  }
  await server.stop()
  await provider.stop()
  const ratios = pairs.map(({ bare, subject }) => subject / bare)
  return {
    callers: CALLERS,
    bare: median(pairs.map(({ bare }) => bare)),
    subject: median(pairs.map(({ subject }) => subject)),
    ratio: median(ratios),
    ratios,
  }
}
