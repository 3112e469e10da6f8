import type { Clock } from '../../../base/clock.ts'
import { errors } from '../../../base/errors.ts'
import { leastIdOf, timeOfId } from '../../../base/ids.ts'
import type { Database } from '../../../db/database.ts'
import {
  eventStream,
  type EventReceiver,
  type EventSink,
  type EventStream,
} from '../../../http/event-stream.ts'
import { newestEntries, type LogFilter, type ShownLogEntry } from './log-list.ts'

const POLL_MS = 1_000
/** Entries of other processes are written within a second, by clocks that differ by some seconds. */
const LATE_MS = 15_000
/** How far back a tail that was cut off goes on. */
const RESUMED_MS = 300_000
const ENTRIES_MAX = 200
const POLLS_PER_PING = 15
const TAILS_MAX = 20

/** The tails that are open in this process. */
export type Tails = { count: number }

type TailContext = { readonly db: Database; readonly clock: Clock; readonly tails: Tails }

/**
 * Follows the log of all processes by server-sent events: `entry` for each one, `skipped` with a number if there were more than
 * are sent, and `ping`.
 *
 * @param after the id of the last entry that the client has: some before it come again; without one it begins now
 */
export const tailOf = (context: TailContext, filter: LogFilter, after: string | undefined): EventStream =>
  eventStream((sink) => new Tail(context, filter, after, sink))

class Tail implements EventReceiver {
  readonly #context: TailContext
  readonly #filter: LogFilter
  readonly #sink: EventSink
  readonly #closing = new AbortController()
  /** What was sent, of the time that is read again at each poll. */
  #sent = new Set<string>()
  #from: string
  #isBlocked = false

  /** @throws TOO_MANY_STREAMS */
  constructor(context: TailContext, filter: LogFilter, after: string | undefined, sink: EventSink) {
    if (context.tails.count >= TAILS_MAX) throw errors.too_many_streams({ retryAfter: POLL_MS / 1000 })
    context.tails.count++
    const now = context.clock.now()
    const since = after === undefined ? now : Math.max(timeOfId(after), now - RESUMED_MS)
    this.#context = context
    this.#filter = filter
    this.#sink = sink
    // Earlier entries may have been written after the last one that the client has.
    this.#from = leastIdOf(after === undefined ? since : since - LATE_MS)
    if (after !== undefined) this.#sent.add(after)
    this.#write('ping', {})
    void this.#follow()
  }

  drained(): void {
    this.#isBlocked = false
  }

  ending(reason: string): string {
    return `event: end\ndata: ${JSON.stringify({ reason })}\n\n`
  }

  closed(): void {
    this.#context.tails.count--
    this.#closing.abort()
  }

  async #follow(): Promise<void> {
    const { clock } = this.#context
    const { signal } = this.#closing
    for (let poll = 1; !signal.aborted; poll++) {
      await clock.sleep(POLL_MS, { signal, idle: true })
      if (signal.aborted || this.#isBlocked) continue
      // A database that is away is asked again at the next poll.
      await this.#poll().catch(() => undefined)
      if (poll % POLLS_PER_PING === 0) this.#write('ping', {})
    }
  }

  async #poll(): Promise<void> {
    const { db, clock } = this.#context
    const entries = await newestEntries(db, this.#filter, { from: this.#from, limit: ENTRIES_MAX + 1 })
    const fresh = entries.filter(({ _id }) => !this.#sent.has(_id))
    if (fresh.length > ENTRIES_MAX) this.#write('skipped', {})
    for (const entry of fresh.slice(0, ENTRIES_MAX).toReversed()) this.#send(entry)
    const next = leastIdOf(clock.now() - LATE_MS)
    if (next <= this.#from) return
    this.#from = next
    this.#sent = new Set([...this.#sent].filter((id) => id >= next))
  }

  #send(entry: ShownLogEntry): void {
    this.#sent.add(entry._id)
    this.#write('entry', entry, entry._id)
  }

  #write(event: string, content: unknown, id?: string): void {
    const place = id === undefined ? '' : `id: ${id}\n`
    if (!this.#sink.write(`event: ${event}\n${place}data: ${JSON.stringify(content)}\n\n`))
      this.#isBlocked = true
  }
}
