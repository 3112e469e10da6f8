import { errors, invalid } from '../../base/errors.ts'
import { parseJson } from '../../base/json.ts'
import type { Database } from '../../db/database.ts'
import { sql } from '../../db/sql.ts'
import type { UserCaller } from '../../http/access.ts'
import type { RecordEvent } from '../../http/event-log.ts'
import type { MailTokens } from './email-links/mail-tokens.ts'
import { authErrors } from './errors.ts'
import type { Sessions } from './sessions/sessions.ts'
import type { PasswordLogin } from './passwords/password-login.ts'
import { userAmong, type UserRow, type Users } from './users.ts'

const METADATA_BYTES_MAX = 16_384

/** What users do with their own account, apart from its credentials. */
export type OwnAccount = {
  /**
   * Updates the given fields.
   *
   * @param profile.name null or blanks remove it
   * @param profile.metadata merged into the stored metadata at the top level: null removes a field
   *   (RFC 7396 merges at every level)
   * @throws VALIDATION_ERROR if the metadata would exceed 16 KiB as JSON
   */
  update(
    caller: UserCaller,
    profile: { name?: string | null | undefined; metadata?: Record<string, unknown> | undefined },
  ): Promise<UserRow>
  /**
   * Deletes the account, its sessions and every token that was sent to its address. Records of other wires stay, with
   * an owner id that no account has.
   *
   * @throws VALIDATION_ERROR, INVALID_CREDENTIALS and ACCOUNT_LOCKED if the account has a password and this is not it
   * @throws RECENT_SIGN_IN_REQUIRED if it has none and the caller signed in more than 10 minutes ago
   */
  delete(caller: UserCaller, password: string | undefined, record: RecordEvent): Promise<void>
}

export function createOwnAccount(
  db: Database,
  {
    users,
    passwordLogin,
    mailTokens,
    sessions,
  }: { users: Users; passwordLogin: PasswordLogin; mailTokens: MailTokens; sessions: Sessions },
): OwnAccount {
  const unauthorized = () => errors.unauthorized()

  return {
    update: ({ id }, { name, metadata }) =>
      db.transaction(async (tx) => {
        const user = await tx.get(sql<UserRow>`select * from auth_users where id = ${id}`)
        if (!user) throw unauthorized()
        const profile = {
          name: name === undefined ? user.name : name?.trim() || null,
          metadata: metadata ? mergeMetadata(user.metadata, metadata) : user.metadata,
        }
        const rows: UserRow[][] = []
        for (const step of users.updateProfileSql({ id }, profile, unauthorized))
          rows.push(await tx.write(step))
        return userAmong(rows)
      }),

    async delete(caller, password, record) {
      const { id, email } = caller
      const user = await users.byId(id)
      if (!user) throw unauthorized()
      if (user.password_hash === null) await sessions.requireRecentSignIn(caller)
      else {
        if (password === undefined) throw invalid({ path: '/body/password', message: 'is required' })
        if (!(await passwordLogin.verifyCredentials(email, password, record)))
          throw authErrors.invalid_credentials({ message: 'The password is wrong.' })
      }
      // The version: if the password has changed since it was verified, the new one is required.
      const match = { id, version: user.credentials_version }
      await db.batch([mailTokens.deleteSql(user.email_key), ...users.deleteSql(match, unauthorized)])
      record('account-deleted', { account: id })
    },
  }
}

/** @returns JSON text */
function mergeMetadata(stored: string, patch: Record<string, unknown>): string {
  const merged = { ...(parseJson(stored) as Record<string, unknown>), ...patch }
  const json = JSON.stringify(
    Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null)),
  )
  if (Buffer.byteLength(json) > METADATA_BYTES_MAX)
    throw invalid({
      path: '/body/metadata',
      message: `All metadata together may have ${METADATA_BYTES_MAX} bytes as JSON: keep more in the store.`,
    })
  return json
}
