import { errors } from '../../../base/errors.ts'
import { ConstraintError, type Database } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { AccountMails } from '../messages/account-mails.ts'
import type { MailTokens } from '../messages/mail-tokens.ts'
import { authErrors } from '../errors.ts'
import type { Lock } from '../accounts/lock.ts'
import { userAmong, type UserRow } from '../accounts/user.ts'
import type { Users } from '../accounts/users.ts'
import type { AddressChangeMails } from '../messages/address-change-mails.ts'
import type { ChangeLinks } from '../messages/address-change-links.ts'

/** What the links of a change of address permit. Its use and the change are one batch: it works once, and no failure uses it up. */
export type AddressChanges = {
  /**
   * Changes the address, which is verified then. Sessions stay; links that went to the old address are void. The old address is
   * told, with a link to undo it, if it was verified.
   *
   * @param callerId of the session that came with the token. An address that `SIXWIRE_ADMINS` names requires a session of the
   *   account: otherwise the owner of that address could be made to click a link that makes a stranger an administrator
   * @throws INVALID_TOKEN, also if the credentials have changed since the link was sent; EMAIL_TAKEN; UNAUTHORIZED
   */
  verify(token: string, callerId: string | undefined): Promise<UserRow>
  /**
   * Gives the account its old address, ends all sessions, and removes the password, which a thief who confirmed the change knows,
   * and what was added since the change: second factors, trusted devices, phone number, identities at providers. Tells both
   * addresses.
   *
   * @throws INVALID_TOKEN
   */
  undo(token: string): Promise<UserRow>
}

type Parts = {
  db: Database
  users: Users
  links: ChangeLinks
  mailTokens: MailTokens
  lock: Lock
  mails: AccountMails
  changeMails: AddressChangeMails
}

export const createAddressChanges = (parts: Parts): AddressChanges => ({
  verify: (token, callerId) => verify(parts, token, callerId),
  undo: (token) => undo(parts, token),
})

const invalid = () => authErrors.invalid_token()
const emailTaken = () => authErrors.email_taken()

// In every batch: first the tokens of other emails, then the account, then its sessions and changes, so that no two batches
// deadlock.

async function verify(
  { db, users, links, mailTokens, lock, changeMails }: Parts,
  token: string,
  callerId: string | undefined,
): Promise<UserRow> {
  const change = await links.read(token)
  const { userId, version, email } = change
  const user = await users.byId(userId)
  if (!user) throw invalid()
  if (users.isNamedAdmin({ email_key: email.key }) && callerId !== userId)
    throw errors.unauthorized({
      message: 'Sign in to the account first: its new address is that of an administrator.',
    })
  // With this version it is the account as it was read here, but for a verification.
  const match =
    user.email_verified_at === null
      ? { id: userId, version, isUnverified: true as const }
      : { id: userId, version }
  const batch = db.batch([
    mailTokens.deleteSql(user.email_key),
    users.changeAddressSql(match, { email, isVerified: true }, invalid, emailTaken),
    links.useSql(change, user),
    // Those of a provider that has not verified the address stay connected.
    sql`update auth_identities set credentials_version = credentials_version + 1
        where user_id = ${userId} and credentials_version = ${version}`,
    // Strangers may have tried passwords for this address before.
    lock.unlockSql(email.key),
    user.email_verified_at === null ? [] : changeMails.changedSql(change),
  ])
  const [, rows] = await batch.catch((error: unknown) => {
    throw error instanceof ConstraintError && error.kind === 'unique' ? emailTaken() : error
  })
  return userAmong(rows)
}

async function undo({ db, users, links, mailTokens, lock, mails }: Parts, token: string): Promise<UserRow> {
  const change = await links.readUndo(token)
  const { userId, oldEmail, oldVerifiedAt, changedAt: since } = change
  const user = await users.byId(userId)
  if (!user) throw invalid()
  const match = { id: userId, version: user.credentials_version }
  const [, rows] = await db.batch([
    mailTokens.deleteSql(user.email_key),
    users.restoreAddressSql(match, { email: oldEmail, verifiedAt: oldVerifiedAt, since }, invalid),
    links.useUndoSql(change),
    links.voidSql(userId),
    sql`delete from auth_identities where user_id = ${userId} and created_at >= ${since}`,
    lock.unlockSql(oldEmail.key),
    mails.notice(userId, 'address-restored', {}, oldEmail.address),
    user.email_key === oldEmail.key ? [] : mails.notice(userId, 'address-restored', {}, user.email),
  ])
  return userAmong(rows)
}
