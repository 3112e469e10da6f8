import { setImmediate } from 'node:timers/promises'

import { ApiError } from '../../../base/errors.ts'
import type { Logger } from '../../../base/logger.ts'
import type { Clock } from '../../../base/clock.ts'
import type { Database } from '../../../db/database.ts'
import { valuesAt } from '../documents/language/fields/field-path.ts'
import { changesOf, type LoggedChange } from './logged-change.ts'
import type { Cursors } from './cursor.ts'
import { FeedEvent } from './change-event.ts'
import type { ChangeFollower, Following, WatchedSource } from './follower.ts'
import { Followers, type Member } from './followers.ts'
import { LiveLog, type PageTaker } from './live-log.ts'
import {
  limitAfter,
  readLog,
  readPage,
  resetReason,
  type ChangePage,
  type LogEnd,
  type LogView,
  type ResetReason,
} from './log.ts'
import type { PageSize } from './log-rows.ts'
import { PingTurns } from './ping-turns.ts'
import { isBefore, laterOf, type LogPosition } from './position.ts'
import { RecentChanges } from './recent-changes.ts'
import { eventFor, type DocumentWatch } from './watch.ts'

const SLICE_MS = 4
const TURN_MS = 1000
const PING_TURNS = 15
const IDLE_MS = 30_000
const FAULT_MS = 1000
/** Of a page for one follower: what its output does not take of it is read again. */
const PAGE_BYTES = { first: 65_536, most: 524_288 }

