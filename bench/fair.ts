import { writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

import { promoteAll } from './admin.ts'
import type { Bench } from './bench.ts'
import { ask, askFor } from './client.ts'
import { probe, type Latency } from './health-probe.ts'
import { memoryOf } from './procfs.ts'
import { explain, untilReady } from './query-plan.ts'
import { account, type Server } from './servers.ts'
import { quantile } from './statistics.ts'

/** What others see of the server, in milliseconds. */
export type Seen = { list: Latency; health: Latency; signIn: Latency }

export type FairResult = {
  quiet: Seen
  attacked: Seen
  /** The answers to the attack by status. */
  answers: Record<string, number>
  /** Megabytes of the server's process at most: in the attack, and with clients that never read. */
  memory: { attack: number | undefined; unread: number | undefined }
  /** How many of the clients that never read were disconnected, and after how many seconds the last of them. */
  disconnected: { clients: number; seconds: number }
}

const LARGE_DOCUMENTS = 40
const SMALL_DOCUMENTS = 200
const ATTACKERS = 24
const CLAUSES = 199
const PHASE_MS = 20_000
const SIGN_IN_PAUSE_MS = 300
const UNREAD_CLIENTS = 24
const UNREAD_ANSWERS = 3
const UNREAD_MS = 60_000

const costly = encodeURIComponent(
  JSON.stringify({ $or: Array.from({ length: CLAUSES }, (_, n) => ({ [`no${n}.x`]: n })) }),
)

/** A list that an index answers. */
const INDEXED = `/store/items?sort=n&filter=${encodeURIComponent('{"n":{"$lt":100}}')}`

/** Does one user's attack on lists slow others down, or take the server's memory? */
export async function runFair(bench: Bench, faults: string[]): Promise<FairResult> {
  const config = { store: { collections: { items: 'shared' }, indexes: { items: ['n'] } } }
  const server = await bench.open('sixwire', 'fair', {
    prepare: (home) =>
      writeFileSync(join(home, 'sixwire.config.ts'), `export default ${JSON.stringify(config)}\n`),
  })
  const { base, token } = server
  await promoteAll(bench.databaseUrl('fair')) // for `explain`, and before there is an attacker
  bench.note(`creating ${LARGE_DOCUMENTS} documents of 1 MiB`)
  const attacker = await askFor<{ token: string }>(base, 'POST /auth/register', {
    body: JSON.stringify(account(1)),
  })
  const large = JSON.stringify(
    Object.fromEntries(Array.from({ length: 25_000 }, (_, n) => [`field${n}`, `the value of it ${n}`])),
  )
  for (let n = 0; n < LARGE_DOCUMENTS; n++)
    await askFor(base, 'POST /store/large', { token: attacker.token, body: large })
  for (let n = 0; n < SMALL_DOCUMENTS; n++)
    await askFor(base, 'POST /store/items', { token, body: JSON.stringify({ n, text: 'x'.repeat(200) }) })
  await untilReady(server, 'items', (indexes) => indexes.every(({ state }) => state === 'ready'))
  const { plan } = await explain(server, INDEXED)
  if (plan !== 'index') faults.push(`fair: the plan of the list is ${plan}`)
  await look(server, 2_000) // warming up

  bench.note('what others see of a quiet server')
  const quiet = await look(server, PHASE_MS)

  bench.note(`what they see while one user sends filters of ${CLAUSES} clauses, ${ATTACKERS} at a time`)
  const answers: Record<string, number> = {}
  const agent = new Agent({ keepAlive: true, maxSockets: ATTACKERS })
  let over = false
  const attack = Promise.all(
    Array.from({ length: ATTACKERS }, async () => {
      while (!over) {
        const { status } = await ask(base, `GET /store/large?filter=${costly}`, {
          token: attacker.token,
          agent,
        })
        answers[status] = (answers[status] ?? 0) + 1
        if (status !== 200) await delay(5)
      }
    }),
  )
  await delay(1_000)
  const attacked = await look(server, PHASE_MS)
  const attackMemory = memoryOf(server.pid)?.peakMB
  over = true
  await attack
  agent.destroy()

  bench.note(`${UNREAD_CLIENTS} clients that never read`)
  const { disconnected, peakMB } = await withUnreadClients(server, attacker.token)
  await server.stop()
  return { quiet, attacked, answers, memory: { attack: attackMemory, unread: peakMB }, disconnected }
}

async function look({ base, token }: Server, milliseconds: number): Promise<Seen> {
  const ended = delay(milliseconds)
  const [list, health, signIn] = await Promise.all([
    probe(base, ended, { call: `GET ${INDEXED}`, token }),
    probe(base, ended, { call: 'GET /health' }),
    probeSignIn(base, milliseconds),
  ])
  return { list, health, signIn }
}

async function probeSignIn(base: string, milliseconds: number): Promise<Latency> {
  const times: number[] = []
  for (const until = performance.now() + milliseconds; performance.now() < until;) {
    const begun = performance.now()
    await askFor(base, 'POST /auth/login', { body: JSON.stringify(account(0)) })
    times.push(performance.now() - begun)
    await delay(SIGN_IN_PAUSE_MS)
  }
  return { samples: times.length, p50: quantile(times, 0.5), p99: quantile(times, 0.99) }
}

/** Asks for large pages on connections that are never read. */
async function withUnreadClients(server: Server, token: string) {
  const { hostname, port } = new URL(server.base)
  const begun = performance.now()
  let clients = 0
  let seconds = 0
  const sockets = Array.from({ length: UNREAD_CLIENTS }, (): Socket => {
    const socket = connect(Number(port), hostname)
    socket
      .on('error', () => undefined)
      .on('close', () => {
        clients++
        seconds = (performance.now() - begun) / 1000
      })
    socket.pause()
    const request = `GET /store/large?limit=1000 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n\r\n`
    // The buffers of the system take the first answers.
    socket.write(request.repeat(UNREAD_ANSWERS))
    return socket
  })
  let peakMB = 0
  for (const until = begun + UNREAD_MS; performance.now() < until && clients < UNREAD_CLIENTS;) {
    peakMB = Math.max(peakMB, memoryOf(server.pid)?.nowMB ?? 0)
    // Only what is sent shows a client that does not read that the connection is gone.
    for (const socket of sockets) socket.write('\r\n')
    await delay(100)
  }
  const disconnected = { clients, seconds }
  for (const socket of sockets) socket.destroy()
  return { disconnected, peakMB: peakMB || undefined }
}
