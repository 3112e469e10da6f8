import type { RateLimit } from './route.ts'

/** Counts calls where every replica sees them. */
export type RateLimiter = {
  /**
   * Takes one call out of a bucket that holds `count` and refills evenly over `periodMs`.
   *
   * @returns undefined where the call may go on, else the milliseconds after which the next one may
   */
  take(bucket: string, count: number, periodMs: number): Promise<number | undefined>
}

const PERIODS = { min: 60_000, hour: 3_600_000 }

export function parseRateLimit(limit: RateLimit): { count: number; periodMs: number } {
  const [count, period] = limit.split('/') as [string, 'min' | 'hour']
  return { count: Number(count), periodMs: PERIODS[period] }
}

/** Whom a client address stands for: one IPv4 address, or the IPv6 network of 64 bits that one customer is given. */
export function clientOf(ip: string): string {
  if (!ip.includes(':')) return ip
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip)
  if (mapped) return mapped[1]!
  const [head = '', tail = ''] = ip.split('::')
  const left = head.split(':').filter(Boolean)
  const right = tail.split(':').filter(Boolean)
  const zeros = ip.includes('::') ? Array.from({ length: 8 - left.length - right.length }, () => '0') : []
  return `${[...left, ...zeros, ...right].slice(0, 4).join(':')}::/64`
}
