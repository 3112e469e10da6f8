import { isoTime } from '../../base/clock.ts'
import { emailKey, parseAddress } from '../../base/email-address.ts'
import { errors } from '../../base/errors.ts'
import { newId } from '../../base/ids.ts'
import { sql } from '../../db/sql.ts'
import type { WireContext } from '../../kernel/wire.ts'
import type { AccountMails } from './email-links/account-mails.ts'
import { authErrors } from './errors.ts'
import type { Lock } from './passwords/lock.ts'
import type { Passwords } from './passwords/passwords.ts'
import type { Sessions } from './sessions/sessions.ts'
import { userAmong, type Role, type UserChange, type UserRow, type Users } from './users.ts'

/** An account as the operator sees it. */
export type Account = {
  id: string
  /** As typed. */
  email: string
  name: string | null
  /** The effective role, with `SIXWIRE_ADMINS` included. */
  role: Role
  emailVerified: boolean
  disabled: boolean
  /** ISO 8601. */
  createdAt: string
}

/**
 * Manages accounts as the operator, without a session. Addresses are compared case-insensitively.
 *
 * @example
 * const accounts = app.service('auth').users
 * await accounts.promote('ada@example.com')
 */
export type Accounts = {
  /**
   * Lists accounts, newest first.
   *
   * @param page.email a part of the address, which case does not matter in
   * @param page.limit default 20
   */
  list(page?: {
    email?: string | undefined
    limit?: number
    offset?: number
  }): Promise<{ accounts: Account[]; total: number }>
  /**
   * Creates an account, also if registration is closed. One whose address is not verified is sent the link to verify it.
   *
   * @param account.isVerified whether the address is its owner's: default true
   * @throws VALIDATION_ERROR, EMAIL_TAKEN
   */
  create(account: {
    email: string
    password: string
    name?: string
    role?: Role
    isVerified?: boolean
  }): Promise<Account>
  /**
   * Sets another password, ends all sessions, unlocks the address and tells its owner by email.
   *
   * @throws VALIDATION_ERROR; NOT_FOUND if the address has no account
   */
  setPassword(email: string, password: string): Promise<Account>
  /** Finds the account of an address. */
  find(email: string): Promise<Account | undefined>
  /**
   * Makes the account an administrator.
   *
   * @throws NOT_FOUND if the address has no account
   */
  promote(email: string): Promise<Account>
  /**
   * Marks the address as verified without an email.
   *
   * @throws NOT_FOUND if the address has no account
   */
  verify(email: string): Promise<Account>
  /**
   * Removes the role of administrator.
   *
   * @throws NOT_FOUND if the address has no account
   * @throws CONFLICT if `SIXWIRE_ADMINS` names the address
   */
  demote(email: string): Promise<Account>
  /**
   * Ends all sessions of the account and prevents new ones.
   *
   * @throws NOT_FOUND if the address has no account
   */
  disable(email: string): Promise<Account>
  /**
   * Lets a disabled account sign in again.
   *
   * @throws NOT_FOUND if the address has no account
   */
  enable(email: string): Promise<Account>
  /**
   * Ends all sessions of the account, or of all accounts without an address. Passwords stay as they are, and links that were
   * sent stay valid.
   *
   * @returns how many sessions there were
   * @throws NOT_FOUND if the address has no account
   */
  signOut(email?: string): Promise<number>
}

export function createAccounts(
  { db, clock, record }: Pick<WireContext, 'db' | 'clock' | 'record'>,
  {
    users,
    sessions,
    passwords,
    lock,
    mails,
  }: { users: Users; sessions: Sessions; passwords: Passwords; lock: Lock; mails: AccountMails },
): Accounts {
  const accountOf = (user: UserRow): Account => ({
    id: user.id,
    email: user.email,
    name: user.name,
    role: users.roleOf(user),
    emailVerified: user.email_verified_at !== null,
    disabled: user.disabled_at !== null,
    createdAt: isoTime(user.created_at),
  })

  const notFound = (email: string) => errors.not_found({ message: `No account has the address ${email}.` })

  async function update(email: string, change: UserChange, event: string): Promise<Account> {
    const [rows] = await db.batch([
      users.updateSql({ emailKey: emailKey(email), includeDisabled: true }, change, () => notFound(email)),
    ])
    const account = accountOf(userAmong(rows))
    record(event, { account: account.id, role: account.role })
    return account
  }

  return {
    async list({ email = '', limit = 20, offset = 0 } = {}) {
      const pattern = `%${emailKey(email).replaceAll(/[%_!]/g, '!$&')}%`
      const matchSql = sql`email_key like ${pattern} escape '!'`
      const rows = await db.scan(sql<UserRow>`
        select * from auth_users where ${matchSql}
        order by created_at desc, id desc limit ${limit} offset ${offset}`)
      const [count] = await db.scan(
        sql<{ total: number }>`select count(*) as total from auth_users where ${matchSql}`,
      )
      return { accounts: rows.map(accountOf), total: count!.total }
    },

    async find(email) {
      const user = await users.byEmail(emailKey(email))
      return user && accountOf(user)
    },

    async create({ email, password, name, role = 'user', isVerified = true }) {
      const address = parseAddress(email, 'email')
      const passwordHash = await passwords.hash(passwords.check(password, 'password', address.address))
      const id = newId(clock.now())
      const user = { id, email: address, name: name?.trim() || null, passwordHash, isVerified }
      const taken = () => authErrors.email_taken({ message: `${address.address} has an account already.` })
      const [inserted, promoted] = await db.batch([
        users.insertSql(user, taken),
        role === 'admin' ? users.updateSql({ id }, { role }, taken) : [],
        isVerified ? [] : mails.verification(id),
      ])
      const account = accountOf(userAmong(role === 'admin' ? promoted : inserted))
      record('account-created', { account: id, role: account.role })
      return account
    },

    async setPassword(email, password) {
      const user = await users.byEmail(emailKey(email))
      if (!user) throw notFound(email)
      const passwordHash = await passwords.hash(passwords.check(password, 'password', user.email))
      const [rows] = await db.batch([
        users.updateSql({ id: user.id, includeDisabled: true }, { passwordHash }, () => notFound(email)),
        lock.unlockSql(user.email_key),
        mails.passwordChanged(user.id),
      ])
      record('password-changed', { account: user.id, method: 'operator' })
      return accountOf(userAmong(rows))
    },

    promote: (email) => update(email, { role: 'admin' }, 'role-changed'),
    verify: (email) => update(email, { isVerified: true }, 'address-verified'),

    async demote(email) {
      const account = await update(email, { role: 'user' }, 'role-changed')
      if (account.role === 'admin')
        throw errors.conflict({
          message: `${account.email} is an administrator by SIXWIRE_ADMINS: remove the address there.`,
        })
      return account
    },

    disable: (email) => update(email, { isDisabled: true }, 'account-disabled'),
    enable: (email) => update(email, { isDisabled: false }, 'account-enabled'),

    async signOut(email) {
      const user = email === undefined ? undefined : await users.byEmail(emailKey(email))
      if (email !== undefined && !user) throw notFound(email)
      const endedCount = await sessions.revokeAll(user?.id)
      record('sessions-revoked', { account: user?.id ?? 'all' })
      return endedCount
    },
  }
}
