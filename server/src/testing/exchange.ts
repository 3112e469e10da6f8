import type { Agent, IncomingHttpHeaders } from 'node:http'

import { request } from '../base/node-http.ts'

export type Exchanged = { status: number; headers: IncomingHttpHeaders; text: string }

const PATIENCE_MS = 60_000 // a busy machine is no fault

/**
 * Sends a request as it stands: neither its path nor its headers are tidied up on the way, as `fetch` would.
 * The path may hold any of U+0021 to U+00FF, a header any of U+0020 to U+00FF.
 *
 * @param agent keeps connections open between many requests; by default each has its own
 * @param isRepeated whether it is sent again where the server closes a connection in the moment in which it is used
 *   again (https://nodejs.org/api/http.html#requestreusedsocket): the server may have had the first one, too
 * @throws where no answer comes within a minute
 */
export function exchange(
  url: string,
  asked: { method: string; path: string; headers: Record<string, string>; body: Uint8Array | undefined },
  agent: Agent | false = false,
  isRepeated = false,
): Promise<Exchanged> {
  const { method, path, headers, body } = asked
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        agent,
        hostname,
        port,
        method,
        path,
        headers: { ...headers, ...(body && { 'content-length': body.length }) },
        signal: AbortSignal.timeout(PATIENCE_MS),
      },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () =>
          resolve({
            status: response.statusCode!,
            headers: response.headers,
            text: Buffer.concat(chunks).toString(),
          }),
        )
      },
    )
    sent.on('error', (error: NodeJS.ErrnoException) => {
      if (isRepeated && sent.reusedSocket && error.code === 'ECONNRESET') resolve(exchange(url, asked))
      else reject(error)
    })
    sent.end(body)
  })
}
