import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'

import type { FastifyReply } from 'fastify'

import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import type { Caller, CallerWatch } from './access.ts'
import type { AdmittedRequest } from './admitted-request.ts'
import type { EndReason, EventReceiver, EventSink, EventStream } from './event-stream.ts'
import { countedFor } from './limits.ts'

/** What may wait before a write; that may be larger itself. */
const UNSENT_MAX = 262_144

/**
 * Why a stream ended: what the server told it, `slow` if the client did not keep up, `finished` if what sends it ended it,
 * `closed` if the client did.
 */
export type StreamEnd = EndReason | 'slow' | 'finished' | 'closed'

export type StreamOptions = {
  /** The most streams of the process. */
  maxStreams: number
  clock: Clock
  log: Logger
  /** Follows the callers of streams; undefined if no wire has accounts. */
  callers: CallerWatch | undefined
  /** How many streams each other worker has of one that they are counted for. */
  streamsElsewhere: (owner: string) => Promise<readonly number[]>
  /** Called once for each stream that was open. */
  onStreamEnd: (reason: StreamEnd) => void
}

/** What all streams of a server share. */
export type StreamContext = Pick<StreamOptions, 'clock' | 'log'> & {
  /** Called when a client does not keep up. */
  onBehind: (response: ServerResponse) => void
}

/** Whose a stream is. */
export type StreamOwner = {
  caller: Caller | undefined
  ip: string
  /** When the token ends, in milliseconds since 1970; undefined if it does not, or there is none. */
  expiresAt: number | undefined
}

/** Sends the head of a stream; from then on the engine has no part in the answer. */
export function sendHead(reply: FastifyReply, contentType: string): void {
  reply.hijack()
  const headers: OutgoingHttpHeaders = {
    ...(reply.request as AdmittedRequest).flight.headers,
    'content-type': contentType,
    // What compresses an answer holds back events.
    'cache-control': 'no-store, no-transform',
    // https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_buffering
    'x-accel-buffering': 'no',
    // Nothing else is answered on the connection.
    connection: 'close',
  }
  // Node sends it in chunks, so that a client that reads blocks has each event at once, and tells a stream that has ended from
  // one that was cut: https://www.rfc-editor.org/rfc/rfc9112#section-8
  reply.raw.writeHead(200, headers)
  // On its own: Node keeps a head that is sent with a first text in dozens of parts for as long as the stream is open.
  reply.raw.flushHeaders()
}

/** A stream and its connection. There are thousands, so it has no timer and no function of its own. */
export class OpenStream implements EventSink {
  readonly #context: StreamContext
  readonly #response: ServerResponse
  readonly #contentType: string
  /** Until the head is sent. */
  #reply: FastifyReply | undefined
  #receiver: EventReceiver | undefined
  #end: StreamEnd | undefined
  readonly caller: Caller | undefined
  readonly expiresAt: number | undefined
  /** Whom it is counted for. */
  readonly countedFor: string
  /** Since when the client does not keep up, and since when the stream only waits for it: milliseconds of `clock.elapsed`. */
  behindSince: number | undefined
  endedAt: number | undefined

  constructor(context: StreamContext, reply: FastifyReply, contentType: string, owner: StreamOwner) {
    this.#context = context
    this.#contentType = contentType
    this.#reply = reply
    this.#response = reply.raw
    this.caller = owner.caller
    this.expiresAt = owner.expiresAt
    this.countedFor = countedFor(owner)
  }

  get unsentBytes(): number {
    return this.#response.writableLength
  }

  get isHeadSent(): boolean {
    return this.#reply === undefined
  }

  begin(open: EventStream['open']): void {
    this.#receiver = open(this)
    if (this.isHeadSent) return
    this.#sendHead()
  }

  write(text: string | Buffer): boolean {
    if (this.#end !== undefined || this.#response.destroyed) return false
    this.#sendHead()
    if (this.unsentBytes > UNSENT_MAX) {
      this.cut('slow')
      return false
    }
    const keepsUp = this.#response.write(text)
    if (!keepsUp) {
      this.behindSince ??= this.#context.clock.elapsed()
      this.#context.onBehind(this.#response)
    }
    return keepsUp
  }

  end(text = ''): void {
    this.#endWith(text, 'finished')
  }

  /** Ends it as its receiver wants. */
  endBecause(reason: EndReason): void {
    if (this.#end !== undefined) return
    const text = this.#call((receiver) => receiver.ending(reason))
    if (text !== undefined) this.#endWith(text, reason)
  }

  /** Closes the connection. */
  cut(reason: StreamEnd): void {
    this.#end ??= reason
    this.#response.destroy()
  }

  drained(): void {
    this.behindSince = undefined
    if (this.#end === undefined) this.#call((receiver) => receiver.drained())
  }

  /** @returns why it ended */
  closed(): StreamEnd {
    this.#end ??= this.behindSince === undefined ? 'closed' : 'slow'
    this.#call((receiver) => receiver.closed())
    return this.#end
  }

  #sendHead(): void {
    const reply = this.#reply
    if (!reply) return
    this.#reply = undefined
    sendHead(reply, this.#contentType)
  }

  #endWith(text: string, reason: StreamEnd): void {
    if (this.#end !== undefined || this.#response.destroyed) return
    this.#sendHead()
    this.#end = reason
    this.endedAt = this.#context.clock.elapsed()
    this.#response.end(text)
  }

  /** An error of a receiver ends its stream, and no other. */
  #call<T>(call: (receiver: EventReceiver) => T): T | undefined {
    try {
      return this.#receiver && call(this.#receiver)
    } catch (error) {
      this.#context.log.error({ err: error }, 'an event stream failed')
      this.cut('finished')
      return undefined
    }
  }
}
