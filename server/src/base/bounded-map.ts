/** A map with a limited number of entries: at the limit, a new key replaces the oldest one. */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #limit: number

  constructor(limit: number) {
    super()
    this.#limit = limit
  }

  override set(key: K, value: V): this {
    if (this.size >= this.#limit && !this.has(key)) {
      const [oldest] = this.keys()
      this.delete(oldest!)
    }
    return super.set(key, value)
  }
}
