import type { Clock } from '../../base/clock.ts'
import { errors } from '../../base/errors.ts'
import { requireRow, type Database } from '../../db/database.ts'
import { sql, type Sql } from '../../db/sql.ts'
import type { EmailAddress } from '../../base/email-address.ts'

export type Role = 'user' | 'admin'

/** An account as its table keeps it. */
export type UserRow = {
  id: string
  email: string
  email_key: string
  name: string | null
  metadata: string
  password_hash: string | null
  role: Role
  credentials_version: number
  email_verified_at: number | null
  disabled_at: number | null
  created_at: number
  updated_at: number
}

export type Users = {
  /**
   * Makes an account.
   *
   * @returns undefined where the address has one
   */
  create(account: {
    id: string
    email: EmailAddress
    name: string | null
    passwordHash: string
    /** What happens where it is made, and only there. */
    rest?: readonly Sql[]
  }): Promise<UserRow | undefined>
  /**
   * The statements that make an account: the claims first, then the account itself, which answers its row, or nothing
   * where the address has an account.
   */
  insertions(account: {
    id: string
    email: EmailAddress
    name: string | null
    passwordHash: string | null
    isVerified: boolean
  }): { claims: readonly Sql[]; account: Sql }
  byId(id: string): Promise<UserRow | undefined>
  byEmail(key: string): Promise<UserRow | undefined>
  /** Whether `SIXWIRE_ADMINS` makes the account of this address an administrator once it is verified. */
  isNamedAdmin(user: Pick<UserRow, 'email_key'>): boolean
  /** The role in effect, with `SIXWIRE_ADMINS` counted in. */
  roleOf(user: Pick<UserRow, 'role' | 'email_key' | 'email_verified_at'>): Role
  /**
   * Sets another password and ends all sessions but one. Whoever proved who they are before that
   * and has no session yet, gets none.
   *
   * @param user as read when the old password was verified
   * @param rest what happens where it is changed, and only there
   * @returns false where the old password is not that one any more
   */
  changePassword(
    user: UserRow,
    passwordHash: string,
    sessionId: string,
    rest?: readonly Sql[],
  ): Promise<boolean>
  /** How many accounts that can sign in have an address that is not verified. */
  countUnverified(): Promise<number>
  /** Keeps a new hash of the same password. */
  renewHash(user: UserRow, passwordHash: string): Promise<void>
}

/**
 * The accounts.
 *
 * @param options.admins addresses, as they are compared, that are administrators once verified
 * @param options.firstIsAdmin whether the first account of all becomes an administrator
 */
export function createUsers(
  db: Database,
  clock: Clock,
  options: { admins: ReadonlySet<string>; firstIsAdmin: boolean },
): Users {
  const { admins, firstIsAdmin } = options

  const byId: Users['byId'] = (id) => db.get<UserRow>(sql`select * from auth_users where id = ${id}`)

  const isNamedAdmin: Users['isNamedAdmin'] = ({ email_key }) => admins.has(email_key)

  // Of two first accounts at the same moment, the later one waits here for the row and then finds it taken.
  const claim = (id: string): readonly Sql[] =>
    firstIsAdmin
      ? [
          sql`
            insert into auth_first_account (id, user_id)
            select 1, ${id} where not exists (select 1 from auth_users)
            on conflict (id) do nothing`,
        ]
      : []
  const roleOfNew = (id: string): Sql =>
    sql`case when exists (select 1 from auth_first_account where user_id = ${id}) then 'admin' else 'user' end`

  const insertions: Users['insertions'] = ({ id, email, name, passwordHash, isVerified }) => {
    const now = clock.now()
    const account = sql`
      insert into auth_users (id, email, email_key, name, metadata, password_hash, role, credentials_version, email_verified_at, created_at, updated_at)
      values (${id}, ${email.address}, ${email.key}, ${name}, '{}', ${passwordHash}, ${roleOfNew(id)}, 1, ${isVerified ? now : null}, ${now}, ${now})
      on conflict do nothing
      returning *`
    return { claims: claim(id), account }
  }

  return {
    byId,
    byEmail: (key) => db.get<UserRow>(sql`select * from auth_users where email_key = ${key}`),

    isNamedAdmin,
    roleOf: (user) =>
      user.role === 'admin' || (user.email_verified_at !== null && isNamedAdmin(user)) ? 'admin' : 'user',

    async create({ id, email, name, passwordHash, rest = [] }) {
      const { claims, account } = insertions({ id, email, name, passwordHash, isVerified: false })
      const taken = errors.conflict()
      try {
        const rows = await db.batch([...claims, requireRow(account, () => taken), ...rest])
        return rows[claims.length]![0] as UserRow
      } catch (error) {
        if (error === taken) return undefined
        throw error
      }
    },

    insertions,

    async changePassword(user, passwordHash, sessionId, rest = []) {
      const now = clock.now()
      const changed = errors.conflict()
      try {
        await db.batch([
          requireRow(
            sql`update auth_users set
                  password_hash = ${passwordHash}, credentials_version = credentials_version + 1, updated_at = ${now}
                where id = ${user.id} and credentials_version = ${user.credentials_version}`,
            () => changed,
          ),
          sql`delete from auth_sessions where user_id = ${user.id} and id <> ${sessionId}`,
          ...rest,
        ])
        return true
      } catch (error) {
        if (error === changed) return false
        throw error
      }
    },

    async countUnverified() {
      const counted = await db.get<{ total: number }>(sql`
        select count(*) as total from auth_users where email_verified_at is null and disabled_at is null`)
      return counted!.total
    },

    async renewHash(user, passwordHash) {
      await db.write(sql`
        update auth_users set password_hash = ${passwordHash}
        where id = ${user.id} and password_hash = ${user.password_hash}`)
    },
  }
}
