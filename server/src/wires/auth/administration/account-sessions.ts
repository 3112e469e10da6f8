import { errors } from '../../../base/errors.ts'
import { requireRow } from '../../../db/database.ts'
import type { Actor } from '../../../http/actor.ts'
import { requireAccount, userTarget, type AccountRef, type AdministrationParts } from './account.ts'

/** Ends one session of an account. @throws NOT_FOUND */
export async function endSession(
  parts: AdministrationParts,
  account: AccountRef,
  sessionId: string,
  actor: Actor,
): Promise<void> {
  const { db, sessions, audit, record } = parts
  const { id } = await requireAccount(parts, account)
  await db.batch([
    requireRow(sessions.revokeSql(id, sessionId), () =>
      errors.not_found({ message: 'This account has no session with this id.' }),
    ),
    audit.entrySql(actor, {
      action: 'user.session-revoked',
      target: userTarget(id),
      before: { session: sessionId },
    }),
  ])
  record('session-revoked', { account: id, session: sessionId })
}

/**
 * Ends all sessions of an account, or of all accounts.
 *
 * @returns how many there were
 * @throws NOT_FOUND
 */
export async function endSessions(
  parts: AdministrationParts,
  account: AccountRef | undefined,
  actor: Actor,
): Promise<number> {
  const { db, sessions, audit, record } = parts
  const user = account === undefined ? undefined : await requireAccount(parts, account)
  const [[count]] = await db.batch([
    ...sessions.revokeAllSql(user?.id),
    audit.entrySql(actor, {
      action: 'user.sessions-revoked',
      target: user === undefined ? 'user:all' : userTarget(user.id),
    }),
  ])
  record('sessions-revoked', { account: user?.id ?? 'all' })
  return count!.total
}
