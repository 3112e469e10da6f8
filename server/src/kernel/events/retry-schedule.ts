const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS

/** How long an event is tried, and a webhook may fail before it is switched off. */
export const TRIED_MS = 72 * HOUR_MS

/**
 * The pauses after each attempt; the last one is cut so that the last attempt comes when the time is over.
 *
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md#deliverability-and-reliability
 */
const PAUSES_MS = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
]
const JITTER = 0.2
const ASKED_MAX_MS = 24 * HOUR_MS

/**
 * How long to wait after a failed attempt, in milliseconds; undefined: it was the last one.
 *
 * @param failure.attempts those so far
 * @param failure.elapsedMs since the first attempt
 * @param failure.askedMs how long the receiver asks to wait
 * @param random from 0 to 1
 */
export function pauseAfter(
  { attempts, elapsedMs, askedMs = 0 }: { attempts: number; elapsedMs: number; askedMs?: number | undefined },
  random = Math.random(),
): number | undefined {
  const leftMs = TRIED_MS - elapsedMs
  if (leftMs <= 0) return undefined
  const pauseMs = PAUSES_MS[attempts - 1] ?? PAUSES_MS.at(-1)!
  const jitteredMs = pauseMs * (1 - JITTER + 2 * JITTER * random)
  return Math.round(Math.min(leftMs, Math.max(jitteredMs, Math.min(askedMs, ASKED_MAX_MS))))
}

/**
 * What `Retry-After` asks for, in milliseconds; undefined if it can't be read (RFC 9110, section 10.2.3).
 *
 * @param now milliseconds since 1970
 */
export function readRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined
  if (/^\d{1,9}$/.test(header.trim())) return Number(header) * SECOND_MS
  const date = Date.parse(header)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}
