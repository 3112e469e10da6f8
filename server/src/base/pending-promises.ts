/** Promises that have not settled, so that work in the background is waited for before what it uses is closed. */
export class PendingPromises {
  // Only counted: see limitSending for what a set of them would keep.
  #size = 0
  #waiting: (() => void)[] = []

  get size(): number {
    return this.#size
  }

  /** Returns the same promise. Its rejection is an affair of the caller. */
  add<T>(promise: Promise<T>): Promise<T> {
    this.#size++
    promise.then(this.#remove, this.#remove)
    return promise
  }

  /** Resolves once one of them has settled; at once if there is none. */
  async next(): Promise<void> {
    if (this.size > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  /** Resolves once all of them have settled, those that are added meanwhile included. */
  async idle(): Promise<void> {
    while (this.size > 0) await this.next()
  }

  readonly #remove = (): void => {
    this.#size--
    if (this.#waiting.length > 0) for (const resolve of this.#waiting.splice(0)) resolve()
  }
}
