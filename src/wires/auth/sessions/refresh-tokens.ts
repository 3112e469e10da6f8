import { deriveKey, randomToken, sha256 } from '../../../base/crypto.ts'
import { errors } from '../../../base/errors.ts'
import { requireRow } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { WireContext } from '../../../kernel/wire.ts'

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
   * session's current token; later it ends the session, because then two parties hold the token.
   *
   * @throws UNAUTHORIZED if the token is unknown or was used, or its session has ended
   */
  rotate(
    token: string,
    client: { ip: string; userAgent: string },
  ): Promise<{ sessionId: string; refreshToken: string }>
  /** Deletes used tokens whose successors have expired. */
  deleteOld(): Promise<void>
}

type Row = { session_id: string; used_at: number | null }

/**
 * @param options.secret `SIXWIRE_SECRET`
 * @param options.idleMs lifetime of a session after a refresh
 * @param options.sessionMs lifetime of a session at most
 * @param options.graceMs for how long a used token returns the current one
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
    db.get(sql<Row>`select session_id, used_at from auth_refresh_tokens where hash = ${sha256(token)}`)

  /** What a token that was used already is exchanged for. */
  async function replay(token: string): Promise<{ sessionId: string; refreshToken: string }> {
    const tokenRow = await find(token)
    // A row that is not used: its session has expired.
    if (!tokenRow || tokenRow.used_at === null) throw invalidToken()
    const sessionId = tokenRow.session_id
    if (tokenRow.used_at + graceMs <= clock.now()) {
      await db.write(sql`delete from auth_sessions where id = ${sessionId}`)
      log.warn({ session: sessionId }, 'a used refresh token was sent again: its session was revoked')
      throw invalidToken()
    }
    let refreshToken = token
    for (let row: Row | undefined = tokenRow; row?.used_at !== null; row = await find(refreshToken)) {
      if (!row) throw invalidToken() // the session has just ended
      refreshToken = key.mac(refreshToken)
    }
    return { sessionId, refreshToken }
  }

  return {
    issue(sessionId) {
      const refreshToken = randomToken()
      return {
        refreshToken,
        insertSql: sql`
          insert into auth_refresh_tokens (hash, session_id, issued_at)
          values (${sha256(refreshToken)}, ${sessionId}, ${clock.now()})`,
      }
    },

    async rotate(token, { ip, userAgent }) {
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
                last_used_at = ${now}, expires_at = ${now + idleMs}, ip = ${ip}, user_agent = ${userAgent}
              where id = (select session_id from auth_refresh_tokens where hash = ${hash} and used_at is null)
                and expires_at > ${now} and created_at > ${now - sessionMs}
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
        return await replay(token)
      }
    },

    async deleteOld() {
      await db.write(sql`delete from auth_refresh_tokens where used_at <= ${clock.now() - idleMs}`)
    },
  }
}
