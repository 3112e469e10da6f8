import type { ServerResponse } from 'node:http'

const SEND_MS = 30_000

/**
 * Closes the connection of a client that reads nothing of its answer for some time, which takes memory until then. An
 * answer that is not there yet, or comes from a slow source, may take as long as it needs.
 */
export function limitSending(response: ServerResponse, limitMs = SEND_MS): void {
  // Node counts each piece that the client takes as activity, also one that was handed over before.
  response.setTimeout(limitMs)
  response.on('timeout', (socket: ServerResponse['socket']) => {
    if (socket!.writableLength > 0) socket!.destroy()
    else socket!.setTimeout(limitMs)
  })
}
