import { once } from 'node:events'
import { createServer } from 'node:net'

// Nobody listens on a port between its choice and its use, so processes choose from parts of their own.
const PORTS = 100
const first = 20_000 + (process.pid % 100) * PORTS
let next = Math.floor(Math.random() * PORTS)

/** A port that nobody listens on, below those that the system gives to connections and to programs that name none. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = first + (next++ % PORTS)
    const server = createServer().listen(port, '127.0.0.1')
    try {
      await once(server, 'listening')
    } catch (error) {
      if ((error as { code?: string }).code !== 'EADDRINUSE') throw error
      continue
    }
    server.close()
    await once(server, 'close')
    return port
  }
}
