/** Takes what waits for the same line together. */
export type KeyedQueue<T> = {
  add(line: string, item: T): void
}

/**
 * @param most items that are taken together
 * @param run works on the items of one line; never two at once for a line. Must not reject
 */
export function createKeyedQueue<T>(
  most: number,
  run: (items: readonly T[]) => Promise<void>,
): KeyedQueue<T> {
  const waiting = new Map<string, T[]>()

  async function work(line: string, items: T[]): Promise<void> {
    // What arrives in this turn of the event loop is taken as well.
    await Promise.resolve()
    while (items.length > 0) await run(items.splice(0, most))
    waiting.delete(line)
  }

  return {
    add(line, item) {
      const items = waiting.get(line)
      if (items) {
        items.push(item)
        return
      }
      const first = [item]
      waiting.set(line, first)
      void work(line, first)
    },
  }
}
