import type { LoggedChange } from './logged-change.ts'
import type { LogEnd } from './log.ts'
import type { WatchEvent } from './watch.ts'

/** The event of a change, for all followers of a group; each has its own number of the watch. The texts are written once. */
export class FeedEvent {
  readonly change: LoggedChange
  readonly #event: WatchEvent
  readonly #placeOf: (end: LogEnd) => string
  readonly #texts: string[] = []

  /** @param placeOf writes the first part of a cursor */
  constructor(change: LoggedChange, event: WatchEvent, placeOf: (end: LogEnd) => string) {
    this.change = change
    this.#event = event
    this.#placeOf = placeOf
  }

  /** As JSON, in the answer to a poll. */
  json(watch: number): string {
    return `{"event":"${this.#event.event}",${this.#fields(watch)}}`
  }

  /**
   * As a server-sent event, up to the second part of its id.
   *
   * @param isOneOf whether the follower has other watches, to which the change may be another event: if the connection breaks
   *   in between, both come again
   */
  text(watch: number, isOneOf: boolean): string {
    return (this.#texts[isOneOf ? watch + 1 : 0] ??= this.#write(watch, isOneOf))
  }

  #write(watch: number, isOneOf: boolean): string {
    const { generation, after, position } = this.change
    return eventText(
      this.#event.event,
      `{${this.#fields(watch)}}`,
      this.#placeOf({ generation, position: isOneOf ? after : position }),
    )
  }

  #fields(watch: number): string {
    const { collection, id } = this.change
    const names = `"watch":${watch},"collection":${JSON.stringify(collection)},"_id":${JSON.stringify(id)}`
    if (this.#event.event === 'gone') return names
    const { etag, document } = this.#event
    return `${names},"etag":${JSON.stringify(etag)},"document":${oneLine(document)}`
  }
}

/** JSON on one line: PostgreSQL keeps the text as it was written, which may be by hand. */
const oneLine = (json: string): string => (/[\r\n]/.test(json) ? json.replaceAll(/[\r\n]/g, ' ') : json)

/**
 * A server-sent event, up to the second part of its id.
 * https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */
export const eventText = (event: string, json: string, place: string): string =>
  `event: ${event}\ndata: ${json}\nid: ${place}.`

// Clients that were cut off together come back apart.
const RETRY_MS = { least: 1000, spread: 9000 }

/** The last event of a stream. */
export function endText(reason: string): string {
  const retry = Math.round(RETRY_MS.least + Math.random() * RETRY_MS.spread)
  return `${reason === 'restart' ? `retry: ${retry}\n` : ''}event: end\ndata: {"reason":"${reason}"}\n\n`
}
