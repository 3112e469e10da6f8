import { isoTime } from '../../../base/clock.ts'
import { errors } from '../../../base/errors.ts'
import { newId } from '../../../base/ids.ts'
import { requireRow } from '../../../db/database.ts'
import { isOneOf } from '../../../db/is-one-of.ts'
import { cachedUntilWrite } from '../../../db/cached-until-write.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import { cutPage, type Page } from '../../../http/page.ts'
import type { UserCaller } from '../../../http/access.ts'
import type { RecordEvent } from '../../../http/event-log.ts'
import type { WireContext } from '../../../kernel/wire.ts'
import type { AccessTokens } from './access-tokens.ts'
import { authErrors } from '../errors.ts'
import type { RefreshTokens } from './refresh-tokens.ts'
import type { UserRow, Users } from '../users.ts'

/** Where a call comes from. */
export type SessionClient = { ip: string; userAgent: string }

/** A sign-in for the log: how it was made. */
export type SignIn = SessionClient & { record: RecordEvent; method: string }

/** What a signed-in client holds: a JWT for calls, and an opaque token that is exchanged for the next pair. */
export type TokenPair = { token: string; refreshToken: string }

/** A session as its user sees it. */
export type Session = {
  _id: string
  createdAt: string
  /** When it was last signed in or refreshed. */
  lastUsedAt: string
  expiresAt: string
  /** Of the client that signed in or refreshed last. */
  ip: string
  userAgent: string
  /** Whether it is the session of the caller. */
  current: boolean
}

