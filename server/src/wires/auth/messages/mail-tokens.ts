import { randomToken, sha256 } from '../../../base/crypto.ts'
import type { EmailAddress } from '../../../base/email-address.ts'
import type { ApiError } from '../../../base/errors.ts'
import { requireRow, type StepWith, type Step } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import { authErrors } from '../errors.ts'
import type { CodeAttempt, Codes } from './codes.ts'
import type { UserRow } from '../accounts/user.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'

/** The only use of a token. */
export type MailPurpose = 'reset' | 'magic-link' | 'verification'

/** A token that was valid when it was read. */
export type MailToken = {
  hash: string
  email: EmailAddress
  /** The account that had the address when the token was sent; null where there was none. */
  userId: string | null
  /** `credentials_version` of that account at that time. */
  credentialsVersion: number | null
  /** Of the browser that asked for the mail; null: it is not known. */
  browserHash: string | null
}

/**
 * Single-use tokens that verify access to the mailbox of an address: opaque, stored as hashes. The mail of a link to sign in
 * has a code of six digits beside its token; using one voids the other.
 */
export type MailTokens = {
  /**
   * A new token, and the steps that store it and void the older ones of its purpose and address. Two such batches for
   * one address must not run concurrently: `MailLimit` in the same batch serialises them.
   *
   * @param to.lifetimeMs instead of that of the purpose
   * @param id if a token with this id exists, nothing is stored and `repeated` is thrown
   */
  issue(
    purpose: MailPurpose,
    to: {
      id: string
      email: EmailAddress
      user: UserRow | undefined
      browserHash?: string | undefined
      lifetimeMs?: number | undefined
    },
    repeated: () => ApiError,
  ): { token: string; code: string; steps: readonly Step[] }
  /**
   * Reads a token without using it.
   *
   * @throws INVALID_TOKEN if it is unknown, of another purpose, used or expired
   */
  read(purpose: MailPurpose, token: string): Promise<MailToken>
  /** Counts an attempt at the code of the newest link to sign in, and checks it; undefined if it is wrong. */
  attemptCode(addressKey: string, attempt: CodeAttempt): Promise<MailToken | undefined>
  /** Uses a token: the first step of the batch that it permits. Throws INVALID_TOKEN if it was used or has expired since. */
  useSql(token: MailToken): StepWith
  /** Deletes all tokens that were sent to an address, those without an account too. */
  deleteSql(addressKey: string): Sql
  /** Deletes tokens that expired a day ago. */
  deleteExpired(): Promise<void>
}

// No job is repeated later than this; until then the row shows that its mail was sent.
const RETENTION_MS = 86_400_000

type Row = {
  hash: string
  email: string
  email_key: string
  user_id: string | null
  credentials_version: number | null
  browser_hash: string | null
}

const mailTokenOf = (row: Row): MailToken => ({
  hash: row.hash,
  email: { address: row.email, key: row.email_key },
  userId: row.user_id,
  credentialsVersion: row.credentials_version,
  browserHash: row.browser_hash,
})

/** @param lifetimes in milliseconds */
export function createMailTokens(
  { db, clock }: Pick<WireContext, 'db' | 'clock'>,
  { codes }: { codes: Codes },
  { lifetimes }: { lifetimes: Readonly<Record<MailPurpose, number>> },
): MailTokens {
  return {
    issue(purpose, { id, email, user, browserHash, lifetimeMs = lifetimes[purpose] }, repeated) {
      const now = clock.now()
      const token = randomToken()
      const { code, hash, expiresAt } = codes.issue(id)
      const hasCode = purpose === 'magic-link'
      return {
        token,
        code,
        steps: [
          sql`update auth_mail_tokens set used_at = ${now}
              where email_key = ${email.key} and purpose = ${purpose} and used_at is null`,
          requireRow(
            sql`insert into auth_mail_tokens
                  (id, hash, purpose, email, email_key, user_id, credentials_version, issued_at, expires_at,
                    code_hash, code_expires_at, browser_hash)
                values (${id}, ${sha256(token)}, ${purpose}, ${email.address}, ${email.key}, ${user?.id ?? null},
                  ${user?.credentials_version ?? null}, ${now}, ${now + lifetimeMs},
                  ${hasCode ? hash : null}, ${hasCode ? expiresAt : null}, ${browserHash ?? null})
                on conflict (id) do nothing`,
            repeated,
          ),
        ],
      }
    },

    async read(purpose, token) {
      const row = await db.get(sql<Row>`
        select hash, email, email_key, user_id, credentials_version, browser_hash from auth_mail_tokens
        where hash = ${sha256(token)} and purpose = ${purpose} and used_at is null and expires_at > ${clock.now()}`)
      if (!row) throw authErrors.invalid_token()
      return mailTokenOf(row)
    },

    async attemptCode(addressKey, attempt) {
      const newestSql = sql`email_key = ${addressKey} and purpose = 'magic-link'`
      const row = await codes.attempt<Row>('auth_mail_tokens', newestSql, attempt)
      return row && mailTokenOf(row)
    },

    useSql({ hash }) {
      const now = clock.now()
      return requireRow(
        sql`update auth_mail_tokens set used_at = ${now}
            where hash = ${hash} and used_at is null and expires_at > ${now}`,
        () => authErrors.invalid_token(),
      )
    },

    deleteSql: (addressKey) => sql`delete from auth_mail_tokens where email_key = ${addressKey}`,

    async deleteExpired() {
      await db.write(sql`delete from auth_mail_tokens where expires_at <= ${clock.now() - RETENTION_MS}`)
    },
  }
}
