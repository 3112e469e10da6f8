import { type ApiError, errors } from '../../../base/errors.ts'
import { newId } from '../../../base/ids.ts'
import { requireRow, type Step } from '../../../db/database.ts'
import { isOneOf } from '../../../db/is-one-of.ts'
import { cachedUntilWrite } from '../../../db/cached-until-write.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { SessionKind, UserCaller } from '../../../http/access.ts'
import type { Actor } from '../../../http/actor.ts'
import type { RecordEvent } from '../../../http/event-log.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import type { AccessClaims, AccessTokens } from './access-tokens.ts'
import { authErrors } from '../errors.ts'
import type { Challenges } from './sign-in-challenges.ts'
import type { SecondFactor } from '../factors/factor.ts'
import type { FactorRequirement } from '../factors/factor-requirement.ts'
import type { KnownDevices } from './known-devices.ts'
import { extendedSql, type RefreshTokens } from './refresh-tokens.ts'
import { createSessionList, endOf, type Lifetime, type SessionList } from './session-list.ts'
import type { UserRow } from '../accounts/user.ts'
import type { Users } from '../accounts/users.ts'

/** Where a call comes from. */
export type SessionClient = { ip: string; userAgent: string }

/** A sign-in: the way in for the log, and what has proven a second factor. */
export type SignIn = SessionClient & {
  record: RecordEvent
  /** Who sends the request, for the audit log: it is written as the user's own. */
  actor: Actor
  method: string
  secondFactor?: SecondFactor
  /** What the sign-in uses up, in the batch that creates the session: after the account's row, which others lock first. */
  useSql?: readonly Step[]
}

/** What a signed-in client holds: a JWT for calls, and an opaque token that is exchanged for the next pair. */
export type TokenPair = { token: string; refreshToken: string }

/** The sessions of signed-in users. */
export type Sessions = SessionList & {
  /**
   * Creates a session. All ways to sign in end here.
   *
   * @param user as read when the credentials were verified: no session is created if the account was disabled or its
   *   credentials have changed since
   * @throws SECOND_FACTOR_REQUIRED with a challenge if the account has a second factor, and none was proven
   * @throws INVALID_CREDENTIALS
   */
  create(user: UserRow, signIn: SignIn): Promise<TokenPair>
  /**
   * Continues a session that was created before its account had a second factor, once that is proven.
   *
   * @throws INVALID_CHALLENGE if the session has ended
   */
  resume(user: UserRow, sessionId: string, signIn: SignIn): Promise<TokenPair>
  /**
   * Exchanges a refresh token.
   *
   * @param kind of the session; the token of another kind is not valid. Default: of the application
   * @throws UNAUTHORIZED, SECOND_FACTOR_REQUIRED
   */
  refresh(refreshToken: string, client: SessionClient, kind?: SessionKind): Promise<TokenPair>
  /**
   * The caller with this access token, at once if nothing has to be read; undefined if it is not valid. A revoked session is
   * refused at once everywhere.
   */
  caller(token: string): UserCaller | undefined | Promise<UserCaller | undefined>
  /** When an access token expires, in milliseconds since 1970; 0 if it is not valid. */
  tokenExpiry(token: string): Promise<number>
  /** The callers of these sessions as they are now, by their sessions; those whose session has ended are left out. */
  current(sessionIds: readonly string[]): Promise<ReadonlyMap<string, UserCaller>>
}

type SessionUser = {
  session_id: string
  second_factor: string | null
  proven_at: number | null
  factor_proven_at: number | null
  kind: SessionKind | null
  impersonator_id: string | null
  impersonator_email: string | null
  is_read_only: number
} & Pick<
  UserRow,
  | 'id'
  | 'email'
  | 'email_key'
  | 'email_verified_at'
  | 'role'
  | 'is_viewer'
  | 'second_factor_at'
  | 'second_factor_due_at'
  | 'credentials_version'
> &
  Lifetime & {
    /** Its caller, once that was asked for. */
    known?: CallerInTime
  }

