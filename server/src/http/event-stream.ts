/** Why the server ends a stream: its token expired or was revoked, its caller is not as it was, or the server stops. */
export type EndReason = 'expired' | 'revoked' | 'changed' | 'restart'

/** Where the text of one stream goes. After the end of the stream nothing is sent, and nothing is thrown. */
export type EventSink = {
  /**
   * Sends text, of server-sent events whole ones.
   *
   * @returns false if the client does not keep up: send nothing more until `drained`. A client that does not take what waits
   *   for it within 30 s is disconnected, and so is one for which more is written while over 256 KiB wait.
   */
  write(text: string | Buffer): boolean
  /** Bytes that wait for the client. */
  readonly unsentBytes: number
  /** Sends a last text and ends the stream. */
  end(text?: string): void
}

/** What a stream calls back. */
export type EventReceiver = {
  /** The client has taken what waited: go on. Not called once the stream ends. */
  drained(): void
  /** Returns the last text, such as an `end` event; the stream then ends. */
  ending(reason: EndReason): string
  /** The connection is closed. Called once for each stream, whether the client or the server ended it. */
  closed(): void
}

/** Begins a stream, and may write to it at once. What it throws before is answered like an error of the handler. */
export type OpenEvents = (sink: EventSink) => EventReceiver

/** An answer that stays open; see `eventStream`. */
export class EventStream {
  readonly open: OpenEvents
  readonly contentType: string
  constructor(open: OpenEvents, contentType: string) {
    this.open = open
    this.contentType = contentType
  }
}

export const EVENTS_MEDIA_TYPE = 'text/event-stream'
export const EVENTS_TYPE = `${EVENTS_MEDIA_TYPE}; charset=utf-8`

/**
 * Answers with a stream that stays open, for a route with `stream: true`: server-sent events
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html). It is no call under way any more: it takes no share of the
 * requests at once and is not waited for when the server stops. It ends with the token, within a second after the caller's
 * session or key is revoked or their role changes, and when the server stops.
 *
 * `open` is called once the caller is known to have room for another stream, and never for HEAD.
 *
 * @param contentType of the answer, for what is no event stream: a long poll is `application/json`, sent by one `end`
 * @example
 * ({ caller }) =>
 *   eventStream((sink) => {
 *     const subscription = subscribe(caller, (event) => sink.write(`data: ${JSON.stringify(event)}\n\n`))
 *     return {
 *       drained: () => undefined,
 *       ending: (reason) => `event: end\ndata: ${JSON.stringify({ reason })}\n\n`,
 *       closed: () => subscription.close(),
 *     }
 *   })
 */
export const eventStream = (open: OpenEvents, contentType: string = EVENTS_TYPE): EventStream =>
  new EventStream(open, contentType)
