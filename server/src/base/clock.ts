import { setTimeout as delay } from 'node:timers/promises'

/** The source of time. Tests use one that they can advance, which ends its timers early. */
export type Clock = {
  /** Milliseconds since 1970, UTC. */
  now(): number
  /** Milliseconds from an arbitrary start; unlike `now` it never goes back. For durations within one process. */
  elapsed(): number
  /**
   * Resolves after `ms`, or as soon as the signal aborts.
   *
   * @param options.idle whether the process may end meanwhile, as between two polls
   */
  sleep(ms: number, options?: { signal?: AbortSignal; idle?: boolean }): Promise<void>
  /**
   * Calls back after `ms`, unless it is cleared first. For time limits.
   *
   * @returns a function that clears the timer
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

let lastMs = 0
let lastText = new Date(lastMs).toISOString()

/** ISO 8601 in UTC with milliseconds, as every timestamp of the API is written. */
export function isoTime(ms: number): string {
  // A request writes the same time several times.
  if (ms !== lastMs) {
    lastText = new Date(ms).toISOString()
    lastMs = ms
  }
  return lastText
}
