import type { Logger } from '../../../base/logger.ts'
import type { Database } from '../../../db/database.ts'
import { CHANGES } from '../documents/storage/changes-channel.ts'
import { readLivePage, readLogEnd, sizeAfter, type ChangePage, type LogEnd } from './log.ts'
import { isBefore } from './position.ts'

// What is written in between is read together.
const READ_INTERVAL_MS = 8
const HELD_MS = { first: 10, most: 250 }
const FAULT_MS = 1000

/** What takes the pages of the log. */
export type PageTaker = {
  /** The log is read from here on. */
  begin(end: LogEnd): void
  /** A page is about to be read: returns the collections whose changes it is to have. Without any, nothing is read. */
  beginPage(): ReadonlySet<string>
  /** Takes a page. The next one is read when this resolves. */
  takePage(page: ChangePage, before: LogEnd, end: LogEnd): Promise<void>
}

/** Reads the log page by page as it grows, for all followers of the process. */
export class LiveLog {
  readonly #context: { readonly db: Database; readonly log: Logger }
  readonly #taker: PageTaker
  #end: LogEnd | undefined
  #starting: Promise<LogEnd> | undefined
  #stopListening: (() => void) | undefined
  #reading: Promise<void> | undefined
  #isWoken = false
  #timer: NodeJS.Timeout | undefined
  #readAt = 0
  #heldMs = HELD_MS.first
  #heldSince: number | undefined
  #size = sizeAfter()
  #isClosed = false

  constructor(context: { readonly db: Database; readonly log: Logger }, taker: PageTaker) {
    this.#context = context
    this.#taker = taker
  }

  /** Where it has read to; undefined while it does not read. */
  get end(): LogEnd | undefined {
    return this.#end
  }

  /** For how long changes have waited for a transaction that is running, in milliseconds. */
  get waitedMs(): number {
    return this.#heldSince === undefined ? 0 : performance.now() - this.#heldSince
  }

  /** Begins to read at the end of the log, unless it reads already. */
  async start(): Promise<LogEnd> {
    return this.#end ?? (this.#starting ??= this.#start())
  }

  async #start(): Promise<LogEnd> {
    const { db } = this.#context
    try {
      const end = await readLogEnd(db)
      if (this.#isClosed) return end
      this.#end = end
      this.#stopListening = db.listen(CHANGES, () => this.wake())
      this.#taker.begin(end)
      // What was announced before it listened.
      this.wake()
      return end
    } finally {
      this.#starting = undefined
    }
  }

  /** Stops to read, until it is started again. */
  halt(): void {
    this.#stopListening?.()
    this.#stopListening = undefined
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#end = undefined
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.halt()
    await this.#reading
  }

  /** Reads what is new, soon. */
  wake(): void {
    this.#isWoken = true
    if (this.#reading || this.#timer || !this.#end) return
    const waitMs = Math.max(0, this.#readAt + READ_INTERVAL_MS - performance.now())
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#readAt = performance.now()
      this.#reading = this.#readAll().finally(() => {
        this.#reading = undefined
        if (this.#isWoken) this.wake()
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
        setTimeout(() => this.wake(), heldMs).unref()
      }
    } catch (error) {
      // Nothing is lost: it goes on from the position where it is.
      this.#context.log.warn({ err: error }, 'the log of changes could not be read: it is tried again')
      setTimeout(() => this.wake(), FAULT_MS).unref()
    }
  }

  async #readPage(): Promise<ChangePage | undefined> {
    const { db } = this.#context
    const before = this.#end
    const size = this.#size
    const collections = [...this.#taker.beginPage()]
    this.#size = sizeAfter()
    if (!before || collections.length === 0) return undefined
    const page = await readLivePage(db, before.position, collections, size)
    if (this.#end !== before) return undefined
    this.#end = { generation: page.generation, position: page.next }
    this.#size = sizeAfter(page)
    const isStill = page.isHeld && !isBefore(before.position, page.next)
    this.#heldSince = isStill ? (this.#heldSince ?? performance.now()) : undefined
    await this.#taker.takePage(page, before, this.#end)
    return page
  }
}
