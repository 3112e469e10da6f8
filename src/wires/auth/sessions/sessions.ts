import { isoTime } from '../../../base/clock.ts'
import { errors } from '../../../base/errors.ts'
import { newId } from '../../../base/ids.ts'
import { requireRow } from '../../../db/database.ts'
import { cachedUntilWrite } from '../../../db/cached-until-write.ts'
import { sql } from '../../../db/sql.ts'
import { cutPage, type Page } from '../../../http/page.ts'
import type { UserCaller } from '../../../http/access.ts'
import type { WireContext } from '../../../kernel/wire.ts'
import type { AccessTokens } from './access-tokens.ts'
import { authErrors } from '../errors.ts'
import type { RefreshTokens } from './refresh-tokens.ts'
import type { UserRow, Users } from '../users.ts'

/** Where a call comes from. */
export type Client = { ip: string; userAgent: string }

/** What a signed-in client holds: a JWT to call with, and the opaque token that it trades in for the next pair. */
export type Tokens = { token: string; refreshToken: string }

/** A session as its user sees it. */
export type Session = {
  _id: string
  createdAt: string
  /** When it was last signed in or refreshed. */
  lastUsedAt: string
  expiresAt: string
  /** Where that came from. */
  ip: string
  userAgent: string
  /** Whether this is the session that asks. */
  current: boolean
}

/** What was opened for somebody who had proven who they are. */
export type Sessions = {
  /**
   * Opens a session, whatever the proof was. This is the one way in.
   *
   * @param user as read for the proof: where the account was disabled since, or its password changed, nothing opens
   * @throws INVALID_CREDENTIALS
   */
  open(user: UserRow, client: Client): Promise<Tokens>
  /** Trades a refresh token in. Throws UNAUTHORIZED. */
  refresh(refreshToken: string, client: Client): Promise<Tokens>
  /** Who sends this access token. A session that was ended is refused at once everywhere. */
  caller(token: string): Promise<UserCaller | undefined>
  /** Those that live, newest first. */
  list(caller: UserCaller, page: Page): Promise<{ sessions: Session[]; total: number; nextCursor?: string }>
  /** Ends a session with its tokens; false where this user has no such session. */
  end(userId: string, sessionId: string): Promise<boolean>
  /** Removes those that have expired. */
  forgetExpired(): Promise<void>
}

type Row = {
  id: string
  created_at: number
  last_used_at: number
  expires_at: number
  ip: string
  user_agent: string
}

type Lifetime = Pick<Row, 'created_at' | 'expires_at'>

type Signed = Pick<UserRow, 'id' | 'email' | 'email_key' | 'email_verified_at' | 'role'> & Lifetime

const USER_AGENT_MAX = 300

/**
 * @param options.idleMs how long a session lives without a refresh; kept with the session
 * @param options.sessionMs how long it lives at most; counted from its start, so that a change holds for all at once
 */
export function createSessions(
  { db, clock }: Pick<WireContext, 'db' | 'clock'>,
  {
    users,
    accessTokens,
    refreshTokens,
  }: { users: Users; accessTokens: AccessTokens; refreshTokens: RefreshTokens },
  { idleMs, sessionMs }: { idleMs: number; sessionMs: number },
): Sessions {
  const short = ({ ip, userAgent }: Client): Client => ({ ip, userAgent: userAgent.slice(0, USER_AGENT_MAX) })

  const read = cachedUntilWrite(db, (sessionId) =>
    db.get<Signed>(sql`
      select s.created_at, s.expires_at, u.id, u.email, u.email_key, u.email_verified_at, u.role
      from auth_sessions s join auth_users u on u.id = s.user_id
      where s.id = ${sessionId} and u.disabled_at is null`),
  )

  const endOf = (session: Lifetime): number => Math.min(session.expires_at, session.created_at + sessionMs)

  const accessTokenOf = (user: Omit<Signed, keyof Lifetime>, sessionId: string, session: Lifetime) =>
    accessTokens.issue({
      userId: user.id,
      sessionId,
      role: users.roleOf(user),
      sessionEndsAt: endOf(session),
    })

  async function userOf(sessionId: string): Promise<Signed | undefined> {
    const user = await read(sessionId)
    return user && endOf(user) > clock.now() ? user : undefined
  }

  const sessionOf = (row: Row, currentId: string): Session => ({
    _id: row.id,
    createdAt: isoTime(row.created_at),
    lastUsedAt: isoTime(row.last_used_at),
    expiresAt: isoTime(endOf(row)),
    ip: row.ip,
    userAgent: row.user_agent,
    current: row.id === currentId,
  })

  return {
    // A second factor will stand here: whoever calls this has proven one thing, whichever it was.
    async open(user, client) {
      const now = clock.now()
      const sessionId = newId(now)
      const { ip, userAgent } = short(client)
      const { refreshToken, insertion } = refreshTokens.first(sessionId)
      // Whoever ends all sessions of an account writes to its row first. The lock makes them wait for a session that is
      // being opened, or the session waits for them and looks again.
      await db.batch([
        requireRow(
          sql`insert into auth_sessions (id, user_id, created_at, last_used_at, expires_at, ip, user_agent)
              select ${sessionId}, id, ${now}, ${now}, ${now + idleMs}, ${ip}, ${userAgent} from auth_users
              where id = ${user.id} and credentials_version = ${user.credentials_version} and disabled_at is null
              ${sql.sharedLock}`,
          () => authErrors.invalid_credentials(),
        ),
        insertion,
      ])
      return {
        token: await accessTokenOf(user, sessionId, { created_at: now, expires_at: now + idleMs }),
        refreshToken,
      }
    },

    async refresh(given, client) {
      const { sessionId, refreshToken } = await refreshTokens.trade(given, short(client))
      const user = await userOf(sessionId)
      if (!user) throw errors.unauthorized()
      return {
        token: await accessTokenOf(user, sessionId, user),
        refreshToken,
      }
    },

    async caller(token) {
      const named = await accessTokens.read(token)
      const user = named && (await userOf(named.sessionId))
      if (!user || user.id !== named.userId) return undefined
      return {
        kind: 'user',
        id: user.id,
        email: user.email,
        emailVerified: user.email_verified_at !== null,
        role: users.roleOf(user),
        sessionId: named.sessionId,
      }
    },

    async list(caller, page) {
      const now = clock.now()
      const living = sql`
        from auth_sessions
        where user_id = ${caller.id} and expires_at > ${now} and created_at > ${now - sessionMs}`
      const [rows, counted] = await Promise.all([
        db.all<Row>(sql`
          select id, created_at, last_used_at, expires_at, ip, user_agent ${living}
          ${page.before === undefined ? sql.literal('') : sql`and id < ${page.before}`}
          order by id desc limit ${page.limit + 1} offset ${page.offset}`),
        db.get<{ total: number }>(sql`select count(*) as total ${living}`),
      ])
      const cut = cutPage(rows, page, ({ id }) => id)
      return {
        sessions: cut.rows.map((row) => sessionOf(row, caller.sessionId)),
        total: counted!.total,
        ...(cut.nextCursor !== undefined && { nextCursor: cut.nextCursor }),
      }
    },

    async end(userId, sessionId) {
      const ended = await db.write(
        sql`delete from auth_sessions where id = ${sessionId} and user_id = ${userId} returning id`,
      )
      return ended.length > 0
    },

    async forgetExpired() {
      await db.write(sql`delete from auth_sessions where expires_at <= ${clock.now()}`)
    },
  }
}
