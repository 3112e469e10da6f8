import { Agent } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'

import type { Bench } from './bench.ts'
import { ask, askFor } from './client.ts'
import { account } from './servers.ts'
import { quantile } from './statistics.ts'

type Latency = { samples: number; p50: number; p99: number }

/** Latencies of `/health` in milliseconds; the factors are during over before. */
export type SignInResult = {
  signIns: number
  /** Until the last of them was answered. */
  seconds: number
  before: Latency
  during: Latency
  factor: { p50: number; p99: number }
}

const SIGN_INS = 50
const BEFORE_MS = 5_000
const PAUSE_MS = 2

/** Asks for `/health` again and again, one at a time, until `ended` resolves. */
async function probe(base: string, ended: Promise<unknown>): Promise<Latency> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const times: number[] = []
  let over = false
  void ended.finally(() => (over = true))
  while (!over) {
    const begun = performance.now()
    await askFor(base, 'GET /health', { agent })
    times.push(performance.now() - begun)
    await delay(PAUSE_MS)
  }
  agent.destroy()
  return { samples: times.length, p50: quantile(times, 0.5), p99: quantile(times, 0.99) }
}

/** Does the server stay quick for others while many people sign in at the same moment? */
export async function runSignIns(bench: Bench, faults: string[]): Promise<SignInResult> {
  const server = await bench.open('sixwire', 'signin')
  const { base } = server
  const bodies = Array.from({ length: SIGN_INS }, (_, n) => JSON.stringify(account(n)))
  bench.note(`registering ${SIGN_INS} accounts`)
  // The first one has been there since the server started.
  await Promise.all(bodies.slice(1).map((body) => askFor(base, 'POST /auth/register', { body })))
  await probe(base, delay(1_000)) // warming up

  bench.note('/health before the sign-ins')
  const before = await probe(base, delay(BEFORE_MS))
  bench.note(`/health during ${SIGN_INS} sign-ins`)
  const begun = performance.now()
  const signIns = Promise.all(bodies.map((body) => ask(base, 'POST /auth/login', { body })))
  const during = await probe(base, signIns)
  const seconds = (performance.now() - begun) / 1000
  const failed = (await signIns).filter(({ status }) => status !== 200).length
  if (failed > 0) faults.push(`signin: ${failed} of ${SIGN_INS} sign-ins failed`)
  await server.stop()
  return {
    signIns: SIGN_INS,
    seconds,
    before,
    during,
    factor: { p50: during.p50 / before.p50, p99: during.p99 / before.p99 },
  }
}