/** @param condition on the session `s` */
const selectUsersSql = (condition: Sql) => sql<SessionUser>`
  select s.id as session_id, s.created_at, s.expires_at, s.second_factor, s.proven_at, s.factor_proven_at, s.kind,
    s.impersonator_id, s.is_read_only, i.email as impersonator_email, u.id, u.email, u.email_key, u.email_verified_at,
    u.role, u.is_viewer, u.second_factor_at, u.second_factor_due_at, u.credentials_version
  from auth_sessions s join auth_users u on u.id = s.user_id left join auth_users i on i.id = s.impersonator_id
  where ${condition} and u.disabled_at is null`

const USER_AGENT_MAX = 300
/** How long a proof counts. */
export const RECENT_MS = 600_000
/** The lifetime of access tokens of sessions that are not of the application. */
const SHORT_TOKEN_MS = 600_000

type Parts = Pick<WireContext, 'db' | 'clock' | 'audit'> & {
  users: Users
  accessTokens: AccessTokens
  refreshTokens: RefreshTokens
  challenges: Challenges
  requirement: FactorRequirement
  knownDevices: KnownDevices
  /** Lifetime of a session without a refresh; stored with the session. */
  idleMs: number
  /** Lifetime of a session at most, from its start, so that a change applies to all at once. */
  sessionMs: number
  /** A session with its user, whether or not it has expired. */
  readUser: (sessionId: string) => SessionUser | undefined | Promise<SessionUser | undefined>
}

/**
 * @param options.idleMs lifetime of a session without a refresh
 * @param options.sessionMs lifetime of a session at most
 */
export function createSessions(
  { db, clock, audit }: Pick<WireContext, 'db' | 'clock' | 'audit'>,
  nouns: Pick<
    Parts,
    'users' | 'accessTokens' | 'refreshTokens' | 'challenges' | 'requirement' | 'knownDevices'
  >,
  options: { idleMs: number; sessionMs: number },
): Sessions {
  const readUser = cachedUntilWrite(db, (sessionId) => db.get(selectUsersSql(sql`s.id = ${sessionId}`)))
  const parts: Parts = { db, clock, audit, ...nouns, ...options, readUser }
  const { accessTokens } = nouns
  return {
    ...createSessionList({ db, clock }, options),
    create: (user, signIn) => createSession(parts, user, signIn),
    resume: (user, sessionId, signIn) => resumeSession(parts, user, sessionId, signIn),
    refresh: (refreshToken, client, kind) => refreshSession(parts, refreshToken, client, kind),

    caller(token) {
      const claims = accessTokens.verify(token)
      return claims instanceof Promise
        ? claims.then((verified) => callerWith(parts, verified))
        : callerWith(parts, claims)
    },

    async tokenExpiry(token) {
      return (await accessTokens.verify(token))?.expiresAt ?? 0
    },

    async current(sessionIds) {
      const rows = await db.all(selectUsersSql(isOneOf('s.id', sessionIds)))
      const users = rows.filter((user) => isCurrent(parts, user))
      return new Map(users.map((user) => [user.session_id, callerOf(parts, user)]))
    },
  }
}

