import { BoundedMap } from '../../base/bounded-map.ts'
import type { Clock } from '../../base/clock.ts'
import { errors, type ApiError } from '../../base/errors.ts'
import type { Siblings } from '../../base/siblings.ts'
import { requireRow, type Database, type StepWith } from '../../db/database.ts'
import { sql, type Sql } from '../../db/sql.ts'
import type { RateLimiter } from '../../http/limits.ts'

const BUCKETS_MAX = 100_000
const TOPIC = 'rate-limits'
const TELL_MS = 50

// Microseconds keep the interval exact for every rate that a route may have.
const nowMicros = (clock: Clock): number => clock.now() * 1000

type Bounds = { interval: number; latest: number; absurd: number }

/** What a bucket of `count` calls a period is compared with, in microseconds. */
function boundsOf(now: number, count: number, periodMs: number): Bounds {
  // Rounded down, and all else taken from it, or the last call of a burst would be refused.
  const interval = Math.floor((periodMs * 1000) / count)
  return {
    interval,
    latest: now + interval * (count - 1),
    absurd: absurdAt(now, periodMs),
  }
}

/** A bucket whose time is later than this was written before a clock was set back: it starts again. */
const absurdAt = (now: number, periodMs: number): number => now + 2 * periodMs * 1000

const waitMs = (fullAt: number, latest: number): number => Math.max(1, Math.ceil((fullAt - latest) / 1000))

/** Rate limits that all replicas count together, as calls and as steps of a batch. */
export type DatabaseRateLimiter = RateLimiter & {
  /**
   * The step that takes one call out of a bucket that holds `count` and refills evenly over `periodMs`. If the bucket is
   * empty, the batch is rolled back and the error is thrown. Batches of one bucket wait for each other at this step,
   * so the later steps of such batches run one batch after the other.
   *
   * @example
   * await db.batch([rateLimiter.takeSql(`payout ${userId}`, 5, 3_600_000), insertPayoutSql(payout)])
   *
   * @param otherwise makes the error; default RATE_LIMITED, with the time in which the bucket refills by one call as
   *   `Retry-After`
   */
  takeSql(bucket: string, count: number, periodMs: number, otherwise?: () => ApiError): StepWith
  /** The statement at which a batch waits for other batches of the bucket; it takes no call. */
  waitSql(bucket: string): Sql
  /** Deletes full buckets, which are equal to new ones. */
  deleteFull(): Promise<void>
}

/**
 * Buckets in the database, so that all replicas count together (the generic cell rate algorithm, ITU-T I.371):
 * a bucket is one instant, the time at which it will be full again. A refused call changes nothing,
 * and of calls at the same moment exactly as many pass as there is room for.
 */
export function createRateLimiter({ db, clock }: { db: Database; clock: Clock }): DatabaseRateLimiter {
  function insertSql(bucket: string, now: number, { interval, latest, absurd }: Bounds): Sql {
    return sql`
      insert into sixwire_rate_limits as stored (bucket, full_at) values (${bucket}, ${now + interval})
      on conflict (bucket) do update set
        full_at = case when stored.full_at between ${now} and ${absurd} then stored.full_at else ${now} end + ${interval}
      where stored.full_at <= ${latest} or stored.full_at > ${absurd}
      returning full_at`
  }

  return {
    async take(bucket, count, periodMs) {
      const now = nowMicros(clock)
      const bounds = boundsOf(now, count, periodMs)
      const [row] = await db.write(insertSql(bucket, now, bounds))
      if (row) return undefined
      const bucketRow = await db.get<{ full_at: number }>(
        sql`select full_at from sixwire_rate_limits where bucket = ${bucket}`,
      )
      return waitMs(bucketRow?.full_at ?? now, bounds.latest)
    },

    takeSql(bucket, count, periodMs, otherwise) {
      const now = nowMicros(clock)
      const bounds = boundsOf(now, count, periodMs)
      const retryAfter = Math.ceil(bounds.interval / 1_000_000)
      return requireRow(
        insertSql(bucket, now, bounds),
        otherwise ?? (() => errors.rate_limited({ retryAfter })),
      )
    },

    waitSql: (bucket) => sql`
      insert into sixwire_rate_limits as stored (bucket, full_at) values (${bucket}, ${nowMicros(clock)})
      on conflict (bucket) do update set full_at = stored.full_at`,

    async deleteFull() {
      await db.write(sql`delete from sixwire_rate_limits where full_at < ${nowMicros(clock)}`)
    },
  }
}

export type ProcessRateLimiter = RateLimiter & {
  /** From now on what the siblings count is counted here, too. */
  join(): void
}

/** For how long calls took from a bucket. */
type Taken = { readonly micros: number; readonly periodMs: number }

/**
 * The same buckets in memory, of this process and its siblings: for routes that must answer while the database is unavailable.
 * What a sibling counts is known here within 50 ms.
 */
export function createProcessRateLimiter({
  clock,
  siblings,
}: {
  clock: Clock
  siblings: Siblings
}): ProcessRateLimiter {
  const buckets = new BoundedMap<string, number>(BUCKETS_MAX)
  /** By buckets, what was taken since the siblings were told. */
  const untold = new Map<string, Taken>()

  function tellLater(bucket: string, interval: number, periodMs: number): void {
    if (untold.size === 0) setTimeout(tell, TELL_MS).unref()
    untold.set(bucket, { micros: (untold.get(bucket)?.micros ?? 0) + interval, periodMs })
  }

  function tell(): void {
    siblings.tell(TOPIC, [...untold])
    untold.clear()
  }

  return {
    join() {
      siblings.on(TOPIC, (told) => {
        const now = nowMicros(clock)
        for (const [bucket, { micros, periodMs }] of told as [string, Taken][]) {
          const fullAt = Math.max(buckets.get(bucket) ?? 0, now) + micros
          // What several took at once may be more: `take` would start the bucket again, full.
          buckets.set(bucket, Math.min(fullAt, absurdAt(now, periodMs)))
        }
      })
    },
    async take(bucket, count, periodMs) {
      const now = nowMicros(clock)
      const { interval, latest, absurd } = boundsOf(now, count, periodMs)
      const stored = buckets.get(bucket) ?? now
      const fullAt = stored >= now && stored <= absurd ? stored : now
      if (fullAt > latest) return waitMs(fullAt, latest)
      buckets.set(bucket, fullAt + interval)
      if (siblings.count > 1) tellLater(bucket, interval, periodMs)
      return undefined
    },
  }
}
