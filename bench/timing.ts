import { setTimeout as delay } from 'node:timers/promises'

import type { Bench } from './bench.ts'
import { ask, askFor } from './client.ts'
import { startSink } from './mail.ts'
import { median, quantile } from './statistics.ts'

/** Milliseconds, medians of the rounds. `factor` is the larger 99th percentile over the smaller. */
export type TimingResult = { samples: number; rows: Row[] }
type Row = {
  name: string
  rounds: number
  known: Latency
  unknown: Latency
  factor: number
  /** The same between two sets of unknown addresses: what this machine makes of no difference at all. */
  noise: number
}
type Latency = { p50: number; p99: number }

const SAMPLES = 200
/** In a round: each address is asked for four times, since the fifth wrong password would lock it. */
const ACCOUNTS = 50
const MAIL_PAUSE_MS = 20
/** A sign-in takes a quarter of a second, by intention. */
const LOGIN_ROUNDS = 1

const KINDS = ['known', 'unknown', 'other'] as const
type Kind = (typeof KINDS)[number]

/** Each comes after each of the three once: what a call leaves to do disturbs the next. */
const CYCLE: readonly Kind[] = [
  'known',
  'known',
  'unknown',
  'known',
  'other',
  'unknown',
  'unknown',
  'other',
  'other',
]

const addressOf = (kind: Kind, round: number, n: number) => `${kind}${round}-${n % ACCOUNTS}@example.com`

/** One round: the same calls for addresses with and without an account, one at a time. */
async function measure(call: (kind: Kind, n: number) => Promise<number>, pauseMs: number) {
  const times: Record<Kind, number[]> = { known: [], unknown: [], other: [] }
  for (let at = 0; KINDS.some((kind) => times[kind].length < SAMPLES); at++) {
    const kind = CYCLE[at % CYCLE.length]!
    const n = times[kind].length
    if (n === SAMPLES) continue
    times[kind].push(await call(kind, n))
    await delay(pauseMs)
  }
  return times
}

const factorOf = (a: Latency, b: Latency) => Math.max(a.p99, b.p99) / Math.min(a.p99, b.p99)

function rowOf(name: string, rounds: Record<Kind, number[]>[]): Row {
  const of = (kind: Kind): Latency => ({
    p50: median(rounds.map((times) => quantile(times[kind], 0.5))),
    p99: median(rounds.map((times) => quantile(times[kind], 0.99))),
  })
  const [known, unknown, other] = KINDS.map(of) as [Latency, Latency, Latency]
  return {
    name,
    rounds: rounds.length,
    known,
    unknown,
    factor: factorOf(known, unknown),
    noise: factorOf(unknown, other),
  }
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
  const { rounds } = bench.options
  const password = 'correct horse battery staple'
  for (let round = 0; round < rounds; round++) {
    bench.note(`timing: registering accounts, ${round * ACCOUNTS} of ${rounds * ACCOUNTS}`)
    for (let n = 0; n < ACCOUNTS; n++) {
      const body = JSON.stringify({ email: addressOf('known', round, n), password })
      await askFor(base, 'POST /auth/register', { body })
    }
  }

  async function compare(
    route: string,
    {
      wanted,
      times,
      pauseMs,
      ...rest
    }: { wanted: number; times: number; pauseMs: number; password?: string },
  ): Promise<Row> {
    const taken: Record<Kind, number[]>[] = []
    for (let round = 0; round < times; round++) {
      bench.note(`timing: ${route}, round ${round + 1} of ${times}`)
      const call = async (kind: Kind, n: number) => {
        const body = JSON.stringify({ email: addressOf(kind, round, n), ...rest })
        const begun = performance.now()
        const { status } = await ask(base, route, { body })
        const ms = performance.now() - begun
        if (status !== wanted) faults.push(`timing: ${route} answered ${status} instead of ${wanted}`)
        return ms
      }
      taken.push(await measure(call, pauseMs))
    }
    return rowOf(route, taken)
  }
  const rows = [
    await compare('POST /auth/forgot-password', { wanted: 200, times: rounds, pauseMs: MAIL_PAUSE_MS }),
    await compare('POST /auth/login', {
      wanted: 401,
      times: LOGIN_ROUNDS,
      pauseMs: 0,
      password: 'not this one at all',
    }),
  ]
  await server.stop()
  sink.stop()
  return { samples: SAMPLES, rows }
}
