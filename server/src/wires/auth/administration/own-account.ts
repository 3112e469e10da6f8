import { errors } from '../../../base/errors.ts'
import { sql } from '../../../db/sql.ts'
import type { UserCaller } from '../../../http/access.ts'
import type { CallOrigin } from '../../../http/event-log.ts'
import { requireProof } from '../../../kernel/policy/policy.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import type { MailTokens } from '../messages/mail-tokens.ts'
import { authErrors } from '../errors.ts'
import { mergeMetadata } from './metadata.ts'
import { personOf } from '../accounts/person.ts'
import { userAmong, type UserRow } from '../accounts/user.ts'
import type { Users } from '../accounts/users.ts'

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
   * Deletes the account, its sessions and every token that was sent to its address, and has all else that is of the person erased
   * soon after; what stays has an id that no account has.
   *
   * @param password needed only if the caller has proven nothing for 10 minutes; an account with a second factor needs a
   *   recent proof of that
   * @throws INVALID_CREDENTIALS, ACCOUNT_LOCKED, RECENT_SIGN_IN_REQUIRED
   */
  delete(caller: UserCaller, password: string | undefined, origin: CallOrigin): Promise<void>
}

/** Checks a password as a sign-in does: undefined if it is wrong. */
type PasswordCheck = {
  verifyCredentials(email: string, password: string, origin: CallOrigin): Promise<UserRow | undefined>
}

export function createOwnAccount(
  { db, clock, audit, personalData }: Pick<WireContext, 'db' | 'clock' | 'audit' | 'personalData'>,
  {
    users,
    passwordLogin,
    mailTokens,
  }: { users: Users; passwordLogin: PasswordCheck; mailTokens: MailTokens },
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

    async delete(caller, password, origin) {
      const { id, email } = caller
      const user = await users.byId(id)
      const person = await personOf(db, id, clock.now())
      if (!user || !person) throw unauthorized()
      if (password === undefined || caller.hasFactor) requireProof(caller)
      if (password !== undefined && !(await passwordLogin.verifyCredentials(email, password, origin)))
        throw authErrors.invalid_credentials({ message: 'The password is wrong.' })
      // The version: if the password has changed since it was verified, the new one is required.
      const match = { id, version: user.credentials_version }
      await db.batch([
        mailTokens.deleteSql(user.email_key),
        ...users.deleteSql(match, unauthorized),
        personalData.eraseSql(person),
        audit.entrySql(origin.actor, { action: 'user.deleted', target: `user:${id}` }),
      ])
      origin.record('account-deleted', { account: id })
    },
  }
}
