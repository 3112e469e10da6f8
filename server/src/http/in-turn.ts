import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

import type { SendingLimit } from './sending.ts'
import { hasLargeBody } from './traffic.ts'

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
 * @param options.sending has the answers under way
 * @param options.isLast whether an answer that is under way is the last one of its connection: a request behind it closes that
 */
export function inTurn(handle: Handle, options: InTurnOptions): Handle {
  const context = { handle, max: AHEAD_MAX, ...options, waiting: 0 }
  const connections = new WeakMap<Socket, Connection>()
  return (request, response) => {
    const { socket } = request
    let connection = connections.get(socket)
    if (!connection) connections.set(socket, (connection = new Connection(socket, context)))
    connection.receive(request, response)
  }
}

type InTurnOptions = {
  sending: Pick<SendingLimit, 'begin' | 'end'>
  isLast: (response: ServerResponse) => boolean
  max?: typeof AHEAD_MAX
}

/** What all connections share; `waiting` is how many requests wait on all of them. */
type InTurnContext = Required<InTurnOptions> & { handle: Handle; waiting: number }

class Connection {
  readonly #socket: Socket
  readonly #context: InTurnContext
  readonly #ahead: Exchange[] = []
  #answering: ServerResponse | undefined

  constructor(socket: Socket, context: InTurnContext) {
    this.#socket = socket
    this.#context = context
    // Node resumes the socket itself, for a body or for a client that takes its answer.
    socket.on('resume', () => {
      if (this.#ahead.length > 0) this.#stopReading()
    })
  }

  receive(request: IncomingMessage, response: ServerResponse): void {
    if (!this.#answering) return this.#start(request, response)
    const { max, isLast } = this.#context
    const isFull = this.#ahead.length >= max.ofConnection || this.#context.waiting >= max.total
    if (isFull || isLast(this.#answering)) return void this.#socket.destroy()
    this.#ahead.push({ request, response })
    this.#context.waiting++
    this.#stopReading()
  }

  #start(request: IncomingMessage, response: ServerResponse): void {
    this.#answering = response
    this.#context.sending.begin(response)
    // Until it is read, which resumes the socket: else 128 KiB of it are, also of a request that waits for its place.
    if (hasLargeBody(request.headers)) this.#socket.pause()
    this.#context.handle(request, response)
    // After what the server itself does then.
    response.on('close', this.#startNext)
  }

  readonly #startNext = (): void => {
    this.#context.sending.end(this.#answering!)
    this.#answering = undefined
    const ahead = this.#ahead
    // An answer with `connection: close` is the last one.
    if (!this.#socket.writable) {
      this.#context.waiting -= ahead.length
      ahead.length = 0
      return
    }
    const next = ahead.shift()
    if (!next) return
    this.#context.waiting--
    this.#start(next.request, next.response)
    // The rest of its body may not have been read.
    if (ahead.length === 0) this.#socket.resume()
  }

  #stopReading(): void {
    // Node stops at the event, which comes only if the socket is not paused already.
    if (this.#socket.isPaused()) this.#socket.emit('pause')
    else this.#socket.pause()
  }
}