/** The sessions of signed-in users. */
export type Sessions = {
  /**
   * Creates a session. All ways to sign in end here.
   *
   * @param user as read when the credentials were verified: no session is created if the account was disabled or its
   *   credentials have changed since
   * @throws INVALID_CREDENTIALS
   */
  create(user: UserRow, signIn: SignIn): Promise<TokenPair>
  /** Exchanges a refresh token. Throws UNAUTHORIZED. */
  refresh(refreshToken: string, client: SessionClient): Promise<TokenPair>
  /** The caller with this access token; undefined if it is not valid. A revoked session is refused at once everywhere. */
  caller(token: string): Promise<UserCaller | undefined>
  /** When an access token expires, in milliseconds since 1970; 0 if it is not valid. */
  tokenExpiry(token: string): Promise<number>
  /** The callers of these sessions as they are now, by their sessions; those whose session has ended are left out. */
  current(sessionIds: readonly string[]): Promise<ReadonlyMap<string, UserCaller>>
  /** Lists the sessions that have not expired, newest first. */
  list(caller: UserCaller, page: Page): Promise<{ sessions: Session[]; total: number; nextCursor?: string }>
  /**
   * Ends a session of the caller with its tokens; false if the caller has no such session.
   *
   * @throws RECENT_SIGN_IN_REQUIRED if it is another session than the caller's, which a stolen token may not end
   */
  revoke(caller: UserCaller, sessionId: string): Promise<boolean>
  /** Ends all sessions of one account, or of all accounts; returns how many there were. */
  revokeAll(userId?: string): Promise<number>
  /**
   * Checks that the caller's session was created within the last 10 minutes: a refresh is no sign-in.
   *
   * @throws RECENT_SIGN_IN_REQUIRED
   */
  requireRecentSignIn(caller: UserCaller): Promise<void>
  deleteExpired(): Promise<void>
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

type SessionUser = { session_id: string } & Pick<
  UserRow,
  'id' | 'email' | 'email_key' | 'email_verified_at' | 'role'
> &
  Lifetime

/** @param condition on the session `s` */
const selectUsersSql = (condition: Sql) => sql<SessionUser>`
  select s.id as session_id, s.created_at, s.expires_at, u.id, u.email, u.email_key, u.email_verified_at, u.role
  from auth_sessions s join auth_users u on u.id = s.user_id
  where ${condition} and u.disabled_at is null`

const USER_AGENT_MAX = 300
const RECENT_MS = 600_000

/**
 * @param options.idleMs lifetime of a session without a refresh; stored with the session
 * @param options.sessionMs lifetime of a session at most, from its start, so that a change applies to all at once
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
  const endOf = (session: Lifetime): number => Math.min(session.expires_at, session.created_at + sessionMs)

  const readUser = cachedUntilWrite(db, (sessionId) => db.get(selectUsersSql(sql`s.id = ${sessionId}`)))

  const isCurrent = (user: SessionUser): boolean => endOf(user) > clock.now()

  async function userOf(sessionId: string): Promise<SessionUser | undefined> {
    const user = await readUser(sessionId)
    return user && isCurrent(user) ? user : undefined
  }

  const callerOf = (user: SessionUser): UserCaller => ({
    kind: 'user',
    id: user.id,
    email: user.email,
    emailVerified: user.email_verified_at !== null,
    role: users.roleOf(user),
    sessionId: user.session_id,
  })

  const sessionOf = (row: Row, currentId: string): Session => ({
    _id: row.id,
    createdAt: isoTime(row.created_at),
    lastUsedAt: isoTime(row.last_used_at),
    expiresAt: isoTime(endOf(row)),
    ip: row.ip,
    userAgent: row.user_agent,
    current: row.id === currentId,
  })

  async function requireRecentSignIn({ sessionId }: UserCaller): Promise<void> {
    const user = await userOf(sessionId)
    if (!user || user.created_at <= clock.now() - RECENT_MS) throw authErrors.recent_sign_in_required()
  }

  return {
    requireRecentSignIn,

    // A second factor belongs here: the first factor is verified, whichever it was.
    async create(user, { ip, userAgent, record, method }) {
      const now = clock.now()
      const sessionId = newId(now)
      const { refreshToken, insertSql } = refreshTokens.issue(sessionId)
      // A change of credentials writes the account's row before it ends sessions. So it waits for the lock of this
      // session, or this statement waits and then finds another version.
      await db.batch([
        requireRow(
          sql`insert into auth_sessions (id, user_id, created_at, last_used_at, expires_at, ip, user_agent)
              select ${sessionId}, id, ${now}, ${now}, ${now + idleMs}, ${ip}, ${userAgent.slice(0, USER_AGENT_MAX)}
              from auth_users
              where id = ${user.id} and credentials_version = ${user.credentials_version} and disabled_at is null
              ${sql.sharedLock}`,
          () => authErrors.invalid_credentials(),
        ),
        insertSql,
      ])
      const token = await accessTokens.issue({
        userId: user.id,
        sessionId,
        role: users.roleOf(user),
        sessionEndsAt: now + Math.min(idleMs, sessionMs),
      })
      record('sign-in', { account: user.id, session: sessionId, method })
      return { token, refreshToken }
    },

    async refresh(usedToken, { ip, userAgent }) {
      const { sessionId, refreshToken } = await refreshTokens.rotate(usedToken, {
        ip,
        userAgent: userAgent.slice(0, USER_AGENT_MAX),
      })
      const user = await userOf(sessionId)
      if (!user) throw errors.unauthorized()
      const token = await accessTokens.issue({
        userId: user.id,
        sessionId,
        role: users.roleOf(user),
        sessionEndsAt: endOf(user),
      })
      return { token, refreshToken }
    },

    async caller(token) {
      const claims = await accessTokens.verify(token)
      const user = claims && (await userOf(claims.sessionId))
      return user?.id === claims?.userId ? user && callerOf(user) : undefined
    },

    async tokenExpiry(token) {
      return (await accessTokens.verify(token))?.expiresAt ?? 0
    },

    async current(sessionIds) {
      const rows = await db.all(selectUsersSql(isOneOf('s.id', sessionIds)))
      return new Map(rows.filter(isCurrent).map((user) => [user.session_id, callerOf(user)]))
    },

    async list(caller, page) {
      const now = clock.now()
      const validSql = sql`
        from auth_sessions
        where user_id = ${caller.id} and expires_at > ${now} and created_at > ${now - sessionMs}`
      const [rows, count] = await Promise.all([
        db.all(sql<Row>`
          select id, created_at, last_used_at, expires_at, ip, user_agent ${validSql}
          ${page.before === undefined ? sql.literal('') : sql`and id < ${page.before}`}
          order by id desc limit ${page.limit + 1} offset ${page.offset}`),
        db.get(sql<{ total: number }>`select count(*) as total ${validSql}`),
      ])
      const pageRows = cutPage(rows, page, ({ id }) => id)
      return {
        sessions: pageRows.rows.map((row) => sessionOf(row, caller.sessionId)),
        total: count!.total,
        ...(pageRows.nextCursor !== undefined && { nextCursor: pageRows.nextCursor }),
      }
    },

    async revoke(caller, sessionId) {
      if (sessionId !== caller.sessionId) await requireRecentSignIn(caller)
      const revoked = await db.write(
        sql`delete from auth_sessions where id = ${sessionId} and user_id = ${caller.id} returning id`,
      )
      return revoked.length > 0
    },

    async revokeAll(userId) {
      const ofUser = userId === undefined ? sql.literal('') : sql`where user_id = ${userId}`
      const [[count]] = await db.batch([
        sql<{ total: number }>`select count(*) as total from auth_sessions ${ofUser}`,
        sql<never>`delete from auth_sessions ${ofUser}`,
      ])
      return count!.total
    },

    async deleteExpired() {
      await db.write(sql`delete from auth_sessions where expires_at <= ${clock.now()}`)
    },
  }
}
