import { type ApiError, errors } from '../base/errors.ts'
import type { ScanOptions } from './database.ts'

/** How many scans run at once. */
export const SCAN_PLACES = 3
const SCAN_LIMIT_MS = 10_000
const WAIT_LIMIT_MS = 10_000
const WAITING_MAX = 1024
const RETRY_SECONDS = 5

type Caller = string | symbol
type WaitingScan = {
  readonly caller: Caller
  start(): void
  refuse(error: ApiError): void
}

/**
 * The queue in front of the scans of an engine. The caller with the fewest running scans is next, and callers with equally
 * many take turns. The last free place is left to callers of which nothing runs, so one caller never has all of them.
 */
export class ScanQueue {
  readonly #running = new Map<Caller, number>()
  /** By caller; the one whose turn it is first. */
  readonly #waiting = new Map<Caller, WaitingScan[]>()
  readonly #waitLimitMs: number
  readonly #crowdedPlaces: number
  #free = SCAN_PLACES
  #waitingCount = 0
  #idle: PromiseWithResolvers<void> | undefined

  /** @param crowdedPlaces how many places a caller has at most while further scans wait */
  constructor(waitLimitMs = WAIT_LIMIT_MS, crowdedPlaces = SCAN_PLACES) {
    this.#waitLimitMs = waitLimitMs
    this.#crowdedPlaces = crowdedPlaces
  }

  /** How many scans wait. */
  get waiting(): number {
    return this.#waitingCount
  }

  /** Whether further scans wait beside the next one. */
  get isCrowded(): boolean {
    return this.#waitingCount > 1
  }

  /**
   * Runs a scan when there is a place for it.
   *
   * @param scan must end soon after its signal aborts; its place is taken until then, but it is answered at once
   * @throws UNAVAILABLE if too many wait, if it waited too long, or if it was stopped at its limit
   */
  async run<T>(
    { caller, limitMs = SCAN_LIMIT_MS, signal }: ScanOptions,
    scan: (stop: AbortSignal) => Promise<T>,
  ): Promise<T> {
    signal?.throwIfAborted()
    // Without one, it competes with nobody of the same name.
    const counted = caller ?? Symbol('scan')
    if (this.#waitingCount >= WAITING_MAX) this.#makeRoomFor(counted)
    await this.#takePlace(counted, signal)
    const stop = new AbortController()
    const timer = setTimeout(() => stop.abort(tookTooLong(limitMs)), limitMs)
    const leave = (): void => stop.abort(signal!.reason)
    signal?.addEventListener('abort', leave)
    const stopped = new Promise<never>((_, reject) => {
      stop.signal.addEventListener('abort', () => reject(stop.signal.reason as Error))
    })
    const ended = scan(stop.signal).finally(() => this.#freePlace(counted))
    try {
      // How a scan ends that was stopped is of no interest.
      return await Promise.race([ended, stopped])
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', leave)
    }
  }

  /** Resolves when no scan runs or waits. */
  async idle(): Promise<void> {
    if (this.#running.size === 0 && this.#waitingCount === 0) return
    this.#idle ??= Promise.withResolvers()
    await this.#idle.promise
  }

  #takePlace(caller: Caller, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(caller) ?? []
      const scan: WaitingScan = {
        caller,
        start: () => {
          end()
          resolve()
        },
        refuse: (error) => {
          end()
          reject(error)
        },
      }
      const timer = setTimeout(() => {
        this.#remove(scan)
        scan.refuse(busy('The server is busy with other queries: try again later.'))
      }, this.#waitLimitMs)
      const leave = (): void => {
        this.#remove(scan)
        scan.refuse(signal!.reason as ApiError)
      }
      const end = (): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', leave)
      }
      signal?.addEventListener('abort', leave)
      waiting.push(scan)
      this.#waiting.set(caller, waiting)
      this.#waitingCount++
      this.#startNext()
    })
  }

  #freePlace(caller: Caller): void {
    this.#free++
    const running = this.#running.get(caller)! - 1
    if (running > 0) this.#running.set(caller, running)
    else this.#running.delete(caller)
    this.#startNext()
    if (this.#running.size > 0 || this.#waitingCount > 0) return
    this.#idle?.resolve()
    this.#idle = undefined
  }

  #startNext(): void {
    for (let caller = this.#nextCaller(); caller !== undefined; caller = this.#nextCaller()) {
      const waiting = this.#waiting.get(caller)!
      const scan = waiting[0]!
      this.#remove(scan)
      // Behind all others that wait.
      if (this.#waiting.delete(caller)) this.#waiting.set(caller, waiting)
      this.#free--
      this.#running.set(caller, (this.#running.get(caller) ?? 0) + 1)
      scan.start()
    }
  }

  #nextCaller(): Caller | undefined {
    if (this.#free === 0) return undefined
    let next: Caller | undefined
    let fewest = Infinity
    for (const caller of this.#waiting.keys()) {
      const running = this.#running.get(caller) ?? 0
      if (running >= fewest) continue
      next = caller
      fewest = running
    }
    if (this.isCrowded && fewest >= this.#crowdedPlaces) return undefined
    return fewest > 0 && this.#free === 1 ? undefined : next
  }

  #remove(scan: WaitingScan): void {
    const waiting = this.#waiting.get(scan.caller)
    const at = waiting?.indexOf(scan) ?? -1
    if (waiting === undefined || at < 0) return
    waiting.splice(at, 1)
    if (waiting.length === 0) this.#waiting.delete(scan.caller)
    this.#waitingCount--
  }

  /**
   * Refuses the newest scan of the caller with the most waiting ones.
   *
   * @throws UNAVAILABLE if it is this caller
   */
  #makeRoomFor(caller: Caller): void {
    const own = (this.#waiting.get(caller)?.length ?? 0) + 1
    const most = [...this.#waiting.values()].reduce((a, b) => (b.length > a.length ? b : a))
    const error = busy('Too many queries at once: try again later.')
    const newest = most.at(-1)
    if (most.length <= own || !newest) throw error
    this.#remove(newest)
    newest.refuse(error)
  }
}

const busy = (message: string): ApiError => errors.unavailable({ retryAfter: RETRY_SECONDS, message })

const tookTooLong = (limitMs: number): ApiError =>
  errors.unavailable({
    retryAfter: 30,
    message: `The query took longer than ${limitMs / 1000} s and was stopped: narrow it.`,
  })
