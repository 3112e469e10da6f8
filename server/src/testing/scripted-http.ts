// A server that answers as a test tells it to, for the clients of providers.
import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

import { createServer } from '../base/node-http.ts'
import type { Ending } from './engines.ts'

/** A request whose body has arrived. */
export type ScriptedRequest = {
  method: string
  path: string
  query: URLSearchParams
  body: string
  /** The body as a form. */
  form: URLSearchParams
  /** The body as JSON; undefined if it is no object. */
  json: Record<string, unknown> | undefined
  headers: IncomingMessage['headers']
}

export type ScriptedAnswer = (asked: ScriptedRequest, response: ServerResponse) => void

export type ScriptedServer = {
  /** The requests so far. */
  asked: ScriptedRequest[]
  server: Server
  port: number
}

/** Starts a server on a free port, and ends it with the test or suite. */
export async function startScriptedServer(ending: Ending, answer: ScriptedAnswer): Promise<ScriptedServer> {
  const asked: ScriptedRequest[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const url = new URL(request.url!, 'http://localhost')
      const body = Buffer.concat(chunks).toString()
      const one: ScriptedRequest = {
        method: request.method!,
        path: url.pathname,
        query: url.searchParams,
        body,
        form: new URLSearchParams(body),
        json: body.startsWith('{') ? (JSON.parse(body) as Record<string, unknown>) : undefined,
        headers: request.headers,
      }
      asked.push(one)
      answer(one, response)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  ending.after(async () => {
    server.close()
    server.closeAllConnections()
    if (server.listening) await once(server, 'close')
  })
  return { asked, server, port: (server.address() as AddressInfo).port }
}

export function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}
