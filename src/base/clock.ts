import { setTimeout as delay } from 'node:timers/promises'

/** Where the time comes from, so that tests can move it: timers that obey it end sooner when it is set forward. */
export type Clock = {
  /** Milliseconds since 1970, UTC. */
  now(): number
  /** Milliseconds since some moment; unlike `now` it is never set back. For limits within one process. */
  elapsed(): number
  /**
   * Resolves after `ms`, or as soon as the signal aborts.
   *
   * @param options.idle whether nobody waits for the end of it, as between two polls: it keeps no process running
   */
  sleep(ms: number, options?: { signal?: AbortSignal; idle?: boolean }): Promise<void>
  /**
   * Calls back after `ms`, unless it is cleared before. For limits of time.
   *
   * @returns clears it
   */
  timer(ms: number, call: () => void): () => void
}

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  async sleep(ms, { signal, idle = false } = {}) {
    try {
      await delay(ms, undefined, { ref: !idle, ...(signal && { signal }) })
    } catch (error) {
      if (!signal?.aborted) throw error
    }
  },
  timer(ms, call) {
    const timer = setTimeout(call, ms)
    return () => clearTimeout(timer)
  },
}

/** ISO 8601 in UTC with milliseconds, as every timestamp of the API is written. */
export const isoTime = (ms: number): string => new Date(ms).toISOString()
