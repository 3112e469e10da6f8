import type { LoggedChange } from './change.ts'
import type { Told } from './watch.ts'

/** What followers are told of a change, each with its own number of the watch. The texts are written once for all of them. */
export class FeedEvent {
  readonly change: LoggedChange
  readonly #told: Told
  readonly #place: () => string
  readonly #texts: string[] = []

  /** @param place the first part of the cursor behind the change */
  constructor(change: LoggedChange, told: Told, place: () => string) {
    this.change = change
    this.#told = told
    this.#place = place
  }

  /** As JSON, in the answer to a poll. */
  json(watch: number): string {
    return `{"event":"${this.#told.event}",${this.#fields(watch)}}`
  }

  /** As a server-sent event, up to the second part of its id. */
  text(watch: number): string {
    return (this.#texts[watch] ??= eventText(this.#told.event, `{${this.#fields(watch)}}`, this.#place()))
  }

  #fields(watch: number): string {
    const { collection, id } = this.change
    const names = `"watch":${watch},"collection":${JSON.stringify(collection)},"_id":${JSON.stringify(id)}`
    if (this.#told.event === 'gone') return names
    const { etag, document } = this.#told
    return `${names},"etag":${JSON.stringify(etag)},"document":${document}`
  }
}

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
