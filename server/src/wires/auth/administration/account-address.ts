import type { EmailAddress } from '../../../base/email-address.ts'
import type { ApiError } from '../../../base/errors.ts'
import type { Step } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { UserRow } from '../accounts/user.ts'
import type { AdministrationParts } from './account.ts'

/**
 * The steps by which an operator gives an account another address. Sessions stay; what was sent to the old address is void, and
 * so is a change that the owner has asked for. The old address is told if it was verified, and is free at once.
 *
 * @param change.condition what else must hold
 * @param errors.emailTaken the error if the address is reserved for another account; if another account has it, a step fails with a
 *   `ConstraintError`
 */
export function changeAddressSql(
  { users, mailTokens, changeLinks, lock, mails }: AdministrationParts,
  before: UserRow,
  { email, isVerified, condition }: { email: EmailAddress; isVerified: boolean; condition?: Sql },
  { otherwise, emailTaken }: { otherwise: () => ApiError; emailTaken: () => ApiError },
): readonly Step[] {
  const { id, credentials_version: version } = before
  const match = { id, includeDisabled: true, ...(condition && { condition }) } as const
  const wasVerified = before.email_verified_at !== null
  // Nobody has accepted its invitation, which the old address got.
  const isInvited = before.password_hash === null && before.last_sign_in_at === null
  // First the tokens of emails, then the account, then the rest: the order of every batch, so that no two deadlock.
  return [
    mailTokens.deleteSql(before.email_key),
    ...users.changeAddressSql(match, { email, isVerified }, otherwise, emailTaken),
    ...changeLinks.voidSql(id),
    // They lost their access when the address was verified, and would get it back while the new one is not.
    ...(wasVerified
      ? [sql`delete from auth_identities where user_id = ${id} and credentials_version <> ${version}`]
      : []),
    sql`update auth_identities set credentials_version = credentials_version + 1
        where user_id = ${id} and credentials_version = ${version}`,
    // Strangers may have tried passwords for the new one; the count of the old one would show this account as locked.
    lock.unlockSql(email.key),
    lock.unlockSql(before.email_key),
    // Without a link to undo it: an operator changes an address when its owner has lost the mailbox, or another person reads it,
    // who could take the account back by that link. The owner asks the operator; the change is in the audit log.
    ...(wasVerified ? mails.notice(id, 'address-set', {}, before.email) : []),
    ...(isVerified ? [] : isInvited ? mails.invitation(email) : mails.verification(id)),
  ]
}
