import { type ApiError, errors } from '../base/errors.ts'
import { FairSemaphore } from '../base/fair-semaphore.ts'
import { PendingPromises } from '../base/pending-promises.ts'
import type { ScanOptions } from './database.ts'

/** How many scans run at once. */
export const SCAN_PLACES = 3
const SCAN_LIMIT_MS = 10_000
const WAIT_LIMIT_MS = 10_000
const WAITING_MAX = 1024
const RETRY_SECONDS = 5

/**
 * The queue in front of the scans of an engine. The caller with the fewest running scans is next, and callers with equally
 * many take turns. The last free place is left to callers of which nothing runs, so one caller never has all of them.
 */
export class ScanQueue {
  readonly #places: FairSemaphore
  readonly #pending = new PendingPromises()
  #unnamed = 0

  /** @param crowdedPlaces how many places a caller has at most while further scans wait */
  constructor(waitLimitMs = WAIT_LIMIT_MS, crowdedPlaces = SCAN_PLACES) {
    this.#places = new FairSemaphore({
      total: SCAN_PLACES,
      keptForFirst: 1,
      ofCaller: (_, othersWaiting) => (othersWaiting > 0 ? crowdedPlaces : SCAN_PLACES),
      waiting: { total: WAITING_MAX, ofCaller: WAITING_MAX },
      waitMs: waitLimitMs,
      refusals: { ofCaller: tooMany, ofAll: tooMany, late: waitedTooLong },
    })
  }

  /** How many scans wait. */
  get waiting(): number {
    return this.#places.waiting
  }

  /** Whether further scans wait beside the next one. */
  get isCrowded(): boolean {
    return this.waiting > 1
  }

  /**
   * Runs a scan when there is a place for it.
   *
   * @param scan must end soon after its signal aborts; its place is taken until then, but it is answered at once
   * @throws UNAVAILABLE if too many wait, if it waited too long, or if it was stopped at its limit
   */
  run<T>(options: ScanOptions, scan: (stop: AbortSignal) => Promise<T>): Promise<T> {
    return this.#pending.add(this.#run(options, scan))
  }

  /**
   * Runs a scan that takes two places, if no other scan runs or waits; else it does not run.
   *
   * @param scan as of `run`
   * @throws as `run`
   */
  runIfIdle<T>(options: ScanOptions, scan: (stop: AbortSignal) => Promise<T>): Promise<T> | undefined {
    const caller = this.#nameOf(options)
    if (this.#places.total > 0 || !this.#places.tryTake(caller, 2)) return undefined
    return this.#pending.add(this.#runTaken(options, scan, () => this.#places.give(caller, 2)))
  }

  /** Resolves when no scan runs or waits. */
  idle(): Promise<void> {
    return this.#pending.idle()
  }

  /** Without a caller, it competes with nobody of the same name. */
  #nameOf({ caller }: ScanOptions): string {
    return caller ?? `unnamed ${this.#unnamed++}`
  }

  async #run<T>(options: ScanOptions, scan: (stop: AbortSignal) => Promise<T>): Promise<T> {
    const signal = signalOf(options)
    signal?.throwIfAborted()
    const caller = this.#nameOf(options)
    await this.#places.take(caller, 1, signal)
    return this.#runTaken({ ...options, signal }, scan, () => this.#places.give(caller, 1))
  }

  /** @param give gives back the places of the scan */
  async #runTaken<T>(
    options: ScanOptions,
    scan: (stop: AbortSignal) => Promise<T>,
    give: () => void,
  ): Promise<T> {
    const { limitMs = SCAN_LIMIT_MS } = options
    const signal = signalOf(options)
    const stop = new AbortController()
    const timer = setTimeout(() => stop.abort(tookTooLong(limitMs)), limitMs)
    const leave = (): void => stop.abort(signal!.reason)
    signal?.addEventListener('abort', leave)
    const stopped = new Promise<never>((_, reject) => {
      stop.signal.addEventListener('abort', () => reject(stop.signal.reason as Error))
    })
    const ended = this.#pending.add(scan(stop.signal).finally(give))
    try {
      // How a scan ends that was stopped is of no interest.
      return await Promise.race([ended, stopped])
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', leave)
    }
  }
}

const signalOf = ({ signal }: ScanOptions): AbortSignal | undefined =>
  typeof signal === 'function' ? signal() : signal

const busy = (message: string): ApiError => errors.unavailable({ retryAfter: RETRY_SECONDS, message })

const tooMany = (): ApiError => busy('Too many queries at once: try again later.')
const waitedTooLong = (): ApiError => busy('The server is busy with other queries: try again later.')

const tookTooLong = (limitMs: number): ApiError =>
  errors.unavailable({
    retryAfter: 30,
    message: `The query took longer than ${limitMs / 1000} s and was stopped: narrow it.`,
  })
