import type { ServerResponse } from 'node:http'

const SEND_MS = 30_000
const LOOKS = 3
const HELD_MAX = 67_108_864
const HELD_LOOK_MS = 100

/** What Node knows of a socket beyond its documentation: how much of a piece the system has not taken yet. */
type Inner = { _handle?: { writeQueueSize?: number } | null }

/** How far an answer is; undefined if nothing of it waits for the client. */
function progressOf({ socket }: ServerResponse): string | undefined {
  if (!socket || socket.writableLength === 0) return undefined
  // Not by the socket's own timeout: that starts again with each byte that the client sends.
  const { writeQueueSize } = (socket as Inner)._handle ?? {}
  return `${socket.bytesWritten} ${socket.writableLength} ${writeQueueSize}`
}

/**
 * Closes the connections of clients that take nothing of their answer for some time; it fills memory until then. An
 * answer that is not there yet, or comes from a slow source, may take as long as it needs. If all answers together hold
 * too much memory, the connections that hold most are closed at once.
 *
 * @param heldMax bytes
 */
export function limitSending(limitMs = SEND_MS, heldMax = HELD_MAX) {
  /** The answers that are not sent completely, with where each stands since when. */
  const unsent = new Map<ServerResponse, { progress: string | undefined; since: number }>()

  function look(): void {
    const now = performance.now()
    for (const [response, last] of unsent) {
      const progress = progressOf(response)
      if (progress === undefined || progress !== last.progress) unsent.set(response, { progress, since: now })
      else if (now - last.since >= limitMs) response.destroy()
    }
  }

  function lookAtHeld(): void {
    let held = 0
    for (const response of unsent.keys()) held += response.writableLength
    if (held <= heldMax) return
    // A client may have asked several times before it reads the first answer.
    const connections = [...Map.groupBy(unsent.keys(), ({ req }) => req.socket)].map(
      ([socket, responses]) => ({
        socket,
        bytes: responses.reduce((sum, { writableLength }) => sum + writableLength, 0),
      }),
    )
    for (const { socket, bytes } of connections.toSorted((a, b) => b.bytes - a.bytes)) {
      if (held <= heldMax) return
      socket.destroy()
      held -= bytes
    }
  }

  const timers = [setInterval(look, limitMs / LOOKS).unref(), setInterval(lookAtHeld, HELD_LOOK_MS).unref()]

  return {
    watch(response: ServerResponse): void {
      unsent.set(response, { progress: undefined, since: 0 })
      response.once('close', () => unsent.delete(response))
    },
    close: () => timers.forEach((timer) => clearInterval(timer)),
  }
}