async function createSession(parts: Parts, user: UserRow, signIn: SignIn): Promise<TokenPair> {
  const { ip, userAgent, record, method, secondFactor, useSql = [] } = signIn
  const { db, clock, users, accessTokens, refreshTokens, challenges, requirement, knownDevices } = parts
  const { idleMs, sessionMs } = parts
  if (user.second_factor_at !== null && !secondFactor) throw await challenges.issue(user, { method })
  const now = clock.now()
  const sessionId = newId(now)
  const role = users.roleOf(user)
  const { refreshToken, insertSql } = refreshTokens.issue(sessionId)
  const factorProvenAt = secondFactor && secondFactor !== 'device' ? now : null
  const withoutFactor = secondFactor ? sql.literal('') : sql`and second_factor_at is null`
  // A change of credentials writes the account's row before it ends sessions. So it waits for the lock of this
  // session, or this statement waits and then finds another version.
  await db.batch([
    // Writes the account's row, so before it is locked with others: two of them would wait for each other.
    users.lastSignInSql(user.id, now),
    requirement.beginSql(user, role),
    requireRow(
      sql`insert into auth_sessions (id, user_id, created_at, last_used_at, expires_at, ip, user_agent,
            second_factor, proven_at, factor_proven_at)
          select ${sessionId}, id, ${now}, ${now}, ${now + idleMs}, ${ip}, ${userAgent.slice(0, USER_AGENT_MAX)},
            ${secondFactor ?? null}, cast(${now} as bigint), cast(${factorProvenAt} as bigint)
          from auth_users
          where id = ${user.id} and credentials_version = ${user.credentials_version} and disabled_at is null
          ${withoutFactor} ${sql.sharedLock}`,
      () => authErrors.invalid_credentials(),
    ),
    insertSql,
    useSql,
    signInEntrySql(parts, user, sessionId, signIn),
    await knownDevices.beginSql(user, { ip, userAgent }),
  ])
  const token = await accessTokens.issue({
    userId: user.id,
    sessionId,
    role,
    sessionEndsAt: now + Math.min(idleMs, sessionMs),
  })
  record('sign-in', { account: user.id, session: sessionId, method, factor: secondFactor })
  return { token, refreshToken }
}

/** The entry of a sign-in, as what the user did. */
function signInEntrySql(
  { audit, users }: Parts,
  user: UserRow,
  sessionId: string,
  { actor, method, secondFactor }: SignIn,
): Sql<never> {
  const signedIn: Actor = { ...actor, kind: 'user', id: user.id, role: users.roleOf(user), sessionId }
  const after = { method, ...(secondFactor && { secondFactor }) }
  return audit.entrySql(signedIn, { action: 'session.created', target: `user:${user.id}`, after })
}

async function resumeSession(
  parts: Parts,
  user: UserRow,
  sessionId: string,
  signIn: SignIn,
): Promise<TokenPair> {
  const { db, clock, users, accessTokens, refreshTokens, idleMs, sessionMs } = parts
  const { ip, userAgent, record, secondFactor, useSql = [] } = signIn
  const now = clock.now()
  const role = users.roleOf(user)
  const { refreshToken, steps } = refreshTokens.replace(sessionId)
  const factorProvenAt = secondFactor === 'device' ? null : now
  const invalidChallenge = () => authErrors.invalid_challenge()
  const [, , [session]] = await db.batch([
    users.lastSignInSql(user.id, now),
    requireRow(
      sql`select id from auth_users
          where id = ${user.id} and credentials_version = ${user.credentials_version} and disabled_at is null
          ${sql.sharedLock}`,
      invalidChallenge,
    ),
    requireRow(
      sql<Lifetime>`
        update auth_sessions set
          last_used_at = ${now}, expires_at = ${extendedSql(now, idleMs)}, ip = ${ip},
          user_agent = ${userAgent.slice(0, USER_AGENT_MAX)}, second_factor = ${secondFactor ?? null},
          proven_at = ${now}, factor_proven_at = cast(${factorProvenAt} as bigint)
        where id = ${sessionId} and user_id = ${user.id} and expires_at > ${now} and created_at > ${now - sessionMs}
        returning created_at, expires_at`,
      invalidChallenge,
    ),
    steps,
    useSql,
    signInEntrySql(parts, user, sessionId, { ...signIn, method: 'refresh' }),
  ])
  const token = await accessTokens.issue({
    userId: user.id,
    sessionId,
    role,
    sessionEndsAt: endOf(session!, sessionMs),
  })
  record('sign-in', { account: user.id, session: sessionId, method: 'refresh', factor: secondFactor })
  return { token, refreshToken }
}

