/** Who listens to which channels in this process. */
export class Channels {
  readonly #listeners = new Map<string, Set<() => void>>()

  get names(): readonly string[] {
    return [...this.#listeners.keys()]
  }

  /** @returns removes it */
  add(channel: string, heard: () => void): () => void {
    const listeners = this.#listeners.get(channel) ?? new Set()
    this.#listeners.set(channel, listeners)
    // The same function may listen twice.
    const listener = () => heard()
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && this.#listeners.get(channel) === listeners) this.#listeners.delete(channel)
    }
  }

  hear(channel: string): void {
    for (const heard of this.#listeners.get(channel) ?? []) heard()
  }

  hearAll(): void {
    for (const channel of this.#listeners.keys()) this.hear(channel)
  }
}
