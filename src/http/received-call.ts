import type { FastifyReply, FastifyRequest } from 'fastify'

import type { Caller } from './access.ts'
import { rawRequestOf } from './body-parsers.ts'
import { signalOf } from './call-signal.ts'
import { eventLog } from './event-log.ts'
import { isLocalCall } from './local-call.ts'
import type { MakeRoom } from './route.ts'
import type { RouteContext } from './route-context.ts'
import type { Share } from './shares.ts'

/** A request with its caller, between the hook that admits it and its handler. */
export type AdmittedRequest = FastifyRequest & {
  caller: Caller | undefined
  /** Resolves to the caller, if `caller` is only the last one of this token. */
  authentication: Promise<Caller | undefined> | undefined
  /** What it takes of the limits of the process; undefined before its caller is known, and of routes without limits. */
  share: Share | undefined
  /** Ends what counts the call as one that is under way, if it has not ended. */
  settle: (status: number) => void
}

/** A request that was admitted, with its route and its reply. */
export type Exchange = { route: RouteContext; request: AdmittedRequest; reply: FastifyReply }

/** The parts of a call that are not read from its request. */
export type CallExtras = {
  recordId?: string
  once?: (fingerprint: unknown, perform: (recordId: string) => unknown) => Promise<unknown>
}

/** The argument of a handler. Each part is read from the request when it is used. */
export class ReceivedCall {
  readonly #route: RouteContext
  readonly #request: AdmittedRequest
  readonly #reply: FastifyReply
  readonly #startedAt: number
  readonly once: CallExtras['once']
  #recordId: string | undefined
  #signal: AbortSignal | undefined

  constructor({ route, request, reply }: Exchange, extras?: CallExtras) {
    this.#route = route
    this.#request = request
    this.#reply = reply
    this.#startedAt = route.spec.timeLimitMs === undefined ? 0 : performance.now()
    this.once = extras?.once
    this.#recordId = extras?.recordId
  }

  get params() {
    return this.#request.params
  }
  get query() {
    return this.#request.query
  }
  get body() {
    return this.#route.spec.body?.kind === 'raw' ? rawRequestOf(this.#request) : this.#request.body
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
    const limitMs = this.#route.spec.timeLimitMs
    const timeLimit =
      limitMs === undefined ? undefined : { limitMs, leftMs: this.#startedAt + limitMs - performance.now() }
    return (this.#signal ??= signalOf(this.#reply.raw, timeLimit))
  }
  /** Not a method, because handlers destructure it. */
  get makeRoom(): MakeRoom {
    return async (bytes) => this.#request.share?.answer(bytes, this.signal)
  }
  get isHead() {
    return this.#request.method === 'HEAD'
  }
  get recordId() {
    return (this.#recordId ??= this.#route.server.newId())
  }
  get log() {
    return this.#route.server.log.child({ requestId: this.#request.id })
  }
  get record() {
    return eventLog(this.#route.server, { ip: this.#request.ip, requestId: this.#request.id })
  }
}
