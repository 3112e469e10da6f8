import { sql } from '../../../db/sql.ts'
import type { Actor } from '../../../http/actor.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { authErrors } from '../errors.ts'
import type { Lock } from '../accounts/lock.ts'
import type { Passwords } from '../accounts/passwords.ts'
import { userAmong, type Role, type UserRow } from '../accounts/user.ts'
import type { Users } from '../accounts/users.ts'
import type { AccountMails } from '../messages/account-mails.ts'
import { browserHash, type CodeAttempt } from '../messages/codes.ts'
import type { MailToken, MailTokens } from '../messages/mail-tokens.ts'

/** What the token of an email permits. Its use and the change are one batch: it works once, and no failure uses it up. */
export type TokenRedemption = {
  /**
   * Sets another password, ends all sessions, unlocks the address and verifies it.
   *
   * @returns the id of the account
   * @throws VALIDATION_ERROR, and the token can be used again; INVALID_TOKEN, also if the credentials have changed or
   *   the account was disabled since the email was sent
   */
  resetPassword(token: string, password: string, actor: Actor): Promise<string>
  /**
   * Verifies the address, and creates an account if it has none. An account whose address was unverified until then
   * loses its password, factors, phone number and all sessions: the person who created it had not shown access to
   * the mailbox.
   *
   * @param use.id of an account that is created
   * @param use.browser the random text of the browser that the link was opened in
   * @param use.confirmed whether the user has said that they requested a link that was opened in another browser
   * @throws INVALID_TOKEN, also if the credentials have changed or the account was disabled since the email was sent;
   *   OTHER_BROWSER; REGISTRATION_CLOSED
   */
  verifyMagicLink(
    token: string,
    use: { id: string; browser?: string | undefined; confirmed?: boolean | undefined },
  ): Promise<UserRow>
  /**
   * Does the same by the code in the same email.
   *
   * @param id of an account that is created
   * @returns undefined if the code is wrong
   * @throws INVALID_TOKEN if it was right, and something has changed since the email was sent; REGISTRATION_CLOSED
   */
  verifyCode(addressKey: string, attempt: CodeAttempt, id: string): Promise<UserRow | undefined>
  /**
   * Verifies the account's address.
   *
   * If `SIXWIRE_ADMINS` names the address, this makes the person who has the password an administrator. So such an account
   * loses its password and all sessions as by a magic link, unless the caller is signed in to it already.
   *
   * @param userId of the session that came with the token
   * @returns whether the account has no password now, its id and its role
   * @throws INVALID_TOKEN
   */
  verifyEmail(
    token: string,
    userId: string | undefined,
  ): Promise<{ isCleared: boolean; account: string; role: Role }>
}

/** @param options.registration whether a magic link creates an account */
export function createTokenRedemption(
  { db, audit }: Pick<WireContext, 'db' | 'audit'>,
  {
    users,
    mailTokens,
    lock,
    passwords,
    mails,
  }: { users: Users; mailTokens: MailTokens; lock: Lock; passwords: Passwords; mails: AccountMails },
  options: { registration: 'open' | 'closed' },
): TokenRedemption {
  const invalid = () => authErrors.invalid_token()

  /** Verifies the address of a link to sign in, and creates its account if it has none. */
  async function signIn(link: MailToken, id: string): Promise<UserRow> {
    const { email, userId } = link
    const createsUser = userId === null && options.registration === 'open'
    if (userId === null && !createsUser && !(await users.byEmail(email.key)))
      throw authErrors.registration_closed()
    // An account that was created since the link was sent has version 1 until its credentials change.
    const version = link.credentialsVersion ?? 1
    const match = userId === null ? { emailKey: email.key, version } : { id: userId, version }
    const account = { id, email, name: null, passwordHash: null, isVerified: true }
    const [, , rows] = await db.batch([
      mailTokens.useSql(link),
      createsUser ? users.insertSql(account) : [],
      users.verifySql(match, invalid),
    ])
    return userAmong(rows)
  }

  // In every batch: first the token, then the account, then its sessions, so that no two batches deadlock.
  return {
    async resetPassword(token, password, actor) {
      const link = await mailTokens.read('reset', token)
      const passwordCheck = passwords.check(password, '/body/password', link.email.address)
      const passwordHash = await passwords.hash(passwordCheck)
      const userId = link.userId!
      const match = { id: userId, version: link.credentialsVersion! }
      await db.batch([
        mailTokens.useSql(link),
        users.updateSql(match, { passwordHash, isVerified: true }, invalid),
        lock.unlockSql(link.email.key),
        mails.notice(userId, 'password-changed'),
        audit.entrySql(actor, { action: 'user.password-reset', target: `user:${userId}` }),
      ])
      return userId
    },

    async verifyMagicLink(token, { id, browser, confirmed }) {
      const link = await mailTokens.read('magic-link', token)
      // Also a link without a browser: an attacker would request the link of their own account without one.
      const hash = browser === undefined ? null : browserHash(browser)
      if (hash !== link.browserHash && !confirmed) throw authErrors.other_browser()
      return signIn(link, id)
    },

    async verifyCode(addressKey, attempt, id) {
      const link = await mailTokens.attemptCode(addressKey, attempt)
      return link && signIn(link, id)
    },

    async verifyEmail(token, userId) {
      const link = await mailTokens.read('verification', token)
      // A job may have stored this link after the account left the address: it would verify another one.
      const match = { id: link.userId!, condition: sql`email_key = ${link.email.key}` }
      const isCleared = userId !== link.userId && users.isNamedAdmin({ email_key: link.email.key })
      const [, rows] = await db.batch([
        mailTokens.useSql(link),
        isCleared ? users.verifySql(match, invalid) : users.updateSql(match, { isVerified: true }, invalid),
      ])
      const user = userAmong(rows)
      const role = users.roleOf(user)
      return { isCleared: isCleared && user.password_hash === null, account: user.id, role }
    },
  }
}
