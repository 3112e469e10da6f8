import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'

import type { Ending } from './engines.ts'

/**
 * Starts a server that accepts TCP connections and never sends anything: `host` with its port.
 * `requests` counts the connections on which something was received.
 */
export async function startSilence(
  ending: Ending,
): Promise<{ host: string; connections(): number; requests(): number }> {
  const sockets: Socket[] = []
  const speaking = new Set<Socket>()
  const server = createServer((socket) => {
    // A client that gives up may do so with a reset.
    socket.on('error', () => undefined).on('data', () => speaking.add(socket))
    sockets.push(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  ending.after(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { host: `127.0.0.1:${port}`, connections: () => sockets.length, requests: () => speaking.size }
}
