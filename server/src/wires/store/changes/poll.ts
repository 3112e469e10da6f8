import { eventStream, type EventReceiver, type EventSink } from '../../../http/event-stream.ts'
import type { FeedEvent } from './change-event.ts'
import type { Feed } from './feed.ts'
import type { ChangeFollower, Output } from './follower.ts'
import type { ResetReason } from './log.ts'
import { withOutput, type NewFollower } from './stream.ts'

const WAIT_MS = 25_000
// What comes together is answered together.
const GATHER_MS = 20
const CHARACTERS_MAX = 1_048_576

/** Follows changes by one answer: what there is, as soon as there is something, or nothing after 25 s. */
export const pollOf = (feed: Feed, begun: NewFollower, waits: boolean) =>
  eventStream((sink) => new Poll(feed, begun, sink, waits), 'application/json; charset=utf-8')

class Poll implements EventReceiver, Output {
  readonly #feed: Feed
  readonly #sink: EventSink
  readonly #follower: ChangeFollower
  readonly #changes: string[] = []
  #characters = 0
  #timer: NodeJS.Timeout | undefined

  constructor(feed: Feed, begun: NewFollower, sink: EventSink, waits: boolean) {
    this.#feed = feed
    this.#sink = sink
    this.#follower = withOutput(begun, this)
    if (begun.reset) this.reset(begun.reset)
    else this.#timer = setTimeout(() => this.#answer(), waits ? WAIT_MS : 0)
    feed.follow(this.#follower)
  }

  event(event: FeedEvent, watch: number): boolean {
    return this.#take(event.json(watch))
  }

  reset(reason: ResetReason): void {
    this.#take(JSON.stringify({ event: 'reset', reason }))
  }

  /** @returns false if it has enough: it answers at once then */
  #take(json: string): boolean {
    this.#characters += json.length
    const isFull = this.#characters > CHARACTERS_MAX
    if (this.#changes.push(json) === 1 || isFull) {
      clearTimeout(this.#timer)
      this.#timer = setTimeout(() => this.#answer(), isFull ? 0 : GATHER_MS)
    }
    return !isFull
  }

  #answer(): void {
    this.#sink.end(this.#text())
  }

  #text(): string {
    return `{"changes":[${this.#changes.join(',')}],"cursor":${JSON.stringify(this.#feed.cursorOf(this.#follower))}}`
  }

  drained(): void {}

  /** What came is answered; the next poll is refused, if the caller is not who they were. */
  ending(): string {
    return this.#text()
  }

  closed(): void {
    clearTimeout(this.#timer)
    this.#feed.leave(this.#follower)
  }
}
