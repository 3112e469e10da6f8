import { isoTime } from '../../base/clock.ts'
import { emailKey } from '../../base/email-address.ts'
import { errors } from '../../base/errors.ts'
import type { Database } from '../../db/database.ts'
import { sql } from '../../db/sql.ts'
import type { RecordEvent } from '../../http/event-log.ts'
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
   * @param page.limit default 20
   */
  list(page?: { limit?: number; offset?: number }): Promise<{ accounts: Account[]; total: number }>
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
  db: Database,
  { users, sessions, record }: { users: Users; sessions: Sessions; record: RecordEvent },
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
    async list({ limit = 20, offset = 0 } = {}) {
      const rows = await db.scan(
        sql<UserRow>`select * from auth_users order by created_at desc, id desc limit ${limit} offset ${offset}`,
      )
      const [count] = await db.scan(sql<{ total: number }>`select count(*) as total from auth_users`)
      return { accounts: rows.map(accountOf), total: count!.total }
    },

    async find(email) {
      const user = await users.byEmail(emailKey(email))
      return user && accountOf(user)
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
