import type { Agent as HttpAgent, IncomingHttpHeaders } from 'node:http'
import { Agent as TlsAgent, request as httpsRequest } from 'node:https'
import { isIP, type LookupFunction, type Socket } from 'node:net'

import type { Clock } from '../base/clock.ts'
import { Agent, globalAgent, request as httpRequest } from '../base/node-http.ts'
import { allowedLookup, RefusedAddressError, type IsRefused } from './addresses.ts'

/** How a call ended. A `reason` is one sentence without credentials, and without more of an address than its origin. */
export type Reply =
  /** The whole answer came. */
  | { kind: 'answered'; status: number; headers: IncomingHttpHeaders; body: Buffer }
  /** Certainly nothing of the request has left: no address, no connection, no TLS, or a refused address. */
  | { kind: 'not-sent'; reason: string }
  /** The request, or a part of it, has left and no whole answer came: nobody here knows what it did. */
  | { kind: 'unknown'; reason: string }

export type OutboundMethod = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** One request as it is sent. */
export type OutboundRequest = {
  url: URL
  method: OutboundMethod
  headers: Readonly<Record<string, string>>
  body: string | Buffer | undefined
  /** Milliseconds for connecting: DNS, TCP and TLS together. */
  connectMs: number
  /** Milliseconds for all of it, the answer's body included. */
  limitMs: number
  /** The largest body of an answer. */
  maxBytes: number
  /** What the peer is called in reasons. */
  name: string
  /** Ends it at once. */
  signal: AbortSignal | undefined
}

/** Makes one request over one connection, once. Resolves within its limits, and never rejects. */
export type Send = (exchange: OutboundRequest) => Promise<Reply>

const CHUNKS_MAX = 1024

/** The proxies that Node itself uses: undefined where it was not told to (the types lack `options`). */
const proxyEnv = (): NodeJS.ProcessEnv | undefined =>
  (globalAgent as HttpAgent & { readonly options: { proxyEnv?: NodeJS.ProcessEnv } }).options.proxyEnv

/**
 * Sends requests by `node:http` and `node:https`. Nothing of a request is written before its connection stands and the
 * peer's address was checked: so a failure before that is certainly `not-sent`, and each later one is `unknown`.
 *
 * Requests go through the proxies of the environment where Node is told to use them (`NODE_USE_ENV_PROXY=1`); with
 * `isRefused` they never do, because a proxy would choose the address.
 *
 * @param options.keepAlive whether connections are kept for further requests
 * @param options.ca what certificates are checked against, in PEM; default: the roots of Node
 */
export function createSend(
  { clock }: { clock: Clock },
  options: {
    keepAlive: boolean
    isRefused: IsRefused | undefined
    lookup: LookupFunction | undefined
    ca: string | undefined
  },
): { send: Send; close: () => void } {
  const { keepAlive, isRefused, ca } = options
  const lookup = isRefused ? allowedLookup(isRefused, options.lookup) : options.lookup
  const agentOptions = {
    keepAlive,
    ...(lookup && { lookup }),
    ...(!isRefused && { proxyEnv: proxyEnv() }),
  }
  const agents = {
    'http:': new Agent(agentOptions),
    'https:': new TlsAgent({ ...agentOptions, ...(ca !== undefined && { ca }) }),
  }

  async function send(exchange: OutboundRequest): Promise<Reply> {
    const { url, method, headers, body, connectMs, limitMs, maxBytes, name, signal } = exchange
    const { protocol } = url
    if (protocol !== 'http:' && protocol !== 'https:')
      return { kind: 'not-sent', reason: `${name} has an address that is neither http nor https` }
    const refusal = `${name} has an address that is refused: it is not one of the public internet`
    // An address is connected to without a lookup.
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
    if (isRefused && isIP(host) !== 0 && isRefused(host)) return { kind: 'not-sent', reason: refusal }

    const startedAt = clock.elapsed()
    const seconds = (): number => Math.round((clock.elapsed() - startedAt) / 100) / 10
    let request: ReturnType<typeof httpRequest> | undefined
    let isSent = false
    let isOver = false
    const { promise, resolve } = Promise.withResolvers<Reply>()
    const settle = (reply: Reply): void => {
      isOver = true
      resolve(reply)
    }
    const fail = (reason: string): void => {
      // The first fault counts: what follows from it says less.
      if (isOver) return
      settle({ kind: isSent ? 'unknown' : 'not-sent', reason })
      request?.destroy()
    }
    const onError = (error: unknown): void => {
      if (error instanceof RefusedAddressError) return fail(refusal)
      // Only the code: a message may quote what was sent, or the address.
      const code = (error as { code?: unknown }).code
      const what = typeof code === 'string' ? code : 'no whole answer'
      fail(isSent ? `the connection to ${name} was lost (${what})` : `${name} can't be reached (${what})`)
    }
    const clearConnecting = clock.timer(Math.max(0, connectMs), () => {
      if (!isSent) fail(`${name} can't be reached (no connection within ${seconds()} seconds)`)
    })
    const clearLimit = clock.timer(Math.max(0, Math.ceil(limitMs)), () =>
      fail(
        isSent
          ? `${name} has not answered for ${seconds()} seconds`
          : `${name} can't be reached (no connection within ${seconds()} seconds)`,
      ),
    )

    const abort = (): void => fail(`the call of ${name} was ended`)
    if (signal?.aborted) abort()
    signal?.addEventListener('abort', abort, { once: true })

    try {
      if (isOver) return await promise
      request = (protocol === 'https:' ? httpsRequest : httpRequest)(url, {
        method,
        headers,
        agent: agents[protocol],
      })
      request.once('error', onError)
      request.on('error', () => undefined)
      // A connection may end without an error, as after a switch of protocols that nobody asked for.
      request.once('close', () => onError({}))
      request.once('socket', (socket: Socket & { secureConnecting?: boolean }) => {
        /** Whether the peer's address is not refused. It was looked up by rule; this is the address itself. */
        const isAllowed = (): boolean => {
          const { remoteAddress } = socket
          if (!isRefused || (remoteAddress !== undefined && !isRefused(remoteAddress))) return true
          fail(refusal)
          return false
        }
        const write = (): void => {
          if (socket.destroyed || !isAllowed()) return
          isSent = true
          clearConnecting()
          request?.end(body)
        }
        if (socket.connecting) {
          socket.once('connect', isAllowed)
          socket.once(protocol === 'https:' ? 'secureConnect' : 'connect', write)
        } else if (socket.secureConnecting) socket.once('secureConnect', write)
        else write()
      })
      request.once('response', (response) => {
        const chunks: Buffer[] = []
        let size = 0
        response.on('data', (chunk: Buffer) => {
          size += chunk.length
          if (size > maxBytes) return fail(`the answer of ${name} has more than ${maxBytes} bytes`)
          // A peer that sends byte by byte costs no more memory than its bytes.
          if (chunks.push(chunk) === CHUNKS_MAX) chunks.splice(0, CHUNKS_MAX, Buffer.concat(chunks))
        })
        response.once('error', onError)
        response.once('end', () => {
          const { statusCode: status = 0, headers } = response
          settle({ kind: 'answered', status, headers, body: Buffer.concat(chunks) })
        })
      })
      return await promise
    } catch (error) {
      // What can't be sent at all, such as a header with a line break.
      onError(error)
      return await promise
    } finally {
      clearConnecting()
      clearLimit()
      signal?.removeEventListener('abort', abort)
      if (!keepAlive) request?.destroy()
    }
  }

  return {
    send,
    close() {
      for (const agent of Object.values(agents)) agent.destroy()
    },
  }
}
