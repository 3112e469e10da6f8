import type { Clock } from '../../../base/clock.ts'
import { randomToken, sha256 } from '../../../base/crypto.ts'
import type { EmailAddress } from '../../../base/email-address.ts'
import type { ApiError } from '../../../base/errors.ts'
import { requireRow, type Database, type StepWith, type Step } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import { authErrors } from '../errors.ts'
import type { UserRow } from '../users.ts'

/** What a token is good for, and nothing else. */
export type MailPurpose = 'reset' | 'magic-link' | 'verification'

/** A token that can still be used. All but its use stays as it is. */
export type MailToken = {
  hash: string
  email: EmailAddress
  /** The account that had the address when the token was sent; null where there was none. */
  userId: string | null
  /** Of that account, at that moment. */
  credentialsVersion: number | null
}

/** Tokens that prove that somebody reads the mails to an address: opaque, kept as hashes, each good for one use. */
export type MailTokens = {
  /**
   * A new token, and the steps that keep it and void the older ones of its purpose and address. Two such batches for
   * one address must not run at the same moment: `MailLimit` in the same batch sees to that.
   *
   * @param id the same again keeps nothing more: `repeated` is thrown
   */
  issue(
    purpose: MailPurpose,
    to: { id: string; email: EmailAddress; user: UserRow | undefined },
    repeated: () => ApiError,
  ): { token: string; steps: readonly Step[] }
  /**
   * Looks at a token without using it.
   *
   * @throws INVALID_TOKEN where it is unknown, of another purpose, used or expired
   */
  read(purpose: MailPurpose, token: string): Promise<MailToken>
  /** The step that uses it, first in the batch of what it proves. Throws INVALID_TOKEN where that has happened since. */
  consumption(token: MailToken): StepWith
  /** Removes those that can't be used any more. */
  forgetOld(): Promise<void>
}

// Work that was done is not repeated later than this.
const KEPT_MS = 86_400_000

type Row = {
  hash: string
  email: string
  email_key: string
  user_id: string | null
  credentials_version: number | null
}

/** @param lifetimes of each purpose, in milliseconds */
export function createMailTokens(
  db: Database,
  clock: Clock,
  lifetimes: Readonly<Record<MailPurpose, number>>,
): MailTokens {
  return {
    issue(purpose, { id, email, user }, repeated) {
      const now = clock.now()
      const token = randomToken()
      return {
        token,
        steps: [
          sql`update auth_mail_tokens set used_at = ${now}
              where email_key = ${email.key} and purpose = ${purpose} and used_at is null`,
          requireRow(
            sql`insert into auth_mail_tokens
                  (id, hash, purpose, email, email_key, user_id, credentials_version, issued_at, expires_at)
                values (${id}, ${sha256(token)}, ${purpose}, ${email.address}, ${email.key}, ${user?.id ?? null},
                  ${user?.credentials_version ?? null}, ${now}, ${now + lifetimes[purpose]})
                on conflict (id) do nothing`,
            repeated,
          ),
        ],
      }
    },

    async read(purpose, token) {
      const row = await db.get<Row>(sql`
        select hash, email, email_key, user_id, credentials_version from auth_mail_tokens
        where hash = ${sha256(token)} and purpose = ${purpose} and used_at is null and expires_at > ${clock.now()}`)
      if (!row) throw authErrors.invalid_token()
      return {
        hash: row.hash,
        email: { address: row.email, key: row.email_key },
        userId: row.user_id,
        credentialsVersion: row.credentials_version,
      }
    },

    consumption({ hash }) {
      const now = clock.now()
      return requireRow(
        sql`update auth_mail_tokens set used_at = ${now}
            where hash = ${hash} and used_at is null and expires_at > ${now}`,
        () => authErrors.invalid_token(),
      )
    },

    async forgetOld() {
      await db.write(sql`delete from auth_mail_tokens where expires_at <= ${clock.now() - KEPT_MS}`)
    },
  }
}
