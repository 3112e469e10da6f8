// A peer that does to a connection what a test says, over plain HTTP or TLS.
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'

import { selfSigned } from '../testing/certificate.ts'
import type { Ending } from '../testing/engines.ts'
import { createOutbound, type Outbound, type OutboundOptions } from './outbound.ts'

export const SCHEMES = ['http', 'https'] as const
export type Scheme = (typeof SCHEMES)[number]

export type Peer = {
  /** `https://localhost:1234` */
  origin: string
  port: number
  /** What came over each connection, in the order of the connections. */
  received: string[]
  /** How many connections there were, whatever came over them. */
  connections(): number
  /** Connections that are open now. */
  open(): number
  /** An outbound whose base is this peer. */
  outbound(options?: OutboundOptions): Outbound
  stop(): Promise<void>
}

/**
 * Starts a peer on the loopback address.
 *
 * @param onRequest called once per request head that came, with the whole text of the connection so far
 * @param options.onConnection called before anything was read
 */
export async function startPeer(
  ending: Ending,
  onRequest: (socket: Socket, text: string, requests: number) => void,
  options: { scheme?: Scheme; host?: string; port?: number; onConnection?: (socket: Socket) => void } = {},
): Promise<Peer> {
  const { scheme = 'http', host = '127.0.0.1', port: wanted = 0, onConnection } = options
  const received: string[] = []
  const sockets = new Set<Socket>()
  let requests = 0
  let connections = 0
  const certificate = selfSigned()
  const accept = (socket: Socket): void => {
    sockets.add(socket)
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
    const at = received.push('') - 1
    onConnection?.(socket)
    socket.on('data', (chunk: Buffer) => {
      const heads = (text: string): number => text.split('\r\n\r\n').length
      const before = heads(received[at]!)
      received[at] += chunk.toString('latin1')
      if (heads(received[at]!) > before) onRequest(socket, received[at]!, ++requests)
    })
  }
  const server = scheme === 'https' ? createTlsServer(certificate, accept) : createServer(accept)
  // The sockets below TLS: what ends in the handshake never becomes a connection.
  server.on('connection', (socket: Socket) => {
    connections++
    sockets.add(socket)
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
  })
  server.on('tlsClientError', () => undefined)
  server.listen(wanted, host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const origin = `${scheme}://localhost:${port}`
  const opened: Outbound[] = []
  async function stop(): Promise<void> {
    for (const socket of sockets) socket.destroy()
    if (!server.listening) return
    server.close()
    await once(server, 'close')
  }
  ending.after(async () => {
    for (const one of opened) one.close()
    await stop()
  })
  return {
    origin,
    port,
    received,
    connections: () => connections,
    open: () => sockets.size,
    outbound(more = {}) {
      const outbound = createOutbound({ base: origin, ca: certificate.cert, lookup: answers(host), ...more })
      opened.push(outbound)
      return outbound
    },
    stop,
  }
}

/** A lookup that answers each name with these addresses, one list per lookup, the last one ever after. */
export function answers(...lists: (string | readonly string[])[]): NonNullable<OutboundOptions['lookup']> {
  let lookups = 0
  return (_hostname, options, callback) => {
    const list = [lists[Math.min(lookups++, lists.length - 1)]!].flat()
    const addresses = list.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
    if (options.all) callback(null, addresses)
    else callback(null, addresses[0]!.address, addresses[0]!.family)
  }
}

/** A whole HTTP/1.1 answer. */
export const answer = (
  body: string,
  { status = 200, headers = {} }: { status?: number; headers?: Record<string, string> } = {},
): string =>
  [
    `HTTP/1.1 ${status} as scripted`,
    `content-length: ${Buffer.byteLength(body)}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    '',
    body,
  ].join('\r\n')