/** Delivers changes to all followers of this process that they concern, each as the follower may see it. */
export class Feed implements PageTaker {
  readonly #context: {
    readonly db: Database
    readonly cursors: Cursors
    readonly clock: Clock
    readonly log: Logger
  }
  readonly #followers = new Followers()
  readonly #turns = new PingTurns(PING_TURNS)
  readonly #recent = new RecentChanges()
  readonly #live: LiveLog
  /** Changes up to here are delivered to all followers that are not behind. */
  #delivered: LogPosition | undefined
  #ticking = new AbortController()
  /** The collections of the last read, and those who have come since then and follow others. */
  #read: ReadonlySet<string> = new Set()
  readonly #newcomers = new Set<ChangeFollower>()
  #lastUse = 0
  #lagMs = 0
  #resets = 0
  /** How often the definitions of collections have changed. */
  #definitions = 0

  constructor(context: { db: Database; cursors: Cursors; clock: Clock; log: Logger }) {
    this.#context = context
    this.#live = new LiveLog(context, this)
  }

  /** For a new follower, before it is bound. */
  get definitions(): number {
    return this.#definitions
  }

  /** Where the feed is, where a new follower can begin; starts to read the log if it is not read. */
  async enter(): Promise<LogEnd> {
    this.#lastUse = this.#context.clock.elapsed()
    return this.#live.start()
  }

  /** The log as it is now, for one who wants to go on from a position. */
  readLog(position: LogPosition): Promise<LogView> {
    return readLog(this.#context.db, position)
  }

  /** Adds a follower. The changes that it missed since its position are delivered first. */
  follow(follower: ChangeFollower): void {
    this.#add(follower)
    this.#turns.add(follower)
    void this.#catchUp(follower)
    // What changed while nobody watched its collection was not read.
    this.#live.wake()
  }

  /** Goes on with a follower whose output takes events again. */
  drained(follower: ChangeFollower): void {
    follower.isBlocked = false
    void this.#catchUp(follower)
  }

  leave(follower: ChangeFollower): void {
    follower.isClosed = true
    this.#followers.remove(follower)
    this.#newcomers.delete(follower)
    this.#turns.delete(follower)
    this.#lastUse = this.#context.clock.elapsed()
  }

  /** The cursor behind the events that a follower has received. */
  cursorOf(follower: ChangeFollower): string {
    const { position, isBehind, generation, following } = follower
    const at = isBehind || !this.#delivered ? position : laterOf(position, this.#delivered)
    return `${this.#context.cursors.placeOf({ generation, position: at })}.${following.audience}`
  }

  /** The figures for `/metrics`. */
  state() {
    let behind = 0
    for (const follower of this.#followers) if (follower.isBehind) behind++
    const lagMs = Math.max(this.#lagMs, this.#live.waitedMs)
    return { followers: this.#followers.size, behind, lagMs, resets: this.#resets }
  }

  async close(): Promise<void> {
    this.#ticking.abort()
    await this.#live.close()
  }

  async #tick(stopped: AbortSignal): Promise<void> {
    const { clock } = this.#context
    for (;;) {
      await clock.sleep(TURN_MS, { signal: stopped, idle: true })
      if (stopped.aborted) return
      if (this.#followers.size === 0 && clock.elapsed() - this.#lastUse > IDLE_MS) {
        this.#live.halt()
        return
      }
      for (const follower of this.#turns.next()) if (!follower.isBlocked) follower.output.ping?.()
    }
  }

  #add(follower: ChangeFollower): void {
    this.#followers.add(follower)
    const { watches, sources } = follower.following
    if ([...watches, ...sources].every(({ collection }) => this.#read.has(collection))) return
    // What was read before does not have its changes, and what is being read has not either.
    this.#newcomers.add(follower)
    if (this.#live.end) this.#recent.clear(this.#live.end.position)
  }

  begin(end: LogEnd): void {
    this.#delivered = end.position
    this.#recent.clear(end.position)
    this.#ticking = new AbortController()
    void this.#tick(this.#ticking.signal)
  }

  beginPage(): ReadonlySet<string> {
    this.#read = this.#followers.collections()
    this.#newcomers.clear()
    return this.#read
  }

  async takePage(page: ChangePage, before: LogEnd, end: LogEnd): Promise<void> {
    const reason = resetReason(before, page)
    if (reason) this.#resetAll(reason, before, end)
    else await this.#deliverPage(page, before.position)
    this.#delivered = page.next
  }

  async #deliverPage(page: ChangePage, before: LogPosition): Promise<void> {
    if (this.#newcomers.size === 0) this.#recent.add(page)
    else this.#recent.clear(page.next)
    // Before anything is delivered: the page does not have what they follow.
    for (const follower of this.#newcomers) this.#fallBehind(follower)
    const changes = changesOf(page.rows, before)
    // And with what a change of a source takes away, the page may be more than they may see.
    for (const change of changes)
      for (const { watch, members } of this.#followers.nearSource(change))
        if (eventFor(watch, change)) for (const follower of members) this.#fallBehind(follower)
    await this.#deliverAll(changes)
  }

  async #deliverAll(changes: readonly LoggedChange[]): Promise<void> {
    let began = performance.now()
    for (const change of changes) {
      this.#lagMs = Math.max(0, this.#context.clock.now() - change.at)
      for (const { watch, members } of this.#followers.near(change)) {
        const event = this.#eventOf(watch, change)
        if (event) for (const member of members) this.#pass(member, event)
        // A watch may ask for patterns that take milliseconds in a large document.
        if (performance.now() - began > SLICE_MS) {
          await setImmediate()
          began = performance.now()
        }
      }
    }
    if (changes.length === 0) this.#lagMs = 0
  }

  #eventOf(watch: DocumentWatch, change: LoggedChange): FeedEvent | undefined {
    const event = eventFor(watch, change)
    return event && new FeedEvent(change, event, this.#placeOf)
  }

  readonly #places = new WeakMap<LogPosition, string>()

  readonly #placeOf = ({ generation, position }: LogEnd): string => {
    const known = this.#places.get(position)
    if (known) return known
    const place = this.#context.cursors.placeOf({ generation, position })
    this.#places.set(position, place)
    return place
  }

  /** Delivers an event to a follower, unless it is behind. */
  #pass({ follower, watch }: Member, event: FeedEvent): void {
    if (follower.isBehind) return
    if (isStale(event.change, follower)) return this.#fallBehind(follower)
    // What it read of the log on its own may reach further than what all had then.
    if (!isBefore(follower.position, event.change.until)) return
    const before = laterOf(this.#delivered!, follower.position)
    this.#send(follower, event, watch)
    // The others of its watches may have the change too, and what is asked for its position meanwhile must not pass over it.
    if (follower.isBlocked || follower.following.watches.length > 1) follower.position = before
  }

  /** From here on a follower gets its events from the log. */
  #fallBehind(follower: ChangeFollower): void {
    if (follower.isBehind) return
    follower.position = laterOf(this.#delivered!, follower.position)
    void this.#catchUp(follower)
  }

  #send(follower: ChangeFollower, event: FeedEvent, watch: number): void {
    follower.position = laterOf(event.change.position, follower.position)
    if (follower.output.event(event, watch)) return
    follower.isBlocked = true
    follower.isBehind = true
  }

  /** Delivers what a follower has missed, until it is where the others are. */
  async #catchUp(follower: ChangeFollower): Promise<void> {
    follower.isBehind = true
    if (follower.isCatchingUp) return
    follower.isCatchingUp = true
    try {
      const mayGoOn = () => !follower.isClosed && !follower.isBlocked && this.#live.end !== undefined
      // A client that takes little at a time is not read much for.
      let size: PageSize = { limit: limitAfter(), bytes: PAGE_BYTES.first }
      while (
        mayGoOn() &&
        (!this.#isBound(follower) || isBefore(follower.position, this.#live.end!.position))
      ) {
        let page: ChangePage | undefined
        if (this.#isBound(follower)) page = await this.#deliverNext(follower, size)
        else await this.#bindAgain(follower, follower.position, false)
        size = { limit: limitAfter(page), bytes: Math.min(2 * size.bytes, PAGE_BYTES.most) }
      }
      if (mayGoOn()) follower.isBehind = false
    } catch (error) {
      this.#context.log.warn(
        { err: error },
        'the log of changes could not be read for a stream: it is tried again',
      )
      setTimeout(() => void this.#catchUp(follower), FAULT_MS * (0.5 + Math.random())).unref()
    } finally {
      follower.isCatchingUp = false
    }
  }

  /** Delivers a part of what a follower has missed. */
  async #deliverNext(follower: ChangeFollower, size: PageSize): Promise<ChangePage | undefined> {
    const recent = this.#recent.since(follower.position)
    if (recent && follower.generation === this.#live.end!.generation) {
      const changes = changesOf(recent.rows, follower.position)
      if (!changes.some((one) => isStale(one, follower))) {
        await this.#deliverTo(follower, changes, recent.next)
        return undefined
      }
    }
    const { watches, sources } = follower.following
    const { resets, caller, position: before } = follower
    const page = await readPage(
      this.#context.db,
      before,
      [...watches, ...sources].map(({ collection }) => collection),
      { caller, ...size },
    )
    if (follower.resets !== resets || !this.#isBound(follower)) return undefined
    const reason = resetReason(follower, page)
    if (reason) this.#reset(follower, reason, { generation: page.generation, position: page.next })
    else {
      follower.seenAt = page.end
      await this.#deliverTo(follower, changesOf(page.rows, before), page.next)
    }
    return page
  }

  async #deliverTo(
    follower: ChangeFollower,
    changes: readonly LoggedChange[],
    next: LogPosition,
  ): Promise<void> {
    const { resets, following, boundAt } = follower
    // First of all: the states of all the others are of a later moment.
    const ofSources = changes.flatMap((change) =>
      isBefore(boundAt!, change.until)
        ? following.sources
            .filter((source) => source.collection === change.collection && eventFor(source, change))
            .map((source) => ({ source, change }))
        : [],
    )
    if (ofSources.length > 0)
      return this.#bindAgain(
        follower,
        next,
        ofSources.some(({ source, change }) => hasOtherValues(source, change)),
      )
    let began = performance.now()
    for (const change of changes) {
      for (const [number, watch] of following.watches.entries()) {
        if (watch.collection !== change.collection) continue
        const event = this.#eventOf(watch, change)
        if (event) this.#send(follower, event, number)
      }
      if (follower.isBlocked) return
      if (performance.now() - began > SLICE_MS) {
        await setImmediate()
        if (follower.resets !== resets || !this.#isBound(follower)) return
        began = performance.now()
      }
    }
    follower.position = laterOf(next, follower.position)
  }

  #resetAll(reason: ResetReason, before: LogEnd, end: LogEnd): void {
    this.#recent.clear(end.position)
    for (const follower of this.#followers) {
      // It has found the new log before.
      if (follower.generation === end.generation && follower.generation !== before.generation) continue
      this.#reset(follower, reason, end)
      if (!follower.boundAt) void this.#catchUp(follower)
    }
  }

  /** What collections are has changed: all followers follow what they may see now. */
  bindAll(): void {
    this.#definitions++
    for (const follower of this.#followers) this.#fallBehind(follower)
  }

  #isBound(follower: ChangeFollower): boolean {
    return follower.boundAt !== undefined && follower.definitions === this.#definitions
  }

  #reset(follower: ChangeFollower, reason: ResetReason, { generation, position }: LogEnd): void {
    this.#resets++
    follower.resets++
    follower.generation = generation
    follower.position = position
    follower.seenAt = position
    // Its sources may have changed as well.
    if (reason !== 'changed' && follower.following.sources.length > 0) follower.boundAt = undefined
    follower.output.reset(reason)
  }

  /**
   * A source of a follower has changed up to a position: it follows what it may see now, and lists again if that is something else,
   * or was in between: its client may have listed then.
   */
  async #bindAgain(follower: ChangeFollower, until: LogPosition, hasChanged: boolean): Promise<void> {
    const { resets, generation } = follower
    const definitions = this.#definitions
    const following = await follower.bind().catch(nothingIfRefused)
    if (follower.isClosed || follower.resets !== resets) return
    follower.boundAt = until
    follower.definitions = definitions
    if (!hasChanged && following.audience === follower.following.audience) return
    this.#followers.remove(follower)
    follower.following = following
    this.#add(follower)
    this.#reset(follower, 'changed', { generation, position: until })
  }
}

/** A follower that has lost its access gets `reset` and no other event. Its next list answers why. */
function nothingIfRefused(error: unknown): Following {
  if (!(error instanceof ApiError) || error.status >= 500) throw error
  return { watches: [], sources: [], audience: '' }
}

/** Whether the values that a source had, before or between changes, are not those that it has now. */
function hasOtherValues(source: WatchedSource, { before, now }: LoggedChange): boolean {
  const values = [...before, now].map((state) =>
    state && source.has(state) ? JSON.stringify(valuesAt(state.json(), source.path)) : '[]',
  )
  return new Set(values).size > 1
}

/** Whether a follower has received states that are newer than a change, or of another log. */
const isStale = ({ generation, seenAt }: LoggedChange, follower: ChangeFollower): boolean =>
  generation !== follower.generation || isBefore(seenAt, follower.seenAt)
