import { deriveKey } from '../../../base/crypto.ts'
import { ApiError } from '../../../base/errors.ts'
import { emailKey, parseAddress } from '../../../base/email-address.ts'
import type { UserCaller } from '../../../http/access.ts'
import type { CallOrigin } from '../../../http/event-log.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import type { AccountMails } from '../messages/account-mails.ts'
import { authErrors } from '../errors.ts'
import { userAmong, type UserRow } from '../accounts/user.ts'
import type { Users } from '../accounts/users.ts'
import type { Lock } from '../accounts/lock.ts'
import type { Passwords } from '../accounts/passwords.ts'

/** In the log, for an address without an account. */
const UNKNOWN = 'unknown'

const LOCKED = authErrors.account_locked.code

/** Accounts that sign in with a password. */
export type PasswordLogin = {
  /**
   * Creates an account with a password, and sends the link that verifies its address. Repeated after a crash with the
   * same id and password it returns the account of the first call.
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
   * The account if nothing has changed since it was registered: undefined once its credentials have changed or it has a
   * second factor, or while its address is locked. A lock covers everything that a password gives access to, the repeated registration too.
   */
  findUnchanged(id: string): Promise<UserRow | undefined>
  /**
   * The account with this address and password; undefined if there is none, after the same work whatever is wrong.
   *
   * @param origin of the attempt: a failure is in the log, with the id of the account or `unknown`
   * @throws ACCOUNT_LOCKED
   */
  verifyCredentials(email: string, password: string, origin: CallOrigin): Promise<UserRow | undefined>
  /**
   * Sets another password, ends the user's other sessions, and tells the user by email.
   *
   * @throws VALIDATION_ERROR, INVALID_CREDENTIALS, ACCOUNT_LOCKED
   */
  changePassword(
    caller: UserCaller,
    change: { currentPassword: string; newPassword: string },
    origin: CallOrigin,
  ): Promise<void>
}

/** @param options.secret `SIXWIRE_SECRET`: nobody else knows whose hash an address without an account is compared with */
export function createPasswordLogin(
  { db, audit }: Pick<WireContext, 'db' | 'audit'>,
  { users, lock, passwords, mails }: { users: Users; lock: Lock; passwords: Passwords; mails: AccountMails },
  options: { secret: string },
): PasswordLogin {
  const decoyKey = deriveKey(options.secret, 'password-decoy')

  async function findUnchanged(id: string): Promise<UserRow | undefined> {
    const user = await users.byId(id)
    const isUnchanged =
      user?.credentials_version === 1 && user.disabled_at === null && user.second_factor_at === null
    return isUnchanged && !(await lock.isLocked(user.email_key)) ? user : undefined
  }

  /** The account of an address for the log, which has no addresses. */
  const accountOf = async (key: string): Promise<string> => (await users.byEmail(key))?.id ?? UNKNOWN

  async function verifyCredentials(
    email: string,
    password: string,
    origin: CallOrigin,
  ): Promise<UserRow | undefined> {
    const { record } = origin
    const key = emailKey(email)
    const check = async ({ isLast }: { isLast: boolean }): Promise<UserRow | undefined> => {
      const [user, decoy] = await Promise.all([users.byEmail(key), users.someHash(decoyKey.mac(key))])
      const isRight = await passwords.verify(password, user?.password_hash, decoy)
      if (isRight && user?.disabled_at === null) return user
      const account = user?.id ?? UNKNOWN
      record('sign-in-failed', { account, reason: isRight ? 'disabled' : 'password' })
      if (isLast) await lock.recordLock(user?.id, origin)
      return undefined
    }
    const attempt = lock.attempt(key, check, ({ second_factor_at }) => second_factor_at !== null)
    const user = await attempt.catch(async (error: unknown) => {
      if (error instanceof ApiError && error.code === LOCKED)
        record('sign-in-failed', { account: await accountOf(key), reason: 'locked' })
      throw error
    })
    if (user && passwords.needsRehash(password, user.password_hash!))
      await db.write(users.renewHashSql(user, await passwords.hash(password)))
    return user
  }

  return {
    findUnchanged,
    verifyCredentials,

    async register({ id, email, password, name }) {
      const address = parseAddress(email, '/body/email')
      const passwordHash = await passwords.hash(passwords.check(password, '/body/password', address.address))
      const account = { id, email: address, name: name?.trim() || null, passwordHash, isVerified: false }
      const emailTaken = authErrors.email_taken()
      try {
        const [rows] = await db.batch([users.insertSql(account, () => emailTaken), mails.verification(id)])
        return userAmong(rows)
      } catch (error) {
        if (error !== emailTaken) throw error
        // No other call has this id: it is used again only with the same address and password.
        const registered = await findUnchanged(id)
        if (!registered) throw emailTaken
        return registered
      }
    },

    async changePassword({ id, sessionId, email }, { currentPassword, newPassword }, origin) {
      const wrong = () => authErrors.invalid_credentials({ message: 'The current password is wrong.' })
      const passwordCheck = passwords.check(newPassword, '/body/newPassword', email)
      const user = await verifyCredentials(email, currentPassword, origin)
      if (user?.id !== id) throw wrong()
      const passwordHash = await passwords.hash(passwordCheck)
      const match = { id, version: user.credentials_version }
      await db.batch([
        users.updateSql(match, { passwordHash }, wrong, { keepSessionId: sessionId }),
        mails.notice(id, 'password-changed'),
        audit.entrySql(origin.actor, { action: 'user.password-changed', target: `user:${id}` }),
      ])
      origin.record('password-changed', { account: id })
    },
  }
}
