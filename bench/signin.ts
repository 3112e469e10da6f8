import { setTimeout as delay } from 'node:timers/promises'

import type { Bench } from './bench.ts'
import { ask, askFor } from './client.ts'
import { probeHealth, type Latency } from './health-probe.ts'
import { account } from './servers.ts'

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

/** Does the server stay quick for others while many people sign in at the same moment? */
export async function runSignIns(bench: Bench, faults: string[]): Promise<SignInResult> {
  const server = await bench.open('sixwire', 'signin')
  const { base } = server
  const bodies = Array.from({ length: SIGN_INS }, (_, n) => JSON.stringify(account(n)))
  bench.note(`registering ${SIGN_INS} accounts`)
  // The first one has been there since the server started.
  await Promise.all(bodies.slice(1).map((body) => askFor(base, 'POST /auth/register', { body })))
  await probeHealth(base, delay(1_000)) // warming up

  bench.note('/health before the sign-ins')
  const before = await probeHealth(base, delay(BEFORE_MS))
  bench.note(`/health during ${SIGN_INS} sign-ins`)
  const begun = performance.now()
  const signIns = Promise.all(bodies.map((body) => ask(base, 'POST /auth/login', { body })))
  const during = await probeHealth(base, signIns)
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
