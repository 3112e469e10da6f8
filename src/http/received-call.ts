import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'

import type { Caller } from './access.ts'
import { rawRequestOf } from './body-parsers.ts'
import { signalOf } from './call-signal.ts'
import { isLocalCall } from './local-call.ts'
import type { RouteSpec } from './route.ts'

/** A request between the hook that admits it and its handler, with who calls. */
export type Admitted = FastifyRequest & {
  caller: Caller | undefined
  /** Answers who calls, if `caller` is only who called with this token last time. */
  authentication: Promise<Caller | undefined> | undefined
}

/** A request that was admitted, and its reply. */
export type Exchange = { request: Admitted; reply: FastifyReply }

/** What a call needs of its server. */
export type CallOptions = {
  /** Makes an id for a record or a request. */
  newId: () => string
  log: FastifyBaseLogger
}

/** What a call has that is not read from its request. */
export type OwnOfCall = {
  recordId?: string
  once?: (fingerprint: unknown, perform: (recordId: string) => unknown) => Promise<unknown>
}

/** What a handler is given, each part read from the request when it is asked for. */
export class ReceivedCall {
  readonly #request: Admitted
  readonly #reply: FastifyReply
  readonly #spec: RouteSpec
  readonly #options: CallOptions
  readonly #begunAt: number
  readonly once: OwnOfCall['once']
  #recordId: string | undefined
  #signal: AbortSignal | undefined

  constructor({ request, reply }: Exchange, spec: RouteSpec, options: CallOptions, own: OwnOfCall = {}) {
    this.#request = request
    this.#reply = reply
    this.#spec = spec
    this.#options = options
    this.#begunAt = spec.timeLimitMs === undefined ? 0 : performance.now()
    this.once = own.once
    this.#recordId = own.recordId
  }

  get params() {
    return this.#request.params
  }
  get query() {
    return this.#request.query
  }
  get body() {
    return this.#spec.body?.kind === 'raw' ? rawRequestOf(this.#request) : this.#request.body
  }
  get headers() {
    return this.#request.headers
  }
  get caller() {
    return this.#request.caller
  }
  get ip() {
    return this.#request.ip
  }
  get userAgent() {
    return this.#request.raw.headers['user-agent'] ?? ''
  }
  get isLocal() {
    return isLocalCall(this.#request.raw)
  }
  get requestId() {
    return this.#request.id
  }
  get signal() {
    const limitMs = this.#spec.timeLimitMs
    const timeLimit =
      limitMs === undefined ? undefined : { limitMs, leftMs: this.#begunAt + limitMs - performance.now() }
    return (this.#signal ??= signalOf(this.#reply.raw, timeLimit))
  }
  get recordId() {
    return (this.#recordId ??= this.#options.newId())
  }
  get log() {
    return this.#options.log.child({ requestId: this.#request.id })
  }
}
