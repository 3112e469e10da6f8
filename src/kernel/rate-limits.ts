import { BoundedMap } from '../base/bounded-map.ts'
import type { Clock } from '../base/clock.ts'
import type { Database } from '../db/database.ts'
import { sql } from '../db/sql.ts'
import type { RateLimiter } from '../http/limits.ts'

const BUCKETS_MAX = 100_000

// Microseconds keep the interval exact for every rate that a route may have.
const nowMicros = (clock: Clock): number => clock.now() * 1000

/** What a bucket of `count` calls a period is compared with, in microseconds. */
function boundsOf(now: number, count: number, periodMs: number) {
  // Rounded down, and all else taken from it, or the last call of a burst would have no room.
  const interval = Math.floor((periodMs * 1000) / count)
  return {
    interval,
    latest: now + interval * (count - 1),
    // No bucket is full so late, unless a clock was set back since: then it begins anew.
    absurd: now + 2 * periodMs * 1000,
  }
}

const waitMs = (fullAt: number, latest: number): number => Math.max(1, Math.ceil((fullAt - latest) / 1000))

/**
 * Buckets in the database, so that all replicas count together (the generic cell rate algorithm, ITU-T I.371):
 * a bucket is one instant, the time at which it will be full again. A refused call changes nothing,
 * and of calls at the same moment exactly as many pass as there is room for.
 */
export function createRateLimiter(db: Database, clock: Clock): RateLimiter & { forgetFull(): Promise<void> } {
  return {
    async take(bucket, count, periodMs) {
      const now = nowMicros(clock)
      const { interval, latest, absurd } = boundsOf(now, count, periodMs)
      const [passed] = await db.write(sql`
        insert into sixwire_rate_limits as held (bucket, full_at) values (${bucket}, ${now + interval})
        on conflict (bucket) do update set
          full_at = case when held.full_at between ${now} and ${absurd} then held.full_at else ${now} end + ${interval}
        where held.full_at <= ${latest} or held.full_at > ${absurd}
        returning full_at`)
      if (passed) return undefined
      const held = await db.get<{ full_at: number }>(
        sql`select full_at from sixwire_rate_limits where bucket = ${bucket}`,
      )
      return waitMs(held?.full_at ?? now, latest)
    },
    async forgetFull() {
      await db.write(sql`delete from sixwire_rate_limits where full_at < ${nowMicros(clock)}`)
    },
  }
}

/** The same buckets in this process alone: for routes that have to answer while the database is away. */
export function createProcessRateLimiter(clock: Clock): RateLimiter {
  const buckets = new BoundedMap<string, number>(BUCKETS_MAX)
  return {
    async take(bucket, count, periodMs) {
      const now = nowMicros(clock)
      const { interval, latest, absurd } = boundsOf(now, count, periodMs)
      const stored = buckets.get(bucket) ?? now
      const fullAt = stored >= now && stored <= absurd ? stored : now
      if (fullAt > latest) return waitMs(fullAt, latest)
      buckets.set(bucket, fullAt + interval)
      return undefined
    },
  }
}
