import type { Clock } from '../../../base/clock.ts'
import { deriveKey } from '../../../base/crypto.ts'
import { createTurns } from '../../../base/turns.ts'
import type { Database } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import { authErrors } from '../errors.ts'

// So many attempts for one address may wait for each other in one process.
const WAITING_MAX = 100

/** Counts attempts at a password for each address, whether or not it has an account. */
export type Lock = {
  /**
   * Makes one attempt. It counts as a failure before `check` begins, so that attempts at the same moment count each;
   * an answer other than undefined clears what was counted.
   *
   * @param addressKey the address as it is compared
   * @param check looks at the password; undefined where it is wrong
   * @throws ACCOUNT_LOCKED with `Retry-After`, and without calling `check`
   */
  attempt<T>(addressKey: string, check: () => Promise<T | undefined>): Promise<T | undefined>
  /** Whether an attempt would be refused now. Makes none. */
  isLocked(addressKey: string): Promise<boolean>
  /** The statement that clears what was counted, where an address was proven otherwise. */
  lifting(addressKey: string): Sql
  /** Removes what has no effect any more. */
  forgetOld(): Promise<void>
}

/**
 * @param options.secret `SIXWIRE_SECRET`: addresses that strangers try are kept as a keyed hash
 * @param options.maxAttempts failures after which the address is locked
 * @param options.lockMs how long; so long without an attempt also clears what was counted
 */
export function createLock(
  db: Database,
  clock: Clock,
  options: { secret: string; maxAttempts: number; lockMs: number },
): Lock {
  const { maxAttempts, lockMs } = options
  const hash = deriveKey(options.secret, 'login-attempts')
  // So that several right ones at the same moment don't count as failures of each other.
  const turns = createTurns({ queue: WAITING_MAX, retryAfter: 1 })

  /** One statement, so that of any number of attempts at once exactly `maxAttempts` go on. */
  async function reserve(key: string): Promise<void> {
    const now = clock.now()
    const forgotten = now - lockMs
    // A locked row is left as it is, so its lock ends `lockMs` after the attempt that locked it.
    const [reserved] = await db.write(sql`
      insert into auth_login_attempts as held (address_key, failures, last_at) values (${key}, 1, ${now})
      on conflict (address_key) do update set
        failures = case when held.last_at <= ${forgotten} then 1 else held.failures + 1 end,
        last_at = ${now}
      where held.failures < ${maxAttempts} or held.last_at <= ${forgotten}
      returning failures`)
    if (reserved) return
    const held = await db.get<{ last_at: number }>(
      sql`select last_at from auth_login_attempts where address_key = ${key}`,
    )
    const leftMs = (held?.last_at ?? forgotten) - forgotten
    throw authErrors.account_locked({ retryAfter: Math.max(1, Math.ceil(leftMs / 1000)) })
  }

  /** Nobody learned whether the password was right, so the attempt does not count. */
  async function giveBack(key: string): Promise<void> {
    await db.write(sql`
      update auth_login_attempts set failures = failures - 1 where address_key = ${key} and failures > 0`)
  }

  return {
    attempt(addressKey, check) {
      const key = hash.mac(addressKey)
      return turns.run(key, async () => {
        await reserve(key)
        const found = await check().catch(async (error: unknown) => {
          await giveBack(key)
          throw error
        })
        if (found !== undefined)
          await db.write(sql`delete from auth_login_attempts where address_key = ${key}`)
        return found
      })
    },

    async isLocked(addressKey) {
      const locked = await db.get(sql`
        select 1 as found from auth_login_attempts
        where address_key = ${hash.mac(addressKey)} and failures >= ${maxAttempts} and last_at > ${clock.now() - lockMs}`)
      return locked !== undefined
    },

    lifting: (addressKey) => sql`delete from auth_login_attempts where address_key = ${hash.mac(addressKey)}`,

    async forgetOld() {
      await db.write(sql`delete from auth_login_attempts where last_at <= ${clock.now() - lockMs}`)
    },
  }
}
