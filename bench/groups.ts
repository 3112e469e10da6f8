import { setImmediate } from 'node:timers/promises'

import { createSemaphore } from '../server/src/base/semaphore.ts'

/**
 * Does what arrives in one turn of the event loop at once, and what comes while `limit` groups are under way in the next.
 *
 * @param run answers one result for each item
 */
export function inGroups<T, R>(limit: number, run: (items: T[]) => Promise<R[]>): (item: T) => Promise<R> {
  const slots = createSemaphore({ limit, queue: Infinity, retryAfter: 1 })
  let group: { items: T[]; results: Promise<R[]> } | undefined

  async function runGroup(items: T[]): Promise<R[]> {
    await setImmediate()
    return slots.run(() => {
      group = undefined
      return run(items)
    })
  }

  return async (item) => {
    const items: T[] = group?.items ?? []
    group ??= { items, results: runGroup(items) }
    const { results } = group
    const at = items.push(item) - 1
    return (await results)[at]!
  }
}
