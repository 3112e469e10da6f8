import type { ServerResponse } from 'node:http'

import type { FastifyReply } from 'fastify'

import { errors } from '../base/errors.ts'
import { checkStreams, checkTimes, timesOf } from './event-stream-checks.ts'
import type { EventStream } from './event-stream.ts'
import { OpenStream, type StreamContext, type StreamOptions, type StreamOwner } from './open-event-stream.ts'
import { countedFor } from './limits.ts'
import type { SendingLimit } from './sending.ts'

/** Open streams of one user, one service key, or the strangers of one client address. */
const OF_OWNER_MAX = 20
/** How long clients have for the last text when the server stops, and how often it looks whether they have it. */
const STOP_MS = 2_000
const STOP_LOOK_MS = 10
const RETRY_SECONDS = 5
/** A silent connection is probed from then on, to find out that the other end is gone. */
const KEEP_ALIVE_MS = 30_000

/** The open streams of a server. */
export class EventStreams {
  readonly #options: StreamOptions
  readonly #context: StreamContext
  readonly #sending: SendingLimit
  readonly #open = new Map<ServerResponse, OpenStream>()
  readonly #ofOwner = new Map<string, number>()
  readonly #stopping = new AbortController()
  #isChecking = false

  constructor(options: StreamOptions, sending: SendingLimit) {
    this.#options = options
    this.#context = {
      clock: options.clock,
      log: options.log,
      onBehind: (response) => sending.begin(response),
    }
    this.#sending = sending
  }

  get count(): number {
    return this.#open.size
  }

  /** Whether this is the answer of an open stream. */
  has(response: ServerResponse): boolean {
    return this.#open.has(response)
  }

  /** How many are open of one that they are counted for. */
  countOf(owner: string): number {
    return this.#ofOwner.get(owner) ?? 0
  }

  /** How many of the same owner the other workers have. */
  async countElsewhere(owner: StreamOwner): Promise<number> {
    const counts = await this.#options.streamsElsewhere(countedFor(owner))
    return counts.reduce((sum, one) => sum + one, 0)
  }

  /** When a token ends, in milliseconds since 1970; undefined if it does not. */
  async tokenExpiry(token: string): Promise<number | undefined> {
    return this.#options.callers?.tokenExpiry(token)
  }

  /**
   * Sends the head of a stream and opens it.
   *
   * @param elsewhere see `countElsewhere`
   * @throws TOO_MANY_STREAMS, UNAVAILABLE, and what `open` of the stream throws
   */
  open(stream: EventStream, reply: FastifyReply, owner: StreamOwner, elsewhere: number): void {
    const { raw: response } = reply
    const one = new OpenStream(this.#context, reply, stream.contentType, owner)
    this.#refuseIfFull(one.countedFor, elsewhere)
    this.#add(response, one)
    try {
      one.begin(stream.open)
    } catch (error) {
      if (!one.isHeadSent) {
        this.#delete(response, one)
        throw error
      }
      this.#options.log.error({ err: error }, 'an event stream failed')
      one.cut('finished')
    }
    checkTimes(one, this.#options.clock, timesOf(this.#options.clock))
  }

  /** Ends all streams, and opens no more. Resolves when their clients have the last text, or have had time for it. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    const streams = [...this.#open]
    for (const [, one] of streams) one.endBecause('restart')
    const { clock } = this.#options
    const until = clock.elapsed() + STOP_MS
    while (this.#open.size > 0 && clock.elapsed() < until) await clock.sleep(STOP_LOOK_MS)
    for (const one of this.#open.values()) one.cut('restart')
  }

  /** @throws TOO_MANY_STREAMS, UNAVAILABLE */
  #refuseIfFull(owner: string, elsewhere: number): void {
    if (this.#stopping.signal.aborted)
      throw errors.unavailable({
        message: 'The server is shutting down: connect again shortly.',
        retryAfter: 1,
      })
    if (this.countOf(owner) + elsewhere >= OF_OWNER_MAX)
      throw errors.too_many_streams({ retryAfter: RETRY_SECONDS })
    if (this.#open.size >= this.#options.maxStreams)
      throw errors.unavailable({
        message: 'Too many event streams are open: connect again as soon as Retry-After says.',
        retryAfter: RETRY_SECONDS,
      })
  }

  #add(response: ServerResponse, one: OpenStream): void {
    this.#open.set(response, one)
    this.#ofOwner.set(one.countedFor, (this.#ofOwner.get(one.countedFor) ?? 0) + 1)
    this.#sending.end(response)
    response
      .on('drain', () => this.#hasDrained(response, one))
      .on('close', () => this.#hasClosed(response, one))
    response.socket?.setKeepAlive(true, KEEP_ALIVE_MS)
    if (!this.#isChecking) void this.#check()
  }

  #delete(response: ServerResponse, one: OpenStream): void {
    this.#open.delete(response)
    const left = this.#ofOwner.get(one.countedFor)! - 1
    if (left > 0) this.#ofOwner.set(one.countedFor, left)
    else this.#ofOwner.delete(one.countedFor)
  }

  async #check(): Promise<void> {
    this.#isChecking = true
    do await checkStreams(this.#open, this.#options, this.#stopping.signal)
    while (this.#open.size > 0 && !this.#stopping.signal.aborted)
    this.#isChecking = false
  }

  #hasDrained(response: ServerResponse, one: OpenStream): void {
    this.#sending.end(response)
    one.drained()
  }

  #hasClosed(response: ServerResponse, one: OpenStream): void {
    // The answer may be an error in place of the stream.
    if (!this.has(response)) return
    this.#delete(response, one)
    this.#options.onStreamEnd(one.closed())
  }
}
