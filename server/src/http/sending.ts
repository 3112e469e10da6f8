import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

const SEND_MS = 30_000
const CHECKS = 3
const CHECK_MS = 100
const HELD_MAX = 33_554_432

/** What Node knows of a socket beyond its documentation: how much of a piece the system has not taken yet. */
type Inner = { _handle?: { writeQueueSize?: number } | null }

/** What a connection's client is to take: how many bytes, and how far it is since when. */
type Backlog = { bytes: number; progress: string | undefined; since: number }

/** How far a connection's answers are; undefined if nothing of them waits for the client. */
function progressOf(socket: Socket): string | undefined {
  if (socket.writableLength === 0) return undefined
  // Not by the socket's own timeout: that starts again with each byte that the client sends.
  const { writeQueueSize } = (socket as Inner)._handle ?? {}
  return `${socket.bytesWritten} ${socket.writableLength} ${writeQueueSize}`
}

export type SendingLimit = ReturnType<typeof limitSending>

/**
 * Closes the connections of clients that take nothing of their answers for some time; they fill memory until then. An
 * answer that is not there yet, or comes from a slow source, may take as long as it needs. If all answers together hold
 * too much memory, connections are closed at once: first the one whose client has not read for the longest time, and of those
 * whose clients have just read the one that holds most.
 *
 * @param heldMax bytes
 */
export function limitSending(limitMs = SEND_MS, heldMax = HELD_MAX) {
  // Not a set of answers: it would be copied every few hundred requests, and a copy that is garbage keeps what it refers to, with
  // all of each request, until the next collection of the old generation.
  const answers = new Map<Socket, ServerResponse | undefined>()
  let last = new Map<Socket, Backlog>()

  function closeStuck(): void {
    const now = performance.now()
    const backlogs = new Map<Socket, Backlog>()
    let bytes = 0
    for (const [socket, answer] of answers) {
      const own = answer?.writableLength ?? 0
      if (own === 0) continue
      bytes += own
      backlogs.set(socket, { bytes: own, ...positionOf(socket, now) })
    }
    last = backlogs
    const longestFirst = [...backlogs].toSorted(([, a], [, b]) => a.since - b.since || b.bytes - a.bytes)
    for (const [socket, one] of longestFirst) {
      if (now - one.since < limitMs && bytes <= heldMax) return
      socket.destroy()
      bytes -= one.bytes
    }
  }

  function positionOf(socket: Socket, now: number): Pick<Backlog, 'progress' | 'since'> {
    const progress = progressOf(socket)
    const before = last.get(socket)
    const isStuck = progress !== undefined && progress === before?.progress
    return { progress, since: isStuck ? before.since : now }
  }

  const timer = setInterval(closeStuck, Math.min(CHECK_MS, limitMs / CHECKS)).unref()

  return {
    /** An answer is under way, the only one of its connection; or an open one has something unsent. */
    begin(response: ServerResponse): void {
      const { socket } = response.req
      if (socket.destroyed) return
      if (!answers.has(socket)) socket.once('close', () => answers.delete(socket))
      answers.set(socket, response)
    },
    /** It is sent, or has nothing unsent for now. */
    end({ req: { socket } }: ServerResponse): void {
      if (answers.has(socket)) answers.set(socket, undefined)
    },
    close: () => clearInterval(timer),
  }
}
