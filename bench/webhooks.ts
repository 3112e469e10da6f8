import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { setTimeout as delay } from 'node:timers/promises'

import type { Bench } from './bench.ts'
import { CHECKOUT, startCardProvider, WEBHOOK_SECRET } from './card-provider.ts'
import { askFor } from './client.ts'
import type { EventsJob, EventsRound } from './events.ts'
import { probeHealth, type Latency } from './health-probe.ts'
import { idle } from './procfs.ts'
import type { Server } from './servers.ts'
import { median } from './statistics.ts'

/** `ratio` is the median of `ratios`: events a second over the floor's creates of the same bytes. */
export type WebhookResult = {
  connections: number
  rows: { name: string; floor: number; subject: number; ratio: number; ratios: number[] }[]
  health: { perSecond: number; quiet: Latency; during: Latency; factor: { p50: number; p99: number } }
}

const CONNECTIONS = 64
const SESSIONS = 200
const WEBHOOK = '/pay/cardpay/webhook'
const MIXED_PER_SECOND = 500
const HEALTH_S = 5
const run = promisify(execFile)

/** How many events a second are verified and stored, against the floor's grouped insert, and how quick `/health` stays. */
export async function runWebhooks(bench: Bench, faults: string[]): Promise<WebhookResult> {
  const { rounds, seconds } = bench.options
  const provider = await startCardProvider(bench, 'webhookprovider')
  const server = await bench.open('sixwire', 'webhooks', { environment: provider.environment })
  const floor = await bench.open('floor', 'webhooksfloor')

  async function send(
    { base }: Server,
    path: string,
    job: Pick<EventsJob, 'seconds' | 'sessions' | 'mixedPerSecond'>,
  ): Promise<EventsRound> {
    const program = fileURLToPath(new URL('./events.ts', import.meta.url))
    const whole: EventsJob = { base, path, secret: WEBHOOK_SECRET, connections: CONNECTIONS, ...job }
    const { stdout } = await run(process.execPath, [program, JSON.stringify(whole)])
    return JSON.parse(stdout) as EventsRound
  }

  async function rateOf(
    side: Server,
    path: string,
    wanted: string,
    job: Pick<EventsJob, 'seconds' | 'sessions'>,
  ): Promise<number> {
    const round = await send(side, path, job)
    const failed = faultOf(round, [wanted])
    if (failed !== undefined) faults.push(`pay: events to the ${side.program}: ${failed}`)
    await idle(side.pid)
    return (round.statuses[wanted] ?? 0) / round.seconds
  }

  bench.note(`pay: creating ${SESSIONS} checkout sessions`)
  const sessions: string[] = []
  for (let at = 0; at < SESSIONS; at++) {
    const { token } = server
    const { sessionId } = await askFor<{ sessionId: string }>(server.base, 'POST /pay/cardpay/checkout', {
      token,
      body: CHECKOUT,
    })
    sessions.push(sessionId)
  }

  const rows: WebhookResult['rows'] = []
  for (const [name, about] of [
    ['of a kind that is not used', []],
    [`of ${SESSIONS} open checkout sessions`, sessions],
  ] as const) {
    const pairs: { floor: number; subject: number }[] = []
    for (let round = 0; round <= rounds; round++) {
      bench.note(`pay: events ${name}, round ${round} of ${rounds}`)
      // The first round warms up.
      const job = { seconds: round === 0 ? 1 : seconds, sessions: about }
      const pair = {
        floor: await rateOf(floor, '/store/items', '201', job),
        subject: await rateOf(server, WEBHOOK, '200', job),
      }
      if (round > 0) pairs.push(pair)
    }
    const ratios = pairs.map((pair) => pair.subject / pair.floor)
    rows.push({
      name,
      floor: median(pairs.map((pair) => pair.floor)),
      subject: median(pairs.map((pair) => pair.subject)),
      ratio: median(ratios),
      ratios,
    })
  }

  bench.note('pay: /health while no events come')
  await probeHealth(server.base, delay(1_000))
  const quiet = await probeHealth(server.base, delay(HEALTH_S * 1000))
  bench.note(`pay: /health during ${MIXED_PER_SECOND} deliveries a second`)
  const sending = send(server, WEBHOOK, { seconds: HEALTH_S, sessions, mixedPerSecond: MIXED_PER_SECOND })
  const during = await probeHealth(server.base, sending)
  const round = await sending
  const failed = faultOf(round, ['200', '401', '400'])
  if (failed !== undefined) faults.push(`pay: mixed events: ${failed}`)
  await Promise.all([server.stop(), floor.stop(), provider.stop()])
  return {
    connections: CONNECTIONS,
    rows,
    health: {
      perSecond: sum(Object.values(round.statuses)) / round.seconds,
      quiet,
      during,
      factor: { p50: during.p50 / quiet.p50, p99: during.p99 / quiet.p99 },
    },
  }
}

const sum = (values: readonly number[]): number => values.reduce((one, other) => one + other, 0)

/** What went otherwise than it should. */
function faultOf({ statuses, broken }: EventsRound, wanted: readonly string[]): string | undefined {
  if (broken > 0) return `${broken} broke off`
  const other = Object.entries(statuses).filter(([status]) => !wanted.includes(status))
  return other.length === 0
    ? undefined
    : other.map(([status, count]) => `${count} were answered ${status}`).join(', ')
}
