import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'

/**
 * Stands between a server and its database as a network would, and hands on each piece of a request `ms` later.
 *
 * @returns the address of the database through it
 */
export async function startDelay(target: string, ms: number): Promise<string> {
  const { hostname: host, port } = new URL(target)
  const listener = createServer({ noDelay: true }, (client) => {
    const server = connect({ host, port: Number(port), noDelay: true })
    const end = () => {
      client.destroy()
      server.destroy()
    }
    for (const socket of [client, server]) socket.on('error', end).on('close', end)
    client.on('data', (bytes) => void setTimeout(() => server.write(bytes), ms))
    server.on('data', (bytes) => void client.write(bytes))
  })
  await once(listener.listen(0, '127.0.0.1'), 'listening')
  listener.unref()
  const url = new URL(target)
  url.port = String((listener.address() as AddressInfo).port)
  return url.href
}
