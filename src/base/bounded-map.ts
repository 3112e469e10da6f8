/** A map of at most so many entries: a new one beyond that takes the place of the one that came first. */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #limit: number

  constructor(limit: number) {
    super()
    this.#limit = limit
  }

  override set(key: K, value: V): this {
    if (this.size >= this.#limit && !this.has(key)) {
      const [first] = this.keys()
      this.delete(first!)
    }
    return super.set(key, value)
  }
}
