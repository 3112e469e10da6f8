import { isIPv6 } from 'node:net'

import { errors } from '../base/errors.ts'
import type { RateLimit, RouteSpec } from './route.ts'

/** Counts calls, in the database for all replicas or in this process alone. */
export type RateLimiter = {
  /**
   * Takes one call out of a bucket that holds `count` and refills evenly over `periodMs`.
   *
   * @returns undefined where the call may go on, else the milliseconds after which the next one may
   */
  take(bucket: string, count: number, periodMs: number): Promise<number | undefined>
}

/** How a limit is written: `30/min`, `5/hour`. */
export const RATE_LIMIT = '^([1-9]\\d{0,6})/(min|hour)$'

const PERIODS = { min: 60_000, hour: 3_600_000 }
const LONGEST_NAME = 64

/** @throws Error where the limit is not a whole number of calls a minute or an hour */
export function parseRateLimit(limit: RateLimit): { count: number; periodMs: number } {
  const [, count, period] = new RegExp(RATE_LIMIT).exec(limit) ?? []
  if (count === undefined) throw new Error(`the rate limit "${limit}" is not written like 30/min or 5/hour`)
  return { count: Number(count), periodMs: PERIODS[period as 'min' | 'hour'] }
}

/** For each client address, on a route that needs no token and names no limit of its own. */
const ANONYMOUS_LIMIT: RateLimit = '300/min'

/**
 * A route's limit: its own, or else, where it can be called without a token, one that counts callers without a token
 * only. So no route that strangers can call is without one.
 */
export function limitOf({
  limit,
  limitIn = 'database',
  access,
}: Pick<RouteSpec, 'limit' | 'limitIn' | 'access'>):
  | { limit: RateLimit; limitIn: 'database' | 'process'; countsCallers: boolean }
  | undefined {
  if (limit !== undefined) return { limit, limitIn, countsCallers: true }
  // In the process: otherwise every read by a stranger would be a write.
  if (access === 'public' || access === 'optional')
    return { limit: ANONYMOUS_LIMIT, limitIn: 'process', countsCallers: false }
  return undefined
}

/** @throws RATE_LIMITED where the call is one too many */
export async function takeCall(
  limiter: RateLimiter,
  bucket: string,
  { count, periodMs }: { count: number; periodMs: number },
): Promise<void> {
  const waitMs = await limiter.take(bucket, count, periodMs)
  if (waitMs !== undefined) throw errors.rate_limited({ retryAfter: Math.ceil(waitMs / 1000) })
}

const MAPPED_IPV4 = /^::ffff:([\da-f]+):([\da-f]+)$/

/**
 * Whom a client address stands for: one IPv4 address, or the IPv6 network of 64 bits that one customer is given,
 * in whatever form a proxy writes it.
 */
export function clientOf(ip: string): string {
  const [, bare = ip] = /^\[(.*)\](?::\d+)?$/.exec(ip) ?? /^([\d.]+):\d+$/.exec(ip) ?? []
  if (!isIPv6(bare)) return bare.slice(0, LONGEST_NAME)
  // A URL has one way to write an address.
  const address = new URL(`http://[${bare.split('%', 1)[0]!}]`).hostname.slice(1, -1)
  const mapped = MAPPED_IPV4.exec(address)
  if (mapped) return mapped.slice(1).flatMap(bytesOf).join('.')
  const [left = [], right = []] = address.split('::').map((part) => part.split(':').filter(Boolean))
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => '0')
  return `${[...left, ...zeros, ...right].slice(0, 4).join(':')}::/64`
}

function bytesOf(group: string): [number, number] {
  const value = Number.parseInt(group, 16)
  return [value >> 8, value & 0xff]
}
