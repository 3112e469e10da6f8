import { eventStream, type EventReceiver, type EventSink } from '../../../http/event-stream.ts'
import { endText, eventText, type FeedEvent } from './change-event.ts'
import type { Feed } from './feed.ts'
import type { ChangeFollower, Output } from './follower.ts'
import type { ResetReason } from './log.ts'

/** A follower that is about to begin. */
export type NewFollower = Omit<
  ChangeFollower,
  'output' | 'seenAt' | 'resets' | 'isBehind' | 'isCatchingUp' | 'isBlocked' | 'isClosed'
> & {
  /** Whether what the client holds may be wrong. */
  readonly reset: ResetReason | undefined
}

/** The follower with its output. */
export const withOutput = ({ reset: _, ...follower }: NewFollower, output: Output): ChangeFollower => ({
  ...follower,
  output,
  seenAt: follower.position,
  resets: 0,
  isBehind: true,
  isCatchingUp: false,
  isBlocked: false,
  isClosed: false,
})

/** Follows changes by server-sent events. */
export const streamOf = (feed: Feed, begun: NewFollower) =>
  eventStream((sink) => new Stream(feed, begun, sink))

class Stream implements EventReceiver, Output {
  readonly #feed: Feed
  readonly #sink: EventSink
  readonly #follower: ChangeFollower

  constructor(feed: Feed, begun: NewFollower, sink: EventSink) {
    this.#feed = feed
    this.#sink = sink
    this.#follower = withOutput(begun, this)
    if (begun.reset) this.reset(begun.reset)
    else this.#write('ready', '{}')
    feed.follow(this.#follower)
  }

  event(event: FeedEvent, watch: number): boolean {
    const { watches, audience } = this.#follower.following
    return this.#sink.write(`${event.text(watch, watches.length > 1)}${audience}\n\n`)
  }

  reset(reason: ResetReason): void {
    this.#write('reset', JSON.stringify({ reason }))
  }

  ping(): void {
    this.#write('ping', '{}')
  }

  drained(): void {
    this.#feed.drained(this.#follower)
  }

  ending(reason: string): string {
    return endText(reason)
  }

  closed(): void {
    this.#feed.leave(this.#follower)
  }

  #write(event: string, json: string): void {
    const [place, audience] = this.#feed.cursorOf(this.#follower).split('.')
    this.#sink.write(`${eventText(event, json, place!)}${audience}\n\n`)
  }
}
