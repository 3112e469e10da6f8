import { setImmediate } from 'node:timers/promises'

import type { Logger } from '../../../base/logger.ts'
import type { Clock } from '../../../base/clock.ts'
import type { Database } from '../../../db/database.ts'
import { CHANGES } from './channel.ts'
import { changesOf, type LoggedChange } from './change.ts'
import type { Cursors } from './cursor.ts'
import { FeedEvent } from './event.ts'
import type { ChangeFollower, ResetReason } from './follower.ts'
import { createLogReader, readLogEnd, type LogEnd, type ChangePage, type ReadLog } from './log.ts'
import { isBefore, laterOf, type LogPosition } from './position.ts'
import { RecentChanges } from './recent-changes.ts'
import { tell, type DocumentWatch } from './watch.ts'
import { WatchIndex } from './watch-index.ts'

/** A follower, and which of its watches; the sources have none. */
type Member = { readonly follower: ChangeFollower; readonly watch: number | undefined }

// What is written in between is read together.
const READ_INTERVAL_MS = 8
const HELD_MS = { first: 10, most: 250 }
const SLICE_MS = 4
const PING_MS = 15_000
const PING_TURNS = 15
const IDLE_MS = 30_000
const FAULT_MS = 1000

/** Reads the log of changes once for all followers of this process, and tells each what concerns it. */
export class Feed {
  readonly #context: {
    readonly db: Database
    readonly cursors: Cursors
    readonly clock: Clock
    readonly log: Logger
  }
  readonly #index = new WatchIndex<Member>()
  readonly #members = new Map<ChangeFollower, Map<DocumentWatch, Member>>()
  readonly #turns: Set<ChangeFollower>[] = Array.from({ length: PING_TURNS }, () => new Set())
  readonly #recent = new RecentChanges()
  readonly #readLive: ReadLog
  /** Where it has read to; undefined while nobody follows. */
  #end: LogEnd | undefined
  /** Where everybody has been told to. */
  #told: LogPosition | undefined
  #starting: Promise<LogEnd> | undefined
  #stop: (() => void) | undefined
  #reading: Promise<void> | undefined
  #isWoken = false
  #timer: NodeJS.Timeout | undefined
  #readAt = 0
  #turn = 0
  #lastUse = 0
  #heldMs = HELD_MS.first
  #lagMs = 0
  #resets = 0

  constructor(context: { db: Database; cursors: Cursors; clock: Clock; log: Logger }) {
    this.#context = context
    this.#readLive = createLogReader(context.db)
  }

  /** Where the feed is, from where on a new follower can be told; it reads from now on, if it did not. */
  async enter(): Promise<LogEnd> {
    this.#lastUse = performance.now()
    return this.#end ?? (this.#starting ??= this.#start())
  }

  /** Adds a follower. It is told what it has missed since its position first. */
  follow(follower: ChangeFollower): void {
    this.#add(follower)
    this.#smallestTurn().add(follower)
    void this.#catchUp(follower)
    // What changed while nobody watched its collection was not read.
    this.#wake()
  }

  /** Goes on with a follower whose output takes events again. */
  drained(follower: ChangeFollower): void {
    follower.isBlocked = false
    void this.#catchUp(follower)
  }

  leave(follower: ChangeFollower): void {
    follower.isClosed = true
    this.#remove(follower)
    for (const turn of this.#turns) turn.delete(follower)
    this.#lastUse = performance.now()
  }

  /** The cursor behind what a follower has been told. */
  cursorOf(follower: ChangeFollower): string {
    const { position, isBehind, generation, following } = follower
    const at = isBehind || !this.#told ? position : laterOf(position, this.#told)
    return `${this.#context.cursors.placeOf({ generation, position: at })}.${following.audience}`
  }

  /** What `/metrics` tells. */
  state() {
    let behind = 0
    for (const follower of this.#members.keys()) if (follower.isBehind) behind++
    return { followers: this.#members.size, behind, lagMs: this.#lagMs, resets: this.#resets }
  }

  async close(): Promise<void> {
    this.#halt()
    await this.#reading
  }

  async #start(): Promise<LogEnd> {
    const { db } = this.#context
    try {
      const end = await readLogEnd(db)
      this.#end = end
      this.#told = end.position
      this.#recent.clear(end.position)
      const stopListening = db.listen(CHANGES, () => this.#wake())
      const pings = setInterval(() => this.#ping(), PING_MS / PING_TURNS)
      this.#stop = () => {
        stopListening()
        clearInterval(pings)
      }
      return end
    } finally {
      this.#starting = undefined
    }
  }

  #halt(): void {
    this.#stop?.()
    this.#stop = undefined
    clearTimeout(this.#timer)
    this.#end = undefined
  }

  #add(follower: ChangeFollower): void {
    const { watches, sources } = follower.following
    const members = new Map<DocumentWatch, Member>()
    for (const [watch, one] of watches.entries()) members.set(one, { follower, watch })
    for (const one of sources) members.set(one, { follower, watch: undefined })
    const before = this.#index.collections
    for (const [watch, member] of members) this.#index.add(watch, member)
    this.#members.set(follower, members)
    // What was read before does not have its changes.
    if (this.#end && this.#index.collections.some((one) => !before.includes(one)))
      this.#recent.clear(this.#end.position)
  }

  #remove(follower: ChangeFollower): void {
    for (const [watch, member] of this.#members.get(follower) ?? []) this.#index.remove(watch, member)
    this.#members.delete(follower)
  }

  #smallestTurn(): Set<ChangeFollower> {
    return this.#turns.reduce((least, one) => (one.size < least.size ? one : least))
  }

  #ping(): void {
    if (this.#members.size === 0 && performance.now() - this.#lastUse > IDLE_MS) return this.#halt()
    this.#turn = (this.#turn + 1) % PING_TURNS
    for (const follower of this.#turns[this.#turn]!) if (!follower.isBlocked) follower.output.ping?.()
  }

  /** Reads what is new. */
  #wake(): void {
    this.#isWoken = true
    if (this.#reading || this.#timer || !this.#end) return
    const waitMs = Math.max(0, this.#readAt + READ_INTERVAL_MS - performance.now())
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#readAt = performance.now()
      this.#reading = this.#readAll().finally(() => {
        this.#reading = undefined
        if (this.#isWoken) this.#wake()
      })
    }, waitMs)
  }

  async #readAll(): Promise<void> {
    try {
      let page: ChangePage | undefined
      do {
        this.#isWoken = false
        page = await this.#readPage()
      } while (page?.isFull)
      if (!page?.isHeld) this.#heldMs = HELD_MS.first
      else {
        const heldMs = this.#heldMs
        this.#heldMs = Math.min(2 * heldMs, HELD_MS.most)
        setTimeout(() => this.#wake(), heldMs).unref()
      }
    } catch (error) {
      // Nothing is lost: it goes on from the position where it is.
      this.#context.log.warn({ err: error }, 'the log of changes could not be read: it is tried again')
      setTimeout(() => this.#wake(), FAULT_MS).unref()
    }
  }

  async #readPage(): Promise<ChangePage | undefined> {
    const end = this.#end
    const { collections } = this.#index
    if (!end || collections.length === 0) return undefined
    const page = await this.#readLive(end.position, collections)
    if (this.#end !== end) return undefined
    // Somebody came who watches another collection: its changes are not in the page.
    if (this.#index.collections.some((one) => !collections.includes(one))) {
      this.#isWoken = true
      return undefined
    }
    this.#end = { generation: page.generation, position: page.next }
    const reason = resetReason(end, page)
    if (reason) {
      this.#recent.clear(page.next)
      this.#told = page.next
      for (const follower of this.#members.keys()) this.#reset(follower, reason, this.#end)
      return page
    }
    this.#recent.add(page)
    await this.#tellAll(changesOf(page.rows))
    this.#told = page.next
    return page
  }

  async #tellAll(changes: readonly LoggedChange[]): Promise<void> {
    let began = performance.now()
    for (const change of changes) {
      this.#lagMs = Math.max(0, this.#context.clock.now() - change.at)
      for (const { watch, members } of this.#index.near(change)) {
        const event = this.#eventOf(watch, change)
        if (event) for (const member of members) this.#pass(member, event)
      }
      if (performance.now() - began > SLICE_MS) {
        await setImmediate()
        began = performance.now()
      }
    }
    if (changes.length === 0) this.#lagMs = 0
  }

  #eventOf(watch: DocumentWatch, change: LoggedChange): FeedEvent | undefined {
    const told = tell(watch, change)
    if (!told) return undefined
    const place = () => this.#placeOf(change)
    return new FeedEvent(change, told, place)
  }

  readonly #places = new WeakMap<LoggedChange, string>()

  #placeOf(change: LoggedChange): string {
    const known = this.#places.get(change)
    if (known) return known
    const place = this.#context.cursors.placeOf({
      generation: this.#end?.generation ?? '',
      position: change.position,
    })
    this.#places.set(change, place)
    return place
  }

  /** Tells a follower, unless it is told from the log. */
  #pass({ follower, watch }: Member, event: FeedEvent): void {
    if (follower.isBehind) return
    const before = laterOf(this.#told!, follower.position)
    if (watch === undefined) {
      follower.position = before
      void this.#catchUp(follower)
      return
    }
    this.#send(follower, event, watch)
    // The others of its watches may have the change too.
    if (follower.isBlocked) follower.position = before
  }

  #send(follower: ChangeFollower, event: FeedEvent, watch: number): void {
    follower.position = event.change.position
    if (follower.output.event(event, watch)) return
    follower.isBlocked = true
    follower.isBehind = true
  }

  /** Tells a follower what it has missed, until it is where the others are. */
  async #catchUp(follower: ChangeFollower): Promise<void> {
    follower.isBehind = true
    if (follower.isTelling) return
    follower.isTelling = true
    try {
      const read = createLogReader(this.#context.db, follower.caller)
      const mayGoOn = () => !follower.isClosed && !follower.isBlocked && this.#end !== undefined
      while (mayGoOn() && isBefore(follower.position, this.#end!.position))
        await this.#tellNext(follower, read)
      if (mayGoOn()) follower.isBehind = false
    } catch (error) {
      this.#context.log.warn(
        { err: error },
        'the log of changes could not be read for a stream: it is tried again',
      )
      setTimeout(() => void this.#catchUp(follower), FAULT_MS * (0.5 + Math.random())).unref()
    } finally {
      follower.isTelling = false
    }
  }

  /** Tells a follower a part of what it has missed. */
  async #tellNext(follower: ChangeFollower, read: ReadLog): Promise<void> {
    const recent = this.#recent.since(follower.position)
    if (recent && follower.generation === this.#end!.generation)
      return this.#tellOne(follower, changesOf(recent.rows), recent.next)
    const { watches, sources } = follower.following
    const page = await read(
      follower.position,
      [...watches, ...sources].map(({ collection }) => collection),
      this.#end!.position,
    )
    const reason = resetReason(follower, page)
    if (reason) this.#reset(follower, reason, { generation: page.generation, position: page.next })
    else await this.#tellOne(follower, changesOf(page.rows), page.next)
  }

  async #tellOne(
    follower: ChangeFollower,
    changes: readonly LoggedChange[],
    next: LogPosition,
  ): Promise<void> {
    let began = performance.now()
    for (const change of changes) {
      for (const [watch, { watch: number }] of this.#members.get(follower) ?? []) {
        const isKnown = number === undefined && !isBefore(follower.boundAt, change.until)
        if (watch.collection !== change.collection || isKnown) continue
        const event = this.#eventOf(watch, change)
        if (!event) continue
        if (number === undefined) return this.#bindAgain(follower, change.until)
        this.#send(follower, event, number)
      }
      if (follower.isBlocked) return
      if (performance.now() - began > SLICE_MS) {
        await setImmediate()
        began = performance.now()
      }
    }
    follower.position = next
  }

  #reset(follower: ChangeFollower, reason: ResetReason, { generation, position }: LogEnd): void {
    this.#resets++
    follower.generation = generation
    follower.position = position
    follower.output.reset(reason)
  }

  /** A source of a follower has changed: it follows what it may see now, and lists again if that is something else. */
  async #bindAgain(follower: ChangeFollower, until: LogPosition): Promise<void> {
    const end = this.#end!
    const following = await follower.bind()
    follower.boundAt = laterOf(end.position, until)
    if (follower.isClosed || following.audience === follower.following.audience) return
    this.#remove(follower)
    follower.following = following
    this.#add(follower)
    this.#reset(follower, 'changed', end)
  }
}

function resetReason({ generation, position }: LogEnd, page: ChangePage): ResetReason | undefined {
  if (page.generation !== generation) return 'restored'
  return isBefore(position, page.floor) ? 'expired' : undefined
}
