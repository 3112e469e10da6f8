/** Where the time comes from, so that tests can move it. */
export type Clock = {
  /** Milliseconds since 1970, UTC. */
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

/** ISO 8601 in UTC with milliseconds, as every timestamp of the API is written. */
export const isoTime = (ms: number): string => new Date(ms).toISOString()
