import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'

import { defineWire } from '../kernel/wire.ts'
import type { TestApp } from '../testing/app.ts'
import type { Ending } from '../testing/engines.ts'
import { eventStream, type EventSink } from './event-stream.ts'
import { NoBody, route } from './route.ts'

/** A wire with a stream to which the test writes. */
export function tickerWire() {
  const sinks = new Set<EventSink>()
  const open = () =>
    eventStream((sink) => {
      sinks.add(sink)
      sink.write('data: open\n\n')
      return {
        drained: () => void sink.write('data: drained\n\n'),
        ending: (reason) => `event: end\ndata: ${reason}\n\n`,
        closed: () => void sinks.delete(sink),
      }
    })
  const ticker = defineWire({
    name: 'ticker',
    setup: () => ({
      service: undefined,
      routes: [
        route(
          'GET /ticker',
          { summary: 'Follow the ticker', access: 'user', stream: true, reply: { 200: NoBody } },
          open,
        ),
        route(
          'GET /ticker/public',
          {
            summary: 'Follow the ticker as a stranger',
            access: 'public',
            stream: true,
            reply: { 200: NoBody },
          },
          open,
        ),
      ] as const,
    }),
  })
  return {
    ticker,
    write: (text: string | Buffer) => [...sinks].map((sink) => sink.write(text)),
    sinks,
    open: () => sinks.size,
  }
}

export type TestStream = {
  status: number
  headers: IncomingMessage['headers']
  /** Everything received so far. */
  text(): string
  /** Whether the answer has ended, or was cut. */
  isOver(): boolean
  response: IncomingMessage
}

/** Opens a stream as a client does. */
export async function streamOf(
  ending: Ending,
  { url }: Pick<TestApp, 'url'>,
  { path = '/ticker', token, headers }: { path?: string; token?: string; headers?: Record<string, string> },
): Promise<TestStream> {
  const call = request(url + path, {
    agent: false,
    headers: { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...headers },
  })
  ending.after(async () => void call.destroy())
  call.end()
  const [response] = (await once(call, 'response')) as [IncomingMessage]
  call.on('error', () => undefined)
  let text = ''
  response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  response.on('error', () => undefined)
  return {
    status: response.statusCode!,
    headers: response.headers,
    text: () => text,
    isOver: () => response.closed,
    response,
  }
}
