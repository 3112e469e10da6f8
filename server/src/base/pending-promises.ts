/** Promises that have not settled, so that work in the background is waited for before what it uses is closed. */
export class PendingPromises {
  readonly #pending = new Set<Promise<unknown>>()

  get size(): number {
    return this.#pending.size
  }

  /** Returns the same promise. Its rejection is an affair of the caller. */
  add<T>(promise: Promise<T>): Promise<T> {
    this.#pending.add(promise)
    const remove = (): void => void this.#pending.delete(promise)
    promise.then(remove, remove)
    return promise
  }

  /** Resolves once one of them has settled; at once if there is none. */
  async next(): Promise<void> {
    if (this.size > 0) await Promise.race(this.#pending).catch(() => undefined)
  }

  /** Resolves once all of them have settled, those that are added meanwhile included. */
  async idle(): Promise<void> {
    while (this.size > 0) await Promise.allSettled(this.#pending)
  }
}
