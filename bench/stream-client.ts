// The clients of event streams, in a process of their own and with one clock: what is sent and what arrives. They parse
// nothing and share one buffer, so that the server is measured and not they.
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

import { quantile } from './compare.ts'

/** A document of this number is in the event, and no other number before it. */
const NUMBER = '"n":'
const SHARED = Buffer.allocUnsafe(262_144)
const OPENING = 200
const WRITERS = 32
const LATE_MS = 20_000

/** Where streams are, and the tokens of those who follow. */
export type StreamTarget = {
  readonly base: string
  readonly path: string
  readonly tokens: readonly string[]
  /** The id to go on from. */
  readonly lastEventId?: string
  /** Of PocketBase: what each client subscribes to after it has connected. */
  readonly topic?: string
}

/** A request that creates a document; `{"n":…,` goes in front of the rest of its body. */
export type StreamWrite = {
  readonly base: string
  readonly path: string
  readonly token?: string
  readonly rests: readonly string[]
}

/** The commands that the process runs, in order. */
export type StreamCommand =
  | ({ readonly kind: 'open' } & StreamTarget)
  | { readonly kind: 'close' }
  /** One write, of which each of so many streams is told. */
  | { readonly kind: 'change'; readonly write: StreamWrite; readonly events: number }
  /** Writes at a rate, of each of which so many streams are told. */
  | ({ readonly kind: 'pace'; readonly write: StreamWrite; readonly events: number } & Pace)
  /** Opens one stream and waits for so many events. */
  | { readonly kind: 'resume'; readonly target: StreamTarget; readonly events: number }

export type Pace = { readonly perSecond: number; readonly seconds: number }

/** Times are milliseconds; those of events are from before the write is sent until they have arrived. */
export type StreamAnswers = {
  open: { ms: number; id: string }
  close: undefined
  change: { answered: number; first: number; last: number; processor: number }
  pace: {
    answered: readonly [p50: number, p99: number]
    told: readonly [p50: number, p99: number]
    writes: number
    ms: number
    /** Events that did not arrive. */
    missing: number
    processor: number
  }
  resume: { ms: number }
}

const streams = new Set<Stream>()
const agent = new Agent({ keepAlive: true, maxSockets: WRITERS })
/** Called for each event that arrives, with the number of its document. */
let arrive: (number: number) => void = () => undefined
let sent = 0

class Stream {
  readonly socket: Socket
  /** Resolves with the id of the first event. */
  readonly opened: Promise<string>
  #head: string | undefined = ''
  #rest = ''
  #open!: (id: string) => void

  constructor({ base, path, lastEventId }: StreamTarget, token: string | undefined) {
    const { hostname, port, host } = new URL(base)
    const lines = [
      `GET ${path} HTTP/1.1`,
      `host: ${host}`,
      'accept: text/event-stream',
      ...(token === undefined ? [] : [`authorization: Bearer ${token}`]),
      ...(lastEventId === undefined ? [] : [`last-event-id: ${lastEventId}`]),
    ]
    this.socket = connect({
      host: hostname,
      port: Number(port),
      onread: { buffer: SHARED, callback: (length) => this.#take(SHARED.subarray(0, length)) },
    })
    this.opened = new Promise((resolve, reject) => {
      this.#open = resolve
      this.socket.once('error', reject)
      this.socket.once('close', () => reject(new Error(`the stream was closed: ${this.#head}`)))
    })
    this.opened.catch(() => undefined)
    this.socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  }

  #take(piece: Buffer): boolean {
    if (this.#head !== undefined) {
      this.#head += piece.toString('latin1')
      const id = /\n\r\n[^]*^id: ?(.+)$[^]*\n\n/m.exec(this.#head)?.[1]
      if (id === undefined) return true
      const text = this.#head
      this.#head = undefined
      this.#countLines(text)
      this.#open(id)
      return true
    }
    // An event that is not here as a whole.
    if (this.#rest !== '' || piece.at(-1) !== NEW_LINE) {
      this.#countLines(this.#rest + piece.toString('latin1'))
      return true
    }
    for (let at = piece.indexOf(NUMBER); at !== -1; at = piece.indexOf(NUMBER, at)) {
      let number = 0
      at += NUMBER.length
      for (let digit; (digit = piece[at]! - ZERO) >= 0 && digit <= 9; at++) number = number * 10 + digit
      arrive(number)
    }
    return true
  }

  #countLines(text: string): void {
    const end = text.lastIndexOf('\n') + 1
    this.#rest = text.slice(end)
    for (const [, number] of text.slice(0, end).matchAll(/"n":(\d+)/g)) arrive(Number(number))
  }
}

