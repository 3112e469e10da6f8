import { isoTime } from '../../../base/clock.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { UserCaller } from '../../../http/access.ts'
import { cutPage, type Page } from '../../../http/page.ts'
import { requireProof } from '../../../kernel/policy/policy.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'

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

/** The sessions that there are: they are listed and ended here. */
export type SessionList = {
  /** Lists the sessions that have not expired, newest first. */
  list(
    caller: Pick<UserCaller, 'id' | 'sessionId'>,
    page: Page,
  ): Promise<{ sessions: Session[]; total: number | undefined; nextCursor?: string }>
  /**
   * Ends a session of the caller with its tokens; false if the caller has no such session.
   *
   * @throws RECENT_SIGN_IN_REQUIRED if it is another session than the caller's, which a stolen token may not end
   */
  revoke(caller: UserCaller, sessionId: string): Promise<boolean>
  /**
   * Ends all sessions of the caller but the one of the call, and those in which it acts as another user; returns how many of
   * its own there were.
   */
  revokeOthers(caller: UserCaller): Promise<number>
  /** How many sessions of the account have not expired. */
  count(userId: string): Promise<number>
  /** Ends one session of an account. */
  revokeSql(userId: string, sessionId: string): Sql<never>
  /**
   * The steps that count and end all sessions of one account, with those in which it acts as another user, or
   * of all accounts; the first answers how many there were.
   */
  revokeAllSql(userId?: string): readonly [count: Sql<{ total: number }>, end: Sql<never>]
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

export type Lifetime = Pick<Row, 'created_at' | 'expires_at'>

/** When a session ends, in milliseconds since 1970. `sessionMs`: its lifetime at most. */
export const endOf = ({ created_at, expires_at }: Lifetime, sessionMs: number): number =>
  Math.min(expires_at, created_at + sessionMs)

/** @param options.sessionMs lifetime of a session at most, from its start */
export function createSessionList(
  { db, clock }: Pick<WireContext, 'db' | 'clock'>,
  { sessionMs }: { sessionMs: number },
): SessionList {
  const sessionOf = (row: Row, currentId: string): Session => ({
    _id: row.id,
    createdAt: isoTime(row.created_at),
    lastUsedAt: isoTime(row.last_used_at),
    expiresAt: isoTime(endOf(row, sessionMs)),
    ip: row.ip,
    userAgent: row.user_agent,
    current: row.id === currentId,
  })

  return {
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
        page.counts === false
          ? undefined
          : db.get(sql<{ total: number }>`select count(*) as total ${validSql}`),
      ])
      const pageRows = cutPage(rows, page, ({ id }) => id)
      return {
        sessions: pageRows.rows.map((row) => sessionOf(row, caller.sessionId)),
        total: count?.total,
        ...(pageRows.nextCursor !== undefined && { nextCursor: pageRows.nextCursor }),
      }
    },

    async revoke(caller, sessionId) {
      if (sessionId !== caller.sessionId) requireProof(caller)
      const revoked = await db.write(
        sql`delete from auth_sessions where id = ${sessionId} and user_id = ${caller.id} returning id`,
      )
      return revoked.length > 0
    },

    async revokeOthers(caller) {
      const revoked = await db.write(sql<{ user_id: string }>`
        delete from auth_sessions
        where (user_id = ${caller.id} and id <> ${caller.sessionId}) or impersonator_id = ${caller.id}
        returning user_id`)
      return revoked.filter(({ user_id }) => user_id === caller.id).length
    },

    async count(userId) {
      const now = clock.now()
      const row = await db.get(sql<{ total: number }>`
        select count(*) as total from auth_sessions
        where user_id = ${userId} and expires_at > ${now} and created_at > ${now - sessionMs}`)
      return row!.total
    },

    revokeSql: (userId, sessionId) =>
      sql`delete from auth_sessions where id = ${sessionId} and user_id = ${userId}`,

    revokeAllSql(userId) {
      const ofUser =
        userId === undefined ? sql.literal('') : sql`where user_id = ${userId} or impersonator_id = ${userId}`
      return [
        sql<{ total: number }>`select count(*) as total from auth_sessions ${ofUser}`,
        sql<never>`delete from auth_sessions ${ofUser}`,
      ]
    },

    async deleteExpired() {
      await db.write(sql`delete from auth_sessions where expires_at <= ${clock.now()}`)
    },
  }
}
