import { errors } from './errors.ts'

/** Runs a limited number of tasks at once; the others wait. */
export type Semaphore = {
  /**
   * Runs the task as soon as a slot is free, and settles as it does.
   *
   * @throws UNAVAILABLE at once, if the queue is full
   */
  run<T>(task: () => Promise<T>): Promise<T>
}

/**
 * A counting semaphore with a bounded queue, in order of arrival.
 *
 * @param options.limit how many tasks run at once
 * @param options.queue how many tasks may wait; beyond it `run` throws
 * @param options.retryAfter the `Retry-After` of that error, in whole seconds
 */
export function createSemaphore(options: { limit: number; queue: number; retryAfter: number }): Semaphore {
  const { limit, queue, retryAfter } = options
  const waiting: (() => void)[] = []
  let running = 0

  return {
    async run(task) {
      if (running < limit) running++
      else if (waiting.length >= queue) throw errors.unavailable({ retryAfter })
      else await new Promise<void>((resolve) => waiting.push(resolve))
      try {
        return await task()
      } finally {
        // The slot passes directly to the next task in the queue, so that a task that arrives now can't overtake it.
        const next = waiting.shift()
        if (next) next()
        else running--
      }
    },
  }
}
