import { type ApiError, errors } from './errors.ts'

const RETRY_SECONDS = 5

export type FairLimits = {
  /** How much may be taken in all, in units of weight. */
  total: number
  /** How much one caller may take, while so many others wait. */
  ofCaller: (caller: string, othersWaiting: number) => number
  /** Whether a caller who has taken nothing never waits, so that nobody can take everything. */
  isFirstFree?: boolean
  /** How much of the total is left to callers who have taken nothing. Default: nothing. */
  keptForFirst?: number
  /** How many may wait in all, and of one caller. */
  waiting: { total: number; ofCaller: number }
  waitMs: number
  /** The errors in place of TOO_MANY_CONCURRENT and UNAVAILABLE. */
  refusals?: Refusals
}

type Refusals = {
  /** The caller has or wants too much. */
  readonly ofCaller: () => Error
  /** All together have too much. */
  readonly ofAll: () => Error
  /** It waited too long. Default: whichever of both it waited for. */
  readonly late?: () => Error
}

type Waiting = {
  readonly weight: number
  start(): void
  refuse(error: Error): void
}

/**
 * A counting semaphore that callers share fairly: of the callers that wait, the one that has taken least is next, and callers
 * that have taken equally little take turns. A caller that is the only one may take more than a limit at once.
 */
export class FairSemaphore {
  readonly #limits: FairLimits
  readonly #refusals: Refusals
  readonly #taken = new Map<string, number>()
  /** By caller; the one whose turn it is first. */
  readonly #waiting = new Map<string, Waiting[]>()
  #total = 0
  #waitingCount = 0
  /** Whether the next one waits for others to give back. */
  #isFull = false

  constructor(limits: FairLimits) {
    this.#limits = limits
    this.#refusals = limits.refusals ?? { ofCaller: tooManyOfCaller, ofAll: tooMany }
  }

  /** How much is taken now. */
  get total(): number {
    return this.#total
  }

  /** How many wait. */
  get waiting(): number {
    return this.#waitingCount
  }

  /** Takes this much if it is free; answers whether it was. */
  tryTake(caller: string, weight: number): boolean {
    const isFree =
      !this.#waiting.has(caller) &&
      this.#fitsCaller(caller, weight, this.#waitingCount) &&
      this.#fitsTotal(caller, weight)
    if (isFree) this.#add(caller, weight)
    return isFree
  }

  /**
   * Takes this much for a caller.
   *
   * @param signal ends the waiting
   * @returns undefined if it was free
   * @throws TOO_MANY_CONCURRENT if the caller has or wants too much; UNAVAILABLE if all together have
   */
  take(caller: string, weight: number, signal?: AbortSignal): Promise<void> | undefined {
    return this.tryTake(caller, weight) ? undefined : this.#wait(caller, weight, signal)
  }

  /** Gives back what was taken, or a part of it. */
  give(caller: string, weight: number): void {
    this.#add(caller, -weight)
    if (this.#waitingCount > 0) this.#startNext()
  }

  #add(caller: string, weight: number): void {
    this.#total += weight
    const own = (this.#taken.get(caller) ?? 0) + weight
    if (own > 0) this.#taken.set(caller, own)
    else this.#taken.delete(caller)
  }

  #fitsCaller(caller: string, weight: number, othersWaiting: number): boolean {
    const own = this.#taken.get(caller) ?? 0
    return own === 0 || own + weight <= this.#limits.ofCaller(caller, othersWaiting)
  }

  #fitsTotal(caller: string, weight: number): boolean {
    const { total, isFirstFree = false, keptForFirst = 0 } = this.#limits
    const isFirst = !this.#taken.has(caller)
    if (this.#total === 0 || (isFirstFree && isFirst)) return true
    return !this.#isFull && this.#total + weight <= total - (isFirst ? 0 : keptForFirst)
  }

  async #wait(caller: string, weight: number, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted()
    this.#admit(caller)
    await new Promise<void>((resolve, reject) => {
      const end = (settle: () => void): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
        settle()
      }
      const waiting: Waiting = {
        weight,
        start: () => end(resolve),
        refuse: (error) => end(() => reject(error)),
      }
      const leave = (error: Error): void => {
        this.#remove(caller, waiting)
        waiting.refuse(error)
        this.#startNext()
      }
      const abort = (): void => leave(signal!.reason as Error)
      const timer = setTimeout(() => {
        const { ofCaller, ofAll, late } = this.#refusals
        leave((late ?? (this.#fitsCaller(caller, weight, this.#waitingCount - 1) ? ofAll : ofCaller))())
      }, this.#limits.waitMs)
      signal?.addEventListener('abort', abort)
      const own = this.#waiting.get(caller)
      if (own) own.push(waiting)
      else this.#waiting.set(caller, [waiting])
      this.#waitingCount++
      this.#startNext()
    })
  }

  /** @throws TOO_MANY_CONCURRENT, UNAVAILABLE if there is no place to wait */
  #admit(caller: string): void {
    const own = this.#waiting.get(caller)?.length ?? 0
    if (own >= this.#limits.waiting.ofCaller) throw this.#refusals.ofCaller()
    if (this.#waitingCount < this.#limits.waiting.total) return
    const [most, all] = [...this.#waiting].reduce((a, b) => (b[1].length > a[1].length ? b : a))
    if (all.length <= own + 1) throw this.#refusals.ofAll()
    const newest = all.at(-1)!
    this.#remove(most, newest)
    newest.refuse(this.#refusals.ofCaller())
  }

  #startNext(): void {
    this.#isFull = false
    for (let caller = this.#nextCaller(); caller !== undefined; caller = this.#nextCaller()) {
      const waiting = this.#waiting.get(caller)!
      const next = waiting[0]!
      if (!this.#fitsTotal(caller, next.weight)) {
        this.#isFull = true
        return
      }
      this.#remove(caller, next)
      // Behind all others that wait.
      if (this.#waiting.delete(caller)) this.#waiting.set(caller, waiting)
      this.#add(caller, next.weight)
      next.start()
    }
  }

  #nextCaller(): string | undefined {
    let next: string | undefined
    let least = Infinity
    for (const [caller, [first]] of this.#waiting) {
      const own = this.#taken.get(caller) ?? 0
      if (own >= least || !this.#fitsCaller(caller, first!.weight, this.#waitingCount - 1)) continue
      next = caller
      least = own
    }
    return next
  }

  #remove(caller: string, waiting: Waiting): void {
    const all = this.#waiting.get(caller)
    const at = all?.indexOf(waiting) ?? -1
    if (all === undefined || at < 0) return
    all.splice(at, 1)
    if (all.length === 0) this.#waiting.delete(caller)
    this.#waitingCount--
  }
}

const tooManyOfCaller = (): ApiError => errors.too_many_concurrent({ retryAfter: RETRY_SECONDS })

const tooMany = (): ApiError =>
  errors.unavailable({
    retryAfter: RETRY_SECONDS,
    message: 'The server is busy with other requests: try again shortly.',
  })