const NEW_LINE = 10
const ZERO = 48

async function open(target: StreamTarget): Promise<StreamAnswers['open']> {
  const begun = performance.now()
  let id = ''
  let next = 0
  async function work(): Promise<void> {
    while (next < target.tokens.length) {
      const stream = new Stream(target, target.tokens[next++] || undefined)
      streams.add(stream)
      id = await stream.opened
      if (target.topic !== undefined)
        await send(
          `${target.base}/api/realtime`,
          undefined,
          JSON.stringify({ clientId: id, subscriptions: [target.topic] }),
        )
    }
  }
  await Promise.all(Array.from({ length: OPENING }, work))
  return { ms: performance.now() - begun, id }
}

async function close(): Promise<void> {
  for (const { socket } of streams) socket.destroy()
  streams.clear()
  await delay(100)
}

/** @throws Error if it is not answered by 2xx */
async function send(url: string, token: string | undefined, body: string): Promise<void> {
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  }
  await new Promise<void>((resolve, reject) => {
    const call = request(url, { method: 'POST', agent, headers }, (answer) => {
      answer.resume().on('end', resolve)
      if (answer.statusCode! > 299) reject(new Error(`POST ${url} was answered by ${answer.statusCode}`))
    })
    call.on('error', reject).end(body)
  })
}

const write = ({ base, path, token, rests }: StreamWrite, number: number): Promise<void> =>
  send(base + path, token, `{"n":${number},${rests[number % rests.length]!}`)

const processor = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

async function change({ write: one, events }: { write: StreamWrite; events: number }) {
  const used = processor()
  const number = ++sent
  let count = 0
  let first = NaN
  let last = NaN
  const begun = performance.now()
  const all = new Promise<void>((resolve) => {
    arrive = (arrived) => {
      if (arrived !== number) return
      last = performance.now() - begun
      if (++count === 1) first = last
      if (count === events) resolve()
    }
  })
  await write(one, number)
  const answered = performance.now() - begun
  await Promise.race([all, delay(LATE_MS)])
  if (count < events) throw new Error(`${count} of ${events} streams were told of a change`)
  return { answered, first, last, processor: processor() - used }
}

async function pace({
  write: one,
  events,
  perSecond,
  seconds,
}: { write: StreamWrite; events: number } & Pace) {
  const used = processor()
  const writes = perSecond * seconds
  const from = sent + 1
  const times: number[] = []
  const answered: number[] = []
  const told: number[] = []
  let arrived = () => undefined as void
  arrive = (number) => {
    const at = times[number - from]
    if (at === undefined) return
    told.push(performance.now() - at)
    arrived()
  }
  const begun = performance.now()
  const calls: Promise<void>[] = []
  while (times.length < writes) {
    const due = Math.min(writes, ((performance.now() - begun) * perSecond) / 1000)
    while (times.length < due) {
      const at = performance.now()
      times.push(at)
      calls.push(write(one, ++sent).then(() => void answered.push(performance.now() - at)))
    }
    await delay(1)
  }
  await Promise.all(calls)
  const ms = performance.now() - begun
  const expected = writes * events
  await Promise.race([
    delay(LATE_MS),
    new Promise<void>((resolve) => {
      arrived = () => void (told.length >= expected && resolve())
      arrived()
    }),
  ])
  const both = (values: number[]) => [quantile(values, 0.5), quantile(values, 0.99)] as const
  return {
    answered: both(answered),
    told: both(told),
    writes,
    ms,
    missing: expected - told.length,
    processor: processor() - used,
  }
}

async function resume({ target, events }: { target: StreamTarget; events: number }) {
  let count = 0
  const begun = performance.now()
  const all = new Promise<void>((resolve) => {
    arrive = () => void (++count === events && resolve())
  })
  await open(target)
  await Promise.race([all, delay(LATE_MS)])
  const ms = performance.now() - begun
  if (count < events) throw new Error(`${count} of ${events} missed changes were told`)
  return { ms }
}

function run(command: StreamCommand): Promise<unknown> {
  switch (command.kind) {
    case 'open':
      return open(command)
    case 'close':
      return close()
    case 'change':
      return change(command)
    case 'pace':
      return pace(command)
    case 'resume':
      return resume(command)
  }
}

process.on('message', (command: StreamCommand) => {
  run(command).then(
    (answer) => process.send!({ answer }),
    (error: unknown) => process.send!({ error: (error as Error).message }),
  )
})
