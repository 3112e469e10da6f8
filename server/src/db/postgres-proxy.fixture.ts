import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/**
 * What happens to a request on its way to the server:
 * `lose request`: the connection breaks before it arrives; `lose answer`: it breaks after the server answered;
 * `silence`: from then on nothing comes through, and the connection stays.
 */
export type Fate = 'pass' | 'lose request' | 'lose answer' | 'silence'

/** Stands between a database and its PostgreSQL, and breaks connections if a test wants it. */
export async function startProxy(target: string) {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  let fateOf: (request: string) => Fate = () => 'pass'
  let roundTrips = 0
  let isSilent = false

  function accept(client: Socket): void {
    const server = connect(Number(port), hostname)
    let fate: Fate = 'pass'
    let awaitsAnswer = false
    const end = (): void => {
      client.destroy()
      server.destroy()
      sockets.delete(client)
    }
    sockets.add(client)
    for (const socket of [client, server]) socket.on('error', end).on('close', end)
    client.on('data', (bytes) => {
      if (!awaitsAnswer) roundTrips++
      awaitsAnswer = true
      if (fate === 'pass') fate = fateOf(bytes.toString('latin1'))
      if (fate === 'lose request') end()
      else if (fate !== 'silence' && !isSilent) server.write(bytes)
    })
    server.on('data', (bytes) => {
      awaitsAnswer = false
      if (fate === 'lose answer') end()
      else if (fate !== 'silence' && !isSilent) client.write(bytes)
    })
  }

  const listener = createServer(accept)
  await once(listener.listen(0, '127.0.0.1'), 'listening')
  const own = (listener.address() as AddressInfo).port
  const url = new URL(target)
  url.host = `127.0.0.1:${own}`

  return {
    url: url.href,
    /** How often a client has sent something and then waited for its answer, over all connections. */
    roundTrips: (): number => roundTrips,
    /** Decides what happens to requests with this text, the first time only. */
    once: (text: string, fate: Fate): void => {
      fateOf = (request) => {
        if (!request.includes(text)) return 'pass'
        fateOf = () => 'pass'
        return fate
      }
    },
    /** Lets nothing through any more, and keeps the connections: a server that hangs. */
    silence: (): void => {
      isSilent = true
    },
    /** Breaks every connection and takes no new one. */
    down: async (): Promise<void> => {
      const closed = once(listener, 'close')
      listener.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
    /** Takes connections again, at the same address. */
    up: async (): Promise<void> => {
      await once(listener.listen(own, '127.0.0.1'), 'listening')
    },
  }
}
