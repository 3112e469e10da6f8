import { createSemaphore, type Semaphore } from './semaphore.ts'

/** Tasks that take turns where they have a key in common. */
export type Turns = {
  /**
   * Runs the task once those that came earlier for the key have ended, and settles as it does.
   *
   * @throws UNAVAILABLE at once, where too many wait for the key already
   */
  run<T>(key: string, task: () => Promise<T>): Promise<T>
}

/**
 * Keeps tasks of one key from running at once in this process. A courtesy, so that they don't hinder each other:
 * what must hold also among replicas is for the database.
 *
 * @param options.queue how many may wait for one key
 * @param options.retryAfter whole seconds named in the refusal beyond that
 */
export function createTurns(options: { queue: number; retryAfter: number }): Turns {
  const turns = new Map<string, { semaphore: Semaphore; tasks: number }>()
  return {
    async run(key, task) {
      const turn = turns.get(key) ?? { semaphore: createSemaphore({ limit: 1, ...options }), tasks: 0 }
      turns.set(key, turn)
      turn.tasks++
      try {
        return await turn.semaphore.run(task)
      } finally {
        turn.tasks--
        if (turn.tasks === 0) turns.delete(key)
      }
    },
  }
}
