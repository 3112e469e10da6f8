import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'

/** A port that nobody listens on. Another program that looks for one may get the same. */
export const freePort = (): Promise<number> => probe(0)

/** A port that nobody listens on, below those that the system gives to programs that look for one. */
export async function lowPort(): Promise<number> {
  for (;;)
    try {
      return await probe(20_000 + Math.floor(Math.random() * 10_000))
    } catch (error) {
      if ((error as { code?: string }).code !== 'EADDRINUSE') throw error
    }
}

async function probe(wanted: number): Promise<number> {
  const server = createServer().listen(wanted, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