async function refreshSession(
  parts: Parts,
  usedToken: string,
  { ip, userAgent }: SessionClient,
  kind: SessionKind | undefined,
): Promise<TokenPair> {
  const { db, clock, users, accessTokens, refreshTokens, requirement, sessionMs } = parts
  const client = { ip, userAgent: userAgent.slice(0, USER_AGENT_MAX) }
  const { sessionId, refreshToken } = await refreshTokens.rotate(
    usedToken,
    client,
    (id) => factorRefusal(parts, id),
    kind,
  )
  const user = await userOf(parts, sessionId)
  if (!user) throw errors.unauthorized()
  const role = users.roleOf(user)
  const steps = requirement.beginSql(user, role)
  if (steps.length > 0) await db.batch(steps)
  const token = await accessTokens.issue({
    userId: user.id,
    sessionId,
    role,
    sessionEndsAt: Math.min(endOf(user, sessionMs), kind ? clock.now() + SHORT_TOKEN_MS : Infinity),
  })
  return { token, refreshToken }
}

/** The error for a session that needs a second factor to go on. */
async function factorRefusal(parts: Parts, sessionId: string): Promise<ApiError | undefined> {
  const user = await userOf(parts, sessionId)
  if (!user || user.second_factor_at === null || user.second_factor !== null) return undefined
  return parts.challenges.issue(user, { method: 'refresh', sessionId })
}

const isCurrent = ({ clock, sessionMs }: Parts, user: SessionUser): boolean =>
  endOf(user, sessionMs) > clock.now()

async function userOf(parts: Parts, sessionId: string): Promise<SessionUser | undefined> {
  const user = await parts.readUser(sessionId)
  return user && isCurrent(parts, user) ? user : undefined
}

/** The caller with these claims of a token; undefined if the session has ended. */
function callerWith(
  parts: Parts,
  claims: AccessClaims | undefined,
  user = claims && parts.readUser(claims.sessionId),
): UserCaller | undefined | Promise<UserCaller | undefined> {
  if (user instanceof Promise) return user.then((read) => read && callerWith(parts, claims, read))
  return user && user.id === claims!.userId && isCurrent(parts, user) ? callerOf(parts, user) : undefined
}

/** A caller, and the times between which a session has it: proofs expire, and a factor becomes due. */
type CallerInTime = { readonly caller: UserCaller; readonly from: number; readonly until: number }

function callerOf(parts: Parts, user: SessionUser): UserCaller {
  const now = parts.clock.now()
  const { known } = user
  if (known && known.from <= now && now < known.until) return known.caller
  const { second_factor_due_at: dueAt, proven_at, factor_proven_at, created_at } = user
  const ifAhead = (at: number): number => (at > now ? at : Infinity)
  const until = Math.min(
    ifAhead((proven_at ?? created_at) + RECENT_MS),
    ifAhead((factor_proven_at ?? 0) + RECENT_MS),
    ifAhead(dueAt ?? 0),
  )
  user.known = { caller: callerAt(parts, user, now), from: now, until }
  return user.known.caller
}

function callerAt({ clock, users, requirement }: Parts, user: SessionUser, now: number): UserCaller {
  const role = users.roleOf(user)
  const dueAt = requirement.dueAt(user, role)
  const recentFrom = now - RECENT_MS
  return {
    kind: 'user',
    id: user.id,
    email: user.email,
    emailVerified: user.email_verified_at !== null,
    role,
    sessionId: user.session_id,
    ...(user.kind !== null && { sessionKind: user.kind }),
    ...((role === 'viewer' || user.is_read_only === 1) && { isReadOnly: true }),
    ...(user.impersonator_id !== null && {
      impersonator: { id: user.impersonator_id, email: user.impersonator_email ?? '' },
    }),
    recentProof:
      (user.factor_proven_at ?? 0) > recentFrom
        ? 'factor'
        : (user.proven_at ?? user.created_at) > recentFrom
          ? 'user'
          : undefined,
    hasFactor: user.second_factor_at !== null,
    // An administrator who acts as the user can't add one.
    mustAddFactor: user.impersonator_id === null && dueAt !== undefined && dueAt <= clock.now(),
  }
}
