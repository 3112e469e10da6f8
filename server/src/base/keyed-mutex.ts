import { createSemaphore, type Semaphore } from './semaphore.ts'

/** Runs one task at a time for each key. */
export type KeyedMutex = {
  /**
   * Runs the task after the earlier tasks of the key, and settles as it does.
   *
   * @throws UNAVAILABLE at once, if too many tasks of the key wait
   */
  run<T>(key: string, task: () => Promise<T>): Promise<T>
}

/**
 * Keeps tasks of one key from running at the same time in this process. This only avoids contention: rules that must
 * hold across replicas belong in the database.
 *
 * @param options.queue how many tasks may wait for one key
 * @param options.retryAfter the `Retry-After` of the error beyond that, in whole seconds
 */
export function createKeyedMutex(options: { queue: number; retryAfter: number }): KeyedMutex {
  const entries = new Map<string, { semaphore: Semaphore; tasks: number }>()
  return {
    async run(key, task) {
      const entry = entries.get(key) ?? { semaphore: createSemaphore({ limit: 1, ...options }), tasks: 0 }
      entries.set(key, entry)
      entry.tasks++
      try {
        return await entry.semaphore.run(task)
      } finally {
        entry.tasks--
        if (entry.tasks === 0) entries.delete(key)
      }
    },
  }
}
