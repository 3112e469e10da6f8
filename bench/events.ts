// Sends signed events of Stripe over so many connections, for so long, and prints one line of figures. A process of its own.
// To the floor it sends the same bytes.
import { createHmac } from 'node:crypto'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

import { newId } from '../src/base/ids.ts'

export type EventsJob = {
  base: string
  path: string
  secret: string
  seconds: number
  connections: number
  /** Ids of checkout sessions that the events are about; if there are none, they are of an unknown kind. */
  sessions: readonly string[]
  /** Deliveries a second: new ones, repeated ones and forged ones. Without it as many new ones as are taken. */
  mixedPerSecond?: number
}

/** Answers of each status, and deliveries that broke. */
export type EventsRound = { seconds: number; statuses: Record<string, number>; broken: number }

type Delivery = { body: string; signature: string }

const job = JSON.parse(process.argv[2]!) as EventsJob
const { host, hostname, port } = new URL(job.base)
const statuses: Record<string, number> = {}
let broken = 0

function newDelivery(): Delivery {
  const time = Math.floor(Date.now() / 1000)
  const session = job.sessions[Math.floor(Math.random() * job.sessions.length)]
  const object =
    session === undefined
      ? { id: 'cus_NffrFeUfNV2Hib', object: 'customer', email: 'jenny.rosen@example.com' }
      : { id: session, object: 'checkout.session', payment_status: 'unpaid', status: 'open' }
  const body = JSON.stringify({
    id: `evt_${newId()}`,
    object: 'event',
    api_version: '2026-10-28.endive',
    created: time,
    data: { object: { ...object, created: time, currency: 'eur', description: 'x'.repeat(400) } },
    livemode: false,
    type: session === undefined ? 'customer.created' : 'checkout.session.completed',
  })
  const mac = createHmac('sha256', job.secret).update(`${time}.${body}`).digest('hex')
  return { body, signature: `t=${time},v1=${mac}` }
}

/** One connection, which sends one request at a time. */
function openConnection() {
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  let received = ''
  let answered: ((status: string | undefined) => void) | undefined
  const settle = (status: string | undefined): void => {
    received = ''
    answered?.(status)
    answered = undefined
  }
  socket.setEncoding('latin1')
  socket.on('data', (text: string) => {
    received += text
    const head = received.indexOf('\r\n\r\n')
    if (head === -1) return
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(received)?.[1] ?? 0)
    if (received.length >= head + 4 + length) settle(received.slice(9, 12))
  })
  socket.on('error', () => undefined)
  socket.on('close', () => settle(undefined))
  return {
    async send({ body, signature }: Delivery): Promise<void> {
      const answer = new Promise<string | undefined>((resolve) => (answered = resolve))
      // Bodies are ASCII.
      socket.write(
        `POST ${job.path} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\n` +
          `Stripe-Signature: ${signature}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      )
      const status = socket.destroyed ? undefined : await answer
      if (status === undefined) broken++
      else statuses[status] = (statuses[status] ?? 0) + 1
    },
    get isClosed() {
      return socket.destroyed
    },
    close: () => socket.destroy(),
  }
}

type Connection = ReturnType<typeof openConnection>

async function sendAll(connections: readonly Connection[], end: number): Promise<void> {
  await Promise.all(
    connections.map(async (one) => {
      while (performance.now() < end && !one.isClosed) await one.send(newDelivery())
    }),
  )
}

/** Of ten deliveries six are new, two are repeated and two are forged. */
async function sendMixed(connections: readonly Connection[], end: number, perSecond: number): Promise<void> {
  const free = [...connections]
  const underWay = new Set<Promise<void>>()
  const begun = performance.now()
  let last = newDelivery()
  for (let sent = 0; performance.now() < end;) {
    const due = ((performance.now() - begun) / 1000) * perSecond
    while (sent < due && free.length > 0) {
      const kind = sent++ % 10
      if (kind < 6) last = newDelivery()
      const delivery = kind < 8 ? last : { ...newDelivery(), signature: last.signature }
      const one = free.pop()!
      const work = one.send(delivery).finally(() => {
        if (!one.isClosed) free.push(one)
        underWay.delete(work)
      })
      underWay.add(work)
    }
    await delay(2)
  }
  await Promise.all(underWay)
}

const connections = Array.from({ length: job.connections }, openConnection)
const begun = performance.now()
const end = begun + job.seconds * 1000
if (job.mixedPerSecond === undefined) await sendAll(connections, end)
else await sendMixed(connections, end, job.mixedPerSecond)
const result: EventsRound = { seconds: (performance.now() - begun) / 1000, statuses, broken }
console.log(JSON.stringify(result))
for (const one of connections) one.close()
