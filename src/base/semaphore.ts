import { errors } from './errors.ts'

/** Runs a limited number of tasks at once; the others wait their turn. */
export type Semaphore = {
  /**
   * Runs the task as soon as a slot is free, and settles as it does.
   *
   * @throws UNAVAILABLE at once, where too many wait already
   */
  run<T>(task: () => Promise<T>): Promise<T>
}

/**
 * A counting semaphore that serves in order of arrival, with a bounded queue.
 *
 * @param options.limit how many tasks run at once
 * @param options.queue how many may wait; beyond it `run` refuses
 * @param options.retryAfter whole seconds named in that refusal
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
        // The slot goes straight to the next in line, so that nobody who comes now can pass it.
        const next = waiting.shift()
        if (next) next()
        else running--
      }
    },
  }
}
