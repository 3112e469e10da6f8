import { isoTime, type Clock } from '../../base/clock.ts'
import { errors } from '../../base/errors.ts'
import { requireRow, type Database } from '../../db/database.ts'
import { sql, type Sql } from '../../db/sql.ts'
import { emailKey } from '../../base/email-address.ts'
import type { Role, UserRow, Users } from './users.ts'

/** An account as the operator sees it. */
export type Account = {
  id: string
  /** As typed. */
  email: string
  name: string | null
  /** The role in effect, with `SIXWIRE_ADMINS` counted in. */
  role: Role
  emailVerified: boolean
  disabled: boolean
  /** ISO 8601. */
  createdAt: string
}

/** What the operator does with accounts, by the command line. Addresses are compared without regard to case. */
export type Accounts = {
  /** Newest first. */
  list(page?: { limit?: number; offset?: number }): Promise<{ accounts: Account[]; total: number }>
  find(email: string): Promise<Account | undefined>
  /** Makes an administrator. Throws NOT_FOUND where no account has the address, as do all that follow. */
  promote(email: string): Promise<Account>
  /** Takes the operator's word for it that the address is theirs, as a verification mail would. */
  verify(email: string): Promise<Account>
  /** Takes the role back. Throws CONFLICT where `SIXWIRE_ADMINS` gives it. */
  demote(email: string): Promise<Account>
  /** Ends all sessions and opens none from now on. */
  disable(email: string): Promise<Account>
  enable(email: string): Promise<Account>
}

export function createAccounts(db: Database, clock: Clock, users: Users): Accounts {
  const accountOf = (user: UserRow): Account => ({
    id: user.id,
    email: user.email,
    name: user.name,
    role: users.roleOf(user),
    emailVerified: user.email_verified_at !== null,
    disabled: user.disabled_at !== null,
    createdAt: isoTime(user.created_at),
  })

  /** Sets columns of the account with this address, then does the rest, all or nothing. */
  async function change(
    email: string,
    columns: Sql,
    rest: (key: string) => Sql[] = () => [],
  ): Promise<Account> {
    const key = emailKey(email)
    const [rows] = await db.batch([
      requireRow(
        sql`update auth_users set ${columns}, updated_at = ${clock.now()} where email_key = ${key} returning *`,
        () => errors.not_found({ message: `No account has the address ${email}.` }),
      ),
      ...rest(key),
    ])
    return accountOf(rows[0] as UserRow)
  }

  return {
    async list({ limit = 20, offset = 0 } = {}) {
      const rows = await db.scan<UserRow>(
        sql`select * from auth_users order by created_at desc, id desc limit ${limit} offset ${offset}`,
      )
      const [counted] = await db.scan<{ total: number }>(sql`select count(*) as total from auth_users`)
      return { accounts: rows.map(accountOf), total: counted!.total }
    },

    async find(email) {
      const user = await users.byEmail(emailKey(email))
      return user && accountOf(user)
    },

    promote: (email) => change(email, sql`role = 'admin'`),

    verify: (email) => change(email, sql`email_verified_at = coalesce(email_verified_at, ${clock.now()})`),

    async demote(email) {
      const account = await change(email, sql`role = 'user'`)
      if (account.role === 'admin')
        throw errors.conflict({
          message: `${account.email} is an administrator by SIXWIRE_ADMINS: take it out there.`,
        })
      return account
    },

    disable: (email) =>
      change(
        email,
        sql`disabled_at = coalesce(disabled_at, ${clock.now()}), credentials_version = credentials_version + 1`,
        (key) => [
          sql`delete from auth_sessions where user_id = (select id from auth_users where email_key = ${key})`,
        ],
      ),

    enable: (email) => change(email, sql`disabled_at = null`),
  }
}
