export type CoalescerOptions<T, R> = {
  /**
   * Does the work of several calls together. Answers a result for each, or a promise of it, in their order; if it rejects,
   * all of them do.
   */
  answer: (items: readonly T[]) => Promise<readonly (R | Promise<R>)[]>
  /** Only calls of one lane go together, and each lane has its own groups. Default: all are of one lane. */
  laneOf?: (item: T) => unknown
  /** Groups of a lane under way, beyond which calls wait for the next. Default: 1. */
  groups?: number
  /** A group that takes longer does not count as under way any more. */
  slowMs?: number
  /** Whether calls that wait are answered as soon as a group has ended, not at the end of that turn. */
  isEager?: boolean
  /** Calls of a group at most; it may depend on the first one. */
  largest?: number | ((first: T) => number)
  /** A call that would make a group heavier than this begins the next one. */
  heaviest?: number
  weightOf?: (item: T) => number
  /** Two calls of the same key never go together. */
  keyOf?: (item: T) => string | undefined
}

type CoalescedCall<T, R> = {
  readonly item: T
  readonly resolve: (result: R | Promise<R>) => void
  readonly reject: (error: unknown) => void
}

type CoalescerLane<T, R> = { calls: CoalescedCall<T, R>[]; groups: number; isScheduled: boolean }

/**
 * Calls that arrive in one turn of the event loop are answered together at its end, in order of arrival; while as many groups
 * as may be are under way, calls wait and form the next group.
 *
 * @example
 * const inserts = new Coalescer<Row, boolean>({ answer: (rows) => insertAll(rows), groups: 2, largest: 100 })
 * const isInserted = await inserts.call(row)
 */
export class Coalescer<T, R> {
  readonly #options: CoalescerOptions<T, R>
  readonly #groups: number
  readonly #lanes = new Map<unknown, CoalescerLane<T, R>>()
  #unsettled = 0
  #whenIdle: (() => void)[] = []

  constructor(options: CoalescerOptions<T, R>) {
    this.#options = options
    this.#groups = options.groups ?? 1
  }

  /** Whether a call waits or is under way. */
  get isBusy(): boolean {
    return this.#unsettled > 0
  }

  /** How many calls wait. */
  get waiting(): number {
    let count = 0
    for (const { calls } of this.#lanes.values()) count += calls.length
    return count
  }

  call(item: T): Promise<R> {
    const id = this.#options.laneOf?.(item)
    let lane = this.#lanes.get(id)
    if (!lane) this.#lanes.set(id, (lane = { calls: [], groups: 0, isScheduled: false }))
    const { calls } = lane
    this.#unsettled++
    const result = new Promise<R>((resolve, reject) => calls.push({ item, resolve, reject }))
    this.#schedule(id, lane)
    return result
  }

  /** Resolves when no call waits or is under way. */
  async idle(): Promise<void> {
    while (this.isBusy) await new Promise<void>((resolve) => this.#whenIdle.push(resolve))
  }

  #schedule(id: unknown, lane: CoalescerLane<T, R>): void {
    if (lane.isScheduled || lane.calls.length === 0 || lane.groups >= this.#groups) return
    lane.isScheduled = true
    setImmediate(() => {
      lane.isScheduled = false
      this.#start(id, lane)
    })
  }

  #start(id: unknown, lane: CoalescerLane<T, R>): void {
    while (lane.calls.length > 0 && lane.groups < this.#groups)
      void this.#answer(id, lane, this.#take(lane.calls))
  }

  #take(calls: CoalescedCall<T, R>[]): CoalescedCall<T, R>[] {
    const { largest = Infinity, heaviest = Infinity, weightOf, keyOf } = this.#options
    const most = typeof largest === 'function' ? largest(calls[0]!.item) : largest
    const keys = new Set<string>()
    let [size, total] = [0, 0]
    for (const { item } of calls) {
      if (size >= most) break
      const weight = weightOf?.(item) ?? 0
      const key = keyOf?.(item)
      if (size > 0 && (total + weight > heaviest || (key !== undefined && keys.has(key)))) break
      if (key !== undefined) keys.add(key)
      total += weight
      size++
    }
    return calls.splice(0, size)
  }

  /** Never rejects. */
  async #answer(
    id: unknown,
    lane: CoalescerLane<T, R>,
    group: readonly CoalescedCall<T, R>[],
  ): Promise<void> {
    const { answer, slowMs, isEager } = this.#options
    let isCounted = true
    lane.groups++
    const leave = (): void => {
      if (!isCounted) return
      isCounted = false
      lane.groups--
      if (lane.calls.length === 0 && lane.groups === 0) this.#lanes.delete(id)
      else if (isEager) this.#start(id, lane)
      else this.#schedule(id, lane)
    }
    const timer = slowMs === undefined ? undefined : setTimeout(leave, slowMs)
    try {
      const results = await answer(group.map(({ item }) => item))
      for (const [at, { resolve }] of group.entries()) resolve(results[at] as R | Promise<R>)
      const promises = results.filter((result) => result instanceof Promise)
      if (promises.length > 0) await Promise.allSettled(promises)
    } catch (error) {
      for (const { reject } of group) reject(error)
    } finally {
      clearTimeout(timer)
      this.#unsettled -= group.length
      leave()
      if (!this.isBusy) for (const resolve of this.#whenIdle.splice(0)) resolve()
    }
  }
}
