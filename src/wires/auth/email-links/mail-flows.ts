import type { Clock } from '../../../base/clock.ts'
import { requireRow, type Database, type Step } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { AccountMails } from './account-mails.ts'
import { authErrors } from '../errors.ts'
import type { Lock } from '../passwords/lock.ts'
import type { MailTokens } from './mail-tokens.ts'
import type { Passwords } from '../passwords/passwords.ts'
import type { UserRow, Users } from '../users.ts'

/** What a token from a mail does. Each is used up in the same batch, so it never works twice and is never lost. */
export type MailFlows = {
  /**
   * Sets another password, ends all sessions, lifts the lock, and takes the address for verified: the mail proved it.
   *
   * @throws VALIDATION_ERROR, and the token can be used again; INVALID_TOKEN, also where the password was changed
   *   or the account disabled since the mail was sent
   */
  resetPassword(token: string, password: string): Promise<void>
  /**
   * Proves the address, and makes an account where it has none.
   *
   * An account whose address was unverified until then loses its password and all sessions: whoever made it had not
   * shown that the address was theirs.
   *
   * @param id of an account that is made
   * @throws INVALID_TOKEN, also where the account is disabled; REGISTRATION_CLOSED
   */
  proveByLink(token: string, id: string): Promise<UserRow>
  /**
   * Verifies the account's address.
   *
   * Where `SIXWIRE_ADMINS` names the address, that makes an administrator of whoever has the password. So an account
   * whose address was unverified until then loses its password and all sessions as by a magic link, unless whoever
   * follows the link is signed in to it already.
   *
   * @param userId whose session comes along with the token
   * @returns whether the password and the sessions are gone
   * @throws INVALID_TOKEN
   */
  verifyEmail(token: string, userId: string | undefined): Promise<{ isCleared: boolean }>
}

/** @param options.registration whether a link makes an account for an address that has none */
export function createMailFlows(
  db: Database,
  clock: Clock,
  {
    users,
    tokens,
    lock,
    passwords,
    mails,
  }: { users: Users; tokens: MailTokens; lock: Lock; passwords: Passwords; mails: AccountMails },
  options: { registration: 'open' | 'closed' },
): MailFlows {
  const invalid = () => authErrors.invalid_token()

  /**
   * The steps that take an account's address for proven, and with it what was set up before by somebody who had not
   * shown that the address was theirs. The account's row must be held already. The last one answers it.
   */
  const proving = (account: Sql, now: number): readonly Step[] => [
    sql`delete from auth_sessions where user_id =
          (select id from auth_users where ${account} and email_verified_at is null)`,
    requireRow(
      sql`update auth_users set
            password_hash = case when email_verified_at is null then null else password_hash end,
            credentials_version = credentials_version + case when email_verified_at is null then 1 else 0 end,
            email_verified_at = coalesce(email_verified_at, ${now})
          where ${account} and disabled_at is null
          returning *`,
      invalid,
    ),
  ]

  return {
    async resetPassword(token, password) {
      const held = await tokens.read('reset', token)
      const checked = passwords.check(password, '/body/password', held.email.address)
      const passwordHash = await passwords.hash(checked)
      const now = clock.now()
      // First the token, then the account, then its sessions: the order in which everything else takes them.
      await db.batch([
        tokens.consumption(held),
        requireRow(
          sql`update auth_users set
                password_hash = ${passwordHash}, credentials_version = credentials_version + 1,
                email_verified_at = coalesce(email_verified_at, ${now}), updated_at = ${now}
              where id = ${held.userId} and credentials_version = ${held.credentialsVersion} and disabled_at is null`,
          invalid,
        ),
        sql`delete from auth_sessions where user_id = ${held.userId}`,
        lock.lifting(held.email.key),
        ...mails.passwordChanged(held.userId!),
      ])
      mails.wake()
    },

    async proveByLink(token, id) {
      const held = await tokens.read('magic-link', token)
      const { key } = held.email
      const now = clock.now()
      // On PostgreSQL the row is held before it is looked at whether it was verified.
      const hold = sql`update auth_users set updated_at = ${now} where email_key = ${key}`
      // A link that was sent before the password was changed, or the account disabled, opens nothing after it.
      const same = requireRow(
        sql`update auth_users set updated_at = ${now}
            where id = ${held.userId} and credentials_version = ${held.credentialsVersion}`,
        invalid,
      )
      const made = users.insertions({
        id,
        email: held.email,
        name: null,
        passwordHash: null,
        isVerified: true,
      })
      const account: readonly Step[] =
        held.userId !== null
          ? [same]
          : options.registration === 'open'
            ? [...made.claims, made.account, hold]
            : [requireRow(hold, () => authErrors.registration_closed())]
      const rows = await db.batch([
        tokens.consumption(held),
        ...account,
        ...proving(sql`email_key = ${key}`, now),
      ])
      return rows.at(-1)![0] as UserRow
    },

    async verifyEmail(token, userId) {
      const held = await tokens.read('verification', token)
      const now = clock.now()
      if (userId === held.userId || !users.isNamedAdmin({ email_key: held.email.key })) {
        await db.batch([
          tokens.consumption(held),
          requireRow(
            sql`update auth_users set email_verified_at = coalesce(email_verified_at, ${now}), updated_at = ${now}
                where id = ${held.userId} and disabled_at is null`,
            invalid,
          ),
        ])
        return { isCleared: false }
      }
      const account = sql`id = ${held.userId}`
      const [, rows] = await db.batch([
        tokens.consumption(held),
        requireRow(
          sql`update auth_users set updated_at = ${now} where ${account} returning email_verified_at`,
          invalid,
        ),
        ...proving(account, now),
      ])
      return { isCleared: rows[0]!['email_verified_at'] === null }
    },
  }
}
