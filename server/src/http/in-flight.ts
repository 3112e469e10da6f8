import type { FastifyRequest } from 'fastify'

import type { Caller } from './access.ts'
import type { RouteAddress } from './addresses.ts'
import { countedFor } from './limits.ts'
import { KEY, type Traffic } from './traffic.ts'

/** @see https://www.w3.org/TR/trace-context/#traceparent-header A version after 00 may have more fields. */
const TRACEPARENT =
  /^(?!ff|00.{53}.)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(?![^-])/

type CountedRequest = FastifyRequest & { caller: Caller | undefined }

/**
 * A request from its head until its answer is sent, or its client is gone, and its handler has returned, which may be later. It
 * counts as running so long, and has what it takes of the limits of the process.
 */
export class InFlight {
  /** The address of its path, if that does not answer its method. */
  address: RouteAddress | undefined
  /** The headers of every answer to it, also of an error; an answer may replace them. See `joinHeaders`. */
  headers: Record<string, string> = {}
  /** The code of the error that was answered, for the log. */
  errorCode: string | undefined
  /** Whether an answer may have more room than it needs. */
  hasRoom = false
  readonly #traffic: Traffic
  readonly #request: CountedRequest
  readonly #route: string | undefined
  // A socket that is closed has none.
  readonly #ip: string
  readonly #startedAt = performance.now()
  /** Its answer and its handler: what is taken is given back when both are over. */
  #uses = 1
  #isCounted = true
  #isSettled = false
  /** Who takes the places; undefined until one is taken. */
  #taker: string | undefined
  #places = 0
  #bodyBytes = 0
  #answerBytes = 0

  /** @param route the pattern of its route, if there is one */
  constructor(traffic: Traffic, request: CountedRequest, route: string | undefined) {
    this.#traffic = traffic
    this.#request = request
    this.#route = route
    this.#ip = request.ip
    traffic.running++
  }

  /**
   * Takes a place for the request, and one for its body.
   *
   * @param bodyBytes see `weightOfBody`
   * @param signal ends the waiting
   * @returns undefined if both were free
   * @throws TOO_MANY_CONCURRENT, UNAVAILABLE
   */
  takePlace(bodyBytes: number, signal: () => AbortSignal): Promise<void> | undefined {
    const { caller } = this.#request
    const name = caller?.id ?? countedFor({ caller, ip: this.#ip })
    this.#taker = caller?.kind === 'key' ? KEY + name : name
    if (bodyBytes > 0 || !this.#traffic.requests.tryTake(this.#taker, 1))
      return this.#wait(this.#taker, bodyBytes, signal())
    this.#places = 1
    return undefined
  }

  async #wait(taker: string, bodyBytes: number, signal: AbortSignal): Promise<void> {
    // First, so that no more wait than may for a body: of each up to 64 KiB have been read with its headers.
    if (bodyBytes > 0) {
      await this.#traffic.bodies.take(taker, bodyBytes, signal)
      this.#bodyBytes = bodyBytes
    }
    try {
      await this.#traffic.requests.take(taker, 1, signal)
      this.#places = 1
    } finally {
      this.#endIfOver()
    }
  }

  /**
   * Takes room for an answer, unless its route is always answered.
   *
   * @throws TOO_MANY_CONCURRENT, UNAVAILABLE
   */
  async makeRoom(bytes: number, signal: AbortSignal): Promise<void> {
    if (this.#taker === undefined) return
    await this.#traffic.answers.take(this.#taker, bytes, signal)
    this.#answerBytes += bytes
    this.hasRoom = true
    this.#endIfOver()
  }

  /** Gives back what the answer does not need, once its size is known. */
  answerHas(bytes: number): void {
    const rest = this.#answerBytes - bytes
    if (rest <= 0) return
    this.#answerBytes = bytes
    this.#traffic.answers.give(this.#taker!, rest)
  }

  /** The handler runs, maybe for longer than its client waits. */
  enterHandler(): void {
    this.#uses++
    if (this.#isCounted) return
    this.#isCounted = true
    this.#traffic.running++
  }

  leaveHandler(): void {
    if (this.#bodyBytes > 0) this.#traffic.bodies.give(this.#taker!, this.#bodyBytes)
    this.#bodyBytes = 0
    this.#uses--
    this.#endIfOver()
  }

  /** The answer is sent, or its client is gone, or the answer is a stream, which is no call under way. */
  settle(status: number): void {
    if (this.#isSettled) return
    this.#isSettled = true
    this.#uses--
    this.#endIfOver()
    const { id: requestId, method, url, raw, caller } = this.#request
    const { traceparent } = raw.headers
    const query = url.indexOf('?')
    this.#traffic.onAnswer({
      requestId,
      traceId: typeof traceparent === 'string' ? TRACEPARENT.exec(traceparent)?.[1] : undefined,
      method,
      route: this.#route ?? this.address?.path,
      path: query < 0 ? url : url.slice(0, query),
      status,
      ms: performance.now() - this.#startedAt,
      ip: this.#ip,
      caller,
      code: this.errorCode,
    })
  }

  #endIfOver(): void {
    if (this.#uses > 0) return
    const { requests, bodies, answers } = this.#traffic
    if (this.#places > 0) requests.give(this.#taker!, this.#places)
    if (this.#bodyBytes > 0) bodies.give(this.#taker!, this.#bodyBytes)
    if (this.#answerBytes > 0) answers.give(this.#taker!, this.#answerBytes)
    this.#places = this.#bodyBytes = this.#answerBytes = 0
    if (this.#isCounted) this.#traffic.end()
    this.#isCounted = false
  }
}
