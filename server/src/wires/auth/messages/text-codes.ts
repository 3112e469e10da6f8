import type { ApiError } from '../../../base/errors.ts'
import { requireRow, type Step, type StepWith } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import { authErrors } from '../errors.ts'
import type { UserRow } from '../accounts/user.ts'
import type { CodeAttempt, Codes } from './codes.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'

/** The only use of a code: to prove a number to the account that adds it, or to sign in with it. */
export type TextPurpose = 'phone' | 'sign-in'

/** A code that was right when it was checked. */
export type TextCode = {
  id: string
  /** E.164. */
  phone: string
  /** The account that the code was sent for; null where there was none. */
  userId: string | null
  /** `credentials_version` of that account at that time. */
  credentialsVersion: number | null
}

/** Single-use codes that were sent to phone numbers. */
export type TextCodes = {
  /**
   * A new code, and the steps that store it and void the older ones: those of its number for a sign-in, those of its
   * account for a proof. Two such batches must not run concurrently: `TextLimit` in the same batch serialises them.
   *
   * @param to.user the account; undefined if there is none, and nothing is sent
   * @param repeated the error if a code with this id exists; nothing is stored then
   */
  issue(
    purpose: TextPurpose,
    to: {
      id: string
      phone: string
      user: Pick<UserRow, 'id' | 'credentials_version'> | undefined
      browserHash?: string | undefined
    },
    repeated: () => ApiError,
  ): { code: string; steps: readonly Step[] }
  /** Counts an attempt and checks it; undefined if the code is wrong. */
  attemptSignIn(phone: string, attempt: CodeAttempt): Promise<TextCode | undefined>
  attemptProof(userId: string, attempt: CodeAttempt): Promise<TextCode | undefined>
  /** The number that waits for its proof by this account. */
  unproven(userId: string): Promise<string | undefined>
  /** Uses a code: the first step of the batch that it permits. Throws INVALID_CODE if it was used or has expired since. */
  useSql(code: TextCode): StepWith
  /** Deletes the codes of an account. */
  deleteSql(userId: string): Sql
  /** Deletes codes that expired a day ago. */
  deleteExpired(): Promise<void>
}

// No job is repeated later than this; until then the row shows that its text was sent.
const RETENTION_MS = 86_400_000

type Row = { id: string; phone: string; user_id: string | null; credentials_version: number | null }

const textCodeOf = (row: Row | undefined): TextCode | undefined =>
  row && {
    id: row.id,
    phone: row.phone,
    userId: row.user_id,
    credentialsVersion: row.credentials_version,
  }

export function createTextCodes(
  { db, clock }: Pick<WireContext, 'db' | 'clock'>,
  { codes }: { codes: Codes },
): TextCodes {
  const proofSql = (userId: string): Sql => sql`user_id = ${userId} and purpose = 'phone'`
  const signInSql = (phone: string): Sql => sql`phone = ${phone} and purpose = 'sign-in'`
  return {
    issue(purpose, { id, phone, user, browserHash }, repeated) {
      const { code, hash, expiresAt } = codes.issue(id)
      const olderSql = purpose === 'phone' && user ? proofSql(user.id) : signInSql(phone)
      return {
        code,
        steps: [
          sql`update auth_text_codes set used_at = ${clock.now()} where ${olderSql} and used_at is null`,
          requireRow(
            sql`insert into auth_text_codes
                  (id, purpose, phone, user_id, credentials_version, code_hash, code_expires_at, browser_hash)
                values (${id}, ${purpose}, ${phone}, ${user?.id ?? null}, ${user?.credentials_version ?? null},
                  ${hash}, ${expiresAt}, ${browserHash ?? null})
                on conflict (id) do nothing`,
            repeated,
          ),
        ],
      }
    },

    attemptSignIn: async (phone, attempt) =>
      textCodeOf(await codes.attempt<Row>('auth_text_codes', signInSql(phone), attempt)),
    attemptProof: async (userId, attempt) =>
      textCodeOf(await codes.attempt<Row>('auth_text_codes', proofSql(userId), attempt)),

    async unproven(userId) {
      const row = await db.get(sql<{ phone: string }>`
        select phone from auth_text_codes
        where ${proofSql(userId)} and used_at is null and code_expires_at > ${clock.now()}`)
      return row?.phone
    },

    useSql({ id }) {
      const now = clock.now()
      return requireRow(
        sql`update auth_text_codes set used_at = ${now}
            where id = ${id} and used_at is null and code_expires_at > ${now}`,
        () => authErrors.invalid_code(),
      )
    },

    deleteSql: (userId) => sql`delete from auth_text_codes where user_id = ${userId}`,

    async deleteExpired() {
      await db.write(sql`delete from auth_text_codes where code_expires_at <= ${clock.now() - RETENTION_MS}`)
    },
  }
}
