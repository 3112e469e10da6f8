import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

import fastify from 'fastify'

import type { Logger } from '../base/logger.ts'
import { createServer as createHttpServer } from '../base/node-http.ts'
import { connectionLimit } from './connection-limit.ts'
import { HEAD_MAX, type ParserError } from './head.ts'
import { inTurn } from './in-turn.ts'
import { limitSending, type SendingLimit } from './sending.ts'

const HEADERS_MS = 60_000
const NO_COMPILER = (() => () => () => true) as never

/** What answers the requests of a port. */
export type PortServer = {
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void
  /** Whether an answer under way is the last one of its connection. */
  readonly isLast: (response: ServerResponse) => boolean
  /** Whether a request is for a mount, such as the sandbox, which answers until it ends. */
  readonly isMounted: (request: IncomingMessage) => boolean
  /** Answers on a connection whose bytes are no request. */
  readonly answerUnreadable: (error: ParserError, socket: Duplex) => void
  /** Answers a CONNECT. */
  readonly refuseTunnel: (socket: Duplex) => void
}

/**
 * A port and its connections, which outlast the server that answers: another one may take its place between two requests, on
 * connections that stay open.
 */
export type Port = {
  /** What clients have not taken yet of their answers. */
  readonly sending: SendingLimit
  /** The next requests go to this server; those that an earlier one has begun stay with it. */
  serve(server: PortServer): void
  /** Lets requests wait until the next `serve`, but those for mounts: what the server does to end may need them. */
  hold(): void
  /** Opens the port; answers the address it listens on. */
  listen(options: { host: string; port: number }): Promise<string>
  isListening(): boolean
  /** A server has ended. Its port ends with it, and all connections, unless another one has taken it over. */
  leave(server: PortServer): Promise<void>
  /** Closes the port and every connection. */
  close(): Promise<void>
}

/** Makes a port that is not open yet. */
export function createPort(log: Logger): Port {
  const sending = limitSending()
  const servers = new Set<PortServer>()
  const held: [IncomingMessage, ServerResponse][] = []
  let current: PortServer | undefined
  let isHeld = false

  function handle(request: IncomingMessage, response: ServerResponse): void {
    if (current && !(isHeld && !current.isMounted(request))) current.handle(request, response)
    else held.push([request, response])
  }

  // The engine opens the port, as it does for its own routes, of which this one has none: `localhost` is two addresses.
  const engine = fastify({
    requestTimeout: 0,
    forceCloseConnections: true,
    return503OnClosing: false,
    // Else the engine loads its own, which this one does not need.
    schemaController: {
      compilersFactory: { buildValidator: NO_COMPILER, buildSerializer: NO_COMPILER },
    },
    clientErrorHandler(error, socket) {
      if (!socket.destroyed && socket.writable) current?.answerUnreadable(error, socket)
    },
    serverFactory(_handle, { keepAliveTimeout, requestTimeout }) {
      const server = createHttpServer(
        // Node answers a request without a Host itself, without a body: headFault does.
        { maxHeaderSize: HEAD_MAX, requireHostHeader: false },
        inTurn(handle, {
          sending,
          isLast: (response) => [...servers].some((one) => one.isLast(response)),
        }),
      )
      const maxConnections = connectionLimit(log)
      Object.assign(server, {
        keepAliveTimeout,
        requestTimeout,
        headersTimeout: HEADERS_MS,
        ...(maxConnections && { maxConnections }),
      })
      // Without a listener Node would close the connection without an answer.
      server.on('connect', (_request, socket) => {
        // Node removes its own listeners from this socket: without these an error ends the process, and nothing closes it.
        socket.on('error', () => undefined)
        current?.refuseTunnel(socket)
      })
      // Node would answer it without a body: headFault does.
      server.on('checkExpectation', (request, response) => server.emit('request', request, response))
      return server
    },
  })
  engine.addHook('onClose', sending.close)

  return {
    sending,
    serve(server) {
      servers.add(server)
      current = server
      isHeld = false
      for (const [request, response] of held.splice(0))
        // If the client has disconnected, its response emits no further `close`, so the request would never stop counting as running.
        if (!response.destroyed) server.handle(request, response)
    },
    hold() {
      isHeld = true
    },
    listen: (where) => engine.listen(where),
    isListening: () => engine.server.listening,
    async leave(server) {
      servers.delete(server)
      if (current === server && !isHeld) await engine.close()
    },
    close: () => engine.close(),
  }
}
