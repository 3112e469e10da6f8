import { deriveKey } from '../../../base/crypto.ts'
import { errors } from '../../../base/errors.ts'
import { createKeyedMutex } from '../../../base/keyed-mutex.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { CallOrigin } from '../../../http/event-log.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { authErrors } from '../errors.ts'

// How many attempts for one address may wait for each other in one process.
const QUEUE_MAX = 100

/** Counts wrong passwords and codes of each address, whether or not it has an account. */
export type Lock = {
  /**
   * Makes one attempt. It counts as a failure before `check` begins, so that each of several concurrent attempts counts;
   * an answer other than undefined clears the count.
   *
   * @param addressKey the address as it is compared
   * @param check verifies the password or code; undefined if it is wrong. `isLast`: the address is locked if it is
   * @param isFirstOfTwo whether a second factor has to follow: the count then stays as it was before, so that the right
   *   password does not permit any number of wrong codes
   * @throws ACCOUNT_LOCKED with `Retry-After`, and without calling `check`
   */
  attempt<T>(
    addressKey: string,
    check: (attempt: { isLast: boolean }) => Promise<T | undefined>,
    isFirstOfTwo?: (result: T) => boolean,
  ): Promise<T | undefined>
  /**
   * Writes down that an attempt has locked an address, in the log and in the audit log.
   *
   * @param accountId undefined: no account has the address. This writes as well, so that a lock takes the same time; up to 60
   *   in a minute, so that nobody can fill the audit log
   */
  recordLock(accountId: string | undefined, origin: CallOrigin): Promise<void>
  /** Whether an attempt would be refused now. Does not count as one. */
  isLocked(addressKey: string): Promise<boolean>
  /** How many addresses are locked now. */
  countLocked(): Promise<number>
  /** The ids of accounts whose address is locked now. */
  usersSql(): Sql
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
  { db, clock, audit, rateLimiter }: Pick<WireContext, 'db' | 'clock' | 'audit' | 'rateLimiter'>,
  options: { secret: string; maxAttempts: number; lockMs: number },
): Lock {
  const { maxAttempts, lockMs } = options
  const hash = deriveKey(options.secret, 'login-attempts')
  // One after the other, so that several concurrent right attempts do not lock the address.
  const mutex = createKeyedMutex({ queue: QUEUE_MAX, retryAfter: 1 })

  return {
    attempt(addressKey, check, isFirstOfTwo = () => false) {
      const key = hash.mac(addressKey)
      const uncountSql = sql`
        update auth_login_attempts set failures = failures - 1 where address_key = ${key} and failures > 0`
      return mutex.run(key, async () => {
        const now = clock.now()
        const expired = now - lockMs
        // One statement, so that of any number of concurrent attempts exactly `maxAttempts` proceed. A locked row is not
        // updated, so its lock ends `lockMs` after the attempt that locked it.
        const [count] = await db.write(sql<{ failures: number }>`
          insert into auth_login_attempts as stored (address_key, failures, last_at, user_id)
          values (${key}, 1, ${now}, (select id from auth_users where email_key = ${addressKey}))
          on conflict (address_key) do update set
            failures = case when stored.last_at <= ${expired} then 1 else stored.failures + 1 end,
            last_at = ${now}, user_id = excluded.user_id
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
            await db.write(
              isFirstOfTwo(result)
                ? uncountSql
                : sql`delete from auth_login_attempts where address_key = ${key}`,
            )
          return result
        } catch (error) {
          // The result is unknown, so the attempt does not count.
          await db.write(uncountSql)
          throw error
        }
      })
    },

    async recordLock(accountId, { actor, record }) {
      record('account-locked', { account: accountId ?? 'unknown' })
      const target = accountId === undefined ? undefined : `user:${accountId}`
      const isOver = errors.rate_limited()
      const entry = audit.entrySql(actor, { action: 'user.locked', target })
      await db
        .batch([
          accountId === undefined ? rateLimiter.takeSql('auth unknown locks', 60, 60_000, () => isOver) : [],
          entry,
        ])
        .catch((error: unknown) => {
          if (error !== isOver) throw error
        })
    },

    async isLocked(addressKey) {
      const lock = await db.get(sql`
        select 1 as found from auth_login_attempts
        where address_key = ${hash.mac(addressKey)} and failures >= ${maxAttempts} and last_at > ${clock.now() - lockMs}`)
      return lock !== undefined
    },

    async countLocked() {
      const row = await db.get<{ count: number }>(sql`
        select count(*) as count from auth_login_attempts
        where last_at > ${clock.now() - lockMs} and failures >= ${maxAttempts}`)
      return row!.count
    },
    usersSql: () => sql`
      select user_id from auth_login_attempts
      where user_id is not null and failures >= ${maxAttempts} and last_at > ${clock.now() - lockMs}`,

    unlockSql: (addressKey) =>
      sql`delete from auth_login_attempts where address_key = ${hash.mac(addressKey)}`,

    async deleteExpired() {
      await db.write(sql`delete from auth_login_attempts where last_at <= ${clock.now() - lockMs}`)
    },
  }
}
