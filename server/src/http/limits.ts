import { BoundedMap } from '../base/bounded-map.ts'
import { errors } from '../base/errors.ts'
import { networkOf } from '../base/ip-address.ts'
import type { Caller } from './access.ts'
import type { RateLimit, RouteLimit, RouteSpec } from './route.ts'

/** Counts calls, in the database for all replicas or in this process alone. */
export type RateLimiter = {
  /**
   * Takes one call out of a bucket that holds `count` and refills evenly over `periodMs`.
   *
   * @returns undefined if the call may go on, else the milliseconds to wait for the next one
   */
  take(bucket: string, count: number, periodMs: number): Promise<number | undefined>
}

/** How a limit is written: `30/min`, `5/hour`. */
export const RATE_LIMIT = '^([1-9]\\d{0,6})/(min|hour)$'

const PERIODS = { min: 60_000, hour: 3_600_000 }
const LONGEST_NAME = 64
const CLIENTS_MAX = 1_000

/** @throws Error if the limit is not a whole number of calls a minute or an hour */
export function parseRateLimit(limit: RateLimit): { count: number; periodMs: number } {
  const [, count, period] = new RegExp(RATE_LIMIT).exec(limit) ?? []
  if (count === undefined) throw new Error(`the rate limit "${limit}" is not written like 30/min or 5/hour`)
  return { count: Number(count), periodMs: PERIODS[period as 'min' | 'hour'] }
}

/** Of `/openapi.json` and `/docs`, per client address. */
export const DESCRIPTION_LIMIT: RateLimit = '600/min'

/** Per client address, on a route that needs no token and has no limit of its own. */
const ANONYMOUS_LIMIT: RateLimit = '300/min'

/** A kind of caller; a stranger sends no valid token, and is counted by address. */
export type CallerKind = Caller['kind'] | 'stranger'

/** The limit of a route, with its defaults. */
export type LimitOfRoute = Required<Pick<RouteLimit, 'rate' | 'countedIn' | 'always'>> & {
  name: string | undefined
  /** Whose calls are counted. */
  counted: readonly CallerKind[]
}

/**
 * A route's limit: its own, or else, if it can be called without a token, one that counts callers without a token
 * only. So every route that can be called anonymously has one. Service keys act for many users, so they are counted only
 * where the route says so.
 */
export function limitOf({ limit, access }: Pick<RouteSpec, 'limit' | 'access'>): LimitOfRoute | undefined {
  if (limit !== undefined) {
    const own: RouteLimit = typeof limit === 'string' ? { rate: limit } : limit
    const { rate, name, countedIn = 'database', always = false, keys = false } = own
    const counted = ['stranger', 'user', ...(keys ? ['key' as const] : [])] as const
    return { rate, name, countedIn, always, counted: access === 'public' ? ['stranger'] : counted }
  }
  // In the process: otherwise every anonymous read would be a write.
  if (access === 'public' || access === 'optional')
    return {
      rate: ANONYMOUS_LIMIT,
      name: undefined,
      countedIn: 'process',
      always: false,
      counted: ['stranger'],
    }
  return undefined
}

/** @throws RATE_LIMITED if the bucket is empty */
export async function takeCall(
  limiter: RateLimiter,
  bucket: string,
  { count, periodMs }: { count: number; periodMs: number },
): Promise<void> {
  const waitMs = await limiter.take(bucket, count, periodMs)
  if (waitMs !== undefined) throw errors.rate_limited({ retryAfter: Math.ceil(waitMs / 1000) })
}

/** Whom a call is counted for: its caller, or a stranger by address. */
export const countedFor = ({ caller, ip }: { caller: Caller | undefined; ip: string }): string =>
  caller?.id ?? clientOf(ip)

/**
 * The client that is counted by its address: one IPv4 address, or the IPv6 network of 64 bits that one customer is assigned,
 * in any form that a proxy writes. Text that is not an address is one client by its first characters.
 */
export function clientOf(ip: string): string {
  const known = clients.get(ip)
  if (known !== undefined) return known
  // Some proxies write the port too.
  const [, address = ip] = /^\[(.*)\](?::\d+)?$/.exec(ip) ?? /^([\d.]+):\d+$/.exec(ip) ?? []
  const client = networkOf(address) ?? address.slice(0, LONGEST_NAME)
  if (ip.length <= LONGEST_NAME) clients.set(ip, client)
  return client
}

// Of the last addresses: to read one takes longer than all else that is done for a limit.
const clients = new BoundedMap<string, string>(CLIENTS_MAX)
