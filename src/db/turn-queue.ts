/**
 * Items that arrive in one turn of the event loop are started together at its end, as far as there is room; the others when
 * work has ended.
 */
export class TurnQueue<T> {
  readonly waiting: T[] = []
  readonly underWay = new Set<Promise<void>>()
  readonly #hasRoom: () => boolean
  readonly #startNext: () => Promise<void>
  #isScheduled = false

  /**
   * @param hasRoom whether more work may start now
   * @param startNext removes the next items of `waiting` and works on them; never rejects
   */
  constructor(hasRoom: () => boolean, startNext: () => Promise<void>) {
    this.#hasRoom = hasRoom
    this.#startNext = startNext
  }

  push(item: T): void {
    this.waiting.push(item)
    this.schedule()
  }

  /** To be called when there is room again before work has ended. */
  schedule(): void {
    if (this.#isScheduled || this.waiting.length === 0 || !this.#hasRoom()) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      while (this.waiting.length > 0 && this.#hasRoom()) {
        const work = this.#startNext()
        this.underWay.add(work)
        void work.finally(() => {
          this.underWay.delete(work)
          this.schedule()
        })
      }
    })
  }

  /** Resolves when nothing waits or is under way. */
  async idle(): Promise<void> {
    while (this.waiting.length > 0 || this.underWay.size > 0) {
      await new Promise((resolve) => setImmediate(resolve))
      await Promise.all(this.underWay)
    }
  }
}
