import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'

import { Type } from '../base/schema.ts'
import { errors } from '../base/errors.ts'
import { defineWire } from '../kernel/wire/wire.ts'
import type { Ending } from '../testing/engines.ts'
import { eventStream, type EventSink } from './event-stream.ts'
import { NoBody, route } from './route.ts'

/** What a ticker says when its server ends it. */
export const lastText = (reason: string): string => `event: end\ndata: ${reason}\n\n`

/** A wire whose streams the test writes to: for users, for everybody, and one beside JSON. */
export function tickerWire() {
  const sinks = new Set<EventSink>()
  const follow = () =>
    eventStream((sink) => {
      sinks.add(sink)
      sink.write('data: open\n\n')
      return {
        drained: () => void sink.write('data: drained\n\n'),
        ending: lastText,
        closed: () => void sinks.delete(sink),
      }
    })
  const broken = (isHeadSent: boolean) =>
    eventStream((sink) => {
      if (isHeadSent) sink.write('data: open\n\n')
      throw isHeadSent ? new TypeError('this is a bug') : errors.conflict()
    })
  const mayAnswer = Promise.withResolvers<void>()
  let waiting = 0
  const late = async () => {
    waiting++
    await mayAnswer.promise
    return follow()
  }
  const nothing = { stream: true, reply: { 200: NoBody } } as const
  const ticker = defineWire({
    name: 'ticker',
    setup: () => ({
      service: undefined,
      routes: [
        route('GET /ticker', { summary: 'Follow the ticker', access: 'user', ...nothing }, follow),
        route(
          'GET /ticker/open',
          { summary: 'Follow it as a stranger', access: 'public', ...nothing },
          follow,
        ),
        route('GET /ticker/refused', { summary: 'Refuse to open', access: 'public', ...nothing }, () =>
          broken(false),
        ),
        route('GET /ticker/broken', { summary: 'Fail after the head', access: 'public', ...nothing }, () =>
          broken(true),
        ),
        route(
          'GET /ticker/late',
          { summary: 'Open when the test says so', access: 'public', ...nothing },
          late,
        ),
        route(
          'GET /ticker/either',
          {
            summary: 'Answer JSON, or a stream',
            access: 'public',
            headers: Type.Object({ accept: Type.Optional(Type.String()) }),
            stream: true,
            reply: { 200: Type.Object({ price: Type.Integer() }, { title: 'Price' }) },
          },
          ({ headers }) => (headers.accept === 'application/json' ? { price: 1 } : follow()),
        ),
      ] as const,
    }),
  })
  return {
    ticker,
    /** Writes to all streams. */
    write: (text: string | Buffer): void => sinks.forEach((sink) => sink.write(text)),
    sinks,
    /** Calls of `/ticker/late`, which are answered from `answerLate` on. */
    waiting: () => waiting,
    answerLate: () => mayAnswer.resolve(),
    count: () => sinks.size,
  }
}

export type TestStream = {
  status: number
  headers: IncomingMessage['headers']
  /** Everything received so far. */
  text: () => string
  /** Whether the answer has ended, or was cut. */
  isOver: () => boolean
  /** Of the client. */
  close: () => void
  response: IncomingMessage
}

export type StreamRequest = {
  method?: string
  token?: string | undefined
  headers?: Record<string, string>
  /** The address of the client. */
  from?: string
}

/** Opens a stream on a connection of its own. */
export async function openStream(
  ending: Ending,
  url: string,
  { method = 'GET', token, headers, from }: StreamRequest = {},
): Promise<TestStream> {
  const call = request(url, {
    method,
    agent: false,
    ...(from !== undefined && { localAddress: from }),
    headers: { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...headers },
  })
  ending.after(async () => void call.destroy())
  call.end()
  const [response] = (await once(call, 'response')) as [IncomingMessage]
  call.on('error', () => undefined)
  let text = ''
  response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  response.on('error', () => undefined) // the server cuts it
  return {
    status: response.statusCode!,
    headers: response.headers,
    text: () => text,
    isOver: () => response.closed,
    close: () => void call.destroy(),
    response,
  }
}
