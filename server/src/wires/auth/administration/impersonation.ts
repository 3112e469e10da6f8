import { isoTime } from '../../../base/clock.ts'
import { errors } from '../../../base/errors.ts'
import { newId } from '../../../base/ids.ts'
import { requireRow } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { UserCaller } from '../../../http/access.ts'
import type { Actor } from '../../../http/actor.ts'
import {
  accountOf,
  requireAccount,
  userTarget,
  type Account,
  type AccountRef,
  type AdministrationParts,
} from './account.ts'
import { disabled } from './account-creation.ts'

const LIFETIME_MS = 900_000

export type ImpersonationRequest = {
  /** Why, for the audit log. */
  reason: string
  /** Whether the session may only read. Default true. */
  readOnly?: boolean | undefined
}

/** A session in which an administrator acts as a user. */
export type Impersonation = {
  account: Account
  /** An access token with the claim `act` (RFC 8693, section 4.1). There is no refresh token. */
  token: string
  sessionId: string
  readOnly: boolean
  /** ISO 8601. */
  expiresAt: string
}

/** @throws NOT_FOUND, CONFLICT, FORBIDDEN */
export async function impersonate(
  parts: AdministrationParts,
  account: AccountRef,
  { reason, readOnly = true }: ImpersonationRequest,
  admin: UserCaller,
  actor: Actor,
): Promise<Impersonation> {
  const { db, clock, users, mails, audit, accessTokens, record } = parts
  const user = await requireAccount(parts, account)
  const { id } = user
  if (user.disabled_at !== null) throw disabled()
  const now = clock.now()
  const endsAt = now + LIFETIME_MS
  const sessionId = newId(now)
  const isAdmin = users.isAdminSql()
  // Proven at 0: nothing is proven that the user alone can prove.
  const insertSql = sql`
    insert into auth_sessions (id, user_id, created_at, last_used_at, expires_at, ends_at, ip, user_agent, proven_at, kind,
      impersonator_id, is_read_only)
    select ${sessionId}, id, ${now}, ${now}, ${endsAt}, cast(${endsAt} as bigint), ${actor.ip ?? ''},
      ${actor.userAgent?.slice(0, 300) ?? ''}, 0, 'impersonation', ${admin.id}, cast(${readOnly ? 1 : 0} as bigint)
    from auth_users
    where id = ${id} and disabled_at is null and role = 'user' and is_viewer = 0 and not ${isAdmin}
      and exists (select 1 from auth_users where id = ${admin.id} and ${isAdmin})
    ${sql.sharedLock}`
  await db.batch([
    requireRow(insertSql, () =>
      errors.forbidden({ message: 'Only accounts with the role "user" can be acted as.' }),
    ),
    audit.entrySql(actor, {
      action: 'session.impersonated',
      target: userTarget(id),
      after: { session: sessionId, readOnly, expiresAt: isoTime(endsAt) },
      reason,
    }),
    parts.tellsOfImpersonation ? mails.notice(id, 'impersonated') : [],
  ])
  const token = await accessTokens.issue({
    userId: id,
    sessionId,
    role: 'user',
    sessionEndsAt: endsAt,
    actorId: admin.id,
  })
  record('impersonated', { account: id, by: admin.id, session: sessionId })
  return { account: accountOf(parts, user), token, sessionId, readOnly, expiresAt: isoTime(endsAt) }
}
