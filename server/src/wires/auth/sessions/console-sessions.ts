import { parseCookie, stringifySetCookie } from 'cookie'

import { sha256 } from '../../../base/crypto.ts'
import { errors } from '../../../base/errors.ts'
import { sql } from '../../../db/sql.ts'
import type { UserCaller } from '../../../http/access.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import type { RefreshTokens } from './refresh-tokens.ts'
import { RECENT_MS, type SessionClient, type Sessions } from './sessions.ts'

const IDLE_MS = 30 * 60_000
const LONGEST_MS = 12 * 3_600_000

/** What the page of the console gets; its refresh token is in a cookie that no script can read. */
export type OpenedConsole = {
  token: string
  user: { _id: string; email: string; role: 'viewer' | 'admin' }
  cookie: string
}

/**
 * The sessions of the console. They end after 30 minutes without a refresh and 12 hours at most, and their refresh tokens are of
 * no use to an application, nor is an application's to the console.
 */
export type ConsoleSessions = {
  /**
   * Makes a session that has just been signed in to one of the console.
   *
   * @param refreshToken its current token, which is used up
   * @throws UNAUTHORIZED, RECENT_SIGN_IN_REQUIRED; FORBIDDEN if the account is of neither an administrator nor a viewer
   */
  open(refreshToken: string, client: SessionClient): Promise<OpenedConsole>
  /**
   * Goes on with the session of the cookie.
   *
   * @throws UNAUTHORIZED if there is none, SECOND_FACTOR_REQUIRED, FORBIDDEN as `open`
   */
  renew(cookieHeader: string | undefined, client: SessionClient): Promise<OpenedConsole>
  /** Ends the session of the cookie, and returns the cookie that replaces it. */
  end(cookieHeader: string | undefined): Promise<string>
}

type Parts = Pick<WireContext, 'db' | 'clock'> & {
  sessions: Sessions
  cookie: { name: string; path: string; secure: boolean }
}

export function createConsoleSessions(
  { db, clock, settings }: Pick<WireContext, 'db' | 'clock' | 'settings'>,
  { sessions, refreshTokens }: { sessions: Sessions; refreshTokens: RefreshTokens },
): ConsoleSessions {
  const { protocol, pathname } = new URL(settings.publicUrl)
  const secure = protocol === 'https:'
  const parts: Parts = {
    db,
    clock,
    sessions,
    cookie: {
      name: secure ? '__Secure-sixwire_console' : 'sixwire_console',
      path: `${pathname.replace(/\/$/, '')}/console/session`,
      secure,
    },
  }
  return {
    async open(refreshToken, client) {
      await convert(parts, refreshToken)
      return openWith(parts, refreshToken, client)
    },

    async renew(cookieHeader, client) {
      const refreshToken = tokenIn(parts, cookieHeader)
      if (refreshToken === undefined) throw errors.unauthorized({ message: 'Sign in to the console first.' })
      return openWith(parts, refreshToken, client)
    },

    async end(cookieHeader) {
      const refreshToken = tokenIn(parts, cookieHeader)
      if (refreshToken !== undefined) await refreshTokens.endSession(refreshToken, 'console')
      return cookieOf(parts, '', 0)
    },
  }
}

const tokenIn = ({ cookie }: Parts, cookieHeader = ''): string | undefined =>
  parseCookie(cookieHeader)[cookie.name]

const cookieOf = ({ cookie: { name, path, secure } }: Parts, value: string, maxAge: number): string =>
  stringifySetCookie({ name, value, path, secure, httpOnly: true, sameSite: 'strict', maxAge })

/** Makes the session of a current token one of the console, if it was signed in a moment ago. */
async function convert({ db, clock }: Parts, refreshToken: string): Promise<void> {
  const now = clock.now()
  const mine = sql`id = (select session_id from auth_refresh_tokens where hash = ${sha256(refreshToken)} and used_at is null)`
  const [session] = await db.write(sql<{ id: string }>`
    update auth_sessions set kind = 'console', idle_ms = ${IDLE_MS}, ends_at = created_at + ${LONGEST_MS}
    where ${mine} and kind is null and expires_at > ${now} and coalesce(proven_at, created_at) > ${now - RECENT_MS}
      and exists (select 1 from auth_users where id = auth_sessions.user_id and disabled_at is null)
    returning id`)
  if (session) return
  const staleSession = await db.get(sql`select 1 as found from auth_sessions where ${mine} and kind is null`)
  if (staleSession) throw errors.recent_sign_in_required()
  throw errors.unauthorized({ message: 'This refresh token is not valid or has expired: sign in again.' })
}

async function openWith(parts: Parts, refreshToken: string, client: SessionClient): Promise<OpenedConsole> {
  const { sessions } = parts
  const pair = await sessions.refresh(refreshToken, client, 'console')
  const caller = await sessions.caller(pair.token)
  if (!caller) throw errors.unauthorized()
  const role = await requireRole(parts, caller)
  return {
    token: pair.token,
    user: { _id: caller.id, email: caller.email, role },
    cookie: cookieOf(parts, pair.refreshToken, LONGEST_MS / 1000),
  }
}

async function requireRole({ sessions }: Parts, caller: UserCaller): Promise<'viewer' | 'admin'> {
  if (caller.role !== 'user') return caller.role
  await sessions.revoke(caller, caller.sessionId)
  throw errors.forbidden({
    message: 'The console is for administrators and viewers: sixwire user promote makes an account one.',
  })
}
