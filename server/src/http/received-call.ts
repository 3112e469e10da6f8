import type { FastifyReply } from 'fastify'

import { actorOf, type Actor } from './actor.ts'
import type { AdmittedRequest } from './admitted-request.ts'
import type { UploadedFiles } from './bodies.ts'
import { rawRequestOf } from './body-parsers.ts'
import { signalOf } from './call-signal.ts'
import { eventLog } from './event-log.ts'
import { isLocalCall } from './local-call.ts'
import type { ClaimedKey } from './idempotency.ts'
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
  isRepeated?: boolean
  claimedKey?: ClaimedKey
  once?: (
    fingerprint: unknown,
    perform: (recordId: string, isRepeated: boolean) => unknown,
  ) => Promise<unknown>
  /** The files that come with a body of JSON, which is then not that of the request. */
  upload?: UploadedFiles
  body?: unknown
}

function bodyOf({ spec }: RouteContext, request: AdmittedRequest, extras: CallExtras | undefined): unknown {
  if (extras?.upload) return extras.body
  return spec.body?.kind === 'raw' ? rawRequestOf(request) : request.body
}

/** The argument of a handler. What costs something is made when it is used. */
export class ReceivedCall {
  readonly params: unknown
  readonly query: unknown
  readonly body: unknown
  readonly headers: AdmittedRequest['headers']
  readonly caller: AdmittedRequest['caller']
  readonly once: CallExtras['once']
  readonly upload: CallExtras['upload']
  readonly isRepeated: boolean
  readonly claimedKey: ClaimedKey | undefined
  readonly #route: RouteContext
  readonly #request: AdmittedRequest
  readonly #reply: FastifyReply
  readonly #startedAt: number
  #recordId: string | undefined
  #signal: AbortSignal | undefined

  constructor({ route, request, reply }: Exchange, extras?: CallExtras) {
    this.params = request.params
    this.query = request.query
    this.body = bodyOf(route, request, extras)
    this.headers = request.headers
    this.caller = request.caller
    this.once = extras?.once
    this.upload = extras?.upload
    this.isRepeated = extras?.isRepeated === true
    this.claimedKey = extras?.claimedKey
    this.#route = route
    this.#request = request
    this.#reply = reply
    this.#startedAt = route.spec.timeLimitMs === undefined ? 0 : performance.now()
    this.#recordId = extras?.recordId
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
    return (bytes) => this.#request.flight.makeRoom(bytes, this.signal)
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
