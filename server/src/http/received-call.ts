import type { FastifyReply } from 'fastify'

import { actorOf, type Actor } from './actor.ts'
import type { AdmittedRequest } from './admitted-request.ts'
import { rawRequestOf } from './body-parsers.ts'
import { signalOf } from './call-signal.ts'
import { eventLog } from './event-log.ts'
import { isLocalCall } from './local-call.ts'
import type { MakeRoom } from './route.ts'
import type { RouteContext } from './route-context.ts'

/** A request that was admitted, with its route and its reply. */
export type Exchange = { route: RouteContext; request: AdmittedRequest; reply: FastifyReply }

/** Who sends a request, and from where. */
export const actorIn = ({ key }: RouteContext, { caller, ip, id, raw }: AdmittedRequest): Actor => ({
  ...actorOf(caller),
  ip,
  userAgent: raw.headers['user-agent'] ?? '',
  requestId: id,
  route: key,
})

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
  get actor(): Actor {
    return actorIn(this.#route, this.#request)
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
