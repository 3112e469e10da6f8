import { setTimeout as delay } from 'node:timers/promises'

import type { Bench } from './bench.ts'
import { ask, askFor } from './client.ts'
import { startSink } from './mail.ts'
import { quantile } from './statistics.ts'

/** Milliseconds; `factor` is the larger 99th percentile over the smaller. */
export type TimingResult = {
  samples: number
  rows: { name: string; known: Latency; unknown: Latency; factor: number }[]
}
type Latency = { p50: number; p99: number }

const SAMPLES = 200
const ACCOUNTS = 50
const MAIL_PAUSE_MS = 20

const known = (n: number) => `known${n % ACCOUNTS}@example.com`
const unknown = (n: number) => `nobody${n % ACCOUNTS}@example.com`

/** The same calls for addresses with and without an account, in turn, one at a time. */
async function compare(
  call: (email: string) => Promise<number>,
  pauseMs: number,
): Promise<{ known: Latency; unknown: Latency; factor: number }> {
  const times = { known: [] as number[], unknown: [] as number[] }
  for (let n = 0; n < SAMPLES; n++)
    for (const kind of n % 2 === 0 ? (['known', 'unknown'] as const) : (['unknown', 'known'] as const)) {
      times[kind].push(await call(kind === 'known' ? known(n) : unknown(n)))
      await delay(pauseMs)
    }
  const latency = (all: number[]) => ({ p50: quantile(all, 0.5), p99: quantile(all, 0.99) })
  const [a, b] = [latency(times.known), latency(times.unknown)]
  return { known: a, unknown: b, factor: Math.max(a.p99, b.p99) / Math.min(a.p99, b.p99) }
}

/** Does the time of an answer tell whether an address has an account? */
export async function runTiming(bench: Bench, faults: string[]): Promise<TimingResult> {
  const sink = await startSink()
  const server = await bench.open('sixwire', 'timing', {
    environment: {
      SIXWIRE_WIRES: 'core,messaging,auth,store',
      SMTP_URL: sink.url,
      MAIL_FROM: 'a@example.com',
    },
  })
  const { base } = server
  bench.note(`timing: registering ${ACCOUNTS} accounts`)
  const password = 'correct horse battery staple'
  for (let n = 0; n < ACCOUNTS; n++)
    await askFor(base, 'POST /auth/register', { body: JSON.stringify({ email: known(n), password }) })

  const timed = (route: string, wanted: number, rest: object) => async (email: string) => {
    const begun = performance.now()
    const { status } = await ask(base, route, { body: JSON.stringify({ email, ...rest }) })
    const ms = performance.now() - begun
    if (status !== wanted) faults.push(`timing: ${route} answered ${status} instead of ${wanted}`)
    return ms
  }
  const rows: TimingResult['rows'] = []
  bench.note('timing: forgot-password')
  const forgot = timed('POST /auth/forgot-password', 200, {})
  rows.push({ name: 'POST /auth/forgot-password', ...(await compare(forgot, MAIL_PAUSE_MS)) })
  bench.note('timing: sign-in with a wrong password')
  // Four wrong ones for each address: the fifth would lock it.
  const login = timed('POST /auth/login', 401, { password: 'not this one at all' })
  rows.push({ name: 'POST /auth/login, wrong password', ...(await compare(login, 0)) })
  await server.stop()
  sink.stop()
  return { samples: SAMPLES, rows }
}
