import type { Clock } from '../../../base/clock.ts'
import { deriveKey } from '../../../base/crypto.ts'
import { createKeyedMutex } from '../../../base/keyed-mutex.ts'
import type { Database } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import { authErrors } from '../errors.ts'

// How many attempts for one address may wait for each other in one process.
const QUEUE_MAX = 100

/** Counts failed password attempts of each address, whether or not it has an account. */
export type Lock = {
  /**
   * Makes one attempt. It counts as a failure before `check` begins, so that each of several concurrent attempts counts;
   * an answer other than undefined clears the count.
   *
   * @param addressKey the address as it is compared
   * @param check verifies the password; undefined if it is wrong. `isLast`: the address is locked if it is
   * @throws ACCOUNT_LOCKED with `Retry-After`, and without calling `check`
   */
  attempt<T>(
    addressKey: string,
    check: (attempt: { isLast: boolean }) => Promise<T | undefined>,
  ): Promise<T | undefined>
  /** Whether an attempt would be refused now. Does not count as one. */
  isLocked(addressKey: string): Promise<boolean>
  /** The statement that clears the count, for an address whose owner was verified in another way. */
  unlockSql(addressKey: string): Sql
  /** Deletes counts that have expired. */
  deleteExpired(): Promise<void>
}

/**
 * @param options.secret `SIXWIRE_SECRET`: addresses are stored as a keyed hash
 * @param options.maxAttempts failures after which the address is locked
 * @param options.lockMs duration of a lock; the same time without an attempt clears the count
 */
export function createLock(
  db: Database,
  clock: Clock,
  options: { secret: string; maxAttempts: number; lockMs: number },
): Lock {
  const { maxAttempts, lockMs } = options
  const hash = deriveKey(options.secret, 'login-attempts')
  // One after the other, so that several concurrent right attempts do not lock the address.
  const mutex = createKeyedMutex({ queue: QUEUE_MAX, retryAfter: 1 })

  return {
    attempt(addressKey, check) {
      const key = hash.mac(addressKey)
      return mutex.run(key, async () => {
        const now = clock.now()
        const expired = now - lockMs
        // One statement, so that of any number of concurrent attempts exactly `maxAttempts` proceed. A locked row is not
        // updated, so its lock ends `lockMs` after the attempt that locked it.
        const [count] = await db.write(sql<{ failures: number }>`
          insert into auth_login_attempts as stored (address_key, failures, last_at) values (${key}, 1, ${now})
          on conflict (address_key) do update set
            failures = case when stored.last_at <= ${expired} then 1 else stored.failures + 1 end,
            last_at = ${now}
          where stored.failures < ${maxAttempts} or stored.last_at <= ${expired}
          returning failures`)
        if (!count) {
          const lock = await db.get(
            sql<{ last_at: number }>`select last_at from auth_login_attempts where address_key = ${key}`,
          )
          const leftMs = (lock?.last_at ?? expired) - expired
          throw authErrors.account_locked({ retryAfter: Math.max(1, Math.ceil(leftMs / 1000)) })
        }
        try {
          const result = await check({ isLast: count.failures === maxAttempts })
          if (result !== undefined)
            await db.write(sql`delete from auth_login_attempts where address_key = ${key}`)
          return result
        } catch (error) {
          // The result is unknown, so the attempt does not count.
          await db.write(sql`
            update auth_login_attempts set failures = failures - 1 where address_key = ${key} and failures > 0`)
          throw error
        }
      })
    },

    async isLocked(addressKey) {
      const lock = await db.get(sql`
        select 1 as found from auth_login_attempts
        where address_key = ${hash.mac(addressKey)} and failures >= ${maxAttempts} and last_at > ${clock.now() - lockMs}`)
      return lock !== undefined
    },

    unlockSql: (addressKey) =>
      sql`delete from auth_login_attempts where address_key = ${hash.mac(addressKey)}`,

    async deleteExpired() {
      await db.write(sql`delete from auth_login_attempts where last_at <= ${clock.now() - lockMs}`)
    },
  }
}
