import { errors, type ApiError } from '../../../base/errors.ts'
import type { UserCaller } from '../../../http/access.ts'
import { emailKey, parseAddress } from '../../../base/email-address.ts'
import type { AccountMails } from '../email-links/account-mails.ts'
import { authErrors } from '../errors.ts'
import type { Lock } from './lock.ts'
import type { Passwords } from './passwords.ts'
import type { UserRow, Users } from '../users.ts'

/** Accounts that are proven by a password. */
export type PasswordLogin = {
  /**
   * Makes an account with a password, and sends the link that verifies its address. Repeated after a crash with the
   * same id and password it answers the account of the first time.
   *
   * @throws VALIDATION_ERROR, EMAIL_TAKEN
   */
  register(account: {
    id: string
    email: string
    password: string
    name?: string | undefined
  }): Promise<UserRow>
  /**
   * The account as it was registered: undefined once its credentials have changed, or while its address is locked.
   * A lock holds for everything that a password opens, also for the repetition of a call that contains it.
   */
  asRegistered(id: string): Promise<UserRow | undefined>
  /**
   * Whose address and password these are.
   *
   * @throws INVALID_CREDENTIALS, the same one and after the same work whatever is wrong; ACCOUNT_LOCKED
   */
  prove(email: string, password: string): Promise<UserRow>
  /**
   * Sets another password, ends the user's other sessions, and tells the user by mail.
   *
   * @throws VALIDATION_ERROR, INVALID_CREDENTIALS, ACCOUNT_LOCKED
   */
  change(caller: UserCaller, currentPassword: string, newPassword: string): Promise<void>
}

export function createPasswordLogin({
  users,
  lock,
  passwords,
  mails,
}: {
  users: Users
  lock: Lock
  passwords: Passwords
  mails: AccountMails
}): PasswordLogin {
  const wrongCurrent = (): ApiError =>
    authErrors.invalid_credentials({ message: 'The current password is wrong.' })

  async function asRegistered(id: string): Promise<UserRow | undefined> {
    const user = await users.byId(id)
    const isUnchanged = user?.credentials_version === 1 && user.disabled_at === null
    return isUnchanged && !(await lock.isLocked(user.email_key)) ? user : undefined
  }

  return {
    asRegistered,

    async register({ id, email, password, name }) {
      const address = parseAddress(email, '/body/email')
      const checked = passwords.check(password, '/body/password', address.address)
      const passwordHash = await passwords.hash(checked)
      const created = await users.create({
        id,
        email: address,
        name: name?.trim() || null,
        passwordHash,
        rest: mails.verification(id),
      })
      // No other call has this id: it comes again only with the same address and password.
      const user = created ?? (await asRegistered(id))
      if (!user) throw authErrors.email_taken()
      mails.wake()
      return user
    },

    async prove(email, password) {
      const key = emailKey(email)
      const user = await lock.attempt(key, async () => {
        const known = await users.byEmail(key)
        const right = await passwords.verify(password, known?.password_hash)
        return right && known?.disabled_at === null ? known : undefined
      })
      if (!user) throw authErrors.invalid_credentials()
      if (passwords.needsRehash(user.password_hash!))
        await users.renewHash(user, await passwords.hash(password))
      return user
    },

    async change({ id, sessionId, email }, currentPassword, newPassword) {
      const checked = passwords.check(newPassword, '/body/newPassword', email)
      const user = await lock.attempt(emailKey(email), async () => {
        const known = await users.byId(id)
        if (!known) throw errors.unauthorized()
        return (await passwords.verify(currentPassword, known.password_hash)) ? known : undefined
      })
      if (!user) throw wrongCurrent()
      const passwordHash = await passwords.hash(checked)
      if (!(await users.changePassword(user, passwordHash, sessionId, mails.passwordChanged(id))))
        throw wrongCurrent()
      mails.wake()
    },
  }
}
