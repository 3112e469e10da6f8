import { deriveKey, randomToken, sha256 } from '../../../base/crypto.ts'
import { type ApiError, errors } from '../../../base/errors.ts'
import { requireRow, type Step } from '../../../db/database.ts'
import type { SessionKind } from '../../../http/access.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'

/**
 * Refresh tokens: opaque, stored as hashes, each good for one use (RFC 9700, section 4.14.2).
 *
 * A token's successor is a keyed hash of the token itself. So a client whose answer was lost can be given the same
 * successor again, although only hashes are stored, and one token never has two successors.
 */
export type RefreshTokens = {
  /** A session's first token, and the statement that stores it. */
  issue(sessionId: string): { refreshToken: string; insertSql: Sql }
  /**
   * Exchanges a token for its successor and extends its session. Used again within the grace period it returns the
   * session's current token. Later it returns its successor if that is unused, as the client may have lost the answer;
   * otherwise it ends the session, because then two parties hold the token.
   *
   * A session without a second factor is not extended once its account has one, and its token stays as it is.
   *
   * @param refusal makes the error for such a session, from its id
   * @param kind of the session: a token of a session of another kind is none
   * @throws UNAUTHORIZED if the token is unknown or was used, or its session has ended
   */
  rotate(
    token: string,
    client: { ip: string; userAgent: string },
    refusal: (sessionId: string) => Promise<ApiError | undefined>,
    kind?: SessionKind,
  ): Promise<{ sessionId: string; refreshToken: string }>
  /** A token in place of the session's current one, and the statements that store it. */
  replace(sessionId: string): { refreshToken: string; steps: readonly Step[] }
  /** Ends the session of a token, if the session is of this kind. */
  endSession(token: string, kind: SessionKind): Promise<void>
  /** Deletes used tokens whose successors have expired. */
  deleteOld(): Promise<void>
}

type Row = { session_id: string; used_at: number | null; kind: SessionKind | null }

/** When a session ends that is signed in or refreshed now. */
export const extendedSql = (now: number, idleMs: number): Sql => sql`
  case when ends_at < ${now} + coalesce(idle_ms, ${idleMs}) then ends_at else ${now} + coalesce(idle_ms, ${idleMs}) end`

/**
 * @param options.secret `SIXWIRE_SECRET`
 * @param options.idleMs lifetime of a session after a refresh
 * @param options.sessionMs lifetime of a session at most
 * @param options.graceMs for how long a used token returns the current one, also if its successor was used
 */
export function createRefreshTokens(
  { db, clock, log }: Pick<WireContext, 'db' | 'clock' | 'log'>,
  options: { secret: string; idleMs: number; sessionMs: number; graceMs: number },
): RefreshTokens {
  const { idleMs, sessionMs, graceMs } = options
  const key = deriveKey(options.secret, 'refresh-token')
  const invalidToken = () =>
    errors.unauthorized({ message: 'This refresh token is not valid or has expired: sign in again.' })

  const find = (token: string): Promise<Row | undefined> =>
    db.get(sql<Row>`
      select t.session_id, t.used_at, s.kind from auth_refresh_tokens t join auth_sessions s on s.id = t.session_id
      where t.hash = ${sha256(token)}`)

  /** What a token that could not be used is exchanged for. */
  async function replay(
    token: string,
    refusal: (sessionId: string) => Promise<ApiError | undefined>,
    kind: SessionKind | null,
  ): Promise<{ sessionId: string; refreshToken: string }> {
    const tokenRow = await find(token)
    if (!tokenRow || tokenRow.kind !== kind) throw invalidToken()
    const sessionId = tokenRow.session_id
    const successor = key.mac(token)
    const isLate = tokenRow.used_at !== null && tokenRow.used_at + graceMs <= clock.now()
    if (isLate) {
      const [[revoked]] = await db.batch([
        sql<{ id: string }>`
          delete from auth_sessions where id = ${sessionId} and not exists (
            select 1 from auth_refresh_tokens where hash = ${sha256(successor)} and used_at is null)
          returning id`,
      ])
      if (revoked) {
        log.warn({ session: sessionId }, 'a used refresh token was sent again: its session was revoked')
        throw invalidToken()
      }
    }
    const refused = await refusal(sessionId)
    if (refused) throw refused
    // A row that is not used: its session has expired.
    if (tokenRow.used_at === null) throw invalidToken()
    if (isLate) return { sessionId, refreshToken: successor }
    let refreshToken = token
    for (let row: Row | undefined = tokenRow; row?.used_at !== null; row = await find(refreshToken)) {
      if (!row) throw invalidToken() // the session has just ended
      refreshToken = key.mac(refreshToken)
    }
    return { sessionId, refreshToken }
  }

  function issue(sessionId: string): { refreshToken: string; insertSql: Sql } {
    const refreshToken = randomToken()
    return {
      refreshToken,
      insertSql: sql`
        insert into auth_refresh_tokens (hash, session_id, issued_at)
        values (${sha256(refreshToken)}, ${sessionId}, ${clock.now()})`,
    }
  }

  return {
    issue,

    replace(sessionId) {
      const { refreshToken, insertSql } = issue(sessionId)
      const deleteSql = sql`delete from auth_refresh_tokens where session_id = ${sessionId} and used_at is null`
      return { refreshToken, steps: [deleteSql, insertSql] }
    },

    async rotate(token, { ip, userAgent }, refusal, kind) {
      const now = clock.now()
      const hash = sha256(token)
      const successor = key.mac(token)
      const unusable = invalidToken()
      try {
        // First the session, then its token: the order in which ending a session locks them, so that neither deadlocks.
        const [[session]] = await db.batch([
          requireRow(
            sql<{ id: string }>`
              update auth_sessions set
                last_used_at = ${now}, expires_at = ${extendedSql(now, idleMs)}, ip = ${ip}, user_agent = ${userAgent}
              where id = (select session_id from auth_refresh_tokens where hash = ${hash} and used_at is null)
                and expires_at > ${now} and created_at > ${now - sessionMs} and coalesce(kind, '') = ${kind ?? ''}
                and (second_factor is not null or not exists (
                  select 1 from auth_users where id = auth_sessions.user_id and second_factor_at is not null))
              returning id`,
            () => unusable,
          ),
          requireRow(
            sql`update auth_refresh_tokens set used_at = ${now} where hash = ${hash} and used_at is null`,
            () => unusable,
          ),
          sql`insert into auth_refresh_tokens (hash, session_id, issued_at)
              select ${sha256(successor)}, session_id, ${now} from auth_refresh_tokens where hash = ${hash}`,
        ])
        return { sessionId: session!.id, refreshToken: successor }
      } catch (error) {
        if (error !== unusable) throw error
        return await replay(token, refusal, kind ?? null)
      }
    },

    async endSession(token, kind) {
      await db.write(sql`
        delete from auth_sessions where kind = ${kind}
          and id = (select session_id from auth_refresh_tokens where hash = ${sha256(token)})`)
    },

    async deleteOld() {
      await db.write(sql`delete from auth_refresh_tokens where used_at <= ${clock.now() - idleMs}`)
    },
  }
}
