import { deriveKey, randomToken, sha256 } from '../../../base/crypto.ts'
import { errors } from '../../../base/errors.ts'
import { requireRow } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { WireContext } from '../../../kernel/wire.ts'

/**
 * Refresh tokens: opaque, kept as hashes, each good for one use (RFC 9700, section 4.14.2).
 *
 * A token's successor is a keyed hash of the token itself. So a client whose answer was lost can be given the same
 * successor again, although nothing but hashes is kept, and one token never has two successors.
 */
export type RefreshTokens = {
  /** A session's first token, and the statement that keeps it. */
  first(sessionId: string): { refreshToken: string; insertion: Sql }
  /**
   * Trades a token in for its successor and lets its session live on. Used again within the grace it answers the
   * session's current token; later it ends the session, because then two parties hold it.
   *
   * @throws UNAUTHORIZED where the token is unknown or was used, or its session is over
   */
  trade(
    token: string,
    client: { ip: string; userAgent: string },
  ): Promise<{ sessionId: string; refreshToken: string }>
  /** Removes used tokens that are so old that they could not be traded in anyway. */
  forgetOld(): Promise<void>
}

type Held = { session_id: string; used_at: number | null }

/**
 * @param options.secret `SIXWIRE_SECRET`
 * @param options.idleMs how long a session lives on after a trade
 * @param options.sessionMs how long it lives at most
 * @param options.graceMs for how long the same token answers again
 */
export function createRefreshTokens(
  { db, clock, log }: Pick<WireContext, 'db' | 'clock' | 'log'>,
  options: { secret: string; idleMs: number; sessionMs: number; graceMs: number },
): RefreshTokens {
  const { idleMs, sessionMs, graceMs } = options
  const key = deriveKey(options.secret, 'refresh-token')
  const refused = () =>
    errors.unauthorized({ message: 'This refresh token is not valid, or no longer: sign in again.' })

  const held = (token: string): Promise<Held | undefined> =>
    db.get<Held>(sql`select session_id, used_at from auth_refresh_tokens where hash = ${sha256(token)}`)

  /** What a token gives that was not there to be traded in. */
  async function current(token: string): Promise<{ sessionId: string; refreshToken: string }> {
    const found = await held(token)
    // There and not used: its session has expired.
    if (!found || found.used_at === null) throw refused()
    const sessionId = found.session_id
    if (found.used_at + graceMs <= clock.now()) {
      await db.write(sql`delete from auth_sessions where id = ${sessionId}`)
      log.warn({ session: sessionId }, 'a used refresh token came back: its session was ended')
      throw refused()
    }
    let refreshToken = token
    for (let next: Held | undefined = found; next?.used_at !== null; next = await held(refreshToken)) {
      if (!next) throw refused() // the session has just ended
      refreshToken = key.mac(refreshToken)
    }
    return { sessionId, refreshToken }
  }

  return {
    first(sessionId) {
      const refreshToken = randomToken()
      return {
        refreshToken,
        insertion: sql`
          insert into auth_refresh_tokens (hash, session_id, issued_at)
          values (${sha256(refreshToken)}, ${sessionId}, ${clock.now()})`,
      }
    },

    async trade(token, { ip, userAgent }) {
      const now = clock.now()
      const hash = sha256(token)
      const successor = key.mac(token)
      const notThere = refused()
      try {
        // First the session, then its token: the order in which ending a session takes them, so neither waits in a ring.
        const [sessions] = await db.batch([
          requireRow(
            sql`update auth_sessions set
                  last_used_at = ${now}, expires_at = ${now + idleMs}, ip = ${ip}, user_agent = ${userAgent}
                where id = (select session_id from auth_refresh_tokens where hash = ${hash} and used_at is null)
                  and expires_at > ${now} and created_at > ${now - sessionMs}
                returning id`,
            () => notThere,
          ),
          requireRow(
            sql`update auth_refresh_tokens set used_at = ${now} where hash = ${hash} and used_at is null`,
            () => notThere,
          ),
          sql`insert into auth_refresh_tokens (hash, session_id, issued_at)
              select ${sha256(successor)}, session_id, ${now} from auth_refresh_tokens where hash = ${hash}`,
        ])
        return { sessionId: sessions[0]!['id'] as string, refreshToken: successor }
      } catch (error) {
        if (error !== notThere) throw error
        return await current(token)
      }
    },

    async forgetOld() {
      await db.write(sql`delete from auth_refresh_tokens where used_at <= ${clock.now() - idleMs}`)
    },
  }
}
