import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

import { hasLargeBody } from './shares.ts'

/** How many requests may wait behind the one that is answered: on one connection, and on all together. */
const AHEAD_MAX = { ofConnection: 256, total: 8192 }

type Handle = (request: IncomingMessage, response: ServerResponse) => void
type Exchange = { request: IncomingMessage; response: ServerResponse }

/**
 * Handles one request of a connection at a time, as https://www.rfc-editor.org/rfc/rfc9112#section-9.3.2 permits: the next
 * one begins when the client has taken the answer before it, and no more is read until then. Node by itself handles all
 * requests that arrive, and keeps their answers. What has arrived with one read waits as it is; a connection on which too
 * many wait is closed.
 *
 * @param isLast whether an answer that is under way is the last one of its connection: a request behind it closes that
 */
export function inTurn(
  handle: Handle,
  isLast: (response: ServerResponse) => boolean,
  max = AHEAD_MAX,
): Handle {
  const connections = new WeakMap<Socket, Connection>()
  const waiting = { count: 0 }
  return (request, response) => {
    const { socket } = request
    let connection = connections.get(socket)
    if (!connection)
      connections.set(socket, (connection = new Connection(socket, handle, waiting, isLast, max)))
    connection.receive(request, response)
  }
}

class Connection {
  readonly #socket: Socket
  readonly #handle: Handle
  /** Of all connections. */
  readonly #waiting: { count: number }
  readonly #isLast: (response: ServerResponse) => boolean
  readonly #max: typeof AHEAD_MAX
  readonly #ahead: Exchange[] = []
  readonly #next = (): void => this.#startNext()
  #answering: ServerResponse | undefined

  constructor(
    socket: Socket,
    handle: Handle,
    waiting: { count: number },
    isLast: (response: ServerResponse) => boolean,
    max: typeof AHEAD_MAX,
  ) {
    this.#socket = socket
    this.#handle = handle
    this.#waiting = waiting
    this.#isLast = isLast
    this.#max = max
    // Node resumes the socket itself, for a body or for a client that takes its answer.
    socket.on('resume', () => {
      if (this.#ahead.length > 0) this.#stopReading()
    })
  }

  receive(request: IncomingMessage, response: ServerResponse): void {
    if (!this.#answering) return this.#start(request, response)
    const isFull = this.#ahead.length >= this.#max.ofConnection || this.#waiting.count >= this.#max.total
    if (isFull || this.#isLast(this.#answering)) return void this.#socket.destroy()
    this.#ahead.push({ request, response })
    this.#waiting.count++
    this.#stopReading()
  }

  #start(request: IncomingMessage, response: ServerResponse): void {
    this.#answering = response
    // Until it is read, which resumes the socket: else 128 KiB of it are, also of a request that waits for its place.
    if (hasLargeBody(request.headers)) this.#socket.pause()
    this.#handle(request, response)
    // After what the server itself does then.
    response.once('close', this.#next)
  }

  #startNext(): void {
    this.#answering = undefined
    // An answer with `connection: close` is the last one.
    if (!this.#socket.writable) {
      this.#waiting.count -= this.#ahead.length
      this.#ahead.length = 0
      return
    }
    const next = this.#ahead.shift()
    if (!next) return
    this.#waiting.count--
    this.#start(next.request, next.response)
    // The rest of its body may not have been read.
    if (this.#ahead.length === 0) this.#socket.resume()
  }

  #stopReading(): void {
    // Node stops at the event, which comes only if the socket is not paused already.
    if (this.#socket.isPaused()) this.#socket.emit('pause')
    else this.#socket.pause()
  }
}
