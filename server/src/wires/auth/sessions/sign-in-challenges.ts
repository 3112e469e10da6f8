import { isoTime } from '../../../base/clock.ts'
import { randomToken, sha256 } from '../../../base/crypto.ts'
import type { ApiError } from '../../../base/errors.ts'
import { newId } from '../../../base/ids.ts'
import { requireRow, type StepWith } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import { authErrors } from '../errors.ts'
import type { UserRow } from '../accounts/user.ts'
import { factorsOf } from '../factors/factor.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'

const LIFETIME_MS = 300_000
const ATTEMPTS_MAX = 5

/** A sign-in whose first part is proven. */
export type Challenge = {
  id: string
  userId: string
  credentialsVersion: number
  /** The way in: `password`, `magic-link`, `refresh` … */
  method: string
  /** Of a refresh: the session that goes on. */
  sessionId: string | null
}

/**
 * Challenges: opaque, stored as hashes, each for one sign-in whose second factor is not proven yet. A challenge is accepted by
 * `POST /auth/second-factor` and its options only; no route takes it as a token.
 */
export type Challenges = {
  /**
   * Stores a challenge, and makes the error that has it.
   *
   * @param signIn.sessionId of a refresh: the session that goes on
   * @returns SECOND_FACTOR_REQUIRED
   */
  issue(
    user: Pick<UserRow, 'id' | 'credentials_version'>,
    signIn: { method: string; sessionId?: string },
  ): Promise<ApiError>
  /**
   * Reads a challenge without using it.
   *
   * @throws INVALID_CHALLENGE if it is unknown, used, expired or had five attempts
   */
  read(challenge: string): Promise<Challenge>
  /**
   * Counts an attempt before it is made.
   *
   * @throws INVALID_CHALLENGE as `read` does
   */
  attempt(challenge: string): Promise<Challenge>
  /** Uses a challenge: the first step of the batch that it permits. Throws INVALID_CHALLENGE if it was used meanwhile. */
  useSql(challenge: Challenge): StepWith
  deleteExpired(): Promise<void>
}

type Row = {
  id: string
  user_id: string
  credentials_version: number
  method: string
  session_id: string | null
}

const challengeOf = (row: Row): Challenge => ({
  id: row.id,
  userId: row.user_id,
  credentialsVersion: row.credentials_version,
  method: row.method,
  sessionId: row.session_id,
})

export function createChallenges({ db, clock }: Pick<WireContext, 'db' | 'clock'>): Challenges {
  const validSql = (challenge: string) => sql`
    hash = ${sha256(challenge)} and used_at is null and expires_at > ${clock.now()} and attempts < ${ATTEMPTS_MAX}`
  return {
    async issue(user, { method, sessionId }) {
      const factors = await factorsOf(db, user.id)
      const now = clock.now()
      const challenge = randomToken()
      const expiresAt = now + LIFETIME_MS
      await db.write(sql`
        insert into auth_challenges
          (id, hash, user_id, credentials_version, method, session_id, attempts, expires_at)
        values (${newId(now)}, ${sha256(challenge)}, ${user.id}, ${user.credentials_version}, ${method},
          ${sessionId ?? null}, 0, ${expiresAt})`)
      return authErrors.second_factor_required({
        details: { challenge, factors, expiresAt: isoTime(expiresAt) },
      })
    },

    async read(challenge) {
      const row = await db.get(sql<Row>`
        select id, user_id, credentials_version, method, session_id from auth_challenges
        where ${validSql(challenge)}`)
      if (!row) throw authErrors.invalid_challenge()
      return challengeOf(row)
    },

    async attempt(challenge) {
      const [row] = await db.write(sql<Row>`
        update auth_challenges set attempts = attempts + 1 where ${validSql(challenge)}
        returning id, user_id, credentials_version, method, session_id`)
      if (!row) throw authErrors.invalid_challenge()
      return challengeOf(row)
    },

    useSql({ id }) {
      const now = clock.now()
      return requireRow(
        sql`update auth_challenges set used_at = ${now}
            where id = ${id} and used_at is null and expires_at > ${now}`,
        () => authErrors.invalid_challenge(),
      )
    },

    async deleteExpired() {
      await db.write(sql`delete from auth_challenges where expires_at <= ${clock.now()}`)
    },
  }
}
